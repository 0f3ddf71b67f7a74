import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.config.read import (
    MAX_BYTES,
    MAX_TRACKED_BYTES,
    is_harmless,
    load_config,
    parse_value,
    personal_folder,
    read_agreed,
    rules,
)
from gitmem.config.values import Config, SettingOrigin, Untrusted
from gitmem.platform.machine import read_resource
from gitmem.store.settings import settings

ROOT = Path(__file__).resolve().parents[1]
DEFAULTS = {setting.key: setting.value for setting in settings(Config())}


def of(own=None, tracked=None, **agreed):
    """Load a user's own file, named `user`, and a tracked one, named `store`, of the store at `/s`."""
    data = [None if text is None else text.encode() for text in (own, tracked)]
    known = {key.replace("__", "."): value for key, value in agreed.items()}
    return load_config(("user", data[0]), ("store", data[1]), "/s", lambda: known)


def values(config):
    return {setting.key: setting.value for setting in settings(config)}


def test_files_that_say_nothing_leave_the_defaults():
    assert of(None, None) == of("", "# nothing\n") == Config()


def test_every_setting_has_a_help_and_fits_its_own_rule():
    assert set(rules()) == set(DEFAULTS)
    for setting in settings(Config()):
        assert setting.help
        assert parse_value(setting.key, setting.value) == setting.value


def test_what_the_template_shows_is_true_and_all_that_a_store_may_say():
    text = read_resource("templates", "store", "config.yaml").decode()
    assert of(None, text) == Config()
    shown = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith(("# ", "#  ")))
    config = of(None, shown[shown.index("rotation:") :])
    assert values(config) == DEFAULTS
    assert (config.problems, config.untrusted) == ((), ())
    assert {origin.key for origin in config.origins} == {key for key, rule in rules().items() if rule.tracked}
    bounds = re.findall(r"\((\d+) to (\d+)\)", text)
    assert [(int(least), int(most)) for least, most in bounds] == [
        rule.tracked for rule in rules().values() if rule.tracked
    ]


def test_the_store_counts_before_the_user_and_before_both_the_user_for_this_store():
    config = of(
        "rotation:\n  threshold_tokens: 100\n  carryover_tokens: 50\nlock:\n  kind: ref\n"
        "stores:\n  /s:\n    session:\n      budget_tokens: 700\n  /other:\n    lock:\n      kind: file\n",
        "rotation:\n  threshold_tokens: 2000\nsession:\n  budget_tokens: 800\nsave:\n  interval: 9\n",
    )
    changed = {key: value for key, value in values(config).items() if value != DEFAULTS[key]}
    assert changed == {
        "rotation.threshold_tokens": 2_000,
        "rotation.carryover_tokens": 50,
        "lock.kind": "ref",
        "session.budget_tokens": 700,
        "save.interval": 9,
    }
    assert (config.problems, config.untrusted) == ((), ())
    assert set(config.origins) == {
        SettingOrigin("rotation.threshold_tokens", "store", "store"),
        SettingOrigin("rotation.carryover_tokens", "user", "user"),
        SettingOrigin("lock.kind", "user", "user"),
        SettingOrigin("session.budget_tokens", "here", "user"),
        SettingOrigin("save.interval", "store", "store"),
    }


def test_what_a_store_may_not_say_waits_for_consent_to_that_very_value():
    elsewhere = "embedding:\n  provider: openai\n  base_url: https://evil.example\n"
    config = of("embedding:\n  provider: none\n", elsewhere)
    assert config.embedding == Config().embedding._replace(provider="none")
    assert config.untrusted == (
        Untrusted("embedding.provider", "openai", "store"),
        Untrusted("embedding.base_url", "https://evil.example", "store"),
    )
    assert config.problems == ()
    assert of(elsewhere).embedding.base_url == "https://evil.example"
    agreed = of(None, elsewhere, embedding__base_url="https://evil.example", embedding__provider="gemini")
    assert (agreed.embedding.base_url, agreed.embedding.provider) == ("https://evil.example", "local")
    assert [item.key for item in agreed.untrusted] == ["embedding.provider"]


def test_what_changes_nothing_or_was_decided_here_needs_no_consent():
    assert of(None, "sync:\n  auto: session\n").untrusted == ()
    assert of("sync:\n  auto: 'off'\n", "sync:\n  auto: session\n").untrusted != ()
    assert of("stores:\n  /s:\n    sync:\n      auto: 'off'\n", "sync:\n  auto: session\n").untrusted == ()


@pytest.mark.parametrize("value", [True, 1, "1", 1.0])
def test_consent_to_something_like_it_is_none(value):
    kept = "transcripts:\n  enabled: false\n"
    assert of(None, kept, transcripts__enabled=value).transcripts.enabled


def test_a_tracked_file_sets_numbers_within_bounds_around_the_default_and_nothing_else():
    for key, rule in rules().items():
        default = DEFAULTS[key]
        if rule.tracked is None:
            assert not is_harmless(key, default)
            continue
        least, most = rule.tracked
        assert type(default) is int
        assert rule.minimum <= least <= default <= most <= rule.maximum
        assert most <= 100_000
        assert is_harmless(key, least)
        assert is_harmless(key, most)
        assert not is_harmless(key, least - 1)
        assert not is_harmless(key, most + 1)


def test_the_page_of_settings_has_the_same_table():
    """Compare each row: the setting, its default, what it may be, what a tracked file may say."""
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+\.\w+)` \| (.*?) \| (.*?) \| (.*?) \|", text, re.MULTILINE)
    assert rows == [(key, *described(key)) for key in rules()]


def described(key):
    rule, default = rules()[key], DEFAULTS[key]
    if isinstance(default, bool):
        fits, value = "true, false", str(default).lower()
    elif isinstance(default, int):
        fits, value = f"{rule.minimum:,} to {rule.maximum:,}", f"{default:,}"
    elif isinstance(default, tuple):
        fits, value = "texts", "none"
    else:
        fits, value = ", ".join(f"`{choice}`" for choice in rule.choices) or "a text", f"`{default}`" if default else ""
    tracked = f"{rule.tracked[0]:,} to {rule.tracked[1]:,}" if rule.tracked else "–"
    return value or "none", fits, tracked


NO_VALUES = [
    ("rotation.threshold_tokens", "lots", "a whole number from 100 to 1000000000, not 'lots'"),
    ("rotation.threshold_tokens", "99", "a whole number from 100 to 1000000000, not 99"),
    ("rotation.max_archives", "true", "a whole number from 0 to 1000000000, not true"),
    ("rotation.archive_retention_days", "1000000", "a whole number from 0 to 36500, not 1000000"),
    ("transcripts.enabled", "1", "true or false, not 1"),
    ("redaction.allow", "[1, a]", "a list of texts, not [1, 'a']"),
    ("redaction.allow", "", "a list of texts, not None"),
    ("lock.kind", "mutex", "one of auto, file, ref, not 'mutex'"),
    ("lock.kind", "[auto]", "one of auto, file, ref, not ['auto']"),
    ("embedding.model", "5", "a text, not 5"),
]
NO_FILES = [
    ("rotation:\n  threshold_tokens: 5\n a: [\n", "it is not valid YAML: while parsing a block mapping: did not"),
    ("- a\n- b\n", "it is not a mapping of keys to values but a list."),
    ("just words\n", "it is not a mapping of keys to values but a str."),
    ("x" * (MAX_BYTES + 1), f"it has more than {MAX_BYTES} bytes."),
]


@pytest.mark.parametrize(
    "text, problem",
    [
        *(
            ("{}:\n  {}: {}\n".format(*key.split("."), value), f"user: {key} is {said};")
            for key, value, said in NO_VALUES
        ),
        *((text, f"user cannot be read and is not used: {said}") for text, said in NO_FILES),
        ("rotation:\n  treshold_tokens: 5\n", "user: there is no setting 'rotation.treshold_tokens'; it is not used."),
        ("rotaton:\n  enabled: true\n", "user: there is no setting 'rotaton.enabled'; it is not used."),
        ("problems:\n  x: 5\n", "user: there is no setting 'problems.x'; it is not used."),
        ("rotation: 5\n", "user: 'rotation' is not a group of settings and is not used."),
    ],
)
def test_what_cannot_be_used_is_named_and_costs_nothing_else(text, problem):
    config = of(text, "lock:\n  wait_seconds: 7\n")
    (said,) = config.problems
    assert said.startswith(problem)
    assert values(config) == {**DEFAULTS, "lock.wait_seconds": 7}


def test_bytes_that_are_no_text_are_a_problem_too():
    (problem,) = load_config(("store", b"rotation:\n  enabled: \xff\n")).problems
    assert problem.startswith("store cannot be read and is not used: ")


def test_a_tracked_file_is_read_up_to_a_size_that_costs_a_hook_little():
    text = "save:\n  interval: 9\n#" + "x" * MAX_TRACKED_BYTES
    assert of(text).save.interval == 9
    assert of(None, text).save.interval == 5
    assert f"more than {MAX_TRACKED_BYTES} bytes" in of(None, text).problems[0]


def test_of_many_problems_some_are_told():
    problems = of(None, "".join(f"a{number}: 1\n" for number in range(500))).problems
    assert (len(problems), problems[-1]) == (21, "And 480 more problems.")


@pytest.mark.parametrize(
    "text, key, value, problems",
    [
        ("rotation:\n#  threshold_tokens: 5\nlock:\n", "rotation.threshold_tokens", 25_000, 0),
        ("redaction:\n  allow: token-*\n", "redaction.allow", ("token-*",), 0),
        ("\ufeff# c\r\nlock:\r\n  kind: file\r\n", "lock.kind", "file", 0),
        ("rotation:\n  threshold_tokens: lots\n  max_archives: 3\n", "rotation.max_archives", 3, 1),
    ],
)
def test_what_can_be_read_is_used(text, key, value, problems):
    config = of(text)
    assert (values(config)[key], len(config.problems)) == (value, problems)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 30_000 + "]" * 30_000,
        "- " * 30_000 + "x",
        "a0: &a0 [x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
        + "rotation: {threshold_tokens: *a11}\nredaction: {allow: *a11}\nlock: *a11\n",
        "lock: &l\n  kind: *l\n",
        "a0: &a0 {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7}\n"
        + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)),
        "lock: !!bool x\n",
        "lock: !!timestamp x\n",
        "0x" + "f" * 50_000 + ": 5\n",
        "0x" + "f" * 50_000 + ": {a: 5}\n",
        "lock: {kind: 0x" + "f" * 50_000 + "}\n",
        "lock: {wait_seconds: " + "9" * 50_000 + "}\n",
        "lock: {wait_seconds: " + "59:" * 15_000 + "59}\n",
        "lock: 2024-13-45\n",
    ],
    ids=[
        *("deep", "deeper", "many", "itself", "merges", "no bool", "no time", "long group", "long key", "long text"),
        *("long number", "sexagesimal", "no date"),
    ],
)
def test_a_hostile_file_costs_neither_time_nor_memory(text):
    config = of(text)
    assert values(config) == DEFAULTS
    assert config.problems
    assert all(len(problem) < 500 for problem in config.problems)


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(text):
    config = load_config(("user", text.encode("utf-8", "surrogatepass")))
    assert set(values(config)) == set(DEFAULTS)


@given(st.sampled_from(sorted(rules())), st.none() | st.booleans() | st.integers() | st.floats() | st.text())
def test_a_value_fits_or_is_refused_in_words(key, value):
    try:
        answer = parse_value(key, value)
    except ValueError as error:
        answer = str(error)
    assert type(answer) is type(DEFAULTS[key]) or str(answer).startswith(f"{key} is ")


@pytest.mark.parametrize("text", ["a: " + "[" * 60_000, "a: " + "{" * 60_000, "- " * 30_000, "? " * 30_000])
def test_deep_nesting_is_seen_before_values_are_built(text, monkeypatch):
    import yaml

    monkeypatch.setattr(yaml, "load", lambda *_, **__: pytest.fail("it was built"))
    [problem] = of(text).problems
    assert "nests more than" in problem or "it is not valid YAML" in problem


@pytest.mark.parametrize(
    "platform, environ, folder",
    [
        ("linux", {}, "/home/me/.config/gitmem"),
        ("linux", {"XDG_CONFIG_HOME": "/etc/me"}, "/etc/me/gitmem"),
        ("linux", {"XDG_CONFIG_HOME": "relative", "APPDATA": "/roaming"}, "/home/me/.config/gitmem"),
        ("darwin", {}, "/home/me/Library/Application Support/gitmem"),
        ("darwin", {"XDG_CONFIG_HOME": "/etc/me"}, "/etc/me/gitmem"),
        ("win32", {"APPDATA": "/roaming", "XDG_CONFIG_HOME": "/etc/me"}, "/roaming/gitmem"),
        ("win32", {}, "/home/me/AppData/Roaming/gitmem"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="paths as POSIX has them")
def test_own_settings_are_where_people_expect_them(platform, environ, folder):
    assert personal_folder(environ, "/home/me", platform) == folder


@pytest.mark.parametrize("text", ["", "{", "[]", '{"stores": 5}', '{"stores": {"/s": 5}}', "[" * 100_000, '{"v": 1}'])
def test_a_record_of_consent_that_cannot_be_read_is_none(tmp_path, text):
    (tmp_path / "trust.json").write_text(text)
    assert read_agreed(str(tmp_path), "/s") == {}


def test_consent_is_for_the_store_whose_folder_it_really_is(tmp_path):
    (tmp_path / "store").mkdir()
    said = {"v": 1, "stores": {os.path.realpath(tmp_path / "store"): {"sync.auto": "off"}}}
    (tmp_path / "trust.json").write_text(json.dumps(said))
    assert read_agreed(str(tmp_path), str(tmp_path / "x" / ".." / "store")) == {"sync.auto": "off"}
    assert read_agreed(str(tmp_path), str(tmp_path)) == {}

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.config import MAX_BYTES, RULES, Config, load_config, parse_value, settings
from gitmem.resources import read_resource

ROOT = Path(__file__).resolve().parents[1]
DEFAULTS = {
    "rotation.enabled": True,
    "rotation.threshold_tokens": 25_000,
    "rotation.carryover_tokens": 2_500,
    "rotation.max_archives": 0,
    "rotation.archive_retention_days": 0,
    "redaction.allow": (),
    "lock.kind": "auto",
    "lock.wait_seconds": 10,
    "maintenance.automatic": True,
    "save.mode": "auto",
    "save.interval": 5,
    "save.context_percent": 50,
    "session.budget_tokens": 2_000,
    "session.facts_percent": 35,
    "session.summary_percent": 25,
    "session.concept_percent": 15,
    "tiers.automatic": True,
    "tiers.weekly_days": 7,
    "tiers.monthly_days": 30,
    "sync.auto": "session",
    "sync.minutes": 15,
    "sync.transcripts": False,
    "summary.provider": "offline",
    "summary.model": "",
    "summary.large_model": "",
    "summary.base_url": "",
    "summary.api_key_env": "",
    "summary.timeout_seconds": 120,
    "summary.seconds_per_day": 1_800,
    "summary.tokens_per_day": 1_000_000,
    "summary.cents_per_day": 100,
    "transcripts.enabled": True,
    "transcripts.tool_result_chars": 2_000,
    "search.layer_percent": 3,
    "search.recency_percent": 3,
    "search.recency_days": 30,
    "search.vector_percent": 15,
    "embedding.provider": "local",
    "embedding.model": "",
    "embedding.base_url": "",
    "embedding.api_key_env": "",
}


def of(*texts):
    """Load layers; the weakest is named `user`, the next `store`."""
    names = ("user", "store")
    data = [None if text is None else text.encode() for text in texts]
    return load_config(list(zip(names, data, strict=False)))


def values(config):
    return {setting.key: setting.value for setting in settings(config)}


def test_the_defaults_are_those_of_the_specification():
    assert values(load_config([])) == values(Config()) == DEFAULTS
    assert of(None, None) == of("", "# nothing\n") == Config()


def test_every_setting_has_a_help_and_fits_its_own_rule():
    assert set(RULES) == set(DEFAULTS)
    for setting in settings(Config()):
        assert setting.help
        assert parse_value(setting.key, setting.value) == setting.value


def test_what_the_template_shows_is_true():
    text = read_resource("templates", "store", "config.yaml").decode()
    assert of(text) == Config()
    shown = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith(("# ", "#  ")))
    assert of(shown[shown.index("rotation:") :]) == Config()


def test_the_store_counts_before_the_user_setting_by_setting():
    config = of(
        "rotation:\n  threshold_tokens: 100\n  max_archives: 5\nlock:\n  kind: ref\n",
        "rotation:\n  threshold_tokens: 200\nredaction:\n  allow: [one]\n",
    )
    changed = {key: value for key, value in values(config).items() if value != DEFAULTS[key]}
    assert changed == {
        "rotation.threshold_tokens": 200,
        "rotation.max_archives": 5,
        "lock.kind": "ref",
        "redaction.allow": ("one",),
    }
    assert config.problems == ()


def test_a_store_does_not_say_where_memory_is_sent():
    elsewhere = "embedding:\n  provider: openai\n  base_url: https://evil.example\n  api_key_env: AWS_SECRET\n"
    config = of("embedding:\n  provider: none\n", elsewhere)
    assert config.embedding == Config().embedding._replace(provider="none")
    assert config.problems == tuple(
        f"store: embedding.{key} counts in your own settings only; it is not used."
        for key in ("provider", "base_url", "api_key_env")
    )
    assert of(elsewhere).embedding.base_url == "https://evil.example"


@pytest.mark.parametrize(
    "text, problem",
    [
        ("rotation:\n  treshold_tokens: 5\n", "user: there is no setting 'rotation.treshold_tokens'; it is not used."),
        ("rotaton:\n  enabled: true\n", "user: there is no setting 'rotaton.enabled'; it is not used."),
        (
            "rotation:\n  threshold_tokens: lots\n",
            "user: rotation.threshold_tokens is a whole number from 100 to 1000000000, not 'lots'; it is not used.",
        ),
        (
            "rotation:\n  threshold_tokens: 99\n",
            "user: rotation.threshold_tokens is a whole number from 100 to 1000000000, not 99; it is not used.",
        ),
        (
            "rotation:\n  max_archives: true\n",
            "user: rotation.max_archives is a whole number from 0 to 1000000000, not True; it is not used.",
        ),
        (
            "rotation:\n  archive_retention_days: 1000000\n",
            "user: rotation.archive_retention_days is a whole number from 0 to 36500, not 1000000; it is not used.",
        ),
        ("rotation:\n  enabled: 1\n", "user: rotation.enabled is true or false, not 1; it is not used."),
        ("redaction:\n  allow: [1, a]\n", "user: redaction.allow is a list of texts, not [1, 'a']; it is not used."),
        ("redaction:\n  allow:\n", "user: redaction.allow is a list of texts, not None; it is not used."),
        ("lock:\n  kind: mutex\n", "user: lock.kind is one of auto, file, ref, not 'mutex'; it is not used."),
        ("lock:\n  kind: [auto]\n", "user: lock.kind is one of auto, file, ref, not ['auto']; it is not used."),
        ("embedding:\n  model: 5\n", "user: embedding.model is a text, not 5; it is not used."),
        ("rotation: 5\n", "user: 'rotation' is not a group of settings and is not used."),
        ("problems:\n  x: 5\n", "user: there is no setting 'problems.x'; it is not used."),
        ("rotation:\n  threshold_tokens: 5\n a: [\n", "user cannot be read and is not used: it is not YAML in line 3."),
        ("- a\n- b\n", "user cannot be read and is not used: it is not a mapping."),
        ("just words\n", "user cannot be read and is not used: it is not a mapping."),
        ("x" * (MAX_BYTES + 1), f"user cannot be read and is not used: it has more than {MAX_BYTES} bytes."),
    ],
)
def test_what_cannot_be_used_is_named_and_costs_nothing_else(text, problem):
    config = of(text, "lock:\n  wait_seconds: 7\n")
    assert config.problems == (problem,)
    assert values(config) == {**DEFAULTS, "lock.wait_seconds": 7}


def test_bytes_that_are_no_text_are_a_problem_too():
    (problem,) = load_config([("store", b"rotation:\n  enabled: \xff\n")]).problems
    assert problem.startswith("store cannot be read and is not used: ")


def test_one_bad_setting_leaves_its_neighbours():
    config = of("rotation:\n  threshold_tokens: lots\n  max_archives: 3\n")
    assert config.rotation.max_archives == 3
    assert len(config.problems) == 1


def test_a_heading_above_comments_is_no_problem():
    assert of("rotation:\n#  threshold_tokens: 5\nlock:\n") == Config()


def test_one_text_stands_for_a_list_of_one():
    assert of("redaction:\n  allow: token-*\n").redaction.allow == ("token-*",)


def test_a_byte_order_mark_and_windows_line_ends_are_fine():
    config = load_config([("store", b"\xef\xbb\xbf# c\r\nlock:\r\n  kind: file\r\n")])
    assert (config.lock.kind, config.problems) == ("file", ())


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
    ],
    ids=["deep", "deeper", "many", "itself"],
)
def test_a_hostile_file_costs_neither_time_nor_memory(text):
    config = of(text)
    assert values(config) == DEFAULTS
    assert config.problems
    assert all(len(problem) < 500 for problem in config.problems)


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(text):
    config = load_config([("store", text.encode("utf-8", "surrogatepass"))])
    assert set(values(config)) == set(DEFAULTS)


@given(st.sampled_from(sorted(RULES)), st.none() | st.booleans() | st.integers() | st.floats() | st.text())
def test_a_value_fits_or_is_refused_in_words(key, value):
    try:
        answer = parse_value(key, value)
    except ValueError as error:
        answer = str(error)
    assert type(answer) is type(DEFAULTS[key]) or str(answer).startswith(f"{key} is ")


def test_a_setting_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match=r"there is no setting 'rotation\.size'"):
        parse_value("rotation.size", 5)


def test_files_without_settings_load_no_yaml():
    code = (
        "import sys; from gitmem.config import load_config; from gitmem.resources import read_resource;"
        "load_config([('a', None), ('b', read_resource('templates', 'store', 'config.yaml'))]);"
        "sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_no_setting_has_a_command_wait_longer_for_another_than_ten_seconds():
    config = of("lock:\n  wait_seconds: 11\n")
    assert config.lock.wait_seconds == 10
    assert "from 0 to 10" in config.problems[0]


@pytest.mark.parametrize("text", ["a: " + "[" * 60_000, "a: " + "{" * 60_000, "- " * 30_000, "? " * 30_000])
def test_deep_nesting_is_seen_before_values_are_built(text, monkeypatch):
    import yaml

    monkeypatch.setattr(yaml, "load", lambda *_, **__: pytest.fail("it was built"))
    [problem] = of(text).problems
    assert "nests too deep" in problem

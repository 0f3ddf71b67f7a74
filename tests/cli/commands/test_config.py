from __future__ import annotations

import json
import re
import sys

import pytest

from gitmem.config import RULES
from tests.cli.commands.project import SECRET
from tests.own_settings import own_file

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and bash")


@pytest.fixture
def git(tmp_path, bare_git):
    return lambda *args: bare_git(tmp_path / ".gitmem", *args)


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".gitmem" / "config.yaml"


@pytest.fixture
def own(home, environ):
    return own_file(environ, str(home))


def listed(answer):
    return {item["key"]: (item["value"], item["origin"]) for item in json.loads(answer[1])}


def test_config_lists_every_setting_with_value_origin_and_help(gitmem):
    code, out, err = gitmem("config")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["SETTING", "VALUE", "FROM"]
    assert [line.split()[0] for line in lines[1:]] == list(RULES)
    threshold = ["rotation.threshold_tokens", "25000", "default", "rotate at this size, less 5 %"]
    assert threshold in [re.split(" {2,}", line) for line in lines]


def test_config_says_where_each_setting_comes_from(gitmem, own, file):
    gitmem("config", "save.interval", "7", "--user")
    gitmem("config", "session.budget_tokens", "1000", "--user")
    gitmem("config", "session.budget_tokens", "900")
    gitmem("config", "lock.kind", "ref")
    found = listed(gitmem("config", "--json"))
    assert found["save.interval"] == (7, "user")
    assert found["session.budget_tokens"] == (900, "store")
    assert found["lock.kind"] == ("ref", "here")
    assert found["rotation.enabled"] == (True, "default")
    one = json.loads(gitmem("config", "session.budget_tokens", "--json")[1])
    assert (one["value"], one["origin"], one["file"], one["untrusted"]) == (900, "store", str(file), None)
    assert json.loads(gitmem("config", "lock.kind", "--json")[1])["file"] == str(own)
    assert listed(gitmem("config", "--json", "--user"))["session.budget_tokens"] == (1000, "user")


def test_config_prints_one_value_alone(gitmem):
    assert gitmem("config", "rotation.threshold_tokens") == (0, "25000\n", "")
    assert gitmem("config", "rotation.enabled")[1] == "true\n"
    assert gitmem("config", "redaction.allow")[1] == "[]\n"


def test_a_setting_is_changed_by_one_commit_that_leaves_every_other_byte(gitmem, git, file):
    before = file.read_text()
    commits = git("rev-list", "--count", "HEAD")
    code, out, err = gitmem("config", "rotation.threshold_tokens", "40000")
    assert (code, err) == (0, "")
    commit = git("rev-parse", "--short=10", "HEAD")
    assert out == f"rotation.threshold_tokens is 40000 in {file} (commit {commit}).\n"
    assert file.read_text() == before + "rotation:\n  threshold_tokens: 40000\n"
    assert int(git("rev-list", "--count", "HEAD")) == int(commits) + 1
    assert git("log", "-1", "--format=%s|%(trailers:key=Gitmem-Op,valueonly)") == (
        "Set rotation.threshold_tokens to 40000|config"
    )
    assert git("status", "--porcelain") == ""
    assert gitmem("config", "rotation.threshold_tokens")[1] == "40000\n"


def test_comments_beside_a_value_stay(gitmem, git, file):
    file.write_text("lock:   # mine\n  wait_seconds: 9  # a while\n\n# the end\n")
    gitmem("config", "lock.wait_seconds", "10")
    assert file.read_text() == "lock:   # mine\n  wait_seconds: 10  # a while\n\n# the end\n"
    assert git("log", "-2", "--format=%s").splitlines() == [
        "Set lock.wait_seconds to 10",
        "Edit by hand: config.yaml",
    ]


def test_what_is_so_already_is_no_commit(gitmem, git):
    gitmem("config", "save.interval", "7")
    tip = git("rev-parse", "HEAD")
    code, out, _ = gitmem("config", "save.interval", "7", "--json")
    assert (code, json.loads(out)["commit"]) == (0, None)
    assert gitmem("config", "lock.wait_seconds", "--unset")[0] == 0
    assert git("rev-parse", "HEAD") == tip


def test_unset_lets_the_weaker_one_count_again(gitmem, git):
    gitmem("config", "save.interval", "7", "--user")
    gitmem("config", "save.interval", "8")
    assert gitmem("config", "save.interval", "--unset")[0] == 0
    assert listed(gitmem("config", "--json"))["save.interval"] == (7, "user")
    assert git("log", "-1", "--format=%s") == "Unset save.interval"
    gitmem("config", "save.interval", "--unset", "--user")
    assert listed(gitmem("config", "--json"))["save.interval"] == (5, "default")


@pytest.mark.parametrize(
    "text, value",
    [
        ("[one, 'two*']", ["one", "two*"]),
        ("one", ["one"]),
        ("*.test", ["*.test"]),
        ("12:30", ["12:30"]),
        ("[a", ["[a"]),
        ("[]", []),
        ("a: b", ["a: b"]),
    ],
)
def test_a_value_is_yaml_and_what_yaml_takes_for_something_else_is_text(gitmem, text, value):
    assert gitmem("config", "redaction.allow", text)[0] == 0
    assert json.loads(gitmem("config", "redaction.allow", "--json")[1])["value"] == value


def test_a_text_that_is_allowed_stays_and_what_allows_it_is_in_no_store(gitmem, git, own):
    gitmem("save", f"a key: {SECRET}")
    assert SECRET not in git("show", "HEAD:memory.md")
    gitmem("config", "redaction.allow", SECRET)
    assert SECRET in own.read_text()
    assert SECRET not in git("log", "-p", "--all")
    assert json.loads(gitmem("config", "redaction.allow", "--json")[1])["value"] == [SECRET]
    gitmem("save", f"the test key is {SECRET}")
    assert SECRET in git("show", "HEAD:memory.md")


@pytest.mark.parametrize(
    "key, near",
    [
        ("rotation.treshold_tokens", "rotation.threshold_tokens"),
        ("threshold_tokens", "rotation.threshold_tokens"),
        ("lock.wait", "lock.wait_seconds"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest(gitmem, key, near):
    code, out, err = gitmem("config", key, "5")
    assert (code, out) == (8, "")
    assert f"There is no setting {key!r}." in err
    assert f"Did you mean {near!r}?" in err
    assert gitmem("config", key)[0] == 8


@pytest.mark.parametrize("words", [("lock.wait_seconds", "soon"), ("lock.kind", "mutex"), ("rotation.enabled", "1")])
def test_a_value_that_does_not_fit_is_refused_and_nothing_changes(gitmem, git, words):
    tip = git("rev-parse", "HEAD")
    code, _, err = gitmem("config", *words)
    assert code == 8
    assert f"The setting {words[0]} is " in err
    assert git("rev-parse", "HEAD") == tip
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("words", [("--unset",), ("lock.kind", "auto", "--unset")])
def test_unset_takes_a_setting_and_no_value(gitmem, words):
    assert gitmem("config", *words)[0] == 2


def test_a_file_that_is_not_yaml_is_named_and_left_alone(gitmem, git, file):
    file.write_text("lock: [\n")
    code, _, err = gitmem("config", "save.interval", "7")
    assert code == 1
    assert "config.yaml cannot be changed: it is not valid YAML" in err
    assert file.read_text() == "lock: [\n"
    code, out, err = gitmem("config")
    assert (code, len(out.splitlines())) == (0, len(RULES) + 1)
    assert "config.yaml cannot be read and is not used" in err


def test_the_user_s_settings_need_no_store_and_are_in_none(run, home, own):
    code, out, err = run("config", "lock.wait_seconds", "5", "--user")
    assert (code, err) == (0, "")
    assert out == f"lock.wait_seconds is 5 in {own}.\n"
    assert own.read_text() == "lock:\n  wait_seconds: 5\n"
    assert not (home / ".gitmem").exists()
    assert run("--user", "config", "lock.wait_seconds") == (0, "5\n", "")
    assert run("config")[0] == 3


def test_where_there_is_a_store_of_the_user_s_it_has_none_of_their_settings(run, home, own, bare_git):
    run("init", "--user")
    tip = bare_git(home / ".gitmem", "rev-parse", "HEAD")
    code, out, _ = run("config", "--user", "lock.wait_seconds", "5")
    assert (code, out) == (0, f"lock.wait_seconds is 5 in {own}.\n")
    assert bare_git(home / ".gitmem", "rev-parse", "HEAD") == tip


@posix
def test_the_user_s_file_may_be_a_link_to_where_they_keep_such_files(run, own, tmp_path):
    dotfiles = tmp_path / "dotfiles.yaml"
    dotfiles.write_text("# mine\n")
    own.symlink_to(dotfiles)
    assert run("config", "--user", "lock.kind", "ref")[0] == 0
    assert own.is_symlink()
    assert dotfiles.read_text() == "# mine\nlock:\n  kind: ref\n"


def test_a_user_s_file_that_cannot_be_written_is_said(run, own):
    own.parent.rmdir()
    own.parent.write_text("no folder")
    code, _, err = run("config", "--user", "lock.kind", "ref")
    assert code == 1
    assert "could not be written" in err


def test_as_much_of_the_memory_as_makes_it_rotate_is_not_kept(gitmem, file):
    code, _, err = gitmem("config", "rotation.carryover_tokens", "20000")
    assert code == 0
    assert gitmem("config", "rotation.threshold_tokens", "10000")[0] == 0
    assert gitmem("config", "rotation.carryover_tokens")[1].split()[0] == "1000"
    assert "rotation.carryover_tokens (20,000) is not below" in gitmem("doctor")[1]
    for more in ((), ("--user",)):
        code, _, err = gitmem("config", *more, "rotation.carryover_tokens", "25000" if more else "10000")
        assert code == 8
        assert "has to be below rotation.threshold_tokens" in err


def test_instructions_for_a_model_keep_their_lines_and_are_in_no_store(gitmem, git, own):
    before = git("rev-parse", "HEAD")
    text = "Sum up: in verse.\n\n- No more than ten lines."
    assert gitmem("config", "prompts.summary", text)[0] == 0
    assert gitmem.json("config", "prompts.summary")["value"] == text
    assert git("rev-parse", "HEAD") == before
    assert gitmem("config", "prompts.summary", "--unset")[0] == 0
    assert gitmem.json("config", "prompts.summary")["value"] == ""

"""What newcomers ran into: each answer says what happened and what to do, under the exit code of the table."""

import json
import os
import shutil

import pytest


@pytest.fixture
def private(gitmem):
    for number in range(4):
        assert gitmem("save", f"The parser of part {number} is slow", "--tag", f"part{number}")[0] == 0
        assert gitmem("--private", "save", f"The parser of machine {number} is mine")[0] == 0
    return gitmem


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
@pytest.mark.few(2)
def test_a_limit_is_that_of_all_hits_private_ones_too(private, limit):
    hits = json.loads(private("search", "parser", "-n", str(limit), "--json")[1])
    ours = [hit for hit in hits if not hit["path"].startswith("private:")]
    assert (len(hits), len(ours)) == (limit, max(-(-limit // 2), limit - 3))
    assert len(json.loads(private("search", "parser", "-n", "0", "--json")[1])) == 7, "of private ones three at most"


@pytest.mark.parametrize("data, reason", [(b"\x89PNG\0\1", "NUL byte"), (b"caf\xe9", "not UTF-8")])
@pytest.mark.parametrize("how", ["file", "input"])
def test_what_is_no_text_is_not_saved(gitmem, tmp_path, data, reason, how):
    (file := tmp_path / "data.bin").write_bytes(data)
    before = gitmem("log", "-n", "0")[1]
    code, _, err = gitmem("save", "-f", str(file)) if how == "file" else gitmem("save", "-", stdin=data)
    assert (code, reason in err, gitmem("log", "-n", "0")[1]) == (8, True, before)


def test_a_fact_forbids_nothing_any_more_only_where_that_is_said(gitmem):
    fact = json.loads(gitmem("facts", "add", "Use uv", "--forbids", "pip install", "--json")[1])["id"]
    code, _, err = gitmem("facts", "forbid", fact)
    assert (code, f"gitmem facts forbid {fact} --none" in err) == (2, True)
    assert gitmem("facts", "forbid", fact, "pip", "--none")[0] == 2
    assert json.loads(gitmem("facts", "show", fact, "--json")[1])["forbids"] == ["pip install"]
    assert gitmem("facts", "forbid", fact, "--none")[1].startswith(f"{fact} forbids nothing now.")


@pytest.mark.parametrize(
    "line, code, said",
    [
        ("show 2026-13-45", 9, "'2026-13-45' is not a date"),
        ("show 2026-01-02", 9, "Nothing was saved on 2026-01-02."),
        ("get nothing", 9, "no document 'nothing'"),
        ("get ^nothing", 9, "no document '^nothing'"),
        ("get ../memory.md", 8, "not a path below the store"),
        ("get memory.md:5-2", 2, "the last line comes before the first"),
        ("save -", 8, "nothing to save"),
        ("save x -f memory.md", 2, "Both a text and a file"),
        ("backup /no/such/folder/file", 9, "There is no folder /no/such/folder."),
        ("log today", 9, "gitmem log --since today"),
        ("show 29.11.2026", 9, "A day is written as 2026-11-29."),
        ("blame src/cart.py:2", 9, "for code: 'gitmem why'"),
        ("sync push", 9, "'gitmem sync' alone receives and sends."),
        ("config summary.provider claude", 2, "Claude Code is 'agent'."),
        ("undo HEAD~1", 1, "'gitmem clear all' empties the memory."),
    ],
)
def test_a_wrong_call_is_answered_under_its_exit_code(gitmem, line, code, said):
    found = gitmem(*line.split())
    assert (found[0], said in found[2]) == (code, True), found[2]


def test_a_filter_with_a_blank_is_explained(gitmem):
    assert "author:bo" in gitmem("search", "author: bo")[2]


def test_one_command_undoes_a_rule_that_forbids(gitmem):
    said = gitmem("facts", "add", "Use uv", "--forbids", "pip install")[1]
    fact = said.split()[2].rstrip(",")
    assert f"(undo: gitmem facts retire {fact})" in said


def test_a_second_machine_with_a_new_store_is_led_to_clone(gitmem, tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    gitmem("save", "one")
    gitmem("remote", "add", str(tmp_path / "remote.git"))
    assert gitmem("sync")[0] == 0
    (project := tmp_path / "second").mkdir()
    bare_git(project, "init", "-q")
    second = type(gitmem)(project, gitmem.environ)
    for command in (("init",), ("remote", "add", str(tmp_path / "remote.git"))):
        assert second(*command)[0] == 0
    code, _, err = second("sync")
    assert (code, f"'gitmem clone {tmp_path / 'remote.git'}'" in err) == (8, True), err
    second("save", "two")
    assert "gitmem clone" not in second("sync")[2], "there is something to lose"


def test_doctor_reports_no_command_that_was_typed_wrong(gitmem):
    for line in ("backup /no/such/folder/file", "get nothing", "undo nothing", "show 2026-13-45", "sync"):
        assert gitmem(*line.split())[0]
    assert "failure" not in gitmem("doctor")[1]


def test_the_versions_of_a_fact_are_shown_once_each(gitmem, remote_pair):
    ours, theirs = remote_pair
    fact = json.loads(ours("facts", "list", "--json")[1])[0]["id"]
    for run, text in ((ours, "커밋 메시지는 영어로 쓴다"), (theirs, "커밋 메시지는 일본어로 쓴다")):
        assert run("facts", "edit", fact, text)[0] == 0
        assert run("sync")[0] == 0
    shown = theirs("review", "1")[1]
    assert (shown.count("영어로"), shown.count("일본어로"), "updated:" in shown) == (1, 1, False)
    assert "waiting     1 decision of yours ('gitmem review')" in theirs("status")[1]


@pytest.fixture
def remote_pair(gitmem, tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    gitmem("save", "커밋 메시지는 한국어로 쓴다", "--type", "rule")
    assert gitmem("remote", "add", str(tmp_path / "remote.git"))[0] == 0
    assert gitmem("sync")[0] == 0
    (project := tmp_path / "second").mkdir()
    bare_git(project, "init", "-q")
    second = type(gitmem)(project, gitmem.environ)
    assert second("clone", str(tmp_path / "remote.git"))[0] == 0
    return gitmem, second


def test_a_sync_says_that_it_took_out_words_said_again_after_a_purge(gitmem, remote_pair):
    gitmem("save", "the key is sesame-open-77")
    assert gitmem("sync")[0] == 0
    purged = gitmem("purge", "sesame-open-77", "--yes")
    assert "If you save the same words again, the next sync removes them, too" in purged[1]
    assert "saved again" not in gitmem("sync")[2]
    gitmem("save", "again: sesame-open-77")
    code, _, err = gitmem("sync")
    assert (code, "Purged words were saved again: this sync took them out of 1 commit." in err) == (0, True)


@pytest.mark.skipif(os.name == "nt", reason="the agents' folders are named as on POSIX")
def test_uninstalling_all_here_names_what_stays_for_the_user(gitmem):
    for agent in ("claude", "codex"):
        for scope in ("--project", "--user"):
            assert gitmem("install", agent, scope, "--yes")[0] == 0
    out = gitmem("uninstall", "--all")[1]
    assert "~/.claude/settings.json and ~/.codex/hooks.json" in out
    assert out.rstrip().endswith("gitmem uninstall --all --user")
    assert "~/.codex" in gitmem("uninstall", "codex")[1]
    gitmem("uninstall", "--all", "--user")
    assert "Still installed" not in gitmem("uninstall", "--all")[1]


def test_a_folder_without_git_below_the_home_is_no_part_of_what_is_installed_for_the_user(run, home, environ):
    assert run("install", "claude", "--user", "--yes")[0] == 0
    (folder := home / "notes").mkdir()
    there = type(run)(folder, environ)
    before = (home / ".claude" / "settings.json").read_bytes()
    said = there("uninstall", "claude")[1]
    assert "gitmem uninstall claude --user" in said
    assert there("install", "claude", "--init", "--yes")[0] == 0
    assert (folder / ".claude" / "settings.json").is_file()
    assert (home / ".claude" / "settings.json").read_bytes() == before


def test_a_store_that_git_does_not_read_is_named_by_each_command(gitmem):
    (gitmem.root / ".git" / "HEAD").unlink()
    for line in ("status", "save x", "search x", "init", "doctor"):
        code, _, err = gitmem(*line.split())
        assert (code, "is no store: its .git is damaged" in err) == (3, True), (line, err)
    gitmem.root.rename(gitmem.root.with_name("old"))
    gitmem.root.mkdir()
    shutil.copy(gitmem.root.with_name("old") / "memory.md", gitmem.root)
    assert "has the files of a memory, and no .git" in gitmem("status")[2]
    shutil.rmtree(gitmem.root)
    gitmem.root.write_text("a file")
    for line in ("status", "init"):
        code, _, err = gitmem(*line.split())
        assert (code, "it is a file.\n  Move it away." in err) == (3, True)
    gitmem.root.unlink()
    assert gitmem("init")[0] == 0

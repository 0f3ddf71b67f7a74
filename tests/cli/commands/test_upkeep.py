"""Rotation, consolidation, packing and doctor, as a person or a script calls them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time

import pytest

from gitmem.cli import output as terminal
from tests.cli.commands.project import SECRET


def test_a_person_is_told_of_a_rotation_in_words(gitmem):
    gitmem("config", "rotation.carryover_tokens", "200")
    gitmem("config", "rotation.threshold_tokens", "2000")
    for command in (("check",), ("save", "more")):
        with (gitmem.root / "memory.md").open("a", encoding="utf-8") as file:
            file.writelines(f"- The loader reads part {number} of its settings in layers.\n" for number in range(200))
        out = gitmem(*command, terminal=True)[1]
        assert "GITMEM_ROTATE" not in out
        assert "memory.md was full: all it held is in archive/memory_" in out


@pytest.fixture
def store(tmp_path):
    return tmp_path / ".gitmem"


def test_what_is_asked_of_commits_alone_rotates_nothing(gitmem):
    assert gitmem("check", "--sarif")[0] == 2
    assert gitmem("check", "--base", "HEAD")[0] == 2


def test_a_second_maintenance_is_told_to_wait(gitmem, store, monkeypatch):
    from gitmem.store import recovery

    answers = []
    joined = recovery._join

    def join(*args):
        answers.append(gitmem("maintain"))
        joined(*args)

    monkeypatch.setattr(recovery, "_join", join)
    assert gitmem("maintain")[0] == 0
    code, _, err = answers[0]
    assert code == 5
    assert "The store is held by process" in err
    assert "(maintain)" in err


def test_progress_is_shown_to_a_person_who_has_waited(gitmem, monkeypatch):
    gitmem("save", "one")
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    _, _, err = gitmem("maintain", terminal=True)
    assert re.search(r"^gitmem: joining packs …$", err, re.MULTILINE)
    assert gitmem("maintain")[2] == ""
    monkeypatch.setattr(terminal, "_PATIENCE", 60.0)
    assert gitmem("maintain", terminal=True)[2] == ""


def test_a_day_that_one_clone_edits_while_another_consolidates_it_comes_back(tmp_path, run_in, environ):
    """The change wins over the deletion, and the day joins its week again (docs/memory.md, "Tiers")."""
    one, other, remote = tmp_path / "one", tmp_path / "other", tmp_path / "remote.git"
    day, week = "daily/2026/01/2026-01-06.md", "weekly/2026/2026-W02.md"

    for project in (one, other):
        project.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True, env=environ)
    run_in(one, "init")
    (one / ".gitmem" / day).parent.mkdir(parents=True)
    entry = "- [10:00:00] **Decision**: Use uv. ^1ksd9q2x0m3v8t5w7zab\n"
    (one / ".gitmem" / day).write_text(f"# 2026-01-06\n\n{entry}", encoding="utf-8")
    run_in(one, "config", "tiers.monthly_days", "0")
    run_in(one, "remote", "add", str(remote))
    run_in(one, "sync")
    run_in(other, "clone", str(remote))
    run_in(other, "consolidate")
    run_in(other, "sync")
    with (one / ".gitmem" / day).open("a", encoding="utf-8") as file:
        file.write("\n손으로 쓴 줄\n")
    run_in(one, "sync")
    assert "손으로 쓴 줄" in (one / ".gitmem" / day).read_text(encoding="utf-8")
    run_in(one, "consolidate")
    run_in(one, "sync")
    run_in(other, "sync")
    for project in (one, other):
        assert not (project / ".gitmem" / day).exists()
        text = (project / ".gitmem" / week).read_text(encoding="utf-8")
        assert text.count("Use uv. ^1ksd9q2x0m3v8t5w7zab") == 1
        assert text.count("손으로 쓴 줄") == 1


@pytest.fixture
def git(store, bare_git):
    return lambda *args: bare_git(store, *args)


def test_doctor_of_a_healthy_store(gitmem, home):
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    gitmem("save", "one")
    code, out, err = gitmem("doctor", "--verbose")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    passed = sum(line.startswith("ok       ") for line in lines)
    assert lines[-2:] == ["", f"No problem found; {passed} checks passed."]
    assert passed == len(lines) - 4
    assert lines[-4].startswith("note     host")
    assert gitmem("doctor")[1].splitlines() == lines[-4:]
    assert gitmem("doctor", "--deep")[0] == 0


def test_doctor_with_a_problem_ends_with_one_and_says_what_to_do(gitmem, store):
    (store / "note.md").write_text(f"---\nid: [\n---\ntoken {SECRET}\n")
    (store / ".git" / "index.lock").write_text("x")
    os.utime(store / ".git" / "index.lock", (time.time() - 7300, time.time() - 7300))
    code, out, _ = gitmem("doctor")
    assert code == 1
    lines = out.splitlines()
    assert lines[-1].startswith("2 problems and 1 warning; ")
    begin = next(number for number, line in enumerate(lines) if line.startswith("problem  secrets"))
    assert lines[begin + 1].strip() == "note.md: 1 github-token"
    assert lines[begin + 2].strip().startswith("> Revoke it")
    assert any("index.lock, for 2 hours" in line for line in lines)
    assert SECRET not in out


def test_doctor_as_json(gitmem, store):
    (store / "note.md").write_text("---\nid: [\n---\n")
    code, out, err = gitmem("doctor", "--json")
    value = json.loads(out)
    assert (code, err, value["problems"], value["warnings"]) == (1, "", 1, 0)
    (problem,) = [check for check in value["checks"] if check["level"] == "problem"]
    assert set(problem) == {"check", "level", "message", "remedy", "details"}
    assert problem["check"] == "headers"
    assert {check["level"] for check in value["checks"]} == {"ok", "note", "problem"}


def test_doctor_shows_what_failed(gitmem, git):
    git("switch", "--quiet", "--detach")
    gitmem("save", "one")
    git("switch", "--quiet", "gitmem")
    code, out, _ = gitmem("doctor")
    assert code == 0
    assert re.search(r"^warning  log +1 failure in the last seven days", out, re.MULTILINE)
    assert re.search(r"^ +\d{4}-\d\d-\d\d \d\d:\d\d save: Not committed yet", out, re.MULTILINE)


def test_doctor_commits_nothing(gitmem, git, store):
    git("switch", "--quiet", "--detach")
    gitmem("save", "one")
    git("switch", "--quiet", "gitmem")
    (store / "mine.md").write_text("by hand\n")
    tip = git("rev-parse", "HEAD")
    assert "not committed yet" in gitmem("doctor")[1]
    assert (git("rev-parse", "HEAD"), git("status", "--porcelain")) == (tip, "?? mine.md")

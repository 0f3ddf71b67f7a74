import json
import os
import re
import time

import pytest

from tests.cli.commands.project import SECRET


@pytest.fixture
def store(tmp_path):
    return tmp_path / ".gitmem"


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

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitmem.cli import terminal
from gitmem.cli.door import Door
from gitmem.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
SECRET = "ghp_" + "R4nd0mT0kenF0rTestsOnlyAbCdEfGhIjKlM"


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self):
        return True


@pytest.fixture
def run(tmp_path, home, environ):
    """Give a function that runs a command in a folder and returns exit code, output and complaint."""

    def run(*args, stream=io.StringIO):
        out, err = stream(), stream()
        door = Door(environ, str(tmp_path), io.TextIOWrapper(io.BytesIO()), out, err)
        return main(args, lambda: door), out.getvalue(), err.getvalue()

    return run


@pytest.fixture
def gitmem(run, home):
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    assert run("init")[0] == 0
    return run


@pytest.fixture
def store(tmp_path):
    return tmp_path / ".gitmem"


@pytest.fixture
def git(store, bare_git):
    return lambda *args: bare_git(store, *args)


def test_status_of_a_new_store_is_one_screen(gitmem, store):
    code, out, err = gitmem("status")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"store       {store}",
        "branch      gitmem, 2 commits",
        'last save   nothing yet; try: gitmem save "..."',
        "memory.md   38 of 23,750 tokens (0 %)",
        "archives    0",
        "daily logs  0 days",
        "spool       empty",
        "vectors     off (GITMEM_EMBEDDING_PROVIDER says so)",
        "summaries   offline",
    ]


def test_status_tells_of_the_last_save(gitmem):
    gitmem("save", "Use uv, not pnpm", "--type", "decision")
    gitmem("config", "lock.wait_seconds", "5")
    _, out, _ = gitmem("status")
    assert re.search(r"^last save   \d{4}-\d\d-\d\d \d\d:\d\d  Save decision: Use uv, not pnpm$", out, re.MULTILINE)
    assert re.search(r"^daily logs  1 day, the last \d{4}-\d\d-\d\d$", out, re.MULTILINE)


def test_status_as_json(gitmem, store):
    commit = json.loads(gitmem("save", "one", "--json")[1])["commit"]
    value = json.loads(gitmem("status", "--json")[1])
    assert (value["store"], value["branch"], value["commits"]) == (str(store), "gitmem", 3)
    assert (value["last_save"]["commit"], value["last_save"]["subject"]) == (commit, "Save note: one")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", value["last_save"]["at"])
    assert (value["threshold"], value["edited"], value["attention"]) == (23_750, [], [])


def test_status_commits_what_waits_and_leaves_what_was_edited(gitmem, git, store):
    gitmem("save", "one")
    git("switch", "--quiet", "--detach")
    assert gitmem("save", "two")[0] == 7
    git("switch", "--quiet", "gitmem")
    (store / "mine.md").write_text("by hand\n")
    code, out, err = gitmem("status")
    assert (code, err) == (0, "")
    assert "spool       empty\n" in out
    assert "Save note: two" in out
    assert "by hand     mine.md: the next save commits this\n" in out
    assert git("status", "--porcelain") == "?? mine.md"
    gitmem("save", "three")
    assert "by hand" not in gitmem("status")[1]
    assert git("show", "HEAD:mine.md") == "by hand"


def test_status_in_the_middle_of_a_merge_says_why_nothing_is_saved(gitmem, store, git):
    (store / ".git" / "MERGE_HEAD").write_text(git("rev-parse", "HEAD") + "\n")
    assert gitmem("save", "waits")[0] == 7
    code, out, err = gitmem("status")
    assert code == 0
    assert "A merge is in progress" in err
    assert "spool       1 event\n" in out
    assert re.search(r"^problem  branch +A merge is in progress", out, re.MULTILINE)
    assert re.search(r"^note +spool +1 event not committed yet", out, re.MULTILINE)


def test_status_names_what_cannot_be_read_and_goes_on(gitmem, store):
    (store / "config.yaml").write_text("lock: [\n")
    (store / "facts").mkdir()
    (store / "facts" / "x.md").write_text("---\nid: [\n---\nbody\n")
    code, out, _ = gitmem("status")
    assert code == 0
    assert f"{store / 'config.yaml'} cannot be read and is not used" in out
    assert "facts/x.md, line 3: it is not valid YAML" in out
    assert gitmem("save", "works all the same")[0] == 0


def test_status_shows_no_control_characters(gitmem, store):
    if sys.platform == "win32":
        pytest.skip("no such names")
    (store / "\x1b[2Jx.md").write_text("by hand\n")
    _, out, _ = gitmem("status", stream=Terminal)
    assert "\x1b[2J" not in out
    assert "\\x1b[2Jx.md" in out


def test_doctor_of_a_healthy_store(gitmem):
    gitmem("save", "one")
    code, out, err = gitmem("doctor")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[-2:] == ["", "No problem found."]
    assert all(line.startswith("ok       ") for line in lines[:-4])
    assert lines[-4].startswith("note     host")
    assert gitmem("doctor", "--deep")[0] == 0


def test_doctor_with_a_problem_ends_with_one_and_says_what_to_do(gitmem, store):
    (store / "note.md").write_text(f"---\nid: [\n---\ntoken {SECRET}\n")
    (store / ".git" / "index.lock").write_text("x")
    os.utime(store / ".git" / "index.lock", (time.time() - 7300, time.time() - 7300))
    code, out, _ = gitmem("doctor")
    assert code == 1
    lines = out.splitlines()
    assert lines[-1] == "2 problems and 1 warning."
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


@pytest.mark.parametrize("no_colour", [False, True])
def test_levels_are_coloured_on_a_terminal_only(gitmem, environ, no_colour):
    environ["TERM"] = "xterm"
    if no_colour:
        environ["NO_COLOR"] = "1"
    assert ("\x1b[32mok" in gitmem("doctor", stream=Terminal)[1]) is not no_colour
    assert "\x1b" not in gitmem("doctor")[1]


def test_where_there_is_no_store_nothing_is_examined(run):
    assert [run(command)[0] for command in ("status", "doctor", "maintain")] == [3, 3, 3]


def test_maintain_says_what_it_did_and_a_second_time_changes_nothing(gitmem, git):
    for number in range(3):
        gitmem("save", f"text {number}")
    tip = git("rev-parse", "HEAD")
    code, out, err = gitmem("maintain")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"Packed 2 loose objects and 4 packs into 1 pack: [\d.]+ kB before, [\d.]+ kB now\.\n", out), (
        out
    )
    assert git("rev-parse", "HEAD") == tip
    assert git("count-objects") == "0 objects, 0 kilobytes"
    value = json.loads(gitmem("maintain", "--json")[1])
    assert value["done"] is True
    assert value["before"] == value["after"]
    assert set(value["after"]) == {"loose", "packs", "packed", "bytes"}
    assert (value["removed"], value["notices"]) == ([], [])


def test_maintain_if_needed_leaves_a_store_alone_that_is_packed_well_enough(gitmem, git):
    gitmem("save", "one")
    before = git("count-objects", "-v")
    code, out, _ = gitmem("maintain", "--if-needed")
    assert (code, out) == (0, "Nothing to do: the repository is well packed.\n")
    assert json.loads(gitmem("maintain", "--if-needed", "--json")[1])["done"] is False
    assert git("count-objects", "-v") == before


def test_the_repository_of_a_project_is_packed_only_on_request(run, tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q")
    bare_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "code")
    assert run("init", "--branch")[0] == 0
    before = bare_git(tmp_path, "count-objects", "-v")
    code, out, err = run("maintain")
    assert (code, err) == (0, "")
    assert f"The repository at {tmp_path / '.git'} is the project's" in out
    assert "'gitmem maintain --project'" in out
    assert bare_git(tmp_path, "count-objects", "-v") == before
    code, out, _ = run("maintain", "--project")
    assert (code, out[:6]) == (0, "Packed")
    assert bare_git(tmp_path, "count-objects") == "0 objects, 0 kilobytes"
    assert bare_git(tmp_path, "fsck", "--full") == ""
    assert run("maintain", "--project", "--if-needed")[0] == 2


def test_a_second_maintenance_is_told_to_wait(gitmem, store, monkeypatch):
    from gitmem.store.upkeep import maintenance

    answers = []
    joined = maintenance._join

    def join(*args):
        answers.append(gitmem("maintain"))
        joined(*args)

    monkeypatch.setattr(maintenance, "_join", join)
    assert gitmem("maintain")[0] == 0
    code, _, err = answers[0]
    assert code == 5
    assert "Maintenance has to wait. The store is held by process" in err


def test_progress_is_shown_to_a_person_who_has_waited(gitmem, monkeypatch):
    gitmem("save", "one")
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    _, _, err = gitmem("maintain", stream=Terminal)
    assert re.search(r"^gitmem: joining packs …$", err, re.MULTILINE)
    assert gitmem("maintain")[2] == ""
    monkeypatch.setattr(terminal, "_PATIENCE", 60.0)
    assert gitmem("maintain", stream=Terminal)[2] == ""


def test_the_real_command_maintains(gitmem, tmp_path):
    gitmem("save", "one")
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gitmem", "maintain"]
    run = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("Packed 2 loose objects and 2 packs into 1 pack")
    assert run.stderr == ""

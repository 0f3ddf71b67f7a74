from __future__ import annotations

import json
import re

import pytest

from gitmem.cli import output as terminal


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


@pytest.fixture
def git(store, bare_git):
    return lambda *args: bare_git(store, *args)


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
    from gitmem.store import maintenance

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
    _, _, err = gitmem("maintain", terminal=True)
    assert re.search(r"^gitmem: joining packs …$", err, re.MULTILINE)
    assert gitmem("maintain")[2] == ""
    monkeypatch.setattr(terminal, "_PATIENCE", 60.0)
    assert gitmem("maintain", terminal=True)[2] == ""

"""Rotation, consolidation, packing and doctor, as a user or a script calls them."""

from __future__ import annotations

import json
import re

import pytest

from gitmem.cli import progress as terminal
from gitmem.cli.commands import upkeep
from gitmem.errors import ExitCode
from gitmem.git.lock import Clock, FileLock
from gitmem.store.findings import FailureLog


def test_a_user_is_told_of_a_rotation_in_words(gitmem):
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


def test_progress_is_shown_to_a_user_who_has_waited(gitmem, monkeypatch):
    gitmem("save", "one")
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    _, _, err = gitmem("maintain", terminal=True)
    assert re.search(r"^gitmem: joining packs …$", err, re.MULTILINE)
    assert gitmem("maintain")[2] == ""
    monkeypatch.setattr(terminal, "_PATIENCE", 60.0)
    assert gitmem("maintain", terminal=True)[2] == ""


def test_packing_that_starts_by_itself_beside_another_is_no_failure(gitmem, store, monkeypatch):
    monkeypatch.setattr(upkeep, "is_due", lambda _: True)
    private = store / ".git" / "gitmem"
    (private / "maintenance").mkdir()
    with FileLock(str(private / "maintenance"), purpose="maintain", machine="here", clock=Clock()).acquire(0):
        code, out, _ = gitmem("maintain", "--if-needed")
        assert (code, out.startswith("Nothing was done: The store is held by")) == (0, True)
        assert gitmem("maintain")[0] == ExitCode.BUSY
    assert len(FailureLog(str(private)).failures()) == 1


def test_doctor_as_json(gitmem, store):
    (store / "note.md").write_text("---\nid: [\n---\n")
    code, out, err = gitmem("doctor", "--json")
    value = json.loads(out)
    assert (code, err, value["problems"], value["warnings"]) == (1, "", 1, 0)
    (problem,) = [check for check in value["checks"] if check["level"] == "problem"]
    assert set(problem) == {"check", "level", "message", "remedy", "details"}
    assert problem["check"] == "headers"
    assert {check["level"] for check in value["checks"]} == {"ok", "note", "problem"}

"""Rotation, consolidation, packing and doctor, as a person or a script calls them."""

from __future__ import annotations

import json
import re
import subprocess

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


def test_what_is_asked_of_commits_alone_rotates_nothing(gitmem):
    assert gitmem("check", "--sarif")[0] == 2
    assert gitmem("check", "--base", "HEAD")[0] == 2


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


def test_doctor_as_json(gitmem, store):
    (store / "note.md").write_text("---\nid: [\n---\n")
    code, out, err = gitmem("doctor", "--json")
    value = json.loads(out)
    assert (code, err, value["problems"], value["warnings"]) == (1, "", 1, 0)
    (problem,) = [check for check in value["checks"] if check["level"] == "problem"]
    assert set(problem) == {"check", "level", "message", "remedy", "details"}
    assert problem["check"] == "headers"
    assert {check["level"] for check in value["checks"]} == {"ok", "note", "problem"}

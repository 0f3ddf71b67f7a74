"""A backup holds the whole memory, and appears only when it is whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from gitmem.errors import ExitCode
from gitmem.git.upkeep import bundle
from tests.as_root import root_needed, small_disk

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.cli.commands.project import Desk
    from tests.conftest import RunsGit


def test_a_backup_is_a_bundle_with_all_commits(desk: Desk, tmp_path: Path, bare_git: RunsGit):
    desk.run("save", "기억 🎉", "--type", "decision")
    done = desk.run("backup", str(tmp_path / "my backup.bundle"), "--json").json
    assert done["commit"] == bare_git(desk.store, "rev-parse", "HEAD")
    assert done["records"] == {"sessions": 0, "facts": 1, "episodes": 0, "patterns": 0, "knowledge": 0}
    assert done["bytes"] == (tmp_path / "my backup.bundle").stat().st_size
    bare_git(tmp_path, "clone", "-q", "-b", "gitmem", str(tmp_path / "my backup.bundle"), "cloned")
    assert "기억 🎉" in (tmp_path / "cloned" / "memory.md").read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir() if "tmp" in path.name or "gitmem-backup" in path.name] == []


def test_a_save_during_a_backup_does_not_fail_it(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    desk.run("save", "one")
    exactly, looks = bundle._exactly, []

    def saved_meanwhile(*arguments: Any) -> Any:
        looks.append(exactly(*arguments))
        if len(looks) == 1:
            desk.run("save", "two")
        return looks[-1]

    monkeypatch.setattr(bundle, "_exactly", saved_meanwhile)
    done = desk.run("backup", str(tmp_path / "b"), "--json").json
    assert done["commit"] in looks[1].values()
    monkeypatch.setattr(bundle, "_read_back", lambda *_: {})
    failed = desk.ran("backup", str(tmp_path / "c"))
    assert "does not hold what it should" in failed.err
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("c")] == []


def test_edits_by_hand_are_in_it(desk: Desk, tmp_path: Path, bare_git: RunsGit):
    (desk.store / "knowledge").mkdir(exist_ok=True)
    (desk.store / "knowledge" / "a.md").write_text("by hand\n")
    desk.run("backup", str(tmp_path / "b"))
    bare_git(tmp_path, "clone", "-q", "-b", "gitmem", str(tmp_path / "b"), "cloned")
    assert (tmp_path / "cloned" / "knowledge" / "a.md").read_text() == "by hand\n"


def test_a_file_that_exists_is_not_overwritten(desk: Desk, tmp_path: Path):
    (tmp_path / "b").write_text("mine")
    assert desk.ran("backup", str(tmp_path / "b")).code == ExitCode.USAGE
    assert (tmp_path / "b").read_text() == "mine"


def test_personal_settings_stand_beside_it(desk: Desk, tmp_path: Path):
    desk.run("config", "--user", "save.interval", "7")
    done = desk.run("backup", str(tmp_path / "b"), "--json").json
    assert "7" in (tmp_path / "b.settings.yaml").read_text()
    assert done["settings"] == str(tmp_path / "b.settings.yaml")


def test_a_place_that_cannot_be_written_is_named(desk: Desk, tmp_path: Path):
    (tmp_path / "file").write_text("")
    failed = desk.ran("backup", str(tmp_path / "file" / "b"))
    assert failed.code == ExitCode.NOT_SAVED
    assert "could not be written" in failed.err
    (tmp_path / "folder").mkdir()
    assert desk.ran("backup", str(tmp_path / "folder")).code == ExitCode.USAGE


def test_settings_that_stand_there_are_not_overwritten_and_nothing_is_left(desk: Desk, tmp_path: Path):
    desk.run("config", "--user", "save.interval", "7")
    (tmp_path / "b.settings.yaml").write_text("mine")
    assert desk.ran("backup", str(tmp_path / "b")).code == ExitCode.USAGE
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert desk.ran("backup", str(tmp_path / "link")).code == ExitCode.USAGE
    assert (tmp_path / "b.settings.yaml").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[:4] in {"b", "b.se", "link", "gitm"}) == [
        "b.settings.yaml",
        "link",
    ]


@root_needed
def test_a_full_disk_is_named_and_keeps_nothing_of_it(desk: Desk, tmp_path: Path):
    with small_disk(tmp_path / "작은 disk", "24k") as disk:
        failed = desk.ran("backup", str(disk / "b"))
        assert failed.code == ExitCode.NOT_SAVED
        assert "could not be written" in failed.err
        assert list(disk.iterdir()) == []


def test_a_backup_that_was_killed_does_not_stand_in_the_way_of_the_next(desk: Desk, tmp_path: Path):
    desk.run("config", "--user", "save.interval", "7")
    to = tmp_path / "to"
    to.mkdir()
    for call in range(1, 6):  # at the first, the bundle is being read back; the last has named it
        killed = subprocess.run(
            [sys.executable, "-c", _KILLED, str(to / "b"), str(call)], cwd=desk.project, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert any(".tmp-" in path.name for path in to.iterdir())
        assert not (to / "b.settings.yaml").exists()
    (to / "b").unlink()
    (to / f"b.tmp-{os.getpid()}.mine").write_text("of a process that runs")
    desk.run("backup", str(to / "b"))
    assert sorted(path.name for path in to.iterdir()) == ["b", "b.settings.yaml", f"b.tmp-{os.getpid()}.mine"]


_KILLED = """
import os, signal, sys
from gitmem.cli.main import run
from gitmem.git.upkeep import bundle
from gitmem.store.sync import backup
calls, last = 0, int(sys.argv.pop())
def counted(real):
    def call(*given, **named):
        global calls
        calls += "b.tmp-" in str(given)
        if calls == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)
    return call
bundle._read_back = counted(bundle._read_back)
backup._write_through = counted(backup._write_through)
os.replace = counted(os.replace)
calls = 0
sys.argv.insert(1, "backup")
run()
"""

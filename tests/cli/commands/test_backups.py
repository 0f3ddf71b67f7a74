"""A backup holds the whole memory, and appears only when it is whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from gitmem.errors import ExitCode
from gitmem.git import bundle
from tests.as_root import root_needed, small_disk


def test_a_save_during_a_backup_does_not_fail_it(world, tmp_path, monkeypatch):
    world.run("save", "one")
    exactly, looks = bundle._exactly, []

    def saved_meanwhile(*arguments: Any) -> Any:
        looks.append(exactly(*arguments))
        if len(looks) == 1:
            world.run("save", "two")
        return looks[-1]

    monkeypatch.setattr(bundle, "_exactly", saved_meanwhile)
    done = world.run("backup", str(tmp_path / "b"), "--json").json
    assert done["commit"] in looks[1].values()
    monkeypatch.setattr(bundle, "_read_back", lambda *_: {})
    failed = world.ran("backup", str(tmp_path / "c"))
    assert "does not contain what it should" in failed.err
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("c")] == []


@root_needed
def test_a_full_disk_is_named_and_keeps_nothing_of_it(world, tmp_path):
    with small_disk(tmp_path / "작은 disk", "24k") as disk:
        failed = world.ran("backup", str(disk / "b"))
        assert failed.code == ExitCode.NOT_SAVED
        assert "could not be written" in failed.err
        assert list(disk.iterdir()) == []


@pytest.mark.slow
def test_a_backup_that_was_killed_does_not_stand_in_the_way_of_the_next(world, tmp_path):
    world.run("config", "--user", "save.interval", "7")
    to = tmp_path / "to"
    to.mkdir()
    for call in range(1, 5):  # at the first, the bundle is being read back; the last has named it
        killed = subprocess.run(
            [sys.executable, "-c", _KILLED, str(to / "b"), str(call)], cwd=world.project, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert any(".tmp-" in path.name for path in to.iterdir())
        assert not (to / "b.settings.yaml").exists()
    (to / "b").unlink()
    (to / f"b.tmp-{os.getpid()}.mine").write_text("of a process that runs")
    world.run("backup", str(to / "b"))
    assert sorted(path.name for path in to.iterdir()) == ["b", "b.settings.yaml", f"b.tmp-{os.getpid()}.mine"]


_KILLED = """
import os, signal, sys
from gitmem.cli.main import run
from gitmem.git import bundle
from gitmem.sync import clone
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
clone.shutil.copyfile = counted(clone.shutil.copyfile)
os.replace = counted(os.replace)
calls = 0
sys.argv.insert(1, "backup")
run()
"""


def test_a_backup_is_trusted_no_more_than_a_remote(first, tmp_path, run_in, bare_git):
    for number in range(9):
        run_in(first, "save", f"The loader reads part {number} of the settings first", "--type", "decision")
    run_in(first, "backup", str(tmp_path / "b"))
    (tmp_path / "evil").mkdir()
    run_in(tmp_path / "evil", "restore", str(tmp_path / "b"))
    store = tmp_path / "evil" / ".gitmem"
    (store / "config.yaml").write_text("summary:\n  provider: openai\n  base_url: http://127.0.0.1:9\n")
    bare_git(store, "rm", "-rq", "facts", "daily")
    bare_git(store, "commit", "-qam", "evil")
    bare_git(store, "bundle", "create", "-q", str(tmp_path / "evil.bundle"), "gitmem")
    refused = run_in(first, "restore", str(tmp_path / "evil.bundle"), ok=False)
    assert f"{tmp_path / 'evil.bundle'} has commits that would remove much of this memory" in refused.err
    assert "'gitmem restore FILE --accept deletions'" in refused.err
    assert (first / ".gitmem" / "facts").is_dir()
    run_in(first, "restore", str(tmp_path / "evil.bundle"), "--accept", "deletions")
    status = run_in(first, "status", "--json").json
    assert [finding["check"] for finding in status["attention"]] == ["trust", "changes"]
    assert status["models"] is None
    (store / "facts").mkdir()
    (store / "facts" / "a.md").symlink_to("/etc/passwd")
    bare_git(store, "add", "-A")
    bare_git(store, "commit", "-qm", "link")
    bare_git(store, "bundle", "create", "-q", str(tmp_path / "link.bundle"), "gitmem")
    assert "which is a link" in run_in(first, "restore", str(tmp_path / "link.bundle"), ok=False).err


@pytest.mark.parametrize("damage", ["cut off", "no pack", "one bit", "more"])
def test_a_damaged_file_is_refused_before_anything_is_said(first, tmp_path, run_in, *, damage):
    file = tmp_path / "b"
    run_in(first, "backup", str(file))
    data = file.read_bytes()
    changed = {
        "cut off": data[:-40],
        "no pack": data[: data.index(b"PACK")],
        "one bit": data[:-60] + bytes([data[-60] ^ 1]) + data[-59:],
        "more": data + b"\0",
    }
    file.write_bytes(changed[damage])
    (tmp_path / "new").mkdir()
    for folder, command in ((first, "restore"), (tmp_path / "new", "restore"), (tmp_path / "new", "clone")):
        failed = run_in(folder, command, str(file), ok=False)
        assert (failed.code, failed.out) == (ExitCode.FAILURE, "")
        assert "is cut off or damaged" in failed.err
    assert not (tmp_path / "new" / ".gitmem").exists()

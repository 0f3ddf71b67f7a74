"""Full disks and files that belong to others lose nothing."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.errors import NotSavedError
from tests.as_root import as_nobody, fill, give, root_needed, small_disk
from tests.boxes import Box


@root_needed
@pytest.mark.parametrize("room", [0, 2, 20])
def test_a_full_disk_loses_nothing(box, tmp_path, boxes, room):
    with small_disk(tmp_path / "disk") as disk:
        shutil.copytree(box.root, disk / "store")
        full = boxes(disk / "store")
        full.put({"memory.md": b"one\n"})
        tip = full.tip()
        filler = fill(disk, room)
        with pytest.raises(NotSavedError) as caught:
            full.put({"memory.md": os.urandom(60_000)})
        assert "no space left on device" in caught.value.message.lower()
        assert "Make room" in caught.value.remedy
        assert full.tip() == tip
        assert (disk / "store" / "memory.md").read_bytes() == b"one\n"
        filler.unlink()
        full.sound()
        full.append("memory.md", b"two\n", scan=True)
        assert full.files()["memory.md"] == b"one\ntwo\n"
        full.sound()


@pytest.fixture
def nobodys(folder_for_all, context, bare_git) -> Callable[[Path], Box]:
    """Give a function that opens the store of another user, who has a home of their own and accepted the store."""

    def open_it(root: Path) -> Box:
        home = folder_for_all / "home"
        home.mkdir()
        box = Box(root, context._replace(home=str(home)), bare_git)
        give(home)
        give(root)
        return box

    return open_it


@root_needed
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("closed", ["", ".git", ".git/objects/pack", ".git/refs/heads", ".git/gitmem", ".tmp", "daily"])
@pytest.mark.few(3)
def test_a_folder_that_is_not_ours_to_write(box, boxes, nobodys, folder_for_all, closed):
    box.put({"daily/day.md": b"one\n"})
    root = shutil.copytree(box.root, folder_for_all / "store")
    (root / ".tmp").mkdir(exist_ok=True)
    theirs = nobodys(root)
    target = root / closed
    target.chmod(0o555)
    if closed == ".git/gitmem":
        for path in target.iterdir():
            path.chmod(0o444)
    result = as_nobody(lambda: repr(theirs.put({"daily/day.md": b"two\n"}).notices))
    target.chmod(0o755)
    for path in (root / ".git" / "gitmem").iterdir():
        path.chmod(0o644)
    give(root, 0)
    after = boxes(root)
    if result.startswith("NotSavedError"):
        assert "ermission denied" in result
        assert after.tree()["daily/day.md"] == b"one\n"
    elif closed:  # the files could not follow: said, and made up for
        assert closed == "daily"
        assert "The save is committed" in result
    after.settle()
    after.sound()


@root_needed
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_files_that_cannot_be_read_keep_nothing_else_from_being_saved(box, boxes, nobodys, folder_for_all):
    box.put({"mine.md": b"one\n", "other.md": b"o\n"})
    root = shutil.copytree(box.root, folder_for_all / "store")
    (root / "mine.md").write_bytes(b"edited\n")
    (root / "new.md").write_bytes(b"new\n")
    theirs = nobodys(root)
    for name in ("mine.md", "new.md"):
        (root / name).chmod(0)
    result = as_nobody(lambda: repr(theirs.append("other.md", b"saved\n", scan=True).notices))
    assert result == repr(
        tuple(f"Not kept: {name} cannot be read: Permission denied." for name in ("mine.md", "new.md"))
    )
    result = as_nobody(lambda: repr(theirs.append("mine.md", b"saved\n").notices))
    assert result.startswith("NotSavedError: Nothing was saved to ")
    assert "mine.md" in result
    give(root, 0)
    after = boxes(root)
    assert after.tree()["other.md"] == b"o\nsaved\n"
    for name in ("mine.md", "new.md"):
        (root / name).chmod(0o644)
    after.settle()
    assert after.tree()["mine.md"] == b"edited\n"
    after.sound()

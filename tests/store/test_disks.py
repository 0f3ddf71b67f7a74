"""Full disks and files that belong to others lose nothing."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.as_root import as_nobody, give, root_needed
from tests.boxes import Box


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

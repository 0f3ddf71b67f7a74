"""Opening files beneath a folder while somebody puts links in the place of folders.

Each attack is tried at every call to the system that is made on the way: the calls are counted, and just before one of
them the folder is swapped for a link to one outside that holds files of the same names.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.document.ids import TEMPORARY
from gitmem.errors import RefusedError
from gitmem.git.process import Git
from gitmem.git.worktree import WorkTree
from gitmem.platform.safe_open import HANDLES, enter, read_regular, read_text, replace_file
from gitmem.search.files import list_files, read_file

pytestmark = pytest.mark.skipif(not HANDLES, reason="the system opens nothing relative to a folder")

SECRET = b"outside\n"
CALLS = ("open", "stat", "lstat", "scandir", "listdir", "mkdir", "replace", "unlink", "rmdir", "link")


class Swap:
    """Swaps a folder for a link just before the call of this number; `happened` says whether there were so many."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, outside: Path, at: int) -> None:
        self.happened, self._left = False, at
        for name in CALLS:
            patch.setattr(os, name, self._wrap(getattr(os, name), folder, outside))

    def _wrap(self, call: Callable[..., object], folder: Path, outside: Path) -> Callable[..., object]:
        def counted(*args: object, **options: object) -> object:
            self._left -= 1
            if self._left == 0:
                self.happened = True
                os.rename(folder, f"{folder}-was")
                os.symlink(outside, folder)
            return call(*args, **options)

        return counted


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    for place in (folder, folder / "below"):
        place.mkdir()
        (place / "note.md").write_bytes(SECRET)
        (place / "secret.md").write_bytes(SECRET)
    return folder


@pytest.fixture
def make(tmp_path, environ):
    """Give a function that makes a work tree with `notes/below/note.md`, each time a new one."""
    made = []

    def new() -> WorkTree:
        root = tmp_path / f"tree-{len(made)}"
        made.append(root)
        (root / "notes" / "below").mkdir(parents=True)
        (root / "notes" / "below" / "note.md").write_bytes(b"inside\n")
        (root / "notes" / "note.md").write_bytes(b"inside\n")
        return WorkTree(str(root), Git(str(root / ".git"), str(root), environ), TEMPORARY)

    return new


def read(tree: WorkTree) -> object:
    return tree.read("notes/below/note.md")


def write(tree: WorkTree) -> object:
    tree.read("notes/below/note.md")
    return tree.publish([tree.stage("notes/below/note.md", b"written"), tree.stage("notes/below/new/new.md", b"new")])


def write_unseen(tree: WorkTree) -> object:
    return tree.publish([tree.stage("notes/below/note.md", b"written")])


def remove(tree: WorkTree) -> object:
    return tree.publish([tree.stage("notes/below/note.md", None)])


def names(tree: WorkTree) -> object:
    return tree.names("notes/below")


def ask(tree: WorkTree) -> object:
    return tree.is_folder("notes/below")


def search(tree: WorkTree) -> object:
    return [(file.path, read_file(tree.root, file.path)) for file in list_files(tree.root)]


@pytest.mark.parametrize("act", [read, write, write_unseen, remove, names, ask, search])
@pytest.mark.parametrize("swapped", ["notes", "notes/below"])
def test_a_link_that_is_put_in_the_place_of_a_folder_at_any_call_is_not_followed(make, outside, act, swapped):
    target = outside if swapped == "notes" else outside / "below"
    before = {path: path.read_bytes() for path in outside.rglob("*.md")}
    number = 0
    while True:
        number += 1
        tree = make()
        with pytest.MonkeyPatch.context() as patch:
            swap = Swap(patch, tree_path(tree, swapped), target, number)
            said = None
            with contextlib.suppress(RefusedError, OSError):
                said = act(tree)
        assert "secret.md" not in str(said)
        assert SECRET.decode().strip() not in str(said), f"read at call {number}"
        assert {path: path.read_bytes() for path in outside.rglob("*.md")} == before, f"written at call {number}"
        if not swap.happened:
            break
    assert number > 3


def tree_path(tree: WorkTree, below: str) -> Path:
    return Path(tree.root, below)


def test_a_temporary_folder_that_becomes_a_link_gets_nothing(make, outside):
    number = 0
    before = sorted(outside.rglob("*"))
    while True:
        number += 1
        tree = make()
        tree.publish([tree.stage("a.md", b"a")])
        with pytest.MonkeyPatch.context() as patch:
            swap = Swap(patch, tree_path(tree, TEMPORARY), outside, number)
            with contextlib.suppress(RefusedError, OSError):
                tree.publish([tree.stage("a.md", b"b")])
                tree.clean_temporary()
        assert sorted(outside.rglob("*")) == before, f"at call {number}"
        if not swap.happened:
            break


def test_a_link_at_the_root_is_not_entered(tmp_path, outside):
    (tmp_path / "root").symlink_to(outside)
    with pytest.raises((OSError, RefusedError)):
        enter(str(tmp_path / "root"), [])


def test_a_pipe_in_the_place_of_a_folder_or_a_file_keeps_nobody_waiting(make, tmp_path):
    tree = make()
    os.mkfifo(tree_path(tree, "notes/pipe"))
    assert tree.read("notes/pipe/x.md") is None
    with pytest.raises(RefusedError):
        tree.read("notes/pipe")
    assert read_regular(str(tree_path(tree, "notes/pipe")), 10) is None
    assert read_regular("/dev/zero", 10) is None
    assert read_regular(str(tmp_path / "nothing"), 10) is None


def test_a_text_that_cannot_be_read_is_empty(tmp_path):
    (tmp_path / "text").write_bytes(b"a\xff\n")
    assert read_text(str(tmp_path / "text")) == "a\udcff\n"
    assert read_text(str(tmp_path)) == read_text(str(tmp_path / "missing")) == ""


def test_folders_that_a_file_needs_are_the_users_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        replace_file(str(tmp_path / "share" / "gitmem" / "stores" / "accepted"), b"yes")
    finally:
        os.umask(before)
    made = [folder for folder in (tmp_path / "share").rglob("*") if folder.is_dir()]
    assert {folder.stat().st_mode & 0o777 for folder in (tmp_path / "share", *made)} == {0o700}

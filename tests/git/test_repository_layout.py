"""Where a repository, and a linked work tree, is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitmem.git.repository import Layout, common_dir_of, find_layout

if TYPE_CHECKING:
    from tests.conftest import RunsGit


@pytest.fixture
def folder(tmp_path: Path, bare_git: RunsGit) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    bare_git(folder, "init", "-q", "-b", "gitmem")
    bare_git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_the_layout_of_a_repository_of_its_own(folder):
    git_dir = str(folder / ".git")
    assert find_layout(str(folder)) == Layout(str(folder), git_dir, git_dir)


@pytest.mark.parametrize("name", ["linked", "with a blank ", "gelinkt\u00e9", "line\nbreak"])
def test_the_layout_of_a_linked_work_tree(folder, bare_git, tmp_path, name):
    linked = tmp_path / name
    bare_git(folder, "worktree", "add", "-q", "--detach", str(linked))
    layout = find_layout(str(linked))
    assert layout.work_tree == str(linked)
    assert layout.common_dir == str(folder / ".git")
    assert Path(layout.git_dir).parent == folder / ".git" / "worktrees"


def test_the_layout_where_the_git_folder_is_elsewhere(tmp_path, bare_git):
    work = tmp_path / "work"
    bare_git(tmp_path, "init", "-q", "--separate-git-dir", "the git folder", "work")
    git_dir = str(tmp_path / "the git folder")
    assert find_layout(str(work)) == Layout(str(work), git_dir, git_dir)


def test_the_layout_of_a_linked_work_tree_with_relative_paths(folder, bare_git, tmp_path):
    linked = tmp_path / "linked"
    bare_git(folder, "worktree", "add", "-q", "--detach", str(linked))
    (linked / ".git").write_text("gitdir: ../store/.git/worktrees/linked\n")
    assert find_layout(str(linked)).common_dir == str(folder / ".git")


@pytest.mark.parametrize(
    "dot_git", [None, b"", b"gitdir:", b"gitdir: /nowhere/at/all\n", b"\xff\xfe", b"something else\n", "folder"]
)
def test_what_is_no_repository_has_no_layout(tmp_path, dot_git):
    if dot_git == "folder":
        (tmp_path / ".git").mkdir()
    elif dot_git is not None:
        (tmp_path / ".git").write_bytes(dot_git)
    assert find_layout(str(tmp_path)) is None
    assert find_layout(str(tmp_path / "missing")) is None


def test_a_linked_work_tree_that_was_never_filled_has_no_layout(folder, bare_git, tmp_path):
    bare_git(folder, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    lock = folder / ".git" / "worktrees" / "linked" / "locked"
    lock.write_text("initializing\n")
    assert find_layout(str(tmp_path / "linked")) is not None, "it was filled, and the lock was left"
    (lock.parent / "index").unlink()
    assert find_layout(str(tmp_path / "linked")) is None
    lock.write_text("on a stick\n")  # a lock of the user's own is something else
    assert find_layout(str(tmp_path / "linked")) is not None


def test_the_common_folder_of_a_git_folder(tmp_path):
    assert common_dir_of(str(tmp_path)) == str(tmp_path)
    (tmp_path / "worktrees" / "x").mkdir(parents=True)
    (tmp_path / "worktrees" / "x" / "commondir").write_text("../..\n")
    assert common_dir_of(str(tmp_path / "worktrees" / "x")) == str(tmp_path)

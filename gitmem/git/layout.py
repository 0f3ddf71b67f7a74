"""Where a repository and its work tree are, without starting git."""

from __future__ import annotations

import os

from gitmem.platform.safe_open import read_text
from gitmem.values import Value


class Layout(Value):
    """Where a repository with a work tree is, as absolute paths.

    `git_dir` holds `HEAD` and the index of this work tree, `common_dir` objects and branches; they differ in a linked
    work tree only.
    """

    work_tree: str
    git_dir: str
    common_dir: str


def find_layout(work_tree: str) -> Layout | None:
    """Return the layout of the repository whose work tree's top is `work_tree`, None where there is none.

    Reads `.git`, and for a linked work tree `commondir`, as gitrepository-layout describes them; starts no git. A
    linked work tree that `git worktree add` did not live to finish is none yet.
    """
    dot_git = os.path.join(work_tree, ".git")
    git_dir = dot_git if os.path.isdir(dot_git) else linked_git_dir(work_tree)
    if git_dir is None or not os.path.isfile(os.path.join(git_dir, "HEAD")) or being_added(git_dir):
        return None
    return Layout(work_tree, git_dir, common_dir_of(git_dir))


def linked_git_dir(work_tree: str) -> str | None:
    """Return the git dir that the file `.git` of a linked work tree or a submodule names, None where it names none."""
    text = read_text(os.path.join(work_tree, ".git"))
    if not text.startswith("gitdir: "):
        return None
    return os.path.normpath(os.path.join(work_tree, text[8:].rstrip("\r\n")))


def being_added(git_dir: str) -> bool:
    """Return whether `git worktree add` has begun this linked work tree and not finished it.

    It locks the work tree meanwhile, and its `HEAD` is all zeros before it is on a branch. A lock that was left on a
    work tree with an index is none of these: its files came later.
    """
    head = read_text(os.path.join(git_dir, "HEAD")).strip()
    if read_text(os.path.join(git_dir, "locked")).strip() == "initializing":
        return not head.strip("0") or not os.path.exists(os.path.join(git_dir, "index"))
    return bool(head) and not head.strip("0")


def common_dir_of(git_dir: str) -> str:
    """Return the common folder of a git dir: the one in its `commondir`, else itself."""
    named = read_text(os.path.join(git_dir, "commondir")).rstrip("\r\n")
    return os.path.normpath(os.path.join(git_dir, named)) if named else git_dir


MEMORY_BRANCH = "gitmem"
STORE_FOLDER = ".gitmem"  # of a project, with the memory's work tree

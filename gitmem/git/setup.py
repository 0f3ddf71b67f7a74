"""Making repositories and linked work trees for stores."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from gitmem.errors import GitmemError
from gitmem.git.process import Git, git_version, git_without_repository
from gitmem.git.repository import MEMORY_BRANCH, read_text

BRANCH = MEMORY_BRANCH
ROOT_MESSAGE = "Begin a memory\n\nGitmem-Op: init\n"
# The same first commit on every machine: all stores share history from the beginning (docs/format.md, "Commits").
_ROOT_IDENTITY = {
    "GIT_AUTHOR_NAME": "gitmem",
    "GIT_AUTHOR_EMAIL": "gitmem@localhost",
    "GIT_AUTHOR_DATE": "@0 +0000",
    "GIT_COMMITTER_NAME": "gitmem",
    "GIT_COMMITTER_EMAIL": "gitmem@localhost",
    "GIT_COMMITTER_DATE": "@0 +0000",
}
# For the user's own git commands in the store: no surprise jobs, readable names.
_SETTINGS = {"gc.auto": "0", "maintenance.auto": "false", "core.quotePath": "false"}


def make_repository(path: str, environ: Mapping[str, str]) -> None:
    """Make a repository with a work tree at `path` whose branch holds the root commit: whole, or not at all.

    Raises:
        OSError: the folder cannot be made.
        GitmemError: git is missing, too old, or failed.

    """
    git_version(environ)
    building = os.path.join(path, ".git.new")
    shutil.rmtree(building, ignore_errors=True)  # of one that was cut off
    os.makedirs(building)
    git_without_repository(environ).run("init", "--quiet", "--template=", f"--initial-branch={BRANCH}", "--", building)
    git = Git(os.path.join(building, ".git"), building, environ)
    for key, value in _SETTINGS.items():
        git.run("config", key, value)
    seed_branch(git)
    os.rename(os.path.join(building, ".git"), os.path.join(path, ".git"))
    os.rmdir(building)


def seed_branch(git: Git, ref: str = f"refs/heads/{BRANCH}") -> None:
    """Point a branch, by default the memory branch, to the root commit, unless it exists."""
    if not git.run("for-each-ref", "--format=%(objectname)", ref).strip():
        git.run("update-ref", "-m", "gitmem init", ref, make_root(git), "")


def make_root(git: Git) -> str:
    """Write the root commit and return its id."""
    tree = git.run("hash-object", "-t", "tree", "-w", "--stdin", stdin=b"").decode().strip()
    commit = git.run("commit-tree", tree, stdin=ROOT_MESSAGE.encode(), env=_ROOT_IDENTITY)
    return commit.decode().strip()


def add_linked_work_tree(common_dir: str, path: str, environ: Mapping[str, str]) -> None:
    """Add a linked work tree at `path`, on the memory branch of the repository at `common_dir`.

    A branch `origin/gitmem` that another machine pushed is begun from.

    Raises:
        GitmemError: the repository has a branch of this name that is no memory.

    """
    git_version(environ)
    git = Git(common_dir, None, environ)
    root = make_root(git)
    ref, remote = f"refs/heads/{BRANCH}", f"refs/remotes/origin/{BRANCH}"
    refs = git.run("for-each-ref", "--format=%(refname)", ref, remote).decode().split()
    for name in refs:
        if root not in git.run("rev-list", "--max-parents=0", name).decode().split():
            raise GitmemError(
                f"The project has a branch {name} already, and it is no memory of gitmem's.",
                "Rename that branch, or use 'gitmem init' for a repository of its own.",
            )
    if ref not in refs:
        git.run("update-ref", "-m", "gitmem init", ref, remote if remote in refs else root, "")
    git.run("worktree", "add", "--quiet", "--", path, BRANCH)


def exclude(common_dir: str, pattern: str) -> None:
    """Have a repository ignore `pattern`, by one line in its `info/exclude`, which is not part of the project."""
    path = os.path.join(common_dir, "info", "exclude")
    text = read_text(path)
    if pattern in text.splitlines():
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(("" if not text or text.endswith("\n") else "\n") + pattern + "\n")

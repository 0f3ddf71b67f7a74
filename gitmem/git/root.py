"""The first commit of every store, which is the same on every machine (docs/format.md, "Commits")."""

from __future__ import annotations

from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.process import Git

ROOT_MESSAGE = "Begin a memory\n\nGitmem-Op: init\n"
# All stores share history from the beginning.
_ROOT_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "gitmem"), ("EMAIL", "gitmem@localhost"), ("DATE", "@0 +0000"))
}


def seed_branch(git: Git, ref: str = f"refs/heads/{MEMORY_BRANCH}") -> None:
    """Point a branch, by default the memory branch, to the root commit, unless it exists."""
    if not git.run("for-each-ref", "--format=%(objectname)", ref).strip():
        git.run("update-ref", "-m", "gitmem init", ref, make_root(git), "")


def make_root(git: Git) -> str:
    """Write the root commit and return its id."""
    tree = git.run("hash-object", "-t", "tree", "-w", "--stdin", stdin=b"").decode().strip()
    commit = git.run("commit-tree", tree, stdin=ROOT_MESSAGE.encode(), env=_ROOT_IDENTITY)
    return commit.decode().strip()

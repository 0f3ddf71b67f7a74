"""The git work tree that a folder is in."""

from __future__ import annotations

import os

from gitmem.git.layout import linked_git_dir


def work_tree_of(folder: str) -> tuple[str, str]:
    """Return the top of the work tree that a folder is in and its git dir, or "" and ""."""
    folder = os.path.realpath(folder)
    while True:
        dot_git = os.path.join(folder, ".git")
        git_dir = dot_git if os.path.isdir(dot_git) else linked_git_dir(folder)
        if git_dir:
            return folder, git_dir
        parent = os.path.dirname(folder)
        if parent == folder:
            return "", ""
        folder = parent

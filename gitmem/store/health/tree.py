"""List the files of a store's folder by one walk: for counts and sizes, without git.

Tested through `tests/store/health/test_attributes.py`.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_GIT = ".git"


def files_below(root: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the files of a work tree with their paths, and follow no link.

    `.git` and other repositories below it are left out.
    """
    yield from _below(root, "", repositories=False)


def bytes_below(folder: str) -> int:
    """Return how many bytes the files below a folder take, repositories included."""
    total = 0
    for _, entry in _below(folder, "", repositories=True):
        with contextlib.suppress(OSError):  # it was removed meanwhile
            total += entry.stat(follow_symlinks=False).st_size
    return total


def _below(folder: str, before: str, *, repositories: bool) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        with os.scandir(folder) as scan:
            entries = list(scan)
    except OSError:
        return
    if before and not repositories and any(entry.name == _GIT for entry in entries):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if repositories or entry.name != _GIT:
                yield from _below(entry.path, f"{before}{entry.name}/", repositories=repositories)
        else:
            yield f"{before}{entry.name}", entry

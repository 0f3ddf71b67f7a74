"""The files of the branch's tip, for doors that read while the user has something else checked out in the store.

During a bisect, a rebase, a merge or on a detached HEAD the work tree does not contain the memory. gitmem then writes
the tip's files into the private folder once, and every door reads them there.
"""

from __future__ import annotations

import contextlib
import os

from gitmem.errors import GitmemError, UnfinishedError
from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.repository import Repository
from gitmem.platform.safe_open import enter, split

FOLDER = "tip"  # in the private folder
_REGULAR = ("100644", "100755")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def readable_root(repository: Repository, root: str, private: str) -> str:
    """Return the folder whose files are the memory: the work tree, or a copy of the branch's tip."""
    try:
        repository.branch()
    except UnfinishedError:
        with contextlib.suppress(OSError, GitmemError):
            return _copy_of_tip(repository, private) or root
    except GitmemError:
        pass  # a damaged branch: code that needs it reports that
    return root


def _copy_of_tip(repository: Repository, private: str) -> str:
    """Return the folder with the files of the tip, made if it is missing; "" without a branch to read."""
    head = repository.head()
    tip = repository.tip(f"refs/heads/{MEMORY_BRANCH}") or (repository.tip(head) if head else None)
    if tip is None:
        return ""
    above = os.path.join(private, FOLDER)
    copy = os.path.join(above, tip)
    if os.path.isdir(copy):
        return copy
    drop_copies(private)
    os.makedirs(above, exist_ok=True)
    from tempfile import mkdtemp

    from gitmem.store.entrance import unusable_name

    temporary = mkdtemp(dir=above)
    files = [entry for entry in repository.files(tip) if entry.mode in _REGULAR and unusable_name(entry.path) is None]
    with repository.reading():
        for entry, content in zip(files, repository.blobs([entry.oid for entry in files]), strict=True):
            *folders, name = split(entry.path)
            with enter(temporary, folders, make=True) as folder, open(folder.open(name, _NEW), "wb") as file:
                file.write(content)
    with contextlib.suppress(OSError):  # another process was quicker
        os.rename(temporary, copy)
    return copy


def drop_copies(private: str) -> None:
    """Remove the copies of tips, which no door reads once the branch is checked out."""
    if os.path.isdir(folder := os.path.join(private, FOLDER)):
        from shutil import rmtree

        rmtree(folder, ignore_errors=True)

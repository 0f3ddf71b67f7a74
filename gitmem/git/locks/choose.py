"""The store's lock: a lock of the operating system's where that can be trusted, a git ref elsewhere (spec G4, R11).

A lock saves wasted work; what makes a commit correct is that the branch moves by compare-and-swap. Either lock can be
lost by a holder that gives no sign of life for `STALE_SECONDS`, so it asks `held()` before it writes the work tree.
"""

from __future__ import annotations

import os
from enum import Enum

from gitmem.git.locks.base import STALE_SECONDS, Clock, Lock
from gitmem.git.locks.file import FileLock, file_locks_serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitmem.git.process.run import Git

__all__ = ["STALE_SECONDS", "Clock", "Lock", "LockKind", "open_lock"]


class LockKind(Enum):
    """Which lock a store uses (`lock.kind` in config.yaml)."""

    AUTO = "auto"
    FILE = "file"
    REF = "ref"


def choose_kind(kind: LockKind, folder: str) -> LockKind:
    """Return which of the two locks is used in a private folder; for `AUTO` it is tried out."""
    if kind is LockKind.AUTO:
        return LockKind.FILE if file_locks_serve(folder) else LockKind.REF
    return kind


def open_lock(
    git: Git,
    folder: str | os.PathLike[str],
    *,
    purpose: str,
    machine: str,
    kind: LockKind = LockKind.AUTO,
    clock: Clock | None = None,
) -> Lock:
    """Return the lock of the store whose private folder is `folder`, not acquired yet.

    `purpose` and `machine` (the host's name) are what others read when they have to wait.
    """
    place, time_source = os.fspath(folder), clock or Clock()
    if choose_kind(kind, place) is LockKind.REF:
        from gitmem.git.locks.ref import RefLock

        return RefLock(git, place, purpose=purpose, machine=machine, clock=time_source)
    return FileLock(place, purpose=purpose, machine=machine, clock=time_source)

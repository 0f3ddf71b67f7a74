"""Choose the store's lock: a file lock of the system where it is reliable, else a git ref (docs/spec.md, G4, R11).

The lock only saves wasted work; commits are correct because the branch moves by compare-and-swap. A holder without a
heartbeat for `STALE_SECONDS` loses either lock, so it checks `held()` before it writes the work tree.
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
    """Return the kind of lock for a private folder; `AUTO` tests its file system."""
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

    `purpose` and `machine` (the host's name) are shown to those who wait.
    """
    place, time_source = os.fspath(folder), clock or Clock()
    if choose_kind(kind, place) is LockKind.REF:
        from gitmem.git.locks.ref import RefLock

        return RefLock(git, place, purpose=purpose, machine=machine, clock=time_source)
    return FileLock(place, purpose=purpose, machine=machine, clock=time_source)

"""Choose the store's lock, a file lock where it is reliable, else a git ref (docs/spec.md, G4, R11); renew it.

The lock only saves wasted work: commits are correct because the branch moves by compare-and-swap. A holder without a
heartbeat for `STALE_SECONDS` loses the lock, so it checks `held()` before it writes the work tree.
"""

from __future__ import annotations

import contextlib
import os
from enum import Enum

from gitmem.errors import GitmemError
from gitmem.git.file_lock import FileLock, file_locks_serve
from gitmem.git.lock import STALE_SECONDS, Clock, Lock

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from gitmem.git.process import Git


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
        from gitmem.git.ref_lock import RefLock

        return RefLock(git, place, purpose=purpose, machine=machine, clock=time_source)
    return FileLock(place, purpose=purpose, machine=machine, clock=time_source)


_BEAT_SECONDS = 15.0  # well under `STALE_SECONDS`


@contextlib.contextmanager
def beating(lock: Lock) -> Iterator[None]:
    """Renew a lock in the background while the block runs."""
    import threading  # takes a save 3 ms, and few locks beat

    done = threading.Event()
    heart = threading.Thread(target=_beat, args=(lock, done), daemon=True)
    heart.start()
    try:
        yield
    finally:
        done.set()
        heart.join()


def _beat(lock: Lock, done: threading.Event) -> None:
    while not done.wait(_BEAT_SECONDS):
        with contextlib.suppress(OSError, GitmemError):  # the next one may succeed
            lock.heartbeat()

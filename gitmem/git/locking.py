"""Choose the kind of a lock, open it, and keep it alive while it is held."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from enum import Enum

from gitmem.errors import BusyError, GitmemError
from gitmem.git.lock import Clock, FileLock, Lock, file_locks_serve
from gitmem.git.process import Git
from gitmem.git.ref_lock import RefLock

_WRITING_SECONDS = 10.0  # which another gitmem has for the settings that it writes
_BEAT_SECONDS = 15.0  # well under `STALE_SECONDS`


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


@contextlib.contextmanager
def writing_alone(folder: str, what: str) -> Iterator[None]:
    """Let one gitmem at a time write the files of a folder.

    Where no lock can be made, as in a read-only home, it goes without. Raises BusyError if another gitmem is writing
    them.
    """
    lock = FileLock(folder, purpose="settings", machine="this machine", clock=Clock())
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        lock.acquire(_WRITING_SECONDS)
    except BusyError:
        raise BusyError(f"Another gitmem is writing {what}.", "Try again when it is done.") from None
    except OSError:  # what cannot be written is shown where it is written
        pass
    try:
        yield
    finally:
        lock.remove()


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
        return RefLock(git, place, purpose=purpose, machine=machine, clock=time_source)
    return FileLock(place, purpose=purpose, machine=machine, clock=time_source)


@contextlib.contextmanager
def beating(lock: Lock) -> Iterator[None]:
    """Renew a lock in the background while the block runs."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(_BEAT_SECONDS):
            with contextlib.suppress(OSError, GitmemError):  # the next one may succeed
                lock.heartbeat()

    heart = threading.Thread(target=beat, daemon=True)
    heart.start()
    try:
        yield
    finally:
        done.set()
        heart.join()

"""Choose the kind of a lock, open it and keep it alive: a git ref where the file system's locks are unreliable."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from enum import Enum

from gitmem.errors import BusyError, GitFailedError, GitmemError
from gitmem.git.layout import common_dir_of
from gitmem.git.left_behind import LEFT_BEHIND_SECONDS, clear_left_behind
from gitmem.git.lock import RECORD_LIMIT, STALE_SECONDS, Clock, FileLock, Holder, Lock, alive, file_locks_serve
from gitmem.git.process import Git

LOCK_REF = "refs/gitmem/lock"


class RefLock(Lock):
    """A lock that is a git ref; `folder` is on the repository's file system."""

    _PAUSE = 0.010  # each attempt is a process

    def __init__(self, git: Git, folder: str, *, purpose: str, machine: str, clock: Clock) -> None:
        super().__init__(folder, purpose=purpose, machine=machine, clock=clock)
        self._git = git
        self._common = common_dir_of(git.git_dir or "")
        self._blob = ""  # names this process as the holder
        self._free = ""  # says "free"
        self._holding = False

    def acquire(self, timeout: float) -> Lock:
        self._blob = ""
        return super().acquire(timeout)

    def _attempt(self) -> bool:
        old, text = self._look()
        if self._takes(old, text):
            self._blob = self._blob or self._write(self._record())
            self._holding = self._move(self._blob, old)
            self._free = old if text.startswith(b"free") else ""
        lock_file = os.path.join(self._common, LOCK_REF + ".lock")  # perhaps of a killed git
        if not self._holding and os.path.exists(lock_file) and self._age(LOCK_REF + ".lock") >= LEFT_BEHIND_SECONDS:
            clear_left_behind(lock_file)  # only after the failed attempt: a shared file system shows changes late
        return self._holding

    def release(self) -> None:
        """See `Lock.release`. If git fails, the lock is stale once this process has ended."""
        if self._holding:
            self._holding = False
            with contextlib.suppress(GitmemError):
                if not (self._free and self._move(self._free, self._blob)):  # git may have pruned or damaged the blob
                    self._move(self._write(f"free {self._token}\n".encode()), self._blob)

    def heartbeat(self) -> None:
        if self._holding:
            blob = self._write(self._record())
            if self._move(blob, self._blob):
                self._blob = blob

    def held(self) -> bool:
        return self._holding and self._tip() == self._blob

    def _takes(self, old: str, text: bytes) -> bool:
        """Return whether the lock may be taken from the state `old`, whose blob is `text`."""
        if not old or text.startswith(b"free"):
            return True
        holder = Holder.from_bytes(text)
        if holder and holder.token == self._token:
            return True  # we moved it, then git was stopped or failed
        if holder and holder.place and holder.place == self._place:
            return self._silent(text, holder.beat) or not alive(holder)
        # Another machine's, or nobody's: use the shared file system's clock, or our own observation.
        return self._silent(text, None) or self._age(LOCK_REF, "packed-refs") >= STALE_SECONDS

    def _look(self) -> tuple[str, bytes]:
        """Return the ref's value ("": missing) and the blob's content (empty if unreadable)."""
        answer = self._git.run("cat-file", "--batch", stdin=LOCK_REF.encode() + b"\n")
        header, _, text = answer.partition(b"\n")
        oid, *fields = header.decode().split()
        return (oid, text[: min(int(fields[1]), RECORD_LIMIT)]) if len(fields) > 1 else (self._tip(), b"")

    def _tip(self) -> str:
        return self._git.run("rev-parse", "--verify", "--quiet", LOCK_REF, ok=(0, 1, 128)).decode().strip()

    def _write(self, text: bytes) -> str:
        return self._git.run("hash-object", "-w", "--stdin", stdin=text).decode().strip()

    def _move(self, new: str, old: str) -> bool:
        try:
            self._git.run("update-ref", LOCK_REF, new, old or "0" * len(new), past_locks=False)
        except GitFailedError as error:
            if any(reason in error.stderr for reason in ("Permission denied", "Read-only file system", "No space")):
                raise
            return False
        return True

    def _age(self, *names: str) -> float:
        """Return the seconds since the last change of these files, by their file system's clock; 0 if none exists."""
        from tempfile import TemporaryFile  # 6 ms

        stamps = []
        for name in names:
            with contextlib.suppress(OSError):
                stamps.append(os.stat(os.path.join(self._common, name)).st_mtime)
        with TemporaryFile(dir=self._folder) as probe:
            now = os.fstat(probe.fileno()).st_mtime
        return now - max(stamps, default=now)


_WRITING_SECONDS = 10.0  # to wait for another gitmem that writes settings
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

    Without a lock if none can be made, as in a read-only home. Raises BusyError if another gitmem is writing them.
    """
    lock = FileLock(folder, purpose="settings", machine="this machine", clock=Clock())
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        lock.acquire(_WRITING_SECONDS)
    except BusyError:
        raise BusyError(f"Another gitmem is writing {what}.", "Try again when it is done.") from None
    except OSError:  # the write itself will report the error
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
    """Return the lock of a private folder, not acquired yet; waiting processes report `purpose` and `machine`."""
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

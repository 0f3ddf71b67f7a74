"""The store's lock: a file lock of the system where it is reliable, else a git ref (docs/spec.md, G4, R11).

The lock only saves wasted work: commits are correct because the branch moves by compare-and-swap. A holder without a
heartbeat for `STALE_SECONDS` loses the lock, so it checks `held()` before it writes the work tree.

The kernel releases the file `lock` when its holder dies. A holder without a heartbeat cannot be forced to, so its file
is retired: the lock is `lock.N` with the highest number. (Windows renames no file over one that is open.) Files are
taken and retired under `lock.guard`, for microseconds.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from enum import Enum

from gitmem.errors import BusyError, GitmemError
from gitmem.git.process import Git
from gitmem.platform.programs import is_running, namespace, start_time
from gitmem.values import Value

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


STALE_SECONDS = 60.0  # without a heartbeat for so long a holder loses the lock (docs/spec.md, R11)
_NEVER = float("inf")
RECORD_LIMIT = 4096  # bytes; a longer one is no record
_BEAT_SECONDS = 15.0  # well under `STALE_SECONDS`
_QUEUE = "lock.queue"  # since when the longest waiter waits, rewritten by it regularly
_QUEUE_SECONDS = 0.2  # after which that is stale
_LOCKED_BYTE = 1 << 30  # Windows keeps others from reading locked bytes: lock one beyond the record
# Another machine, or the host of a virtual one, may hold a lock that this kernel calls free. All of FUSE, except
# `fuseblk`, a disk.
_SHARED_FILE_SYSTEMS = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse", "gpfs", "lustre", "ncpfs", "nfs", "nfs4"),
    *("orangefs", "prl_fs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
}
_MOUNTS = "/proc/self/mountinfo"
_NO_FILE_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EBADF}


class Clock(Value):
    """Where a lock gets its time: `monotonic` and `wall` in seconds, `sleep` for seconds.

    `monotonic` is the same for all processes of a machine and does not follow the wall clock's jumps.
    """

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Holder(Value):
    """The record of who holds a lock, kept in the lock itself as JSON.

    `place` is the boot and process namespace in which `pid`, `started` (clock ticks since boot) and `beat` (the last
    sign of life, monotonic seconds) mean something, "" where the system does not tell. `at` is the wall clock's time
    of the acquisition, in seconds since 1970 UTC, for people only.
    """

    host: str
    pid: int
    started: str
    place: str
    token: str
    purpose: str
    at: float
    beat: float

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.at))
        return f"process {self.pid} on {self.host} ({self.purpose}), since {since}"

    def to_bytes(self) -> bytes:
        """Return the record as it is stored."""
        return json.dumps(self._asdict(), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"

    @staticmethod
    def from_bytes(text: bytes) -> Holder | None:
        """Read a record; None if it is not whole."""
        try:
            fields = json.loads(text)
            strings = (str(fields[name]) for name in ("host", "started", "place", "token", "purpose"))
            host, started, place, token, purpose = strings
            at, beat = float(fields["at"]), float(fields["beat"])
            time.gmtime(at)
            return Holder(host, int(fields["pid"]), started, place, token, purpose, at, beat)
        except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
            return None


class Lock(ABC):
    """A lock that one process at a time holds; acquired with `with lock.acquire(timeout):` or released by hand.

    First come, first served as a rule: only the longest waiter tries. One that stops is skipped after a moment;
    correctness does not depend on `lock.queue`.
    """

    _PAUSE = 0.001  # seconds between two attempts, about
    _PAUSE_IN_QUEUE = 0.005  # between two reads of the queue

    def __init__(self, folder: str, *, purpose: str, machine: str, clock: Clock) -> None:
        self._folder = folder
        self._purpose = purpose
        self._machine = machine
        self._clock = clock
        self._place = namespace()
        self._token = ""
        self._seen: bytes | None = None  # the record of the holder being waited for
        self._seen_at = 0.0

    def acquire(self, timeout: float) -> Lock:
        """Wait up to `timeout` seconds for the lock.

        Raises:
            BusyError: it is still held; the message names the holder.
            OSError, GitFailedError: the private folder, or the repository, cannot be written.

        """
        end = self._clock.monotonic() + timeout
        self._token = os.urandom(8).hex()
        self._seen = None
        since, shown = round(self._clock.wall(), 6), -_NEVER  # as in `lock.queue`
        while True:
            left = end - self._clock.monotonic()
            turn = left <= 0 or not self._others_wait_longer(since)
            if turn and self._attempt():
                break
            if left <= 0:
                raise self._busy()
            if turn and self._clock.monotonic() - shown > _QUEUE_SECONDS / 4:
                shown = self._clock.monotonic()
                self._show_waiting(since)
            pause = self._PAUSE if turn else self._PAUSE_IN_QUEUE
            self._clock.sleep(min(left, pause * (0.5 + os.urandom(1)[0] / 255)))  # so that waiters do not try in step
        if shown > -_NEVER:
            self._show_waiting(_NEVER)
        return self

    def _others_wait_longer(self, since: float) -> bool:
        try:
            with open(os.path.join(self._folder, _QUEUE), "rb") as file:
                age = self._clock.wall() - os.fstat(file.fileno()).st_mtime
                return 0 <= age < _QUEUE_SECONDS and float(file.read(20)) < since
        except (OSError, ValueError):
            return False

    def _show_waiting(self, since: float) -> None:
        """Write since when this one waits; infinity: no longer."""
        file = os.open(os.path.join(self._folder, _QUEUE), os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(file, b"%20.6f" % since)  # in place: ext4 would sync a truncated file on close
        os.close(file)

    @abstractmethod
    def _attempt(self) -> bool:
        """Take the lock if it is free or stale, else keep the holder's record in `_seen`."""

    @abstractmethod
    def release(self) -> None:
        """Release the lock if this object holds it."""

    @abstractmethod
    def heartbeat(self) -> None:
        """Renew the lock; call it more often than every `STALE_SECONDS`. Never retakes a lost one."""

    @abstractmethod
    def held(self) -> bool:
        """Return whether this object still has the lock."""

    def check(self) -> None:
        """Raise BusyError if another process has taken over the lock."""
        if not self.held():
            raise BusyError("Another process took over the lock while this one was suspended.", "Try again.")

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _busy(self) -> BusyError:
        holder = Holder.from_bytes(self._seen or b"") or "another process"
        return BusyError(f"The store is held by {holder}.", "Try again when it is done.")

    def _record(self, beat: float) -> bytes:
        started = start_time(os.getpid())
        holder = Holder(
            self._machine, os.getpid(), started, self._place, self._token, self._purpose, self._clock.wall(), beat
        )
        return holder.to_bytes()

    def _silent(self, text: bytes, beat: float | None) -> bool:
        """Return whether a holder's lock is stale; `beat` is None if its clock is not comparable."""
        now = self._clock.monotonic()
        if text != self._seen:
            self._seen, self._seen_at = text, now
        return now - (self._seen_at if beat is None else min(beat, self._seen_at)) >= STALE_SECONDS


def alive(holder: Holder) -> bool:
    """Return whether a holder in this namespace still runs; a later process with its number does not count."""
    return is_running(holder.pid) and start_time(holder.pid) in {"", holder.started}


class FileLock(Lock):
    """A file lock; see the module's docstring."""

    def __init__(self, folder: str, *, purpose: str, machine: str, clock: Clock) -> None:
        super().__init__(folder, purpose=purpose, machine=machine, clock=clock)
        self._file = -1
        self._number = 0

    def _attempt(self) -> bool:
        with _guarded(self._folder) as guarded:
            if not guarded:
                return False
            number = self._current()
            file = _open(self._path(number))
            try:
                if not _lock(file):
                    if not self._retires(_read(file)):
                        return False
                    number += 1
                    os.close(file)
                    file = _open(self._path(number))
                    if not _lock(file):
                        return False
                _write(file, self._record(self._clock.monotonic()))
                self._file, self._number, file = file, number, -1
            finally:
                if file >= 0:
                    os.close(file)
            self._remove_retired()
            return True

    def _retires(self, text: bytes) -> bool:
        # The kernel holds the lock, so the holder lives on this machine and shares its monotonic clock.
        holder = Holder.from_bytes(text)
        return self._silent(text, holder.beat if holder else None)

    def release(self) -> None:
        """See `Lock.release`."""
        if self._file >= 0:
            _unlock(self._file)
            os.close(self._file)
            self._file = -1

    def heartbeat(self) -> None:
        """See `Lock.heartbeat`."""
        if self._file >= 0:
            _write(self._file, self._record(self._clock.monotonic()))

    def held(self) -> bool:
        """See `Lock.held`."""
        if self._file < 0:
            return False
        try:
            same = os.path.samestat(os.fstat(self._file), os.stat(self._path(self._number)))
            return same and self._current() == self._number
        except OSError:  # the file or the folder was removed
            return False

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"lock.{number}" if number else "lock")

    def _current(self) -> int:
        return max(self._numbers(), default=0)

    def _numbers(self) -> list[int]:
        suffixes = (name[5:] for name in os.listdir(self._folder) if name.startswith("lock."))
        return [int(suffix) for suffix in suffixes if suffix.isascii() and suffix.isdecimal()]

    def _remove_retired(self) -> None:
        for number in (0, *self._numbers()) if self._number else ():
            if number < self._number:
                with contextlib.suppress(OSError):  # gone already; or, on Windows, its holder still has it open
                    os.unlink(self._path(number))


def file_locks_serve(folder: str) -> bool:
    """Return whether file locks are reliable in `folder`: not on a shared file system."""
    kind = _file_system(folder)
    if kind in _SHARED_FILE_SYSTEMS or kind.startswith("fuse."):
        return False
    try:
        _try_out(folder)
    except OSError as error:
        if error.errno in _NO_FILE_LOCKS:
            return False
        raise
    return True


def _file_system(folder: str) -> str:
    """Return the file system's type; "" for a disk or if unknown."""
    if sys.platform == "linux":
        device = os.stat(folder).st_dev
        name = f"{os.major(device)}:{os.minor(device)}"
        with contextlib.suppress(OSError), open(_MOUNTS, encoding="utf-8", errors="replace") as mounts:
            for fields in map(str.split, mounts):
                if fields[2] == name:
                    return fields[fields.index("-") + 1]
    return ""


@contextlib.contextmanager
def _guarded(folder: str) -> Iterator[bool]:
    file = _open(os.path.join(folder, "lock.guard"))
    try:
        yield _lock(file)
    finally:
        _unlock(file)
        os.close(file)


def _open(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _read(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, RECORD_LIMIT)


def _write(file: int, text: bytes) -> None:
    os.lseek(file, 0, os.SEEK_SET)
    os.ftruncate(file, os.write(file, text))


if sys.platform == "win32":

    def _lock(file: int) -> bool:
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        with contextlib.suppress(OSError):  # it was not locked
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

    def _try_out(folder: str) -> None:
        """Do nothing: Windows locks are mandatory, on a network drive by its server."""

else:

    def _lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        # Closing is not enough: a forked process has the same file open.
        fcntl.flock(file, fcntl.LOCK_UN)

    def _try_out(folder: str) -> None:
        """Test file locks on the folder itself, which nobody else locks."""
        file = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        finally:
            os.close(file)


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


@contextlib.contextmanager
def beating(lock: Lock) -> Iterator[None]:
    """Renew a lock in the background while the block runs."""
    import threading  # late: a save has no long work

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

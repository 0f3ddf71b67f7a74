"""The store's lock: a file lock of the system where it is reliable, else a git ref.

The lock only saves wasted work: commits are correct because the branch moves by compare-and-swap. A holder without a
heartbeat for `STALE_SECONDS` loses the lock, so it checks `held()` before it writes the work tree.

The kernel releases the file `lock` when its holder dies. A holder without a heartbeat cannot be forced to, so its file
is removed and a new one made; Windows removes no open file, so there such a holder has to be ended.

The ref `refs/gitmem/lock`, for a folder that several machines share, moves by compare-and-swap from a blob that says
"free" to one that names the holder, and back. It is never deleted: git would remove its empty folder while others write
there.
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

from gitmem.errors import BusyError
from gitmem.platform.machine import is_running, namespace, start_time
from gitmem.values import Value

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


STALE_SECONDS = 60.0  # a holder loses the lock after this time without a heartbeat
RECORD_LIMIT = 4096  # bytes; anything longer is no record
_YIELD = 3  # a process that released a lock waits so many pauses before it takes the lock again
_LOCKED_BYTE = 1 << 30  # Windows keeps others from reading locked bytes: lock one beyond the record
# Here another machine, or the host of a virtual one, may hold a lock that this kernel reports free. FUSE counts,
# except `fuseblk`, a disk.
_SHARED_FILE_SYSTEMS = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse", "gpfs", "lustre", "ncpfs", "nfs", "nfs4"),
    *("orangefs", "prl_fs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
}
_MOUNTS = "/proc/self/mountinfo"
_NO_FILE_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EBADF}


class Clock(Value):
    """The time functions of a lock, in seconds: `monotonic`, shared by all processes, `wall`, and `sleep`."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Holder(Value):
    """The record of who holds a lock, kept in the lock itself as JSON.

    `place` identifies the boot and process namespace for which `pid`, `started` (clock ticks since boot) and `beat`
    (last heartbeat, monotonic seconds) are valid; "" if the system does not report it. `at` is the time of
    acquisition by the wall clock, in seconds since 1970 UTC, for messages only.
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
        """Parse a record; None if it is incomplete."""
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
    """A lock that one process at a time holds; acquired with `with lock.acquire(timeout):` or released by hand."""

    _PAUSE = 0.001  # seconds between two attempts, about
    _released = -STALE_SECONDS  # when this process last released a lock, monotonic seconds

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
        rest = Lock._released - self._clock.monotonic() + _YIELD * self._PAUSE
        if 0 < rest <= _YIELD * self._PAUSE:
            self._clock.sleep(rest)  # a process that keeps retaking the lock lets waiting ones in
        while not self._attempt():
            left = end - self._clock.monotonic()
            if left <= 0:
                holder = Holder.from_bytes(self._seen or b"")
                raise BusyError(f"The store is held by {holder or 'another process'}.", "Try again when it is done.")
            self._clock.sleep(min(left, self._PAUSE * (0.5 + os.urandom(1)[0] / 255)))  # jitter
        return self

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
        Lock._released = self._clock.monotonic()

    def _record(self) -> bytes:
        clock, started = self._clock, start_time(os.getpid())
        where = (self._machine, os.getpid(), started, self._place)
        return Holder(*where, self._token, self._purpose, clock.wall(), clock.monotonic()).to_bytes()

    def _silent(self, text: bytes, beat: float | None) -> bool:
        """Return whether a holder's lock is stale; `beat` is None if its clock is not comparable."""
        now = self._clock.monotonic()
        if text != self._seen:
            self._seen, self._seen_at = text, now
        return now - (self._seen_at if beat is None else min(beat, self._seen_at)) >= STALE_SECONDS


def alive(holder: Holder) -> bool:
    """Return whether a holder in this namespace still runs; a later process that reuses its pid does not count."""
    return is_running(holder.pid) and start_time(holder.pid) in {"", holder.started}


class FileLock(Lock):
    """A file lock; see the module's docstring."""

    _file = -1

    def _attempt(self) -> bool:
        path = os.path.join(self._folder, "lock")
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if _lock(file):
                _write(file, self._record())
                self._file, file = file, -1
                if not self.held():  # another process removed it meanwhile
                    self.release()
                return self._file >= 0
            os.lseek(file, 0, os.SEEK_SET)
            text = os.read(file, RECORD_LIMIT)
            # The kernel holds the lock, so the holder lives on this machine and shares its monotonic clock.
            holder = Holder.from_bytes(text)
            if not self._silent(text, holder.beat if holder else None):
                return False
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    os.unlink(path)
                    self._seen = None  # the next holder's record may be as empty for a moment
            return not os.path.exists(path) and self._attempt()
        finally:
            if file >= 0:
                os.close(file)

    def release(self) -> None:
        if self._file >= 0:
            _unlock(self._file)
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Release the lock and remove its file; the next waiter makes a new one. Windows removes no open file."""
        if os.name == "nt":
            self.release()
        with contextlib.suppress(OSError):
            if os.name == "nt" or self.held():
                os.unlink(os.path.join(self._folder, "lock"))
        self.release()

    def heartbeat(self) -> None:
        if self._file >= 0:
            _write(self._file, self._record())

    def held(self) -> bool:
        try:
            place = os.stat(os.path.join(self._folder, "lock"))
            return self._file >= 0 and os.path.samestat(os.fstat(self._file), place)
        except OSError:  # the file or the folder was removed
            return False


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


@contextlib.contextmanager
def alone(path: str) -> Iterator[bool]:
    """Take the lock of a file if it is free; yield whether this process may go on: also where locks do not work."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        try:
            free = _lock(file)
        except OSError:
            free = True
        yield free
        if free:
            with contextlib.suppress(OSError):
                _unlock(file)
    finally:
        os.close(file)

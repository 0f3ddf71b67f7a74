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
from enum import Enum

from gitmem.errors import BusyError, GitFailedError, GitmemError
from gitmem.git.layout import common_dir_of
from gitmem.git.left_behind import LEFT_BEHIND_SECONDS, clear_left_behind
from gitmem.git.process import Git
from gitmem.platform.machine import is_running, namespace, start_time
from gitmem.values import Value

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


STALE_SECONDS = 60.0  # without a heartbeat for so long a holder loses the lock
LOCK_REF = "refs/gitmem/lock"
_RECORD_LIMIT = 4096  # bytes; a longer one is no record
_YIELD = 3  # pauses between two attempts, which a process rests after it released a lock
_WRITING_SECONDS = 10.0  # which another gitmem has for the settings that it writes
_BEAT_SECONDS = 15.0  # well under `STALE_SECONDS`
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
            self._clock.sleep(rest)  # a process that takes the lock again and again lets those in that wait
        while not self._attempt():
            left = end - self._clock.monotonic()
            if left <= 0:
                holder = Holder.from_bytes(self._seen or b"")
                raise BusyError(f"The store is held by {holder or 'another process'}.", "Try again when it is done.")
            self._clock.sleep(min(left, self._PAUSE * (0.5 + os.urandom(1)[0] / 255)))  # waiters must not try in step
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
    """Return whether a holder in this namespace still runs; a later process with its number does not count."""
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
            text = os.read(file, _RECORD_LIMIT)
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
        """Release the lock and remove its file; who waits for it makes a new one. Windows removes no open file."""
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


class RefLock(Lock):
    """A lock that is a git ref; see the module's docstring. `folder` is on the repository's file system."""

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
        left = os.path.join(self._common, LOCK_REF + ".lock")  # perhaps of a killed git
        if not self._holding and os.path.exists(left) and self._age(LOCK_REF + ".lock") >= LEFT_BEHIND_SECONDS:
            clear_left_behind(left)  # so late, since a shared file system shows changes late
        return self._holding

    def release(self) -> None:
        """See `Lock.release`. If git fails, the lock is stale once this process has ended."""
        if self._holding:
            self._holding = False
            with contextlib.suppress(GitmemError):
                if not (self._free and self._move(self._free, self._blob)):  # it may be pruned or damaged
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
            return True  # our own move, after which git was stopped or failed
        if holder and holder.place and holder.place == self._place:
            return self._silent(text, holder.beat) or not alive(holder)
        # Another machine's, or nobody's: use the shared file system's clock, or our own observation.
        return self._silent(text, None) or self._age(LOCK_REF, "packed-refs") >= STALE_SECONDS

    def _look(self) -> tuple[str, bytes]:
        """Return the ref's value ("": missing) and the blob's content (empty if unreadable)."""
        answer = self._git.run("cat-file", "--batch", stdin=LOCK_REF.encode() + b"\n")
        header, _, text = answer.partition(b"\n")
        oid, *fields = header.decode().split()
        return (oid, text[: min(int(fields[1]), _RECORD_LIMIT)]) if len(fields) > 1 else (self._tip(), b"")

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
        """Return the seconds since the youngest of these files of the repository changed; 0 where there is none.

        By the clock of the file system that stamped them, since the clocks of two machines may differ.
        """
        from tempfile import TemporaryFile  # 6 ms

        stamps = []
        for name in names:
            with contextlib.suppress(OSError):
                stamps.append(os.stat(os.path.join(self._common, name)).st_mtime)
        with TemporaryFile(dir=self._folder) as probe:
            now = os.fstat(probe.fileno()).st_mtime
        return now - max(stamps, default=now)


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
    """Hold the lock of a file if no other process does; yield whether this one may go on.

    Where files cannot be locked, it may.
    """
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
    except OSError:  # what cannot be written is told where it is written
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

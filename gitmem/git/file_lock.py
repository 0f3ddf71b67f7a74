"""A file lock of the operating system, for a folder that one machine has to itself.

The kernel releases the file `lock` when its holder dies. A holder without a heartbeat cannot be forced to, so its file
is retired: the lock is `lock.N` with the highest number. (Windows renames no file over one that is open.) Files are
taken and retired under `lock.guard`, for microseconds. Tested through `tests/git/test_store_lock.py`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from gitmem.git.lock import RECORD_LIMIT, Clock, Holder, Lock

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED_BYTE = 1 << 30  # Windows keeps others from reading locked bytes: lock one beyond the record
# Another machine, or the host of a virtual one, may hold a lock that this kernel calls free. All of FUSE, except
# `fuseblk`, a disk.
_SHARED_FILE_SYSTEMS = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse", "gpfs", "lustre", "ncpfs", "nfs", "nfs4"),
    *("orangefs", "prl_fs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
}
_MOUNTS = "/proc/self/mountinfo"
_NO_FILE_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EBADF}


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

"""Moving a branch as git's files backend does: under its lock and HEAD's, from exactly one value, synced, with reflogs.

`git update-ref` does the same in a process of its own, which takes as long as a fifth of a whole commit. It stays the
one that moves what is not plain: a branch that is not born, packed, or not what HEAD names, a repository with reftables
or a linked work tree, one whose reflogs are off or not begun, a system without POSIX's rename. Source: the order of
git's own refs/files-backend (locks, check, value, reflogs, rename), gitrepository-layout(5) and `git help reflog`.

HEAD's lock, which is only held, says whose it is and what the branch's will hold, so that who comes after a gitmem that
was killed need not wait until such locks are so old that no git can hold them.
"""

from __future__ import annotations

import contextlib
import os
import time

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_LOCK = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_LOG = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
_FILLED_WITHIN = 1.0  # seconds: git fills the lock of a branch as soon as it has made it
_NEW_FILE = 0o666  # as git makes them: what the umask leaves of it
_LONGEST = 4096  # bytes of a ref: more is none
_HEAD = "HEAD"
_MINE = b"gitmem "  # how a lock of HEAD's that is ours begins; the branch's new value follows


class BranchLockedError(Exception):
    """Somebody holds the lock, the file `lock`."""

    def __init__(self, lock: str) -> None:
        super().__init__(lock)
        self.lock = lock


class BranchMovedError(Exception):
    """The branch has another value than the one it was to be moved from."""


def is_plain(git_dir: str, ref: str) -> bool:
    """Say whether `Move` can be tried: a branch that HEAD names, in a file of this repository's own git folder."""
    if os.name != "posix" or _read(os.path.join(git_dir, _HEAD)) != b"ref: %s\n" % ref.encode():
        return False
    if any(os.path.lexists(os.path.join(git_dir, name)) for name in ("reftable", "commondir")):
        return False
    return all(os.path.isfile(_log(git_dir, name)) for name in (ref, _HEAD))


class Move:
    """A branch that is about to move: locked, checked and its new value synced, while its objects still are.

    Used as a context manager; left without `finish`, nothing has changed.
    """

    def __init__(self, git_dir: str, ref: str, old: str, new: str) -> None:
        """Lock the branch and prepare its new value; `ready` says whether that was not git's to do.

        Raises:
            BranchLockedError: another process holds the branch or HEAD, or was killed when it did.
            BranchMovedError: the branch is elsewhere.
            OSError: the disk is full, read-only or not ours to write.

        """
        self._git_dir, self._ref, self._old, self._new = git_dir, ref, old, new
        self._path = os.path.join(git_dir, *ref.split("/"))
        with contextlib.ExitStack() as stack:
            try:
                self.ready = self._prepare(stack)
            except FileNotFoundError:  # the branch's folder, gone with it when git packed it
                self.ready = False
            self._locks = stack.pop_all() if self.ready else stack

    def _prepare(self, stack: contextlib.ExitStack) -> bool:
        _write(stack.enter_context(_locked(_head_lock(self._git_dir))), _MINE + b"%s\n" % self._new.encode())
        lock = self._lock = stack.enter_context(_locked(f"{self._path}.lock"))
        value = _read(self._path)
        if not is_plain(self._git_dir, self._ref) or value is None or len(value) != len(self._old) + 1:
            return False
        if value != b"%s\n" % self._old.encode():
            raise BranchMovedError
        os.fchmod(lock, os.stat(self._path).st_mode & 0o7777)  # core.sharedRepository has widened it
        _write(lock, b"%s\n" % self._new.encode())
        os.fsync(lock)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._locks.close()

    def finish(self, reflog: bytes) -> None:
        """Move the branch, whose objects are there now.

        `reflog` is who, when and why, as a reflog has it: `Name <mail> seconds zone`, a tab, a message.

        Raises:
            BranchMovedError: the lock is somebody else's by now, as this process stood still for so long that it was
                taken for dead; the branch is theirs to move.
            OSError: as before; the branch is where it was.

        """
        lock = f"{self._path}.lock"
        if not os.path.lexists(lock) or not os.path.samestat(os.fstat(self._lock), os.lstat(lock)):
            raise BranchMovedError
        line = b"%s %s %s\n" % (self._old.encode(), self._new.encode(), reflog)
        for name in (self._ref, _HEAD):
            _append(_log(self._git_dir, name), line)
        os.rename(lock, self._path)


def clear_left_move(git_dir: str, ref: str) -> None:
    """Remove the locks of a `Move` whose gitmem was killed; only under the store's lock.

    A lock of the branch's that holds anything else is that of a git command, and stays. An empty one may be: git fills
    it at once, and gives up on HEAD's within a tenth of a second.
    """
    head, lock = _head_lock(git_dir), os.path.join(git_dir, *f"{ref}.lock".split("/"))
    said = _read(head) or b""
    if not said.startswith(_MINE):
        return
    with contextlib.suppress(OSError):
        held = _read(lock)
        if held == b"" and time.time() - os.lstat(lock).st_mtime < _FILLED_WITHIN:
            return
        if held in {b"", said.removeprefix(_MINE)}:
            os.unlink(lock)
        os.unlink(head)


def _head_lock(git_dir: str) -> str:
    return os.path.join(git_dir, f"{_HEAD}.lock")


@contextlib.contextmanager
def _locked(path: str) -> Iterator[int]:
    """Hold a lock file, open for writing; it is gone afterwards, renamed or not."""
    try:
        descriptor = os.open(path, _LOCK, _NEW_FILE)
    except FileExistsError:
        raise BranchLockedError(path) from None
    ours = os.fstat(descriptor)
    try:
        yield descriptor
    finally:
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(ours, os.lstat(path)):  # not that of the next one, where ours was renamed
                os.unlink(path)
        os.close(descriptor)


def _log(git_dir: str, name: str) -> str:
    return os.path.join(git_dir, "logs", *name.split("/"))


def _append(path: str, line: bytes) -> None:
    """Add a line to a reflog, or nothing of it: a torn one would swallow the next."""
    descriptor = os.open(path, _LOG)
    try:
        size = os.fstat(descriptor).st_size
        try:
            _write(descriptor, line)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(_LONGEST)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None

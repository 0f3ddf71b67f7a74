"""Update git's index after gitmem has written files of the work tree.

With a stale entry the user's next plain `git commit` would revert what gitmem committed.

If gitmem let git take `index.lock`, a killed git would leave one that nobody can tell from that of the user's
`git commit` whose editor is open. So gitmem takes the lock itself, with a text that names it, has git write a copy of
the index under a second name, and renames that into place. Whoever holds the store's lock and meets a lock with that
text knows that it is stale.
"""

from __future__ import annotations

import contextlib
import os
import time

from gitmem.errors import GitFailedError
from gitmem.git.repository import clear_left_behind

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from gitmem.git.process.run import Git
    from gitmem.git.process.spawn import Running

_UPDATE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_REMOVE = ("update-index", "-z", "--force-remove", "--stdin")
_SET = ("update-index", "-z", "--add", "--replace", "--index-info")
_FOLLOW = ("read-tree", "HEAD")
_MINE = b"gitmem\n"  # what an `index.lock` of ours says
DRAFT = "index.gitmem"  # how the names of an index in the making begin; only who holds the store's lock makes one
_DAMAGES = ("index file corrupt", "index file smaller than expected")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
# Git commands hold `index.lock` for milliseconds, but for a `git commit -a` whose editor is open, and those that died.
_PAUSE = 0.02
_PATIENCE = 1.0


def clear_left_lock(git_dir: str) -> None:
    """Remove an `index.lock` that a killed gitmem left, or a killed git; only under the store's lock.

    The one of a `git commit -a` whose editor is open is a filled index, and stays.
    """
    lock = os.path.join(git_dir, "index.lock")
    with contextlib.suppress(OSError):
        begins = _beginning(lock)
        if begins == _MINE:
            os.unlink(lock)
        elif not begins.strip(b"\0"):
            clear_left_behind(lock)


def _beginning(path: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | _NO_FOLLOW), "rb") as file:
        return file.read(len(_MINE))


def is_damage(stderr: str) -> bool:
    """Say whether git complains of a damaged index, as a power failure leaves it: git does not sync it."""
    return any(words in stderr for words in _DAMAGES)


def rebuild_index(git: Git) -> None:
    """Put a damaged index aside and make it anew from the tip; work tree and commits are not touched.

    Raises:
        GitFailedError, OSError: that was not possible.

    """
    index = os.path.join(git.git_dir or "", "index")
    with contextlib.suppress(FileNotFoundError):
        os.replace(index, f"{index}.damaged")
    born = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1, 128)).strip()
    git.run("read-tree", "HEAD" if born else "--empty")


def follow_tip(git: Git) -> None:
    """Have the index hold what `HEAD` does, whatever it held, past damage and locks that killed processes left.

    Raises:
        GitFailedError, OSError: the index could not be written.

    """
    _update(git, _FOLLOW, b"")
    # The files' times: where this fails, git looks again.
    git.unfiltered.run("update-index", "-q", "--refresh", ok=(0, 1, 128))


def read_entries(git: Git) -> dict[str, str]:
    """Return the object ids of all files in the index, by path; a file with conflicts is not among them."""
    found = {}
    for line in git.run("ls-files", "--stage", "-z", "--full-name").split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        _, oid, stage = meta.split()
        if stage == b"0":
            found[os.fsdecode(path)] = oid.decode()
    return found


def set_entries(git: Git, entries: Mapping[str, tuple[str, str] | None]) -> None:
    """Have the index hold these files, given as mode and object id, or not hold them, whatever is on the disk.

    Raises:
        GitFailedError, OSError: the index could not be written.

    """
    gone = [path for path, entry in entries.items() if entry is None]
    kept = [(path, entry) for path, entry in entries.items() if entry is not None]
    if gone:
        _update(git, _REMOVE, b"".join(os.fsencode(path) + b"\0" for path in gone))
    if kept:
        lines = (f"{mode} {oid}\t".encode() + os.fsencode(path) + b"\0" for path, (mode, oid) in kept)
        _update(git, _SET, b"".join(lines))


class _Draft:
    """The index under a second name, for git to write."""

    def __init__(self, index: str, *, locked: bool) -> None:
        """Make the name, and before it the lock, if `locked`.

        Raises:
            FileExistsError: somebody holds the lock.
            OSError: it could not be made; nothing of it remains.

        """
        self._index, self._lock = index, f"{index}.lock"
        self._held: os.stat_result | None = None
        self.path = os.path.join(os.path.dirname(index), f"{DRAFT}-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            if locked:
                with open(self._lock, "xb", buffering=0) as file:
                    try:
                        file.write(_MINE)
                    finally:  # on a full disk, too, it is known again, and goes
                        self._held = os.fstat(file.fileno())
        except OSError:
            self.drop()
            raise

    def for_git(self) -> dict[str, str]:
        """Give the index the second name; returns what git is to be started with."""
        _give_second_name(self._index, self.path)
        return {"GIT_INDEX_FILE": self.path}

    def publish(self) -> bool:
        """Put what git has written in place; False where that was not possible, or the lock was taken away."""
        try:
            if self._held is not None and not self._still_held():
                return False
            with contextlib.suppress(FileNotFoundError):  # there was none, and nothing to put into one
                os.replace(self.path, self._index)
        except OSError:
            return False
        else:
            return True
        finally:
            self.drop()

    def drop(self) -> None:
        """Give up the name and the lock."""
        with contextlib.suppress(OSError):  # it is still there where git changed nothing: both names are one file's
            os.unlink(self.path)
        with contextlib.suppress(OSError):
            if self._still_held():
                os.unlink(self._lock)
        self._held = None

    def _still_held(self) -> bool:
        if self._held is None:
            return False
        lock = os.lstat(self._lock)  # a number that was freed is soon another file's
        return os.path.samestat(self._held, lock) and _written(self._held) == _written(lock)


def _written(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _give_second_name(path: str, name: str) -> None:
    try:
        os.link(path, name)  # git never writes into it, and its time, by which git judges entries, stays
    except FileNotFoundError:
        pass
    except OSError:  # there are no hard links here
        import shutil  # 6 ms

        shutil.copy2(path, name)


class IndexUpdate:
    """An update of the index by a git that starts during the commit and gets the paths once the files are in place.

    Used as a context manager; left without `finish`, it changes nothing.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: Running | None = None
        with contextlib.suppress(OSError):  # somebody holds the lock: `finish` waits for it
            self._draft = _Draft(os.path.join(git.git_dir or "", "index"), locked=True)
            try:
                self._process = git.unfiltered.spawn(*_UPDATE, env=self._draft.for_git())
            except BaseException:
                self._draft.drop()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.communicate()
            self._draft.drop()

    def finish(self, paths: Sequence[str]) -> None:
        """Bring the entries of these paths in step with the files; with no paths nothing changes.

        Raises:
            GitFailedError, OSError: the index could not be written.

        """
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        process, self._process = self._process, None
        if process is not None:
            try:
                process.communicate(names)
                if process.returncode == 0 and self._draft.publish():
                    return
            finally:
                self._draft.drop()
        if names:  # whatever it was, it is met again, and told apart
            _update(self._git, _UPDATE, names)


def _update(git: Git, command: tuple[str, ...], stdin: bytes) -> None:
    """Run an update of the index, past damage, and past an `index.lock` that somebody else holds or left.

    The lock is waited for a little. A git command of the user's that goes on holding it (a `git commit -a` with its
    editor open) will find the branch moved and fail by itself; a lock that a killed git left would keep the index stale
    for ever. So the index is then replaced without it.
    """
    index = os.path.join(git.git_dir or "", "index")
    clear_left_lock(os.path.dirname(index))
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and not _is_old(f"{index}.lock"):
        with contextlib.suppress(OSError):
            if _write(git, command, stdin, _Draft(index, locked=True)):
                return
        time.sleep(_PAUSE)
    if not _write(git, command, stdin, _Draft(index, locked=False)):
        raise OSError(f"{index} could not be replaced")


def _write(git: Git, command: tuple[str, ...], stdin: bytes, draft: _Draft) -> bool:
    runs = git if command == _FOLLOW else git.unfiltered
    try:
        runs.run(*command, stdin=stdin, env=draft.for_git())
        return draft.publish()
    except GitFailedError as error:
        draft.drop()  # making it anew takes the lock
        if not is_damage(error.stderr):
            raise
        rebuild_index(git)
        return False
    finally:
        draft.drop()


def _is_old(path: str) -> bool:
    try:
        return abs(time.time() - os.lstat(path).st_mtime) > _PATIENCE
    except OSError:
        return False

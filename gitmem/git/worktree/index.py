"""Git's index of a store: its entries follow the files that gitmem writes.

A stale entry is no cosmetic matter: the user's next plain `git commit` would take back what the branch got meanwhile.

Nobody can tell whose an `index.lock` is that git left when it was killed just before it would have renamed it: one that
is filled is the user's, whose editor is open. So gitmem makes that lock itself, with a text that says so, and has git
write a second name of the index, which it then puts in place. A lock with that text, met by who holds the store's lock,
has lost its gitmem.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time

from gitmem.errors import GitFailedError
from gitmem.git.objects.oid import SHA1_DIGITS, blob_id, sha1
from gitmem.git.repository import clear_left_behind
from gitmem.git.worktree.entries import Replacement, find_entries, replace_entries

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from gitmem.git.process.run import Git
    from gitmem.git.process.spawn import Running
    from gitmem.git.worktree.entries import Buffer, Places

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

    def read(self) -> bytes:
        """Return the index as it is."""
        with open(self._index, "rb") as file:
            return file.read()

    def write(self, index: Iterable[Buffer]) -> None:
        """Write what git would have written, with the time of the index there was.

        By that time git judges which entries to trust: those that are younger it compares by content. With the time of
        now an entry that was written in the same moment as its file, and the file again, would be trusted.
        """
        was = os.stat(self._index)
        with open(self.path, "xb") as file:
            file.writelines(index)
            if (mode := stat.S_IMODE(was.st_mode)) != stat.S_IMODE(os.fstat(file.fileno()).st_mode):
                os.chmod(self.path, mode)
        os.utime(self.path, ns=(was.st_atime_ns, was.st_mtime_ns))

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
    """An update of the index, begun while the commit is being made, and told the paths once the files are in place.

    Where all of them are files that the index knows already, it is made here: 3 ms less than `git update-index`, which
    is started early for everything else. Used as a context manager; left without `finish`, it changes nothing.
    """

    def __init__(self, git: Git, contents: Mapping[str, bytes]) -> None:
        """Begin; `contents` is what the paths will hold, or empty where that is for git to see."""
        self._git = git
        self._process: Running | None = None
        self._places: Places | None = None
        self._oids = {path: bytes.fromhex(blob_id(data, "0" * SHA1_DIGITS)) for path, data in contents.items()}
        with contextlib.suppress(OSError):  # somebody holds the lock: `finish` waits for it
            self._draft = _Draft(os.path.join(git.git_dir or "", "index"), locked=True)
            try:
                self._places = self._find()
                if self._places is None:
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
        elif self._places is not None:
            self._draft.drop()

    def finish(self, paths: Sequence[str]) -> None:
        """Bring the entries of these paths in step with the files; with no paths nothing changes.

        Raises:
            GitFailedError, OSError: the index could not be written.

        """
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        process, self._process = self._process, None
        places, self._places = self._places, None
        if process is not None or places is not None:
            try:
                if process is not None:
                    process.communicate(names)
                    written = process.returncode == 0
                else:
                    written = places is not None and self._replace(places, paths)
                if written and self._draft.publish():
                    return
            finally:
                self._draft.drop()
        if names:  # whatever it was, it is met again, and told apart
            _update(self._git, _UPDATE, names)

    def _find(self) -> Places | None:
        if not self._oids or os.name != "posix":  # elsewhere git sees less, or more, in a file's status than Python
            return None
        try:
            index = self._draft.read()
            return find_entries(index, map(os.fsencode, self._oids), sha1(len(index)))
        except FileNotFoundError:  # there is no index yet
            return None

    def _replace(self, places: Places, paths: Sequence[str]) -> bool:
        entries = {}
        for path in paths:
            status = os.lstat(os.path.join(self._git.work_tree or "", path))
            if path not in self._oids or not stat.S_ISREG(status.st_mode):
                return False
            entries[os.fsencode(path)] = Replacement(status, self._oids[path])
        index = replace_entries(places, entries, sha1(len(places.index)))
        if index is not None:
            self._draft.write(index)
        return index is not None


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

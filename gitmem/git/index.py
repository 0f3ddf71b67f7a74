"""Git's index of a store: its entries follow the files that gitmem writes.

A stale entry is no cosmetic matter: the user's next plain `git commit` would take back what the branch got meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time

from gitmem.errors import GitFailedError
from gitmem.git.repository import clear_left_behind

TYPE_CHECKING = False  # see gitmem.git.process
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from gitmem.git.child import Running
    from gitmem.git.process import Git

_UPDATE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_REMOVE = ("update-index", "-z", "--force-remove", "--stdin")
_SET = ("update-index", "-z", "--add", "--replace", "--index-info")
_OURS = "index.gitmem"  # a copy of the index; only who holds the store's lock makes one
_DAMAGES = ("index file corrupt", "index file smaller than expected")
# Git commands hold `index.lock` for milliseconds, but for a `git commit -a` whose editor is open, and those that died.
_PAUSE = 0.02
_PATIENCE = 1.0


def clear_left_lock(git_dir: str) -> None:
    """Remove an `index.lock` that a killed git left; the one of a `git commit -a` whose editor is open has content."""
    lock = os.path.join(git_dir, "index.lock")
    with contextlib.suppress(OSError):
        if os.lstat(lock).st_size == 0:
            clear_left_behind(lock)


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


class IndexUpdate:
    """One `git update-index`, started early and told the paths once the files are in place.

    Used as a context manager; left without `finish`, it changes nothing.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._index = os.path.join(git.git_dir or "", "index")
        self._process: Running | None = None
        if not os.path.lexists(f"{self._index}.lock"):
            self._process = git.spawn(*_UPDATE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.communicate()

    def finish(self, paths: Sequence[str]) -> None:
        """Bring the entries of these paths in step with the files; with no paths nothing changes.

        Raises:
            GitFailedError, OSError: the index could not be written.

        """
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        process, self._process = self._process, None
        if process is not None:
            process.communicate(names)
            if process.returncode == 0:
                return
        if names:  # whatever it was, it is met again, and told apart
            _update(self._git, _UPDATE, names)


def _update(git: Git, command: tuple[str, ...], stdin: bytes) -> None:
    """Run an update of the index, past damage, and past an `index.lock` that somebody else holds or left.

    The lock is waited for a little. A git command of the user's that goes on holding it (a `git commit -a` with its
    editor open) will find the branch moved and fail by itself; a lock that a killed git left would keep the index stale
    for ever. So the update is made to a copy, which is renamed into place.
    """
    index = os.path.join(git.git_dir or "", "index")
    clear_left_lock(os.path.dirname(index))
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and not _is_old(f"{index}.lock"):
        try:
            git.run(*command, stdin=stdin)
        except GitFailedError as error:
            if is_damage(error.stderr):
                rebuild_index(git)
            elif "index.lock" not in error.stderr:
                raise
            time.sleep(_PAUSE)
        else:
            return
    import shutil  # 6 ms, and hardly ever needed

    copy = os.path.join(os.path.dirname(index), _OURS)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{copy}.lock")
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(index, copy)
        git.run(*command, stdin=stdin, env={"GIT_INDEX_FILE": copy})
        os.replace(copy, index)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(copy)


def _is_old(path: str) -> bool:
    try:
        return abs(time.time() - os.lstat(path).st_mtime) > _PATIENCE
    except OSError:
        return False

"""The files of a store's work tree and git's index of them.

A file is replaced whole (temporary file, sync, rename) and never through a symbolic link. Afterwards its index entry
is brought in step, so that `git status` is clean and a plain `git commit` of the user's does not take memory back.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from typing import NamedTuple

from gitmem.errors import RefusedError, UnfinishedError
from gitmem.git.process import failure

TYPE_CHECKING = False  # see gitmem.git.process
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from subprocess import Popen

    from gitmem.git.process import Git

MAX_FILE_BYTES = 100 * 1024 * 1024  # a larger one is not read into memory; hosting sites refuse it, too
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_UPDATE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")


class Staged(NamedTuple):
    """New content that waits in a temporary file for its rename; None where the file is to go."""

    path: str
    temporary: str | None


class WorkTree:
    """A work tree, by its absolute path; `temporary` is the folder in it that holds files until they are whole."""

    def __init__(self, root: str, git: Git, temporary: str) -> None:
        self.root = root
        self._git = git
        self._temporary = os.path.join(root, temporary)
        self._known_folders: set[str] = set()

    def read(self, path: str) -> bytes | None:
        """Return a file's content, None where there is none.

        Raises:
            RefusedError: it, or a folder above it, is a symbolic link, or it is no regular file, or too large.

        """
        full = self._resolve(path)
        try:
            descriptor = os.open(full, os.O_RDONLY | _NO_FOLLOW)
        except FileNotFoundError:
            return None
        except OSError as error:
            if os.path.islink(full):
                raise RefusedError(
                    f"{path} is a symbolic link; gitmem follows none.", "Put a file in its place."
                ) from None
            if isinstance(error, NotADirectoryError):
                return None
            raise
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or os.path.islink(full):
                raise RefusedError(f"{path} is not a regular file.", "Move it out of the store.")
            if status.st_size > MAX_FILE_BYTES:
                raise RefusedError(f"{path} has {status.st_size} bytes, more than gitmem handles.", "Split it.")
            return file.read()

    def stage(self, path: str, content: bytes | None) -> Staged:
        """Write content to a temporary file and sync it; nothing is visible yet."""
        if content is None:
            return Staged(path, None)
        os.makedirs(self._temporary, exist_ok=True)
        full = self._resolve(path)
        temporary = os.path.join(self._temporary, f"{os.getpid()}-{os.urandom(6).hex()}")
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):
            os.chmod(temporary, stat.S_IMODE(os.lstat(full).st_mode))
        return Staged(path, temporary)

    def publish(self, staged: Iterable[Staged]) -> None:
        """Rename staged files into place, and remove those that are to go, with folders that become empty."""
        for item in staged:
            full = self._resolve(item.path)
            if item.temporary is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(full)
                self._remove_empty_parents(full)
                continue
            os.makedirs(os.path.dirname(full), exist_ok=True)
            os.replace(item.temporary, full)

    def discard(self, staged: Iterable[Staged]) -> None:
        """Remove temporary files that are not needed after all."""
        for item in staged:
            if item.temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(item.temporary)

    def clean_temporary(self) -> None:
        """Remove what a process that was killed left in the temporary folder; only under the store's lock."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in os.listdir(self._temporary):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self._temporary, name))

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder of the work tree, unsorted; none where there is no such folder."""
        try:
            return os.listdir(self._resolve(folder) if folder else self.root)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def edited(self) -> list[str]:
        """Return the paths in which work tree and index differ, or that git does not know and does not ignore.

        A path that ends in `/` is another repository. Costs one `git status`: about 2 µs a file.
        """
        said = self._git.run(
            "status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"
        )
        paths = []
        for record in said.split(b"\0")[:-1]:
            kind = record[:1]
            if kind == b"u":
                raise UnfinishedError(
                    f"{os.fsdecode(record.split(b' ', 10)[10])} has conflicts that a merge left in the index.",
                    "Resolve them with 'git add' and 'git commit', or 'git merge --abort'.",
                )
            if kind in b"1?":
                paths.append(os.fsdecode(record[2:] if kind == b"?" else record.split(b" ", 8)[8]))
        return paths

    def open_index(self) -> IndexUpdate:
        """Start bringing index entries in step; the process reads the index while the commit is being made."""
        return IndexUpdate(self._git)

    def _resolve(self, path: str) -> str:
        """Return the absolute path, after a look at each folder on the way: none may be a symbolic link."""
        folder = self.root
        for part in path.split("/")[:-1]:
            folder = os.path.join(folder, part)
            if folder in self._known_folders:
                continue
            try:
                mode = os.lstat(folder).st_mode
            except FileNotFoundError:
                break
            if not stat.S_ISDIR(mode):
                raise RefusedError(
                    f"{folder} is not a folder of the store but a link or a file.",
                    "Remove it: gitmem follows no links.",
                )
            self._known_folders.add(folder)
        return os.path.join(self.root, path)

    def _remove_empty_parents(self, full: str) -> None:
        folder = os.path.dirname(full)
        while len(folder) > len(self.root):
            try:
                os.rmdir(folder)
            except OSError:
                return
            self._known_folders.discard(folder)
            folder = os.path.dirname(folder)


class IndexUpdate:
    """One `git update-index`, started early and told the paths once the files are in place."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._lock = os.path.join(git.git_dir or "", "index.lock")
        self._process: Popen[bytes] | None = None
        if not os.path.lexists(self._lock):
            self._process = git.spawn(*_UPDATE)

    def finish(self, paths: Sequence[str]) -> None:
        """Bring the entries of these paths in step with the files; with no paths nothing changes.

        Raises:
            GitFailedError: the index could not be written.

        """
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        process, self._process = self._process, None
        if process is not None:
            _, stderr = process.communicate(names)
            if process.returncode == 0 or not names:
                return
            if b"index.lock" not in stderr:
                raise failure(_UPDATE, process.returncode, stderr)
        if names:
            self._past_the_lock(names)

    def _past_the_lock(self, names: bytes) -> None:
        """Update a copy of the index and rename it into place, past an `index.lock` that somebody else holds or left.

        A git command of the user's that holds the lock (a `git commit -a` with its editor open) will find the branch
        moved and fail by itself; a lock that a killed git left behind would otherwise keep the index stale for ever.
        """
        git_dir = self._git.git_dir or ""
        index, copy = os.path.join(git_dir, "index"), os.path.join(git_dir, f"index.gitmem-{os.getpid()}")
        try:
            if os.path.exists(index):
                shutil.copyfile(index, copy)
            self._git.run(*_UPDATE, stdin=names, env={"GIT_INDEX_FILE": copy})
            os.replace(copy, index)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(copy)

"""The files of a store's work tree.

A file is replaced whole (temporary file, sync, rename), never through a symbolic link, and only if it still is what it
was when it was read: what a person saves meanwhile is theirs. Bringing git's index in step is gitmem.git.index's.
"""

from __future__ import annotations

import contextlib
import os
import stat

from gitmem.errors import RefusedError
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.git.process
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitmem.git.index import IndexUpdate
    from gitmem.git.look import Look
    from gitmem.git.process import Git

MAX_FILE_BYTES = 100 * 1024 * 1024  # a larger one is not read into memory; hosting sites refuse it, too
# Follows no link, and waits for no pipe.
OPEN_TO_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
# Parts of names that would lead out of the work tree or into git's own folder, or that a system reads as more than a
# name. What a store's names may be is stricter (gitmem.model.paths), but people's files are read under any name.
_UNSAFE_PARTS = frozenset(("", ".", "..", ".git"))
_UNSAFE_CHARACTERS = "\0\\:" if os.name == "nt" else "\0"


class File(Value):
    """A file of the work tree: its content, and whether its owner may execute it."""

    data: bytes
    executable: bool


class Staged(Value):
    """New content that waits in a temporary file for its rename; None where the file is to go."""

    path: str
    temporary: str | None


class WorkTree:
    """A work tree, by its absolute path; `temporary` is the folder in it that holds files until they are whole."""

    def __init__(self, root: str, git: Git, temporary: str) -> None:
        self.root = root
        self._git = git
        self._temporary = os.path.join(root, temporary)
        self._seen: dict[str, tuple[int, ...] | None] = {}
        self._trusts_modes: bool | None = None

    def read(self, path: str) -> bytes | None:
        """Return a file's content, None where there is none; raises what `load` raises."""
        file = self.load(path)
        return None if file is None else file.data

    def load(self, path: str) -> File | None:
        """Return a file, None where there is none, or a folder; it is what `publish` expects to find.

        Raises:
            RefusedError: it, or a folder above it, is a symbolic link, or it is a pipe or the like, or too large, or
                its name leads out of the store.
            OSError: it cannot be read.

        """
        full = self._resolve(path)
        try:
            descriptor = os.open(full, OPEN_TO_READ)
        except (FileNotFoundError, NotADirectoryError):
            self._seen[path] = None
            return None
        except OSError:
            mode = os.lstat(full).st_mode
            if stat.S_ISDIR(mode):  # Windows opens no folder
                return None
            _check_regular(path, mode)
            raise
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                return None
            _check_regular(path, status.st_mode)
            if os.name == "nt" and os.path.islink(full):
                _check_regular(path, stat.S_IFLNK)
            if status.st_size > MAX_FILE_BYTES:
                raise RefusedError(f"{path} has {status.st_size:,} bytes, more than gitmem handles.", "Split it.")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read()
        finally:
            os.close(descriptor)
        self._seen[path] = _look(status)
        return File(data, bool(status.st_mode & stat.S_IXUSR))

    def is_folder(self, path: str) -> bool:
        """Say whether there is a folder of this name."""
        return os.path.isdir(self._resolve(path))

    def trusts_modes(self) -> bool:
        """Say whether the file system keeps apart what is executable and what is not; `git init` has tried it out."""
        if self._trusts_modes is None:
            said = self._git.run("config", "--type=bool", "--get", "core.fileMode", ok=(0, 1, 128))
            self._trusts_modes = said.strip() != b"false"
        return self._trusts_modes

    def stage(self, path: str, content: bytes | None, *, executable: bool = False) -> Staged:
        """Write content to a temporary file and sync it; nothing is visible yet.

        Raises:
            RefusedError: a folder on the way to the path is a link or a file.
            OSError: there is no room, or no permission.

        """
        full = self._resolve(path, to_write=True)
        if content is None:
            return Staged(path, None)
        self._make_temporary()
        temporary = os.path.join(self._temporary, f"{os.getpid()}-{os.urandom(6).hex()}")
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _give_mode(temporary, full, executable=executable)
        except BaseException:
            self.discard([Staged(path, temporary)])
            raise
        return Staged(path, temporary)

    def publish(self, staged: Iterable[Staged]) -> list[str]:
        """Rename staged files into place, and remove those that are to go, with folders that become empty.

        Returns the paths that were left alone, because the file is not what it was when it was read; also one that
        somebody had open and wrote into while it was being replaced.
        """
        left = []
        replaced = []
        for item in sorted(staged, key=lambda item: item.temporary is not None):  # a file may replace a folder
            full = self._resolve(item.path, to_write=True)
            if item.path in self._seen and self._seen[item.path] != _look_at(full):
                left.append(item.path)
                self.discard([item])
            elif item.temporary is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(full)
                self._remove_empty_parents(full)
            else:
                os.makedirs(os.path.dirname(full), exist_ok=True)
                if was := self._seen.get(item.path):
                    replaced.append((item.path, full, self._keep(full), was))
                os.replace(item.temporary, full)
            self._seen.pop(item.path, None)
        left += [path for path, full, kept, was in replaced if kept is not None and _put_back(full, kept, was)]
        return left

    def _keep(self, full: str) -> str | None:
        """Give a file that is about to be replaced a second name."""
        kept = os.path.join(self._temporary, f"{os.getpid()}-{os.urandom(6).hex()}")
        try:
            os.link(full, kept)
        except OSError:  # no hard links here
            return None
        return kept

    def discard(self, staged: Iterable[Staged]) -> None:
        """Remove temporary files that are not needed after all."""
        for item in staged:
            if item.temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(item.temporary)

    def clean_temporary(self) -> None:
        """Remove what a process that was killed left in the temporary folder; only under the store's lock."""
        try:
            names = os.listdir(self._temporary) if stat.S_ISDIR(os.lstat(self._temporary).st_mode) else []
        except FileNotFoundError:
            return
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._temporary, name))

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder of the work tree, unsorted; none where there is no such folder."""
        try:
            return os.listdir(os.path.dirname(self._resolve(f"{folder}/x")) if folder else self.root)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def edited(self) -> list[str]:
        """Return the paths in which work tree, index and tip differ, or that git does not know and does not ignore.

        A path that ends in `/` is another repository. Costs about 2 µs a file, as `git status` does.

        Raises:
            UnfinishedError: the index holds conflicts of a merge.

        """
        with self.look() as look:
            return look.edited()

    def look(self) -> Look:
        """Return what looks for what `edited` returns, while something else is being done."""
        from gitmem.git.look import Look  # only looking needs it

        return Look(self._git)

    def open_index(self, contents: Mapping[str, bytes] | None = None) -> IndexUpdate:
        """Start bringing index entries in step, while the commit is being made; see `IndexUpdate`."""
        from gitmem.git.index import IndexUpdate  # as below: only writing needs it

        return IndexUpdate(self._git, contents or {})

    def index_entries(self) -> dict[str, str]:
        """Return the object ids of all files in the index, by path; a file with conflicts is not among them."""
        from gitmem.git.index import read_entries

        return read_entries(self._git)

    def set_index_entries(self, entries: Mapping[str, tuple[str, str] | None]) -> None:
        """Have the index hold these files, given as mode and object id, or not hold them, whatever is on the disk."""
        from gitmem.git.index import set_entries

        set_entries(self._git, entries)

    def _resolve(self, path: str, *, to_write: bool = False) -> str:
        """Return the absolute path, after a look at each folder on the way: none may be a symbolic link."""
        parts = path.split("/")
        unsafe = not _UNSAFE_PARTS.isdisjoint(part.lower() for part in parts)
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            unsafe = True
        if unsafe or any(character in path for character in _UNSAFE_CHARACTERS):
            raise RefusedError(f"The name {path!a} leads out of the store.", "Use another name.")
        folder = self.root
        for part in parts[:-1]:
            folder = os.path.join(folder, part)
            try:
                mode = os.lstat(folder).st_mode
            except (FileNotFoundError, NotADirectoryError):
                break
            if stat.S_ISLNK(mode) or (to_write and not stat.S_ISDIR(mode)):
                raise RefusedError(
                    f"{folder} is not a folder of the store but a link or a file.",
                    "Remove it: gitmem follows no links.",
                )
        return os.path.join(self.root, path)

    def _make_temporary(self) -> None:
        try:
            os.mkdir(self._temporary)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(self._temporary).st_mode):
                raise RefusedError(f"{self._temporary} is not a folder but a link or a file.", "Remove it.") from None

    def _remove_empty_parents(self, full: str) -> None:
        folder = os.path.dirname(full)
        while len(folder) > len(self.root):
            try:
                os.rmdir(folder)
            except OSError:
                return
            folder = os.path.dirname(folder)


def _check_regular(path: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise RefusedError(f"{path} is a symbolic link; gitmem follows none.", "Put a file in its place.")
    if not stat.S_ISREG(mode):
        raise RefusedError(f"{path} is not a regular file.", "Move it out of the store.")


_CHANGE = 4  # of these: the time of the last change of what is known of the file, which a second name makes another


def _look(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _put_back(full: str, kept: str, was: tuple[int, ...]) -> bool:
    """Put a file that was replaced back if it is not what it was; else forget it."""
    with contextlib.suppress(OSError):
        if _look(os.lstat(kept))[:_CHANGE] != was[:_CHANGE]:
            os.replace(kept, full)
            return True
        os.unlink(kept)
    return False


def _look_at(full: str) -> tuple[int, ...] | None:
    try:
        return _look(os.lstat(full))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _give_mode(temporary: str, full: str, *, executable: bool) -> None:
    """Give a new file the permissions of the one it replaces, but for what its mode in git says."""
    status = os.lstat(temporary)
    with contextlib.suppress(OSError):
        replaced = os.lstat(full)
        if stat.S_ISREG(replaced.st_mode):
            status = replaced
    mode = stat.S_IMODE(status.st_mode) & 0o777
    may_execute = (mode & 0o444) >> 2  # whoever may read it
    with contextlib.suppress(OSError):
        if executable != bool(mode & stat.S_IXUSR):
            mode = mode | may_execute if executable else mode & ~0o111
        os.chmod(temporary, mode)

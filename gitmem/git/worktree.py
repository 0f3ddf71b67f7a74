"""The files of a store's work tree.

A file is replaced atomically (temporary file, sync, rename), never through a symbolic link (gitmem.platform.safe_open),
and only if it has not changed since it was read: a user may have saved it meanwhile. gitmem.git.index
updates git's index.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence

from gitmem.errors import RefusedError
from gitmem.git.process import Git, unfiltered_settings
from gitmem.platform.safe_open import CREATE, MAX_FILE_BYTES, Folder, enter, in_the_way, split
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from gitmem.git.index import IndexUpdate, Look


_AT_ONCE = 16  # files that are written and synced at the same time


class FileContent(Value):
    """A file of the work tree: its content, and whether its owner may execute it."""

    data: bytes
    executable: bool


class Staged(Value):
    """New content in a temporary file before its rename; None if the file is to be removed."""

    path: str
    temporary: str | None


class WorkTree:
    """A work tree, by its absolute path; `temporary` names its folder for temporary files."""

    def __init__(self, root: str, git: Git, temporary: str) -> None:
        self.root = root
        self._git = git
        self._temporary = temporary
        self._seen: dict[str, tuple[int, ...]] = {}  # an empty tuple: no file

    def read(self, path: str) -> bytes | None:
        """Return a file's content, or None if it is missing. Raises as `load`."""
        file = self.load(path)
        return None if file is None else file.data

    def load(self, path: str) -> FileContent | None:
        """Return a file, None if it is missing or a folder, and remember its status for `publish`.

        Raises:
            RefusedError: it, or a folder above it, is a symbolic link, or it is a pipe or the like, or too large, or
                its name leads out of the store.
            OSError: it cannot be read.
        """
        *folders, name = split(path)
        try:
            with enter(self.root, folders) as folder, open(_open(folder, name, path), "rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size > MAX_FILE_BYTES:
                    raise RefusedError(f"{path} has {status.st_size:,} bytes, more than gitmem handles.", "Split it.")
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            self._seen[path] = ()
            return None
        except IsADirectoryError:
            return None
        self._seen[path] = _look(status)
        return FileContent(data, bool(status.st_mode & stat.S_IXUSR))

    def glance(self, path: str, most: int) -> bytes | None:
        """Return a file, or None; if it is large, only lines (or words) of its beginning and end.

        Raises:
            as `load`, except for the size.
        """
        *folders, name = split(path)
        try:
            with enter(self.root, folders) as folder, open(_open(folder, name, path), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size <= most:
                    return file.read(most)
                head = file.read(most // 2)
                file.seek(size - most // 2)
                tail = file.read(most // 2)
                end = head.rfind(b"\n") if b"\n" in head else head.rfind(b" ")
                start = tail.find(b"\n") if b"\n" in tail else tail.find(b" ")
                return head[: end + 1] + (tail[start + 1 :] if start >= 0 else b"")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def is_folder(self, path: str) -> bool:
        """Return whether a folder with this name exists."""
        *folders, name = split(path)
        try:
            with enter(self.root, folders) as folder:
                return stat.S_ISDIR(folder.status(name).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def trusts_modes(self) -> bool:
        """Return whether the file system has executable bits, as `git init` determined."""
        settings, _ = unfiltered_settings(self._git.git_dir or "")
        return settings.get("core.fileMode") != "false"

    def stage(self, path: str, content: bytes | None, *, executable: bool = False) -> Staged:
        """Write content to a temporary file and sync it, without publishing it.

        Raises RefusedError if a folder on the way to the path is a link or a file, OSError if there is no room, or no
        permission.
        """
        *folders, name = split(path)
        replaced = self._status(folders, name)
        if content is None:
            return Staged(path, None)
        temporary = f"{os.getpid()}-{os.urandom(6).hex()}"
        with self._open_temporary() as folder:
            try:
                with open(folder.open(temporary, CREATE), "wb") as file:
                    file.write(content)
                    _give_mode(file.fileno(), replaced, executable=executable)
                    file.flush()
                    os.fsync(file.fileno())
            except BaseException:
                self.discard([Staged(path, temporary)])
                raise
        return Staged(path, temporary)

    def stage_all(self, contents: Sequence[tuple[str, bytes | None, bool]]) -> list[Staged]:
        """Stage files (path, content, executable) in parallel, five times as fast; leaves none behind if one fails."""
        from concurrent.futures import ThreadPoolExecutor  # only here

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            jobs = [pool.submit(self.stage, path, data, executable=mode) for path, data, mode in contents]
        failed = [error for job in jobs if (error := job.exception())]
        staged = [job.result() for job in jobs if not job.exception()]
        if failed:
            self.discard(staged)
            raise failed[0]
        return staged

    def publish(self, staged: Iterable[Staged]) -> list[str]:
        """Rename staged files into place, and remove files, with folders that become empty.

        Return the paths that were left alone because the file has changed since it was read, even during the
        replacement.
        """
        skipped = []
        replaced = []
        for item in sorted(staged, key=lambda item: item.temporary is not None):  # removals first
            *folders, name = split(item.path)
            if item.path in self._seen and self._seen[item.path] != _look(self._status(folders, name)):
                skipped.append(item.path)
                self.discard([item])
            elif item.temporary is None:
                self._remove(folders, name)
            else:
                with self._enter_to_write(folders, make=True) as folder, self._open_temporary() as waiting:
                    if status := self._seen.get(item.path):
                        ours = _look(waiting.status(item.temporary))
                        replaced.append((item.path, _keep(folder, name, waiting), status, ours))
                    waiting.move(item.temporary, folder, name)
            self._seen.pop(item.path, None)
        skipped += [path for path, copy, *looks in replaced if copy is not None and self._put_back(path, copy, *looks)]
        return skipped

    def discard(self, staged: Iterable[Staged]) -> None:
        """Remove the temporary files of staged content."""
        self._remove_temporary([item.temporary for item in staged if item.temporary is not None])

    def clean_temporary(self) -> None:
        """Remove temporary files of killed processes; only under the store's lock."""
        with contextlib.suppress(RefusedError):
            self._remove_temporary(self.names(self._temporary))

    def _remove_temporary(self, names: Sequence[str]) -> None:
        with contextlib.suppress(OSError, RefusedError), enter(self.root, [self._temporary]) as folder:
            for name in names:
                with contextlib.suppress(OSError):
                    folder.unlink(name)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder of the work tree, unsorted; [] if it is missing."""
        try:
            with enter(self.root, split(folder) if folder else []) as handle:
                return handle.names()
        except (FileNotFoundError, NotADirectoryError):
            return []

    def edited(self) -> list[str]:
        """Return the paths in which work tree or index differ from the tip, and untracked ones that are not ignored.

        A path that ends in `/` is a nested repository. Costs about 2 µs a file, as `git status` does.

        Raises UnfinishedError if the index holds conflicts of a merge.
        """
        with self.look() as look:
            return look.edited()

    def look(self, tip: str = "") -> Look:
        """Return a comparison with a commit, or `HEAD`, that runs in the background, as the input of `edited`."""
        from gitmem.git.index import Look  # only this needs it

        return Look(self._git, tip)

    def open_index(self) -> IndexUpdate:
        """Return an update of the index; see `IndexUpdate`."""
        from gitmem.git.index import IndexUpdate  # as below: only writing needs it

        return IndexUpdate(self._git)

    def _status(self, folders: Sequence[str], name: str) -> os.stat_result | None:
        """Return the status of the file that is to be replaced, None where there is none."""
        try:
            with self._enter_to_write(folders) as folder:
                return folder.status(name)
        except FileNotFoundError:
            return None

    def _enter_to_write(self, folders: Sequence[str], *, make: bool = False) -> Folder:
        try:
            return enter(self.root, folders, make=make)
        except NotADirectoryError:
            raise in_the_way(os.path.join(self.root, *folders)) from None

    def _open_temporary(self) -> Folder:
        try:
            return enter(self.root, [self._temporary], make=True)
        except (NotADirectoryError, RefusedError):
            where = os.path.join(self.root, self._temporary)
            raise RefusedError(f"{where} is not a folder but a link or a file.", "Remove it.") from None

    def _remove(self, folders: Sequence[str], name: str) -> None:
        """Remove a file, and the folders that become empty."""
        with contextlib.suppress(FileNotFoundError), self._enter_to_write(folders) as folder:
            folder.unlink(name)
        for depth in range(len(folders), 0, -1):
            try:
                with enter(self.root, folders[: depth - 1]) as above:
                    above.remove_folder(folders[depth - 1])
            except (OSError, RefusedError):
                return

    def _put_back(self, path: str, copy: str, was: tuple[int, ...], ours: tuple[int, ...]) -> bool:
        """Restore a replaced file if it changed during the replacement, else remove its second name.

        If the new file, which was `ours`, is edited by now as well, the old one is put beside it.
        """
        *folders, name = split(path)
        with contextlib.suppress(OSError, RefusedError), self._open_temporary() as waiting:
            if _look(waiting.status(copy))[:_CHANGE] == was[:_CHANGE]:
                waiting.unlink(copy)
                return False
            with enter(self.root, folders) as folder:
                if _look(self._status(folders, name))[:_CHANGE] not in {(), ours[:_CHANGE]}:
                    stem, suffix = os.path.splitext(name)
                    name = f"{stem}.edited-{copy.rpartition('-')[2]}{suffix}"
                waiting.move(copy, folder, name)
            return True
        return False


def _open(folder: Folder, name: str, path: str) -> int:
    """Open a regular file and return its descriptor."""
    try:
        descriptor = folder.open(name)
        mode = os.fstat(descriptor).st_mode
    except FileNotFoundError:
        raise
    except OSError:
        _check_regular(path, folder.status(name).st_mode)
        raise
    try:
        _check_regular(path, mode)
        if os.name == "nt":  # it has no O_NOFOLLOW
            _check_regular(path, folder.status(name).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_regular(path: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise RefusedError(f"{path} is a symbolic link; gitmem follows none.", "Put a file in its place.")
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(path)
    if not stat.S_ISREG(mode):
        raise RefusedError(f"{path} is not a regular file.", "Move it out of the store.")


_CHANGE = 4  # the index of ctime, which a second name changes


def _look(status: os.stat_result | None) -> tuple[int, ...]:
    if status is None:
        return ()
    return (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _keep(folder: Folder, name: str, waiting: Folder) -> str | None:
    """Link a file that is about to be replaced into the temporary folder."""
    copy = f"{os.getpid()}-{os.urandom(6).hex()}"
    try:
        folder.link(name, waiting, copy)
    except OSError:  # no hard links here
        return None
    return copy


def _give_mode(descriptor: int, replaced: os.stat_result | None, *, executable: bool) -> None:
    """Copy the permissions of the replaced file, except the executable bits, which git's mode sets."""
    status = replaced if replaced and stat.S_ISREG(replaced.st_mode) else os.fstat(descriptor)
    mode = stat.S_IMODE(status.st_mode) & 0o777
    may_execute = (mode & 0o444) >> 2  # for those who may read it
    if executable != bool(mode & stat.S_IXUSR):
        mode = mode | may_execute if executable else mode & ~0o111
    if os.chmod in os.supports_fd:  # Windows has no such permissions
        with contextlib.suppress(OSError):
            os.chmod(descriptor, mode)

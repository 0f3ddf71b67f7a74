"""Open files beneath a folder without following links on the way (docs/format.md, "Names"), and replace whole files.

A path can change between a check and opening it by name. So each folder on the way is opened relative to the one above,
without following links, and the file relative to the last. Windows has no such calls: there each folder is checked
first, and a swap at the same moment can still succeed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence

from gitmem.errors import RefusedError
from gitmem.values import Any, BinaryIO

HANDLES = (
    os.name == "posix"
    and {os.open, os.stat, os.mkdir, os.rename, os.link, os.unlink, os.rmdir} <= os.supports_dir_fd
    and {os.listdir, os.scandir} <= os.supports_fd
)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# O_NONBLOCK: opening a pipe would wait for a writer.
READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0)
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
_LIST = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_DIRECTORY", 0)
_PASS = getattr(os, "O_PATH", 0) | _LIST  # O_PATH, if available, needs no read permission for the folder
_NO_FOLDER = {errno.ENOTDIR, errno.ELOOP, errno.EMLINK}  # errors of a link, or a file, opened as a folder
MAX_FILE_BYTES = 100 * 1024 * 1024  # a larger one is not read into memory; hosting sites refuse it, too
_MOST_SMALL = 1 << 20  # bytes
_MOST_JSON = 64 << 20  # bytes
# Parts of paths that lead out of the folder or into git's own.
_UNSAFE_PARTS = frozenset(("", ".", "..", ".git"))
_UNSAFE_CHARACTERS = "\0\\:" if os.name == "nt" else "\0"


class Folder:
    """An open folder; the context manager closes it."""

    __slots__ = ("_handle", "path")

    def __init__(self, path: str, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def open(self, name: str, flags: int = READ, mode: int = 0o666) -> int:
        """Open a file of the folder and return its descriptor; an error has the whole path."""
        try:
            return os.open(self._at(name), flags, mode, dir_fd=self._handle)
        except OSError as error:
            error.filename = os.path.join(self.path, name)
            raise

    def status(self, name: str) -> os.stat_result:
        """Return the status of a file, or of a link itself."""
        return os.stat(self._at(name), dir_fd=self._handle, follow_symlinks=False)

    def names(self) -> list[str]:
        """Return the names in the folder, unsorted."""
        if self._handle is None:
            return os.listdir(self.path)
        with self._listed() as handle:
            return os.listdir(handle)

    @contextlib.contextmanager
    def scan(self) -> Iterator[Iterator[os.DirEntry[str]]]:
        """Yield an iterator over the folder's entries."""
        if self._handle is None:
            with os.scandir(self.path) as entries:
                yield entries
        else:
            with self._listed() as handle, os.scandir(handle) as entries:
                yield entries

    def make(self, name: str) -> None:
        """Create a folder in this one, unless the name exists."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._at(name), dir_fd=self._handle)

    def unlink(self, name: str) -> None:
        """Remove a file, or a link itself."""
        os.unlink(self._at(name), dir_fd=self._handle)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder of this one."""
        os.rmdir(self._at(name), dir_fd=self._handle)

    def move(self, name: str, folder: Folder, new: str) -> None:
        """Rename a file into another folder, replacing a file with that name."""
        os.replace(self._at(name), folder._at(new), src_dir_fd=self._handle, dst_dir_fd=folder._handle)

    def link(self, name: str, folder: Folder, new: str) -> None:
        """Give a file a second name in another folder."""
        if self._handle is None:
            os.link(self._at(name), folder._at(new))
        else:
            os.link(name, new, src_dir_fd=self._handle, dst_dir_fd=folder._handle, follow_symlinks=False)

    def down(self, name: str) -> Folder:
        """Open a folder of this one.

        Raises:
            RefusedError: it is a link.
            FileNotFoundError, NotADirectoryError: there is no such folder.
        """
        path = os.path.join(self.path, name)
        try:
            if self._handle is not None:
                return Folder(path, os.open(name, _PASS, dir_fd=self._handle))
        except OSError as error:
            if error.errno not in _NO_FOLDER:
                error.filename = path
                raise
        mode = self.status(name).st_mode
        if stat.S_ISLNK(mode):
            raise in_the_way(path)
        if self._handle is not None or not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return Folder(path, None)

    def _at(self, name: str) -> str:
        return name if self._handle is not None else os.path.join(self.path, name)

    @contextlib.contextmanager
    def _listed(self) -> Iterator[int]:
        handle = os.open(".", _LIST, dir_fd=self._handle)
        try:
            yield handle
        finally:
            os.close(handle)


def in_the_way(path: str) -> RefusedError:
    """Return the error for a link or file where the store has a folder."""
    return RefusedError(
        f"{path} is not a folder of the store but a link or a file.", "Remove it: gitmem follows no links."
    )


def enter(root: str, parts: Sequence[str], *, make: bool = False) -> Folder:
    """Open the folder at the path `parts` beneath `root`; `make` creates missing ones.

    Raises:
        RefusedError: one of them is a link.
        FileNotFoundError, NotADirectoryError: there is no such folder.
    """
    folder = Folder(root, os.open(root, _PASS) if HANDLES else None)
    for part in parts:
        with folder:
            try:
                folder = folder.down(part)
            except FileNotFoundError:
                if not make:
                    raise
                folder.make(part)
                folder = folder.down(part)
    return folder


def split(path: str) -> list[str]:
    """Return the names in a path; raise RefusedError if it leads out of the store, or has an invalid name."""
    parts = path.split("/")
    unsafe = not _UNSAFE_PARTS.isdisjoint(part.lower() for part in parts)
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        unsafe = True
    if unsafe or any(character in path for character in _UNSAFE_CHARACTERS):
        raise RefusedError(f"The name {path!a} leads out of the store.", "Use another name.")
    return parts


def read_regular(path: str, most: int, *, follow: bool = True) -> bytes | None:
    """Return up to `most` bytes of a file, None if missing or not regular; never blocks, may raise OSError."""
    try:
        descriptor = os.open(path, READ & ~getattr(os, "O_NOFOLLOW", 0) if follow else READ)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        return read_open(file, most)


def read_open(file: BinaryIO, most: int) -> bytes | None:
    """Return up to `most` bytes of an open file; None if it is not regular."""
    status = os.fstat(file.fileno())
    return file.read(min(most, status.st_size)) if stat.S_ISREG(status.st_mode) else None


def read_small(path: str, *, follow: bool = True) -> bytes | None:
    """Return up to 1 MiB of a regular file, None if it cannot be read, or is a link and `follow` is false."""
    if not follow and os.path.islink(path):  # for systems without O_NOFOLLOW
        return None
    try:
        return read_regular(path, _MOST_SMALL, follow=follow)
    except OSError:
        return None


def decode_by_hand(data: bytes) -> str:
    """Return the text of a user's file: UTF-8, or by its byte order mark an encoding of Windows editors and shells."""
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return data.decode("utf-16" if wide else "utf-8-sig", "replace")


def read_text(path: str) -> str:
    """Return the content of a small file, "" if it cannot be read."""
    return (read_small(path) or b"").decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def read_json(path: str) -> Any:
    """Return the value in a JSON file; None if there is no such file, or it cannot be read."""
    import json

    try:
        return json.loads(read_regular(path, _MOST_JSON) or b"null")
    except (OSError, ValueError, RecursionError):
        return None


def read_object(path: str) -> dict[str, Any]:
    """Return the object in a JSON file; {} for anything else or an unreadable file."""
    value = read_json(path)
    return value if isinstance(value, dict) else {}


def file_version(path: str) -> tuple[int, ...]:
    """Return values that change whenever a file is replaced, () if it cannot be examined."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size


def write_json(path: str, value: object, *, sync: bool = False) -> None:
    """Replace a file by a value as JSON. Raises OSError if it cannot be written."""
    import json

    replace_file(path, json.dumps(value).encode("ascii"), sync=sync)


def write_text(path: str, text: str) -> None:
    """Write a file in place: for files that only gitmem reads, and only as a hint, or that nobody reads yet."""
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)


def drop_file(path: str) -> None:
    """Remove a file if possible."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def folders_around(folder: str) -> Iterator[str]:
    """Yield a folder and all above it, the innermost first."""
    above = ""
    while folder != above:
        yield folder
        above, folder = folder, os.path.dirname(folder)


def make_private(folder: str) -> None:
    """Make a folder and missing ones above it for the user alone; `os.makedirs` would use the umask for the latter."""
    if folder and not os.path.isdir(folder):
        make_private(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise


def make_last(folder: str) -> None:
    """Make a folder for the user alone, but none above it: what was deleted with its store does not come back."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def replace_file(path: str, data: bytes, *, sync: bool = False, mode: int | None = None) -> None:
    """Atomically write a file of the user in their folder, with `mode` or the mode of new files."""
    make_private(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_FOLLOW
    try:
        with open(os.open(temporary, flags, 0o666 if mode is None else 0o600), "wb") as file:
            file.write(data)
            if mode is not None:
                os.chmod(temporary, mode)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        drop_file(temporary)
        raise


def set_mark(path: str, *, on: bool) -> None:
    """Make an empty file, or remove it. Raises OSError if that fails."""
    if on:
        make_private(os.path.dirname(path))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | _NO_FOLLOW, 0o600))
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def open_regular(path: str) -> BinaryIO | None:
    """Open a file named by a host without blocking; None if it is not regular, such as a pipe."""
    try:
        descriptor = os.open(path, READ & ~getattr(os, "O_NOFOLLOW", 0))
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return open(descriptor, "rb")


def read_end(path: str, size: int) -> tuple[bytes, bool]:
    """Return the last `size` bytes of a regular file, and whether that is all of it; no bytes if unreadable."""
    file = open_regular(path)
    if file is None:
        return b"", True
    with file, contextlib.suppress(OSError):
        length = os.fstat(file.fileno()).st_size
        file.seek(max(0, length - size))
        return file.read(size), length <= size
    return b"", True


_MOST_READ = 256 << 20


def plain_files(folder: str) -> Iterator[str]:
    """Yield the paths of regular files below a folder, except in `.git`."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        paths = (os.path.join(base, name) for name in names)
        yield from (path for path in paths if os.path.isfile(path) and not os.path.islink(path))


def read_file(path: str) -> bytes:
    """Return the content of a file, cut after 256 MB; b"" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_READ)
    except OSError:
        return b""

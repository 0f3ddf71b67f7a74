"""The documents of a store, and the layer of memory that each belongs to (docs/spec.md R9)."""

from __future__ import annotations

import contextlib
import os

from gitmem.document.ids import ARCHIVE, FORMAT, MEMORY, README, SUMMARIES
from gitmem.errors import RefusedError
from gitmem.platform.safe_open import MAX_FILE_BYTES, enter, read_open
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator


SUFFIXES = (".md", ".markdown", ".txt")
# The layers in the order of docs/spec.md R9.
MEMORY_LAYER, KNOWLEDGE, LOGS, TRANSCRIPTS = "memory", "knowledge", "logs", "transcripts"
LAYERS = (MEMORY_LAYER, KNOWLEDGE, LOGS, TRANSCRIPTS)
_LOG_FOLDERS = frozenset({ARCHIVE, "daily", "weekly", "monthly", "sessions", "episodes"})
LINKED = ("concepts/", "episodes/")  # folders of documents that link to exchanges; no prompt is told them
_SUMMARY_FOLDER = f"{SUMMARIES}/"
_DEEPEST = 100  # nested folders


class FileVersion(Value):
    """A file: its path in the store, and the size and times that tell its versions apart."""

    path: str
    size: int
    modified: int
    changed: int


def layer_of(path: str) -> str:
    """Return the layer of memory a file belongs to."""
    if path == MEMORY:
        return MEMORY_LAYER
    return LOGS if path.split("/", 1)[0] in _LOG_FOLDERS else KNOWLEDGE


def is_searched(path: str) -> bool:
    """Return whether a path is a document's: not a hidden file, and not the text on the format."""
    if not path.endswith(SUFFIXES) or path in {FORMAT, README}:
        return False
    return all(part[:1] not in {"", "."} for part in path.split("/"))


def is_summary(path: str) -> bool:
    """Return whether a file is the summary of an archive, which has its text in the header."""
    return path.startswith(_SUMMARY_FOLDER)


def list_paths(root: str) -> list[str]:
    """Return the paths of the documents in a working tree, sorted; never follow links."""
    return sorted(path for path, _ in _documents(root))


def _documents(root: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the documents, unordered, each while its folder is open."""
    folders: list[tuple[str, ...]] = [()]
    while folders:
        parts = folders.pop()
        before = "".join(f"{part}/" for part in parts)
        # A folder may be deleted meanwhile, or unreadable.
        with contextlib.suppress(OSError, RefusedError), enter(root, parts) as folder, folder.scan() as entries:
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                if name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                    if before + name not in {FORMAT, README}:
                        yield before + name, entry
                elif entry.is_dir(follow_symlinks=False) and len(parts) < _DEEPEST:
                    folders.append((*parts, name))


def stat_file(root: str, path: str) -> FileVersion | None:
    """Return size and times of a file, or None if it is gone."""
    try:
        return _file(path, os.stat(f"{root}/{path}", follow_symlinks=False))
    except OSError:
        return None


def _file(path: str, known: os.stat_result) -> FileVersion:
    return FileVersion(path, known.st_size, known.st_mtime_ns, known.st_ctime_ns)


def read_file(root: str, path: str) -> bytes:
    """Return the bytes of a file, or b"" if it is gone, unreadable or outside the store."""
    *folders, name = path.split("/")
    try:
        with enter(root, folders) as folder, open(folder.open(name), "rb") as file:
            return read_open(file, MAX_FILE_BYTES) or b""
    except (OSError, RefusedError):
        return b""


def list_files(root: str) -> list[FileVersion]:
    """Return the documents in a working tree, sorted by path."""
    files = []
    for path, entry in _documents(root):
        with contextlib.suppress(OSError):
            files.append(_file(path, entry.stat(follow_symlinks=False)))
    return sorted(files, key=lambda file: file.path)

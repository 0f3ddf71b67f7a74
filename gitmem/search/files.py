"""The files of a store that can be searched, and which layer of memory each belongs to (spec R9)."""

from __future__ import annotations

import contextlib
import os

from gitmem.model.paths import ARCHIVE, FORMAT, MEMORY, SUMMARIES
from gitmem.values import Value

SUFFIXES = (".md", ".markdown", ".txt")
# The layers in the order in which spec R9 has them.
MEMORY_LAYER, KNOWLEDGE, LOGS, TRANSCRIPTS = "memory", "knowledge", "logs", "transcripts"
LAYERS = (MEMORY_LAYER, KNOWLEDGE, LOGS, TRANSCRIPTS)
_LOG_FOLDERS = frozenset({ARCHIVE, "daily", "weekly", "monthly", "sessions", "episodes"})
_SUMMARY_FOLDER = f"{SUMMARIES}/"


class File(Value):
    """A file by its path in the store, with what tells one version of it from another."""

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
    """Say whether a file of this path is searched: a document, and not the text that explains the format."""
    return path.endswith(SUFFIXES) and path != FORMAT and all(part[:1] not in {"", "."} for part in path.split("/"))


def is_summary(path: str) -> bool:
    """Say whether a file is the summary of an archive, whose header says things in fields."""
    return path.startswith(_SUMMARY_FOLDER)


def list_paths(root: str) -> list[str]:
    """Return the documents in a store's work tree, in order; links are never followed."""
    paths: list[str] = []
    folders = [""]
    while folders:
        folder = folders.pop()
        before = f"{folder}/" if folder else ""
        with contextlib.suppress(OSError), os.scandir(f"{root}/{folder}") as entries:  # gone, or not ours to read
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                if name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                    paths.append(before + name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(before + name)
    paths.sort()
    return [path for path in paths if path != FORMAT]


def look_at(root: str, path: str) -> File | None:
    """Return what tells this version of a file from another; None where it has gone."""
    try:
        known = os.stat(f"{root}/{path}", follow_symlinks=False)
    except OSError:
        return None
    return File(path, known.st_size, known.st_mtime_ns, known.st_ctime_ns)


def read_file(root: str, path: str) -> bytes:
    """Return a file's bytes, b"" where it cannot be read any more."""
    try:
        descriptor = os.open(
            os.path.join(root, path),
            os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0),
        )
    except OSError:
        return b""
    try:
        with open(descriptor, "rb") as file:
            return file.read()
    except OSError:
        return b""


def list_files(root: str) -> list[File]:
    """Return the documents in a store's work tree as they are now, in the order of their paths."""
    return [file for path in list_paths(root) if (file := look_at(root, path)) is not None]

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


def list_files(root: str) -> list[File]:
    """Return the documents in a store's work tree, in the order of their paths; links are never followed."""
    files: list[File] = []
    folders = [""]
    while folders:
        folder = folders.pop()
        before = f"{folder}/" if folder else ""
        with contextlib.suppress(OSError), os.scandir(f"{root}/{folder}") as entries:  # gone, or not ours to read
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                if not name.endswith(SUFFIXES):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(before + name)
                elif entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        known = entry.stat(follow_symlinks=False)
                        files.append(File(before + name, known.st_size, known.st_mtime_ns, known.st_ctime_ns))
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(before + name)
    files.sort(key=lambda file: file.path)
    return [file for file in files if file.path != FORMAT]

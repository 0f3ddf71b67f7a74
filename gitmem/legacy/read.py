"""Find and read memories of older tools on the disk (spec R10). Nothing is written there.

The files are not trusted: no link is followed below the folder a person named, and files that are not regular, too
large or too many are listed and skipped.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.errors import RefusedError
from gitmem.legacy.plan import Left, SourceFile, SourceKind
from gitmem.machine.beneath import enter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

MAX_FILE = 32 * 1024 * 1024  # bytes; a transcript has some, all else far fewer
MAX_FILES = 20_000
MAX_TOTAL = 512 * 1024 * 1024
MAX_DEPTH = 4  # folders; `sessions/archive/` is the deepest that any tool makes
_IN_PROJECT = (
    (SourceKind.ROTATION, ".claude/memory"),
    (SourceKind.ROTATION, ".crabshell/memory"),
    (SourceKind.JIKIME, ".jikime/memory"),
)
_KEEPER = ".claude/memory-keeper/projects"
_DATABASES = (".db", ".db-wal", ".db-shm", ".sqlite", ".sqlite3")


@dataclass(frozen=True, slots=True)
class Source:
    """A folder with the memory of an older tool."""

    kind: SourceKind
    folder: str


@dataclass(frozen=True, slots=True)
class Read:
    """The files of a source and the parts that were skipped."""

    files: tuple[SourceFile, ...]
    left: tuple[Left, ...]


def find_sources(project: str, home: str) -> list[Source]:
    """Return the memories of older tools that belong to a project; of a folder for all projects, its own part."""
    found = [Source(kind, os.path.join(project, *name.split("/"))) for kind, name in _IN_PROJECT]
    found.append(Source(SourceKind.KEEPER, os.path.join(home, *_KEEPER.split("/"), os.path.basename(project))))
    return [source for source in found if _is_plain_folder(source.folder)]


def kind_of(folder: str) -> SourceKind | None:
    """Return the tool of a folder's memory, known by its path or its files; None if there is none."""
    parts = os.path.normpath(folder).replace("\\", "/").split("/")
    if ".jikime" in parts:
        return SourceKind.JIKIME
    if "memory-keeper" in parts:
        return SourceKind.KEEPER
    names = set(_names(folder))
    if names & {"MEMORY.md", "track_buffer.jsonl"} and "memory.md" not in names:
        return SourceKind.JIKIME
    if "index.json" in names and "memory-index.json" not in names:
        return SourceKind.KEEPER
    known = names & {"memory.md", "logbook.md", "facts.json", "memory-index.json"}
    return SourceKind.ROTATION if known or any(name.startswith("memory_") for name in names) else None


def read_source(folder: str, zone: tzinfo | None) -> Read:
    """Return the files of a folder, with times in this zone."""
    files: list[SourceFile] = []
    left: list[Left] = []
    total = 0
    root = os.path.realpath(folder)
    for name in _walk(root, "", 0, left):
        if len(files) >= MAX_FILES or total >= MAX_TOTAL:
            left.append(Left(name, "there are more files than gitmem takes from one source"))
            break
        found = _read(root, name, zone)
        if isinstance(found, SourceFile):
            files.append(found)
            total += len(found.data)
        else:
            left.append(found)
    return Read(tuple(files), tuple(left))


def _is_plain_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _walk(folder: str, prefix: str, depth: int, left: list[Left]) -> Iterator[str]:
    """Yield the names of the files below a folder, in order; list skipped ones with the reason."""
    for name in _names(folder):
        path, shown = os.path.join(folder, name), f"{prefix}{name}"
        if os.path.islink(path):
            left.append(Left(shown, "it is a symbolic link, which gitmem does not follow"))
        elif not os.path.isdir(path):
            yield shown
        elif depth >= MAX_DEPTH or name == ".git":
            left.append(Left(f"{shown}/", "it is nothing gitmem knows"))
        else:
            yield from _walk(path, f"{shown}/", depth + 1, left)


def _read(root: str, name: str, zone: tzinfo | None) -> SourceFile | Left:
    if name.endswith(_DATABASES):
        return Left(name, "it is a database; the logs beside it say what is in it")
    try:
        *folders, last = name.split("/")
        with enter(root, folders) as folder, open(folder.open(last), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                return Left(name, "it is no plain file")
            if about.st_size > MAX_FILE:
                return Left(name, f"it has {about.st_size:,} bytes, more than gitmem takes from one file")
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        return Left(name, f"it cannot be read: {error.strerror or error}")
    except RefusedError:
        return Left(name, "it is in a folder that became a symbolic link")
    modified = datetime.fromtimestamp(max(about.st_mtime, 0), UTC).astimezone(zone).replace(microsecond=0)
    return SourceFile(name, data[:MAX_FILE], modified)

"""What the headers of a folder's documents say, remembered by the file's time and size: reading 1,000 takes 100 ms.

The cache is a file of the private folder, derived, and never wrong for longer than a file system keeps time: a document
that was changed by hand, or came with a sync, has another time or size, and is read again.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat

from gitmem.errors import GitmemError
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gitmem.store.store import Store

    Read = Callable[[bytes, str], tuple[tuple[str, ...], Sequence[object]] | None]

FOLDER = "known"
_VERSION = "2"
_SUFFIX = ".md"
_NONE = "-"  # in the place of what a document says that is none of these
_NOTHING = f"\t{_NONE}"  # how the line of such a one ends


class Header(Value):
    """A document: its path, and the line the cache has of it, of which no more is taken apart than is asked for."""

    path: str
    line: str  # the file's time and size, the parts of the key, and all else as JSON, with tabs between

    @property
    def key(self) -> tuple[str, ...]:
        """What is asked of every document; no part of it has a tab or the end of a line."""
        return tuple(self.line[: self.line.rindex("\t")].split("\t")[2:])

    def load(self) -> list[Any]:
        """Return what the header says: the values that `read` gave, lists as tuples."""
        values: list[Any] = json.loads(self.line.rpartition("\t")[2])
        return [tuple(value) if isinstance(value, list) else value for value in values]

    def is_current(self, root: str) -> bool:
        """Say whether the file is still what it was when it was read."""
        try:
            return self.line.startswith(_look(os.lstat(os.path.join(root, self.path))))
        except OSError:
            return False


def read_headers(store: Store, folder: str, read: Read, most: int = 0, *, trusting: bool = False) -> list[Header]:
    """Return the documents below a folder, by path.

    `read` is given content and path and returns a key and values that JSON can hold, None for what is none of these
    documents. At most `most` documents are read that are not known yet (0: all); the others are left out, until a
    command that has time reads them. Links are not followed. With `trusting` those that are known are taken as they
    were, and it is the caller's to ask those that matter whether they are current: to ask 1,000 takes 5 ms.
    """
    cache = os.path.join(store.private, FOLDER, f"{folder}.tsv")
    known = _load(cache)
    kept: dict[str, str] = {}
    new = 0
    for path, entry in _documents(store.root, folder, known):
        line = known.get(path, "")
        if not line or not trusting:
            try:
                status = entry.stat(follow_symlinks=False)
                look = _look(status)
                if not line.startswith(look):
                    if (most and new >= most) or not stat.S_ISREG(status.st_mode):
                        continue
                    line = look + _read(store, path, read)
                    new += 1
            except OSError:  # it is gone, or cannot be read now, which is not to be remembered
                continue
        kept[path] = line
    if new or len(known) != len(kept):
        _save(cache, kept)
    return [Header(path, line) for path, line in kept.items() if not line.endswith(_NOTHING)]


def _look(status: os.stat_result) -> str:
    """Return what tells whether a file has changed."""
    return f"{status.st_mtime_ns}\t{status.st_size}\t"


def _read(store: Store, path: str, read: Read) -> str:
    try:
        data = store.read(path)
    except GitmemError:
        return _NONE
    said = None if data is None else read(data, path)
    if said is None:
        return _NONE
    # JSON has no tab and no end of a line outside its escapes.
    return "\t".join(
        [*(" ".join(part.split()) for part in said[0]), json.dumps(said[1], ensure_ascii=False, separators=(",", ":"))]
    )


def _documents(root: str, folder: str, known: Mapping[str, str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the markdown files of a folder and of the folders in it, sorted; of the known nothing is asked."""
    try:
        with os.scandir(os.path.join(root, folder)) as found:
            entries = sorted([(entry.name, entry) for entry in found])
    except OSError:
        return
    for name, entry in entries:
        path = f"{folder}/{name}"
        if path in known or (name.endswith(_SUFFIX) and "\t" not in name and "\n" not in name):
            yield path, entry
        elif folder.count("/") == 0 and entry.is_dir(follow_symlinks=False):
            yield from _documents(root, path, known)


def _load(cache: str) -> dict[str, str]:
    try:
        with open(cache, encoding="utf-8", newline="\n") as file:
            version, *lines = file.read().split("\n")
    except (OSError, ValueError):
        return {}
    if version != _VERSION or lines[-1:] != [""]:  # of another gitmem, or cut short
        return {}
    return {path: rest for path, _, rest in (line.partition("\t") for line in lines[:-1])}


def _save(cache: str, kept: Mapping[str, str]) -> None:
    """Write the cache as a whole; that it cannot be written costs time, nothing else."""
    with contextlib.suppress(OSError, ValueError):
        os.makedirs(os.path.dirname(cache), mode=0o700, exist_ok=True)
        temporary = f"{cache}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write("\n".join([_VERSION, *(f"{path}\t{line}" for path, line in kept.items()), ""]))
        os.replace(temporary, cache)

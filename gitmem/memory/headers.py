"""What the headers of a folder's documents say, remembered by the file's time and size: reading 1,000 takes 100 ms.

The cache is a file of the private folder, derived, and never wrong for longer than a file system keeps time: a document
that was changed by hand, or came with a sync, has another time or size, and is read again.
"""

from __future__ import annotations

import contextlib
import json
import os

from gitmem.errors import GitmemError
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from gitmem.store.store import Store

    Read = Callable[[bytes, str], tuple[tuple[str, ...], Mapping[str, Any]] | None]

FOLDER = "known"
_VERSION = "1"
_SUFFIX = ".md"
_NONE = "-"  # in the place of what a document says that is none of these


class Header(Value):
    """A document: its path, its key, and all else it says, which is parsed when it is asked for.

    The key is what is asked of every document, and so cheap; no part of it has a tab or the end of a line.
    """

    path: str
    key: tuple[str, ...]
    raw: str

    def load(self) -> dict[str, Any]:
        """Return what the header says."""
        value: dict[str, Any] = json.loads(self.raw)
        return value


def read_headers(store: Store, folder: str, read: Read, most: int = 0) -> list[Header]:
    """Return the documents below a folder, by path.

    `read` is given content and path and returns key and values that JSON can hold, None for what is none of these
    documents. At most `most` documents are read that are not known yet (0: all); the others are left out, until a
    command that has time reads them. Links are not followed.
    """
    cache = os.path.join(store.private, FOLDER, f"{folder}.tsv")
    known = _load(cache)
    kept: dict[str, str] = {}  # the rest of the line, by path and look
    new = 0
    for path, status in _files(store.root, folder):
        look = f"{path}\t{status.st_mtime_ns}\t{status.st_size}\t"
        there = known.get(look)
        if there is not None:
            kept[look] = there
        elif not most or new < most:
            new += 1
            kept[look] = _read(store, path, read)
    if new or known.keys() - kept.keys():
        _save(cache, kept)
    found = []
    for look, rest in kept.items():
        if rest != _NONE:
            *key, raw = rest.split("\t")
            found.append(Header(look.partition("\t")[0], tuple(key), raw))
    return found


def _read(store: Store, path: str, read: Read) -> str:
    try:
        data = store.read(path)
    except (GitmemError, OSError):
        return _NONE
    said = None if data is None else read(data, path)
    if said is None:
        return _NONE
    # JSON has no tab and no end of a line outside its escapes.
    return "\t".join([*(" ".join(part.split()) for part in said[0]), json.dumps(said[1], ensure_ascii=False)])


def _files(root: str, folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the markdown files of a folder and of the folders in it, sorted."""
    try:
        with os.scandir(os.path.join(root, folder)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if folder.count("/") == 0:
                yield from _files(root, path)
        elif (
            entry.name.endswith(_SUFFIX)
            and "\t" not in entry.name
            and "\n" not in entry.name
            and entry.is_file(follow_symlinks=False)
        ):
            with contextlib.suppress(OSError):
                yield path, entry.stat(follow_symlinks=False)


def _is_document(name: str) -> bool:
    return name.endswith(_SUFFIX) and "\t" not in name and "\n" not in name


def _load(cache: str) -> dict[str, str]:
    try:
        with open(cache, encoding="utf-8", newline="\n") as file:
            version, *lines = file.read().split("\n")
    except (OSError, ValueError):
        return {}
    if version != _VERSION or lines[-1:] != [""]:  # of another gitmem, or cut short
        return {}
    found = {}
    for line in lines[:-1]:
        path, modified, size, rest = line.split("\t", 3)
        found[f"{path}\t{modified}\t{size}\t"] = rest
    return found


def _save(cache: str, kept: Mapping[str, str]) -> None:
    """Write the cache as a whole; that it cannot be written costs time, nothing else."""
    with contextlib.suppress(OSError, ValueError):
        os.makedirs(os.path.dirname(cache), mode=0o700, exist_ok=True)
        temporary = f"{cache}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in (_VERSION, *(look + rest for look, rest in kept.items())))
        os.replace(temporary, cache)

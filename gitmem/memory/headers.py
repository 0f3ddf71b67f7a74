"""What the headers of a folder's documents say, remembered by the file's time and size: reading 1,000 takes 100 ms.

The cache is a file of the private folder, derived, and never wrong for longer than a file system keeps time: a document
that was changed by hand, or came with a sync, has another time or size, and is read again.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from itertools import islice

from gitmem.errors import GitmemError
from gitmem.machine.beneath import enter, read_regular
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gitmem.store.store import Store

    Late = Callable[[], bool]  # says whether the time for what is being done is over
    Read = Callable[[bytes, str], tuple[tuple[str, ...], Sequence[object]] | None]

FOLDER = "known"
_VERSION = "3"
_SUFFIX = ".md"
_NONE = "-"  # in the place of what a document says that is none of these
_NOTHING = f"\t{_NONE}"  # how the line of such a one ends
# What there is room for in haste: a document, the entries of one folder, the cache (bytes), and a line of it.
_LARGE, _MOST_ENTRIES, _LARGE_CACHE, _LONG_LINE = 1 << 17, 20_000, 1 << 23, 1 << 16
_ANY = 1 << 40


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


def never() -> bool:
    """Say that it is not late."""
    return False


class Haste(Value):
    """What somebody waits for: bounds for reading, whatever a folder holds.

    At most `most` documents are read that are not known yet, none that is large, and no more once it is `late`.
    """

    most: int
    late: Late


def read_headers(
    store: Store, folder: str, read: Read, haste: Haste | None = None, *, trusting: bool = False
) -> list[Header]:
    """Return the documents below a folder, by path.

    `read` is given content and path and returns a key and values that JSON can hold, None for what is none of these
    documents. In `haste` what there is no room for is left out, until a command that has time reads it. Links are not
    followed. With `trusting` those that are known are taken as they were, and it is the caller's to ask those that
    matter whether they are current: to ask 1,000 takes 5 ms.
    """
    cache = os.path.join(store.private, FOLDER, f"{folder}.tsv")
    known = _load(cache, _LARGE_CACHE if haste else _ANY)
    most, late = (haste.most, haste.late) if haste else (_ANY, never)
    large, most_entries = (_LARGE, _MOST_ENTRIES) if haste else (_ANY, _ANY)
    kept: dict[str, str] = {}
    new = seen = 0
    for path, entry in _documents(store.root, folder, known or {}, most_entries):
        seen += 1
        if seen > most_entries:
            break
        line = known.get(path, "") if known else ""
        if not line or not (trusting or late()):
            try:
                status = entry.stat(follow_symlinks=False)
                look = _look(status)
                if not line.startswith(look):
                    if new >= most or status.st_size > large or not stat.S_ISREG(status.st_mode) or late():
                        continue
                    line = look + _read(store, path, read)
                    new += 1
            except OSError:  # it is gone, or cannot be read now, which is not to be remembered
                continue
        kept[path] = line
    if known is not None and (new or len(known) != len(kept)) and seen <= most_entries:  # all was seen
        _save(cache, kept)
    longest = _LONG_LINE if haste else _ANY
    return [Header(path, line) for path, line in kept.items() if not line.endswith(_NOTHING) and len(line) <= longest]


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


def _documents(root: str, folder: str, known: Mapping[str, str], most: int) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the markdown files of a folder and of the folders in it, sorted; of the known nothing is asked.

    Of each folder one entry more than `most` is looked at, which tells that there are more.
    """
    with contextlib.suppress(OSError, GitmemError), enter(root, folder.split("/")) as opened, opened.scan() as found:
        for name, entry in sorted([(entry.name, entry) for entry in islice(found, most + 1)]):
            path = f"{folder}/{name}"
            if path in known or (name.endswith(_SUFFIX) and "\t" not in name and "\n" not in name):
                yield path, entry
            elif folder.count("/") == 0 and entry.is_dir(follow_symlinks=False):
                yield from _documents(root, path, known, most)


def _load(cache: str, most: int) -> dict[str, str] | None:
    """Return what is remembered, nothing where that cannot be read, None where it has more than so many bytes."""
    try:
        data = read_regular(cache, most + 1) or b""
        if len(data) > most:
            return None
        version, *lines = data.decode().split("\n")
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

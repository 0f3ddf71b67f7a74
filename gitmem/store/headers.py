"""Headers of facts and concepts, from a cache by time and size in the private folder.

Deleting the cache costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from functools import lru_cache
from itertools import islice

from gitmem.errors import GitmemError
from gitmem.platform.safe_open import enter, read_regular, replace_file
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitmem.store.store import Store

    Late = Callable[[], bool]  # says whether the deadline has passed
    Parse = Callable[[bytes, str], tuple[tuple[str, ...], Sequence[object]] | None]


KNOWN_FOLDER = "known"
_VERSION = "8"
_SUFFIX = ".md"
_NO_HEADER = "-"  # instead of the values of a document without a usable header
_NO_HEADER_END = f"\t{_NO_HEADER}"
# Limits under `Bounds`: bytes of a document, entries of a folder, bytes of the cache, characters of one of its lines.
_MAX_DOCUMENT, _MAX_ENTRIES, _MAX_CACHE, _MAX_LINE = 1 << 17, 20_000, 1 << 23, 1 << 16
_UNLIMITED = 1 << 40


class Header(Value):
    """A document's path and its line of the cache, which is parsed only when asked for."""

    path: str
    line: str  # modification time, size, the parts of the key, and the values as JSON, separated by tabs

    @property
    def key(self) -> tuple[str, ...]:
        """The strings that documents are selected and sorted by; without tabs and line breaks."""
        return tuple(self.line.rpartition("\t")[0].split("\t")[2:])

    def load(self) -> list[Any]:
        """Return the values that the `Parse` function returned, lists as tuples."""
        values: list[Any] = json.loads(self.line.rpartition("\t")[2])
        return [tuple(value) if isinstance(value, list) else value for value in values]

    def is_current(self, root: str) -> bool:
        """Return whether the file has the time and size it had when it was parsed."""
        try:
            return self.line.startswith(_stamp(os.lstat(f"{root}/{self.path}")))
        except OSError:
            return False


def never() -> bool:
    """Return False: there is no deadline."""
    return False


class Bounds(Value):
    """Limits of a read that somebody waits for.

    At most `most` documents are parsed, no large one, and none once it is `late`.
    """

    most: int
    late: Late


def read_headers(
    store: Store, folder: str, parse: Parse, bounds: Bounds | None = None, *, trusting: bool = False
) -> list[Header]:
    """Return the headers of the documents below a folder, by path.

    `parse` gets content and path and returns a key and values that JSON can hold, None for another kind of document.
    What exceeds `bounds` is left out until an unbounded call has read it. Links are not followed. With `trusting`,
    cached headers are returned unchecked unless a document came or went; the caller checks those it uses with
    `is_current` (1,000 `lstat` take 5 ms).
    """
    if trusting and (cached := cached_lines(store, folder)) is not None:
        return headers_in(cached)
    cache = os.path.join(store.private, KNOWN_FOLDER, f"{folder}.tsv")
    known = _load(cache, _MAX_CACHE if bounds else _UNLIMITED)
    most, late = (bounds.most, bounds.late) if bounds else (_UNLIMITED, never)
    max_size, max_entries = (_MAX_DOCUMENT, _MAX_ENTRIES) if bounds else (_UNLIMITED, _UNLIMITED)
    longest = _MAX_LINE if bounds else _UNLIMITED
    kept: dict[str, str] = {}
    new = seen = 0
    for path, entry in _documents(store.root, folder, known or {}, max_entries):
        seen += 1
        if seen > max_entries:
            break
        line = known.get(path, "") if known else ""
        if not line and new >= most:  # a first look at 10,000 need not ask for the times of all
            continue
        if not line or not late():
            try:
                status = entry.stat(follow_symlinks=False)
                stamp = _stamp(status)
                if not line.startswith(stamp):
                    if new >= most or status.st_size > max_size or not stat.S_ISREG(status.st_mode) or late():
                        continue
                    line = stamp + _parsed(store, path, parse)
                    new += 1
            except OSError:  # removed, or unreadable for now: not cached
                continue
        kept[path] = line
    if known is not None and (new or len(known) != len(kept)) and seen <= max_entries:
        with contextlib.suppress(OSError, ValueError):  # it only costs time
            lines = (f"{path}\t{line}" for path, line in kept.items())
            replace_file(cache, "\n".join([_VERSION, *lines, ""]).encode())
    return _headers(kept, longest)


def cached_lines(store: Store, folder: str) -> list[str] | None:
    """Return the lines of the cache, path and header of a document, without a look at the documents.

    None if a document may have come, gone or been replaced since; one edited in place is the caller's to check.
    """
    cache = os.path.join(store.private, KNOWN_FOLDER, f"{folder}.tsv")
    root = os.path.join(store.root, folder)
    try:
        known = os.lstat(cache)
        folders = [root, *(entry.path for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))]
        if any(os.lstat(one).st_mtime_ns >= known.st_mtime_ns for one in folders):
            return None
        version, *lines = (read_regular(cache, _UNLIMITED) or b"").decode().split("\n")
    except (OSError, ValueError):
        return None
    return lines[:-1] if version == _VERSION and lines[-1:] == [""] else None


def headers_in(lines: Iterable[str]) -> list[Header]:
    """Return the headers in lines of the cache."""
    return _headers({path: rest for path, _, rest in (line.partition("\t") for line in lines)}, _UNLIMITED)


def _headers(lines: Mapping[str, str], longest: int) -> list[Header]:
    """Return the headers in lines of the cache, by path."""
    return [
        Header._make(item) for item in lines.items() if len(item[1]) <= longest and not item[1].endswith(_NO_HEADER_END)
    ]


def _stamp(status: os.stat_result) -> str:
    """Return modification time and size as a line of the cache begins."""
    return f"{status.st_mtime_ns}\t{status.st_size}\t"


def _parsed(store: Store, path: str, parse: Parse) -> str:
    """Return the rest of a document's line of the cache: key and values."""
    try:
        data = store.read(path)
    except GitmemError:
        return _NO_HEADER
    header = None if data is None else parse(data, path)
    if header is None:
        return _NO_HEADER
    # JSON escapes tabs and line breaks.
    return "\t".join(
        [
            *(" ".join(part.split()) for part in header[0]),
            json.dumps(header[1], ensure_ascii=False, separators=(",", ":")),
        ]
    )


def _documents(root: str, folder: str, known: Mapping[str, str], most: int) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the markdown files of a folder and of the folders in it, sorted.

    At most `most` + 1 entries of each folder are read, so that the caller sees that there are more.
    """
    with contextlib.suppress(OSError, GitmemError), enter(root, folder.split("/")) as opened, opened.scan() as entries:
        for name, entry in sorted([(entry.name, entry) for entry in islice(entries, most + 1)]):
            path = f"{folder}/{name}"
            if path in known or (name.endswith(_SUFFIX) and "\t" not in name and "\n" not in name):
                yield path, entry
            elif folder.count("/") == 0 and entry.is_dir(follow_symlinks=False):
                yield from _documents(root, path, known, most)


def _load(cache: str, most: int) -> Mapping[str, str] | None:
    """Return the cached lines by path; none if the cache is unreadable, None if it is larger than `most` bytes."""
    try:
        status = os.lstat(cache)
    except OSError:
        return {}
    return _lines(cache, most, (status.st_ino, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=4)  # for a process that lives on: a server reads 5,000 lines at each request
def _lines(cache: str, most: int, _version: tuple[int, ...]) -> Mapping[str, str] | None:
    try:
        data = read_regular(cache, most + 1) or b""
        if len(data) > most:
            return None
        version, *lines = data.decode().split("\n")
    except (OSError, ValueError):
        return {}
    if version != _VERSION or lines[-1:] != [""]:  # written by another version, or truncated
        return {}
    return {path: rest for path, _, rest in (line.partition("\t") for line in lines[:-1])}


def expire_headers(private: str, folder: str) -> None:
    """Have the headers of a folder looked at anew, since a document was edited in place."""
    with contextlib.suppress(OSError):
        os.utime(os.path.join(private, KNOWN_FOLDER, f"{folder}.tsv"), (1, 1))

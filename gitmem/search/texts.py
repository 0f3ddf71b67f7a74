"""The texts of a large store in one file, which prompts search in place of 50,000 files.

Opening those takes half a second. The folder `texts` of the private folder is a cache that can be deleted at any time;
it only leads to files. Its file `all` begins with a line of JSON: the commit and the days of history that it has. Then
come documents in lower case, each behind a line with its key, the newest last; concepts and episodes are left out, as
no prompt is told them. A background process writes it anew once many files have changed; until then a prompt reads
those itself.
"""

from __future__ import annotations

import json
import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gitmem.errors import GitmemError
from gitmem.search.files import LINKED, LONGEST_LINE, Line, PythonScanner, RgScanner, is_searched
from gitmem.search.query import fold
from gitmem.store.store import Store

FOLDER = "texts"
_MARK = b"\x1e"  # begins the line with a key
_HEAD = b"\n" + _MARK
_LONGEST_STATE = 1 << 20  # bytes of the first line
_MOST_FRESH = 200  # changed files that a prompt reads itself
_SAMPLES, _SAMPLE = 64, 8_192  # places of the file, and bytes read there


class Texts:
    """The texts as they were last kept, and the files that came since."""

    def __init__(self, root: str, data: mmap.mmap, path: str, fresh: list[str]) -> None:
        self._root = root
        self._data = data
        self._path = path
        self._fresh = fresh
        self.size = len(data)

    def sample(self) -> list[str]:
        """Return pieces of the texts from places all over them."""
        step = max(self.size // _SAMPLES, _SAMPLE)
        return [self._data[at : at + _SAMPLE].decode("utf-8", "replace") for at in range(0, self.size, step)]

    def scan(self, literals: Sequence[str], rg: RgScanner | None) -> dict[str, list[Line]]:
        """Return the lines that have one of the literals, by key."""
        if rg is not None:
            return self._by_key(rg.scan_file(self._path, literals), literals)
        lines = {pair for literal in literals for pair in self._lines(literal.encode(), self.size)}
        return self._by_key(sorted(lines), literals)

    def newest(self, literal: str, most: int) -> dict[str, list[Line]]:
        """Return the last lines that have a literal, `most` of them, by key."""
        return self._by_key(sorted(self._lines(literal.encode(), most)), [literal])

    def _lines(self, literal: bytes, most: int) -> Iterator[tuple[int, str]]:
        end = self.size
        while most and (at := self._data.rfind(literal, 0, end)) >= 0:
            start = end = self._data.rfind(b"\n", 0, at) + 1
            stop = self._data.find(b"\n", at)
            yield start, self._data[start : min(stop, start + 4 * LONGEST_LINE)].decode("utf-8", "replace")
            most -= 1

    def _by_key(self, lines: Iterable[tuple[int, str]], literals: Sequence[str]) -> dict[str, list[Line]]:
        found: dict[str, list[Line]] = {}
        key, at, number, end = "", 0, 0, self._data.find(_HEAD) + 1
        for offset, text in lines:
            if offset >= end:
                at, number = self._data.rfind(_HEAD, 0, offset + 2) + 2, 0
                key = self._data[at : self._data.find(b"\n", at)].decode("utf-8", "surrogateescape")
                end = self._data.find(_HEAD, offset) + 1 or self.size
            number += self._data[at:offset].count(b"\n")
            at = offset
            if key and not text.startswith(_MARK.decode()):
                found.setdefault(key, []).append(Line._make((number, text[:LONGEST_LINE])))  # of thousands
        for path in self._fresh:
            found.pop(path, None)
        return {**found, **PythonScanner().scan(self._root, self._fresh, literals)}


def open_texts(store: Store, days: Sequence[str]) -> Texts | None:
    """Return the texts of a store; None if they are not kept, have not all of the days, or if too much came since."""
    path = os.path.join(store.private, FOLDER, "all")
    try:
        with open(path, "rb") as file:
            fresh = _came(store, file.readline(_LONGEST_STATE), days)
            if fresh is not None and len(fresh) <= _MOST_FRESH:
                return Texts(store.root, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), path, fresh)
    except OSError:
        pass
    return None


def keep_texts(
    store: Store, days: Sequence[str], list_newest_last: Callable[[], Sequence[str]], read: Callable[[str], str]
) -> None:
    """Write the texts of all documents, given by their keys, the newest last, unless `open_texts` can use them.

    Raises:
        OSError: a write failed.

    """
    if open_texts(store, days) is not None:
        return
    path = os.path.join(store.private, FOLDER, "all")
    with open(f"{path}.{os.getpid()}", "wb") as out:
        out.write(json.dumps([store.tip, *days]).encode())
        for key in list_newest_last():
            text = fold(read(key)).encode("utf-8", "replace").replace(_MARK, b" ")
            out.write(b"".join((_HEAD, key.encode("utf-8", "surrogateescape"), b"\n", text, b"\n")))
    os.replace(out.name, path)


def _came(store: Store, state: bytes, days: Sequence[str]) -> list[str] | None:
    """Return the documents that commits changed since the texts were written; None if the texts cannot be used."""
    try:
        since, *known = json.loads(state)
        if known != [*days] or not re.fullmatch("[0-9a-f]{40,64}", since):  # git is asked about it
            return None
        changes = store.repository.changes(since, store.tip or since)
    except (ValueError, TypeError, GitmemError):  # a purge took the commit away
        return None
    paths = (change.path for change in changes if change.new)
    return [path for path in paths if is_searched(path) and not path.startswith(LINKED)]

"""The texts of a large store in one file, for prompts: opening 50,000 files takes half a second.

The folder `texts` of the private folder is a cache, can be deleted at any time, and is brought up to date in the
background. It only leads to files: these are read as they are. `all` has documents in lower case, each behind a line
with its key (see `gitmem.search.sources.Documents`), the newest last; a document that changed is there again. `state`
is replaced last and says how much of `all` counts. Files that came or were replaced since are found by the times of
their folders; a text edited in place is found once it is committed.

Tested through `tests/search/scan/test_texts.py`.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os

from gitmem.search.files import SUFFIXES, stat_file
from gitmem.search.query.query import fold
from gitmem.search.scan.base import LONGEST_LINE, Line, PythonScanner
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gitmem.search.files import File
    from gitmem.search.scan.rg import RgScanner

FOLDER = "texts"
_MARK = b"\x1e"  # begins the line with a key
_HEAD = b"\n" + _MARK
_MOST_FRESH = 500  # files that one prompt reads beside those of the cache
_SAMPLES, _SAMPLE = 64, 16_384  # places of the file, and bytes read there
_SPARE = 2  # times as large as the documents: from then on it is written anew


class _State(Value):
    """How many bytes count, up to which time of the file system files are there, and the folders of documents."""

    end: int
    until: int
    folders: list[str]


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
        found: Iterable[tuple[int, str]]
        if rg is not None:
            found = rg.scan_file(self._path, literals, self.size)
        else:
            found = sorted({pair for literal in literals for pair in self._lines(literal.encode(), self.size)})
        return self._by_key(found, literals)

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
        key, start, end = "", 0, 0
        for offset, text in lines:
            if offset >= end:
                start = self._data.rfind(_HEAD, 0, offset + 2) + 2
                key = self._data[start : self._data.find(b"\n", start)].decode("utf-8", "surrogateescape")
                end = self._data.find(_HEAD, offset) + 1 or self.size
            number = self._data[start:offset].count(b"\n")
            if not text.startswith(_MARK.decode()):
                found.setdefault(key, []).append(Line(number, text[:LONGEST_LINE]))
        for path in self._fresh:
            found.pop(path, None)
        return {**found, **PythonScanner().scan(self._root, self._fresh, literals)}


def open_texts(root: str, private: str) -> Texts | None:
    """Return the texts of a store; None if they are not kept, or too many files came since."""
    folder = os.path.join(private, FOLDER)
    state = _read_state(folder)
    if state is None or not state.end or _changed(private, "days", state.until):
        return None
    fresh = list(_came(root, state))
    if len(fresh) > _MOST_FRESH:
        return None
    path = os.path.join(folder, "all")
    try:
        with open(path, "rb") as file:
            return Texts(root, mmap.mmap(file.fileno(), state.end, access=mmap.ACCESS_READ), path, fresh)
    except (OSError, ValueError):
        return None


def keep_texts(
    private: str, list_newest_last: Callable[[], Mapping[str, File]], read: Callable[[str, File], str]
) -> None:
    """Bring the texts up to date with the documents, given by their keys, the newest last.

    Raises:
        OSError: a write failed.

    """
    folder = os.path.join(private, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    state = _read_state(folder) or _State(0, 0, [])
    until = _time_of(folder)
    files = list_newest_last()
    afresh = not state.end or state.end > _SPARE * sum(file.size for file in files.values()) + _SAMPLE
    path = os.path.join(folder, "all")
    target = f"{path}.{os.getpid()}" if afresh else path
    with open(target, "wb" if afresh else "r+b") as out:
        out.truncate(0 if afresh else state.end)
        out.seek(0, os.SEEK_END)
        for key, file in files.items():
            if afresh or _last_change(file) >= state.until:
                text = fold(read(key, file)).encode("utf-8", "replace").replace(_MARK, b" ")
                out.write(b"".join((_HEAD, key.encode("utf-8", "surrogateescape"), b"\n", text, b"\n")))
        end = out.tell()
    if afresh:
        os.replace(target, path)
    folders = {"", *(key.rpartition("/")[0] for key in files if key[0] != "/")}
    folders |= {above for one in folders for above in _above(one)}
    _write_state(folder, _State(end, until, sorted(folders)))


def _above(folder: str) -> Iterator[str]:
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def _came(root: str, state: _State) -> Iterator[str]:
    """Yield the paths of files that came into the folders, or were replaced, since the texts were kept."""
    known = set(state.folders)
    folders = [folder for folder in state.folders if _changed(root, folder, state.until)]
    while folders:
        folder = folders.pop()
        try:
            names = [entry.name for entry in os.scandir(os.path.join(root, folder)) if entry.name[0] != "."]
        except OSError:
            continue
        for name in names:
            path = f"{folder}/{name}" if folder else name
            if name.endswith(SUFFIXES):
                file = stat_file(root, path)
                if file is not None and _last_change(file) >= state.until:
                    yield path
            elif path not in known and os.path.isdir(os.path.join(root, path)):
                known.add(path)
                folders.append(path)


def _changed(root: str, folder: str, until: int) -> bool:
    try:
        return os.stat(os.path.join(root, folder)).st_mtime_ns >= until
    except OSError:
        return False


def _last_change(file: File) -> int:
    return max(file.modified, file.changed)


def _time_of(folder: str) -> int:
    """Return the time now, as the file system counts it."""
    path = os.path.join(folder, f"now.{os.getpid()}")
    with open(path, "wb"):
        now = os.stat(path).st_mtime_ns
    os.unlink(path)
    return now


def _read_state(folder: str) -> _State | None:
    try:
        with open(os.path.join(folder, "state"), encoding="utf-8") as file:
            end, until, folders = json.load(file)
        state = _State(int(end), int(until), [str(one) for one in folders])
        return state if os.stat(os.path.join(folder, "all")).st_size >= state.end else None
    except (OSError, ValueError, TypeError):
        return None


def _write_state(folder: str, state: _State) -> None:
    temporary = os.path.join(folder, f"state.{os.getpid()}")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(state, file)
    with contextlib.suppress(PermissionError):  # on Windows, while a prompt reads it
        os.replace(temporary, os.path.join(folder, "state"))

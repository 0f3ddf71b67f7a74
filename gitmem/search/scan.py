"""One pass over the files for all terms: by ripgrep's bindings, by `rg`, or by `re`.

Each scanner returns, for the given files only, the lines that hold a literal, without regard to case, in order.

The bindings (0.1.0) stop reading a file at a line that is not UTF-8, skip files that any ignore file names, return
`path:line:text` as one string, mangle names that are not UTF-8, return lines in random order, take patterns as regular
expressions, and search hidden files and `.git`. So literals are escaped, only the store's folders are passed to them,
never the root, and `PythonScanner` searches the files that they would miss.

Opening 50,000 files takes half a second, so a large store has its texts in one file: the folder `texts` of the private
folder, a cache that can be deleted at any time and is brought up to date in the background. It only leads to files.
`all` has documents in lower case, each behind a line with its key, the newest last; concepts and episodes are left out,
as no prompt is told them. `state` is replaced last and says how much of `all` counts, and up to which commit.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import re
import sys

from gitmem.errors import GitmemError
from gitmem.platform.machine import find_program
from gitmem.platform.safe_open import read_json, read_regular, write_json
from gitmem.platform.spawn import Child, ExpiredError
from gitmem.search.files import LINKED, FileVersion, is_searched, read_file, stat_file
from gitmem.search.query import fold
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    from gitmem.platform.machine import Context
    from gitmem.store.store import Store

    class Scanner(Protocol):
        """Finds the lines of files that hold one of several literals."""

        def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
            """Return the matching lines of each path; `literals` are in lower case."""
            ...


# Characters of a line that are kept: the rest of a line of megabytes is ranked with its unit.
LONGEST_LINE = 20_000


class Line(Value):
    """The beginning of a line, and its number, counted from 1."""

    number: int
    text: str


class PythonScanner:
    """Reads each file and searches it: slower, and available everywhere."""

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the matching lines of each path."""
        found = {path: _matches(read_file(root, path).decode("utf-8", "replace"), literals) for path in paths}
        return {path: lines for path, lines in found.items() if lines}


def _matches(text: str, literals: Sequence[str]) -> list[Line]:
    low = fold(text)
    starts: set[int] = set()
    for literal in literals:
        at = low.find(literal)
        while at >= 0:
            starts.add(low.rfind("\n", 0, at) + 1)
            at = low.find(literal, _line_end(low, at))
    number, counted, lines = 1, 0, []
    for start in sorted(starts):
        number += low.count("\n", counted, start)
        counted = start
        lines.append(Line(number, text[start : min(_line_end(text, start), start + LONGEST_LINE)].rstrip("\r")))
    return lines


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def by_folder(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the top-level folders, and the files outside of folders."""
    folders: dict[str, None] = {}
    single = []
    for path in paths:
        folder, slash, _ = path.partition("/")
        if slash:
            folders[folder] = None
        else:
            single.append(path)
    return list(folders), single


FOLDER = "texts"
_MARK = b"\x1e"  # begins the line with a key
_HEAD = b"\n" + _MARK
_MOST_FRESH = 500  # files that one prompt reads beside those of the cache
_SAMPLES, _SAMPLE = 64, 8_192  # places of the file, and bytes read there
_SPARE = 2  # times as large as the documents: from then on it is written anew


class _State(Value):
    """How many bytes count, the commit and the days that they have, and how many there were when all was written."""

    end: int
    tip: str
    days: list[str]
    whole: int


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
        key, at, number, end = "", 0, 0, 0
        for offset, text in lines:
            if offset >= end:
                at, number = self._data.rfind(_HEAD, 0, offset + 2) + 2, 0
                key = self._data[at : self._data.find(b"\n", at)].decode("utf-8", "surrogateescape")
                end = self._data.find(_HEAD, offset) + 1 or self.size
            number += self._data[at:offset].count(b"\n")
            at = offset
            if not text.startswith(_MARK.decode()):
                found.setdefault(key, []).append(Line._make((number, text[:LONGEST_LINE])))  # of thousands
        for path in self._fresh:
            found.pop(path, None)
        return {**found, **PythonScanner().scan(self._root, self._fresh, literals)}


def open_texts(store: Store, days: Sequence[str]) -> Texts | None:
    """Return the texts of a store; None if they are not kept, have not all of the days, or if too much came since."""
    folder = os.path.join(store.private, FOLDER)
    state = _read_state(folder)
    if state is None or not state.end or state.days != [*days]:
        return None
    path = os.path.join(folder, "all")
    try:
        fresh = _came(store, state.tip)
        if len(fresh) > _MOST_FRESH:
            return None
        with open(path, "rb") as file:
            return Texts(store.root, mmap.mmap(file.fileno(), state.end, access=mmap.ACCESS_READ), path, fresh)
    except (OSError, ValueError, GitmemError):
        return None


def keep_texts(
    store: Store, days: Sequence[str], list_newest_last: Callable[[], Sequence[str]], read: Callable[[str], str]
) -> None:
    """Bring the texts up to date with the documents, given by their keys, the newest last.

    Raises:
        OSError: a write failed.

    """
    folder = os.path.join(store.private, FOLDER)
    state, tip = _read_state(folder), store.tip or ""
    keys: Sequence[str] | None = None
    if state is not None and 0 < state.end <= _SPARE * state.whole + _SAMPLE:
        with contextlib.suppress(GitmemError):  # a purge took the commit away
            keys = [*_came(store, state.tip), *(day for day in days if day not in state.days)]
    path = os.path.join(folder, "all")
    kept = state.end if state is not None and keys is not None else 0
    target = path if kept else f"{path}.{os.getpid()}"
    with open(target, "r+b" if kept else "wb") as out:
        out.truncate(kept)
        out.seek(0, os.SEEK_END)
        for key in list_newest_last() if keys is None else keys:
            text = fold(read(key)).encode("utf-8", "replace").replace(_MARK, b" ")
            out.write(b"".join((_HEAD, key.encode("utf-8", "surrogateescape"), b"\n", text, b"\n")))
        end = out.tell()
    if not kept:
        os.replace(target, path)
    with contextlib.suppress(PermissionError):  # on Windows, while a prompt reads it
        write_json(os.path.join(folder, "state"), (end, tip, [*days], state.whole if kept and state else end))


def _came(store: Store, since: str) -> list[str]:
    """Return the documents that commits brought or changed since one, but for those that no prompt is told."""
    tip = store.tip
    changes = store.repository.changes(since, tip) if tip and since != tip else []
    paths = (change.path for change in changes if change.new)
    return [path for path in paths if is_searched(path) and not path.startswith(LINKED)]


def _read_state(folder: str) -> _State | None:
    try:
        end, tip, days, whole = read_json(os.path.join(folder, "state"))
        state = _State(int(end), str(tip), [str(one) for one in days], int(whole))
        is_whole = os.stat(os.path.join(folder, "all")).st_size >= state.end
        return state if is_whole and re.fullmatch("[0-9a-f]{40,64}", state.tip) else None  # git is asked about it
    except (OSError, ValueError, TypeError):
        return None


_SECONDS = 60
_OPTIONS = ("--no-config", "--no-ignore", "--text", "--encoding=none", "--ignore-case", "--fixed-strings")
# One file: reading it takes an eighth less CPU than the page faults of a map.
_OPTIONS_OF_FILE = ("--no-config", "--no-mmap", "--text", "--encoding=none", "--fixed-strings", "--byte-offset")
_FORMAT = ("--no-heading", "--line-number", "--with-filename", "--null", "--color=never", "--no-messages")


class RgScanner:
    """Searches with the `rg` binary."""

    def __init__(self, executable: str, environ: Mapping[str, str]) -> None:
        self._executable = executable
        self._environ = dict(environ)

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the matching lines of each path."""
        places = [os.path.join(root, name) for names in by_folder(paths) for name in names]
        lines = self.lines(places, literals)
        if lines is None:
            return PythonScanner().scan(root, paths, literals)
        wanted = set(paths)
        found: dict[str, list[Line]] = {}
        for name, line in lines:
            path = name[len(os.path.join(root, "")) :].replace(os.sep, "/")
            if path in wanted:
                found.setdefault(path, []).append(line)
        return found

    def lines(self, places: Sequence[str], literals: Sequence[str], *options: str) -> Iterator[tuple[str, Line]] | None:
        """Return the matching lines in files and folders, each with its path; None if the search failed."""
        patterns = [f"--regexp={literal}" for literal in literals]
        command = (self._executable, *_OPTIONS, *_FORMAT, *options, *patterns, "--", *places)
        with Child(command, self._environ, stdin=False) as rg:
            try:
                output, _ = rg.communicate(timeout=_SECONDS)
            except ExpiredError:
                rg.kill()
                rg.communicate()
        if rg.returncode not in {0, 1, 2}:  # 2: some file could not be read
            return None
        return ((os.fsdecode(name), line) for name, line in parse_lines(output))

    def scan_file(self, path: str, literals: Sequence[str], end: int) -> list[tuple[int, str]]:
        """Return offset and text of the lines before `end` of a file in lower case that have one of the literals."""
        patterns = [f"--regexp={literal}" for literal in literals]
        command = (self._executable, *_OPTIONS_OF_FILE, "--no-line-number", *patterns, "--", path)
        with Child(command, self._environ, stdin=False) as rg:
            try:
                output, _ = rg.communicate(timeout=_SECONDS)
            except ExpiredError:
                rg.kill()
                output, _ = rg.communicate()
        pairs = (line.partition(b":") for line in output.split(b"\n")[:-1])
        found = ((int(offset), text[: 4 * LONGEST_LINE].decode("utf-8", "replace")) for offset, _, text in pairs)
        return [one for one in found if one[0] < end]


def parse_lines(output: bytes) -> Iterator[tuple[bytes, Line]]:
    """Yield paths and lines from the output of `rg --null --line-number`: `path NUL number : line`.

    A path may hold a newline, and a line a NUL, so a path ends at its first NUL and a line at its first newline.
    """
    place = 0
    while (end := output.find(b"\0", place)) >= 0:
        path = output[place:end]
        colon = output.find(b":", end)
        newline = output.find(b"\n", colon)
        newline = len(output) if newline < 0 else newline
        # Four bytes make a character at most.
        text = output[colon + 1 : min(newline, colon + 1 + 4 * LONGEST_LINE)].decode("utf-8", "replace")
        yield path, Line(int(output[end + 1 : colon]), text[:LONGEST_LINE].rstrip("\r"))
        place = newline + 1


_STATE = "search.json"
_PAST_STATE = os.path.join("days", "search.json")  # of the days that history holds
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~]")
_MANGLED = re.compile("[\ud800-\udfff\ufffd]")  # in names
_RULES = (".gitignore", ".ignore", ".rgignore")
_EXCLUDES = r"(?im)^\s*excludesfile\s*=\s*\"?([^\"\n]+)"
_WORTH_CHECKING, _WORTH_BYTES = 50, 1 << 20  # new files, and their bytes, that are checked, which reads whole folders
_CRASHES = (3, 14)  # version 0.1.0 of the bindings ends this Python and later ones by a segmentation fault


class BindingsMissingError(Exception):
    """The bindings are not installed, or crash this Python."""


class BindingsScanner:
    """Searches with `ripgrep-python`; the folder `private` keeps the list of files that the bindings miss."""

    def __init__(self, private: str, home: str) -> None:
        if sys.version_info >= _CRASHES:
            raise BindingsMissingError
        try:
            from pyripgrep import Grep
        except ImportError as error:
            raise BindingsMissingError from error
        self._search: Callable[..., list[str]] = Grep().search
        self._private = private
        self._home = home

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the matching lines of each path."""
        missed = self._missed(root, [file for path in paths if (file := stat_file(root, path)) is not None])
        wanted = dict.fromkeys(path for path in paths if path not in missed)
        pattern = "|".join(_META.sub(r"\\\g<0>", literal) for literal in literals)
        found: dict[str, list[Line]] = {}
        for place in itertools.chain(*by_folder(wanted)):
            for said in self._lines(os.path.join(root, place), pattern, output_mode="content", n=True, i=True):
                path, _, rest = said[len(root) + 1 :].partition(":")
                path, (number, _, text) = path.replace(os.sep, "/"), rest.partition(":")
                if path in wanted and number.isdecimal():
                    found.setdefault(path, []).append(Line(int(number), text[:LONGEST_LINE]))
        return found | PythonScanner().scan(root, [path for path in paths if path in missed], literals)

    def _lines(self, place: str, pattern: str, **options: object) -> list[str]:
        try:
            return self._search(pattern, path=place, **options)
        except (ValueError, OSError):  # deleted meanwhile
            return []

    def _missed(self, root: str, files: Sequence[FileVersion]) -> Collection[str]:
        """Return the files that the bindings miss.

        Each version of a file is checked once; a few new ones wait for more, and count as missed. A file that changed
        since the last check has a later change time, so one number tells which files to check. The state is a cache.
        """
        state = os.path.join(self._private, _PAST_STATE if root == self._private else _STATE)
        rules = _rules(root, sorted({file.path.rpartition("/")[0] for file in files}), self._home)
        missed, until = _read_missed(state, rules)
        new = {file.path: file for file in files if file.changed >= until}
        if not new:
            return missed
        if until >= 0 and len(new) < _WORTH_CHECKING and sum(file.size for file in new.values()) < _WORTH_BYTES:
            return missed | new.keys()  # Python searches them sooner than they are checked
        places = {path.partition("/")[0] for path in new}
        readable = {
            path[len(root) + 1 :].replace(os.sep, "/")
            for place in places
            for path in self._lines(os.path.join(root, place), "", output_mode="files_with_matches")
        }
        missed -= new.keys()
        missed |= {file.path for file in files if file.size and file.path.partition("/")[0] in places} - readable
        missed |= {path for path in new if _MANGLED.search(path) or not _is_text(root, path)}
        # The output names a file and a line by `path:line:text`.
        missed |= {part for file in files if ":" in file.path for part in (file.path, file.path.partition(":")[0])}
        latest = max(file.changed for file in files)
        value = {"rules": rules, "until": latest + (latest == until), "odd": sorted(missed)}
        with contextlib.suppress(OSError):
            write_json(state, value)
        return missed


def _read_missed(path: str, rules: str) -> tuple[set[str], int]:
    """Return the files that were found to be missed, and up to which change time files were checked; -1: none."""
    try:
        value = read_json(path)
        if value["rules"] == rules:
            return set(map(str, value["odd"])), int(value["until"])
    except (ValueError, TypeError, KeyError):
        pass
    return set(), -1


def _is_text(root: str, path: str) -> bool:
    try:
        return "\0" not in read_file(root, path).decode()
    except UnicodeDecodeError:
        return False


def _setting(path: str) -> bytes:
    try:
        return read_regular(path, 1 << 20) or b""
    except OSError:
        return b""


def _rules(root: str, folders: Iterable[str], home: str) -> str:
    """Return a fingerprint of the ignore files and git settings that make ripgrep skip files."""
    places = [os.path.join(root, ".git", "info", "exclude")]
    places += [os.path.join(root, below, name) for below in folders if below for name in _RULES]
    folder = root
    while True:
        places += [os.path.join(folder, name) for name in _RULES]
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    settings = [os.path.join(home, ".gitconfig"), os.path.join(home, ".config", "git", "config")]
    places += [*settings, os.path.join(home, ".config", "git", "ignore")]
    for setting in settings:
        for named in re.findall(_EXCLUDES, _setting(setting).decode("utf-8", "replace")):
            places.append(os.path.join(home, named.strip().removeprefix("~/")))
    stamps = []
    for place in places:
        with contextlib.suppress(OSError):
            stamps.append(f"{place}={os.stat(place).st_mtime_ns}")
    return "|".join(stamps)


def make_scanner(store: Store, *, large: bool = False) -> Scanner:
    """Return the best scanner of this machine.

    The bindings need no process and use one core; `rg` uses all cores and takes half as long in a `large` store.
    """
    rg = make_rg(store.context) if large else None
    if rg is not None:
        return rg
    try:
        return BindingsScanner(store.private, store.context.home)
    except BindingsMissingError:
        return make_rg(store.context) or PythonScanner()


def make_rg(context: Context) -> RgScanner | None:
    """Return the scanner on the `rg` binary, None without it."""
    rg = find_program("rg", context.environ)
    return RgScanner(rg, context.environ) if rg else None

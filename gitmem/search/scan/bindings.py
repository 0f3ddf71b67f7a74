"""The scanner on the ripgrep bindings, which works around their faults.

Version 0.1.0 stops reading a file at a line that is not UTF-8, skips files that any ignore file names, returns
`path:line:text` as one string, mangles names that are not UTF-8, returns lines in random order, takes patterns as
regular expressions, and searches hidden files and `.git`. So literals are escaped, only the store's folders are passed
to it, never the root, and `PythonScanner` searches the files that the bindings would miss.

Tested through `tests/search/scan/test_base.py`.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys

from gitmem.machine.beneath import read_regular
from gitmem.search.files import File, read_file, stat_file
from gitmem.search.scan.base import LONGEST_LINE, Line, PythonScanner, by_folder
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_STATE = "search.json"
_PAST_STATE = os.path.join("days", "search.json")  # of the days that history holds
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~]")
_NUMBER = re.compile(r":([0-9]+):")
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
        files = [file for path in paths if (file := stat_file(root, path)) is not None]
        missed = self._missed(root, files)
        wanted = {path for path in paths if path not in missed}
        pattern = "|".join(map(escape, literals))
        found: dict[str, list[Line]] = {}
        folders, single = by_folder(path for path in paths if path not in missed)
        for place in (*folders, *single):
            prefix = len(root) + 1
            for line in self._lines(os.path.join(root, place), pattern):
                parsed = parse_line(line[prefix:], wanted)
                if parsed is not None:
                    found.setdefault(parsed[0], []).append(parsed[1])
        found.update(PythonScanner().scan(root, [path for path in paths if path in missed], literals))
        return found

    def _lines(self, place: str, pattern: str) -> list[str]:
        try:
            return self._search(pattern, path=place, output_mode="content", n=True, i=True)
        except (ValueError, OSError):  # deleted meanwhile
            return []

    def _missed(self, root: str, files: Sequence[File]) -> frozenset[str]:
        state = _State(os.path.join(self._private, _PAST_STATE if root == self._private else _STATE))
        folders = sorted({file.path.rpartition("/")[0] for file in files})
        return state.update(root, files, _rules(root, folders, self._home), self._readable)

    def _readable(self, place: str) -> Iterable[str]:
        """Return the files in a folder that the bindings read: those with a first line that is UTF-8."""
        try:
            return self._search("", path=place, output_mode="files_with_matches")
        except (ValueError, OSError):
            return []


def escape(literal: str) -> str:
    """Escape a literal for ripgrep's regular expressions."""
    return _META.sub(r"\\\g<0>", literal)


def parse_line(text: str, paths: frozenset[str] | set[str]) -> tuple[str, Line] | None:
    """Split `path:line:text` at the end of one of `paths`; None if it begins with none of them.

    `paths` has no path that is ambiguous (`_ambiguous`).
    """
    text = text.replace("\\", "/", text[:LONGEST_LINE].find(":")) if os.sep == "\\" else text
    path, _, rest = text.partition(":")
    digits, _, said = rest.partition(":")
    if path in paths and digits.isascii() and digits.isdigit() and len(digits) < len(rest):  # as nearly always
        return path, Line(int(digits), said[:LONGEST_LINE])
    for number in _NUMBER.finditer(text, 0, LONGEST_LINE):
        path = text[: number.start()]
        if path in paths:
            start = number.end()
            return path, Line(int(number[1]), text[start : start + LONGEST_LINE])
    return None


class _Checked(Value):
    """The files `missed` among those checked: all that had changed up to the time `until`; `last` changed just then."""

    rules: str
    until: int = -1
    last: frozenset[File] = frozenset()
    missed: frozenset[str] = frozenset()


class _State:
    """The files that the bindings miss, kept in a file that can be deleted at any time.

    Each version of a file is checked once; a few new ones wait for more, and count as missed. A file that changed
    since the last check has a later change time, so one number tells which files to check.
    """

    _known: dict[str, _Checked] = {}  # noqa: RUF012  # by file, for a process that searches often

    def __init__(self, path: str) -> None:
        self._path = path

    def update(
        self, root: str, files: Sequence[File], rules: str, readable: Callable[[str], Iterable[str]]
    ) -> frozenset[str]:
        """Return the files that the bindings miss; `readable` lists the files that they read in a folder."""
        state = self._known.get(self._path) or self._read()
        if state.rules != rules:
            state = _Checked(rules)
        until, last = state.until, state.last
        new = [file for file in files if file.changed > until or (file.changed == until and file not in last)]
        if not new:
            return state.missed
        checked = {file.path for file in new}
        few = len(new) < _WORTH_CHECKING and sum(file.size for file in new) < _WORTH_BYTES
        if few and state.until >= 0 and not any(map(_NUMBER.search, checked)):
            return state.missed | checked  # as a save made them: Python searches them sooner than they are checked
        places = dict.fromkeys(map(_place, checked))
        visible = {
            path[len(root) + 1 :].replace(os.sep, "/")
            for place in places
            for path in readable(os.path.join(root, place))
        }
        bad = {file.path for file in files if file.size and file.path not in visible and _place(file.path) in places}
        bad |= {path for path in checked if _mangled(path) or not _is_text(root, path)}
        bad |= _ambiguous({file.path for file in files})
        until = max(file.changed for file in files)
        last = frozenset(file for file in files if file.changed == until)
        state = _Checked(rules, until, last, (state.missed - checked) | bad)
        self._known[self._path] = state
        if len(new) >= _WORTH_CHECKING:
            self._write(state)
        return state.missed

    def _read(self) -> _Checked:
        import json

        try:
            with open(self._path, encoding="utf-8") as file:
                value = json.load(file)
            last = frozenset(File(str(path), int(size), int(at), int(until)) for path, size, at, until in value["last"])
            return _Checked(str(value["rules"]), int(value["until"]), last, frozenset(map(str, value["odd"])))
        except (OSError, ValueError, TypeError, KeyError):
            return _Checked("")

    def _write(self, state: _Checked) -> None:
        import json

        value = {"rules": state.rules, "until": state.until, "last": list(state.last), "odd": sorted(state.missed)}
        temporary = f"{self._path}.{os.getpid()}"
        with contextlib.suppress(OSError):
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(json.dumps(value))
            os.replace(temporary, self._path)


def _place(path: str) -> str:
    """Return the top-level folder of a file, or the file if it is in none."""
    return path.partition("/")[0]


def _mangled(path: str) -> bool:
    return any("\ud800" <= character <= "\udfff" or character == "\ufffd" for character in path)


def _ambiguous(paths: set[str]) -> set[str]:
    """Return pairs of paths whose output lines could be confused: `a.md` and `a.md:3:b.md`."""
    ambiguous = set()
    for path in paths:
        for number in _NUMBER.finditer(path):
            if path[: number.start()] in paths:
                ambiguous |= {path, path[: number.start()]}
    return ambiguous


def _is_text(root: str, path: str) -> bool:
    data = read_file(root, path)
    if data.isascii():
        return b"\0" not in data
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


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

"""The ripgrep bindings behind one narrow door: what of them works is used, the rest is seen to here.

What they do (0.1.0, measured): a line that is no UTF-8 ends its file silently; files named by any ignore file are
left out; `path:line:text` is one string, whatever is in the path; names that are no UTF-8 come mangled; the order is
random; a pattern is a regular expression; hidden files and `.git` are searched. So: only the store's folders, never
its root; literals, escaped; the files that `left_out` names are searched by `PythonScanner`.
"""

from __future__ import annotations

import contextlib
import os
import re

from gitmem.machine.beneath import read_regular
from gitmem.search.files import File, look_at, read_file
from gitmem.search.scan.base import LONGEST_LINE, Line, PythonScanner, by_folder
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_STATE = "search.json"
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~]")
_NUMBER = re.compile(r":([0-9]+):")
_RULES = (".gitignore", ".ignore", ".rgignore")
_EXCLUDES = r"(?im)^\s*excludesfile\s*=\s*\"?([^\"\n]+)"
_WORTH_KEEPING = 50  # files looked at before what was found of them is written down


class BindingsMissingError(Exception):
    """The bindings cannot be imported on this machine."""


class BindingsScanner:
    """Searches with `ripgrep-python`; `private` is where it notes which files the bindings leave out."""

    def __init__(self, private: str, home: str) -> None:
        try:
            from pyripgrep import Grep
        except ImportError as error:
            raise BindingsMissingError from error
        self._search: Callable[..., list[str]] = Grep().search
        self._private = private
        self._home = home

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the lines, by path, in which one of the literals occurs."""
        files = [file for path in paths if (file := look_at(root, path)) is not None]
        odd = self._left_out(root, files)
        wanted = {path for path in paths if path not in odd}
        pattern = "|".join(map(escape, literals))
        found: dict[str, list[Line]] = {}
        folders, single = by_folder(path for path in paths if path not in odd)
        for place in (*folders, *single):
            prefix = len(root) + 1
            for line in self._lines(os.path.join(root, place), pattern):
                parsed = parse_line(line[prefix:], wanted)
                if parsed is not None:
                    found.setdefault(parsed[0], []).append(parsed[1])
        found.update(PythonScanner().scan(root, [path for path in paths if path in odd], literals))
        return found

    def _lines(self, place: str, pattern: str) -> list[str]:
        try:
            return self._search(pattern, path=place, output_mode="content", n=True, i=True)
        except (ValueError, OSError):  # it has gone meanwhile
            return []

    def _left_out(self, root: str, files: Sequence[File]) -> frozenset[str]:
        state = _State(os.path.join(self._private, _STATE))
        folders = sorted({file.path.rpartition("/")[0] for file in files})
        return state.update(root, files, _rules(root, folders, self._home), self._seen)

    def _seen(self, place: str) -> Iterable[str]:
        """Return the files that the bindings see in a folder: those with a first line that is UTF-8."""
        try:
            return self._search("", path=place, output_mode="files_with_matches")
        except (ValueError, OSError):
            return []


def escape(literal: str) -> str:
    """Return a literal as a regular expression of ripgrep's."""
    return _META.sub(r"\\\g<0>", literal)


def parse_line(text: str, paths: frozenset[str] | set[str]) -> tuple[str, Line] | None:
    """Take `path:line:text` apart, knowing the paths there are; None where it is of none of them.

    A path that could be taken for the beginning of another one's line is not among `paths`.
    """
    text = text.replace("\\", "/", text[:LONGEST_LINE].find(":")) if os.sep == "\\" else text
    for number in _NUMBER.finditer(text, 0, LONGEST_LINE):
        path = text[: number.start()]
        if path in paths:
            start = number.end()
            return path, Line(int(number[1]), text[start : start + LONGEST_LINE])
    return None


class _Noted(Value):
    """What was found when files were last looked at: those changed `until` then, `last` those changed just then."""

    rules: str
    until: int = -1
    last: frozenset[File] = frozenset()
    odd: frozenset[str] = frozenset()


class _State:
    """Which files the bindings leave out, found by looking at each once.

    What is noted of files holds until they change. A file changed after all that were looked at has a later change
    time, so one number says which are to be looked at. The note can be deleted at any time.
    """

    _known: dict[str, _Noted] = {}  # noqa: RUF012  # by file, for a process that searches often

    def __init__(self, path: str) -> None:
        self._path = path

    def update(
        self, root: str, files: Sequence[File], rules: str, seen: Callable[[str], Iterable[str]]
    ) -> frozenset[str]:
        """Return the files that are left out now; `seen` lists those that the bindings see in a place."""
        noted = self._known.get(self._path) or self._read()
        if noted.rules != rules:
            noted = _Noted(rules)
        until, last = noted.until, noted.last
        new = [file for file in files if file.changed > until or (file.changed == until and file not in last)]
        if not new:
            return noted.odd
        looked = {file.path for file in new}
        places = dict.fromkeys(map(_place, looked))
        visible = {
            path[len(root) + 1 :].replace(os.sep, "/") for place in places for path in seen(os.path.join(root, place))
        }
        bad = {file.path for file in files if file.size and file.path not in visible and _place(file.path) in places}
        bad |= {path for path in looked if _mangled(path) or not _is_text(root, path)}
        bad |= _ambiguous({file.path for file in files})
        until = max(file.changed for file in files)
        last = frozenset(file for file in files if file.changed == until)
        noted = _Noted(rules, until, last, (noted.odd - looked) | bad)
        self._known[self._path] = noted
        if len(new) >= _WORTH_KEEPING:
            self._write(noted)
        return noted.odd

    def _read(self) -> _Noted:
        import json

        try:
            with open(self._path, encoding="utf-8") as file:
                said = json.load(file)
            last = frozenset(File(str(path), int(size), int(at), int(until)) for path, size, at, until in said["last"])
            return _Noted(str(said["rules"]), int(said["until"]), last, frozenset(map(str, said["odd"])))
        except (OSError, ValueError, TypeError, KeyError):
            return _Noted("")

    def _write(self, noted: _Noted) -> None:
        import json

        said = {"rules": noted.rules, "until": noted.until, "last": list(noted.last), "odd": sorted(noted.odd)}
        temporary = f"{self._path}.{os.getpid()}"
        with contextlib.suppress(OSError):
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(json.dumps(said))
            os.replace(temporary, self._path)


def _place(path: str) -> str:
    """Return the top folder of a file, or the file itself where it stands in none."""
    return path.partition("/")[0]


def _mangled(path: str) -> bool:
    return any("\ud800" <= character <= "\udfff" or character == "\ufffd" for character in path)


def _ambiguous(paths: set[str]) -> set[str]:
    """Return the paths of which one and a line number begin like another one: `a.md` and `a.md:3:b.md`."""
    odd = set()
    for path in paths:
        for number in _NUMBER.finditer(path):
            if path[: number.start()] in paths:
                odd |= {path, path[: number.start()]}
    return odd


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
    """Return a fingerprint of the files by which ripgrep might pass over others."""
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

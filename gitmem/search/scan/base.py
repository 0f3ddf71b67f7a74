"""The contract of scanners, and the scanner on Python's `re`.

There are three: the ripgrep bindings, the `rg` binary, and `re`. Each returns, for the given files only, the lines that
hold a literal, without regard to case, in order.
"""

from __future__ import annotations

import re

from gitmem.search.files import read_file
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

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
    """Reads each file and searches it with `re`: slower, and available everywhere."""

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the matching lines of each path."""
        pattern = re.compile("|".join(map(re.escape, literals)), re.IGNORECASE)
        found = {}
        for path in paths:
            lines = _matches(read_file(root, path), pattern)
            if lines:
                found[path] = lines
        return found


def _matches(data: bytes, pattern: re.Pattern[str]) -> list[Line]:
    text = data.decode("utf-8", "replace")
    found: list[Line] = []
    position, number, counted = 0, 1, 0
    while match := pattern.search(text, position):
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        number += text.count("\n", counted, start)
        counted = start
        found.append(Line(number, text[start : min(end, start + LONGEST_LINE)].rstrip("\r")))
        position = end + 1
        if position > len(text):
            break
    return found


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

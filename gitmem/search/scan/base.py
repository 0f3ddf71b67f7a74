"""The contract of scanners, and the one on Python's `re`, which needs nothing.

Three scanners keep it: the ripgrep bindings, the `rg` binary, and `re`. Each returns, for the files it is given and no
others, the lines in which a literal occurs without regard to case, in order.
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
        """Finds lines."""

        def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
            """Return the lines, by path, in which one of the literals occurs; `literals` are in lower case."""
            ...


# Characters of a line that are looked at: what stands further on in a line of megabytes is found with its unit.
LONGEST_LINE = 20_000


class Line(Value):
    """A line by its number, from 1, and its beginning."""

    number: int
    text: str


class PythonScanner:
    """Reads each file and searches it with `re`: slower, and needs nothing."""

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the lines, by path, in which one of the literals occurs."""
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
    """Return the top folders that hold files, and the files that stand in none."""
    folders: dict[str, None] = {}
    single = []
    for path in paths:
        folder, slash, _ = path.partition("/")
        if slash:
            folders[folder] = None
        else:
            single.append(path)
    return list(folders), single

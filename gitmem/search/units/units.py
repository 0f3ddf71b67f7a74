"""What a hit is: an entry of a log, a section of a document, or a field of a summary's header.

A file is cut into units without gaps in what can be found: what stands between entries, before the first heading or
in a long section becomes units too. A search cuts a megabyte to rank a few of its units, so a unit is two positions
until it is asked for, and a file is not cut before one of its units is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, cached_property
from itertools import accumulate

from gitmem.model.ids import LENGTH, is_id
from gitmem.search.files import TRANSCRIPTS, layer_of
from gitmem.search.query.query import fold
from gitmem.search.units.cut import ENTRY, FIELD, SECTION, cut, kind_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.search.units.cut import Span

_ID_SPACE = LENGTH + 3  # blank, `^`, the id and perhaps a carriage return
# Characters of an entry that are not its text: `- [2026-11-21 14:03:22] **Note**: ` and the id, near enough.
FRAME = 60
_ASCII = bytes(range(128))


class Unit(Value):
    """A part of a file that is a hit by itself: `text[start:end]`; `name` is a field's, `heading` the section's."""

    start: int
    end: int
    kind: str
    heading: str
    name: str = ""


class Units:
    """A file's text and its units, in order. Positions are those of `text`; `low` is the same in lower case."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.layer = layer_of(path)
        self.size = len(data)
        self.commit = self.gone = ""  # see `Excerpts`
        self.text = data.decode("utf-8", "replace")
        self.low = _fold(data, self.text)

    @cached_property
    def _spans(self) -> list[Span]:
        return cut(self.path, self.text)

    @cached_property
    def starts(self) -> list[int]:
        """Where the units begin."""
        return [start for start, _, _ in self._spans]

    @cached_property
    def total(self) -> int:
        """How many characters all units have to say."""
        return sum(end - start - (FRAME if kind == ENTRY else 0) for start, end, kind in self._spans)

    def __len__(self) -> int:
        return len(self._spans)

    def unit(self, index: int) -> Unit:
        """Return a unit by its place in the file."""
        start, end, _ = self._spans[index]
        kind = self.kind(index)
        name = self.text[start : self.text.find(":", start)] if kind == FIELD else ""
        return Unit(start, end, kind, self._heading(index) if kind != FIELD else "", name)

    def kind(self, index: int) -> str:
        """Return what a unit is."""
        return kind_of(self.text, self._spans[index])

    def _heading(self, index: int) -> str:
        """Return the title of the section a unit stands in: of the last unit that begins with a heading."""
        for before in range(index, -1, -1):
            start, _, kind = self._spans[before]
            if kind != ENTRY and self.text.startswith("#", start):
                marks, _, title = self.text[start : self._line_end(start)].replace("\t", " ").partition(" ")
                if not marks.strip("#"):
                    return title.strip()
        return ""

    def _line_end(self, position: int) -> int:
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end

    def at(self, position: int) -> int:
        """Return the index of the unit a position is in, -1 where it is in none."""
        index = bisect_right(self.starts, position) - 1
        return index if index >= 0 and position < self._spans[index][1] else -1

    def lines(self, unit: Unit) -> tuple[int, int]:
        """Return the first and the last line of a unit, counted from 1."""
        first = self.text.count("\n", 0, unit.start) + 1
        return first, first + self.text[unit.start : unit.end].rstrip().count("\n")

    def length(self, index: int) -> int:
        """Return how many characters a unit has to say, without what every entry begins and ends with."""
        start, end, kind = self._spans[index]
        return max(end - start - FRAME, 1) if kind == ENTRY else end - start

    def outline(self, index: int) -> tuple[int, int]:
        """Return where a unit's first line of text ends, and how many lines it has; headings are none."""
        position, end, _ = self._spans[index]
        first, lines = end, 0
        if self.text.find("\n", position, end - 1) < 0:
            return end, 1
        while position < end:
            line_end = self.text.find("\n", position, end)
            line_end = end if line_end < 0 else line_end
            if not self.text.startswith("#", position) and self.text[position:line_end].strip():
                lines += 1
                first = line_end if lines == 1 else first
            position = line_end + 1
        return first, max(lines, 1)

    def entry_id(self, index: int) -> str:
        """Return the id at the end of an entry's first line, "" for what is no entry or has none."""
        start, last, kind = self._spans[index]
        if kind != ENTRY:
            return ""
        end = self.text.find("\n", start, last)
        end = last if end < 0 else end
        line = self.text[max(start, end - _ID_SPACE) : end]
        _, mark, identifier = line.rstrip("\r").rpartition(" ^")
        return identifier if mark and is_id(identifier) else ""

    def text_of(self, unit: Unit) -> str:
        """Return a unit's text without the blank lines at its ends."""
        return self.text[unit.start : unit.end].strip("\r\n").rstrip()


class Excerpts(Units):
    """Lines of a file that is not read as a whole, each a unit: of a transcript, or what an old commit held.

    Of the latter `commit` is one that still has it, and `gone` when it went.
    """

    def __init__(self, path: str, lines: Sequence[tuple[int, str]], commit: str = "", gone: str = "") -> None:
        self.path = path
        self.layer = layer_of(path) if commit else TRANSCRIPTS
        self.commit = commit
        self.gone = gone
        texts = [" ".join(text.split("\n")) for _, text in lines]
        self.text = "\n".join(texts)
        self.size = len(self.text)
        self.low = fold(self.text)
        self._numbers = [number for number, _ in lines]
        starts = [0, *accumulate(len(text) + 1 for text in texts[:-1])]
        first = first_line()
        self._spans = [
            (start, start + len(text), ENTRY if first.match(text) else SECTION)
            for start, text in zip(starts, texts, strict=True)
        ]

    def kind(self, index: int) -> str:
        """Return what a unit is; a line of a file may be a heading, and says what it says all the same."""
        return self._spans[index][2]

    def lines(self, unit: Unit) -> tuple[int, int]:
        """Return the line of a unit in the file it is from, as the first and the last."""
        number = self._numbers[self.starts.index(unit.start)]
        return number, number


def _fold(data: bytes, text: str) -> str:
    """Return `fold(text)`, given the bytes it was decoded from.

    Outside of ASCII few texts have capitals, and where there are none it is enough to lower the bytes: a search reads a
    megabyte, and characters one by one would take it five times as long.
    """
    others = data.translate(None, _ASCII).decode("utf-8", "replace")
    return data.lower().decode("utf-8", "replace") if others == others.lower() else fold(text)


@cache
def first_line() -> re.Pattern[str]:
    """Return the pattern of an entry's first line."""
    from gitmem.model.entry.entry import FIRST_LINE

    return re.compile(FIRST_LINE)

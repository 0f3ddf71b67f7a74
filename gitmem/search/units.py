"""What a hit is: an entry of a log, a section of a document, or a field of a summary's header.

A file is cut into units without gaps in what can be found: what stands between entries, before the first heading or
in a long section becomes units too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate

from gitmem.model.entry import FIRST_LINE
from gitmem.model.ids import LENGTH, is_id
from gitmem.search.files import TRANSCRIPTS, is_summary, layer_of
from gitmem.search.query import fold
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ENTRY, SECTION, HEADING, FIELD = "entry", "section", "heading", "field"
# Characters of a section that is one hit; a longer one is cut at blank lines, about where this much is full.
LONGEST_SECTION = 3_000
_HEADING = re.compile(r"#{1,6}[ \t]+([^\n]*)")
_FIELD = re.compile(r"^([A-Za-z_][\w-]*):", re.MULTILINE)
_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
# An entry without an id, as people write them: dated items of a list.
_ITEM = re.compile(r"- \[[0-9:TZ+. -]{5,40}\] ")
_MAX_HEADER = 65_536
_ID_SPACE = LENGTH + 3  # blank, `^`, the id and perhaps a carriage return
_HEAD_SPACE = 200  # characters in which time, label and tags of an entry stand
# Fields of a header that are for programs.
_NOT_TEXT = frozenset(
    {"id", "kind", "created", "updated", "archive", "method", "date", "date_range", "section_count", "version"}
)


class Unit(Value):
    """A part of a file that is a hit by itself: `text[start:end]`; `name` is a field's, `heading` the section's."""

    start: int
    end: int
    kind: str
    heading: str
    name: str = ""


class Units:
    """A file's text and its units, in order. Positions are those of `text`; `low` is the same in lower case."""

    __slots__ = ("commit", "gone", "layer", "low", "path", "starts", "text", "units")

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.layer = layer_of(path)
        self.commit = self.gone = ""  # see `Excerpts`
        self.text = data.decode("utf-8", "replace")
        self.low = fold(self.text)
        self.units = list(_cut(path, self.text))
        self.starts = [unit.start for unit in self.units]

    def at(self, position: int) -> int:
        """Return the index of the unit a position is in, -1 where it is in none."""
        index = bisect_right(self.starts, position) - 1
        return index if index >= 0 and position < self.units[index].end else -1

    def lines(self, unit: Unit) -> tuple[int, int]:
        """Return the first and the last line of a unit, counted from 1."""
        first = self.text.count("\n", 0, unit.start) + 1
        return first, first + self.text[unit.start : unit.end].rstrip().count("\n")

    def content_length(self, unit: Unit) -> int:
        """Return how many characters a unit has to say, without what every entry begins and ends with."""
        if unit.kind != ENTRY:
            return unit.end - unit.start
        head = self.text.find("**: ", unit.start, unit.start + _HEAD_SPACE)
        return max(unit.end - (unit.start if head < 0 else head) - _ID_SPACE - len("**: "), 1)

    def outline(self, unit: Unit) -> tuple[int, int]:
        """Return where a unit's first line of text ends, and how many lines it has; headings are none."""
        first, lines, position = unit.end, 0, unit.start
        while position < unit.end:
            end = self.text.find("\n", position, unit.end)
            end = unit.end if end < 0 else end
            if not self.text.startswith("#", position) and not self.text[position:end].isspace() and end > position:
                lines += 1
                first = end if lines == 1 else first
            position = end + 1
        return first, max(lines, 1)

    def entry_id(self, unit: Unit) -> str:
        """Return the id at the end of an entry's first line, "" for what is no entry or has none."""
        if unit.kind != ENTRY:
            return ""
        end = self.text.find("\n", unit.start, unit.end)
        line = self.text[max(unit.start, (unit.end if end < 0 else end) - _ID_SPACE) : unit.end if end < 0 else end]
        _, mark, identifier = line.rstrip("\r").rpartition(" ^")
        return identifier if mark and is_id(identifier) else ""

    def text_of(self, unit: Unit) -> str:
        """Return a unit's text without the blank lines at its ends."""
        return self.text[unit.start : unit.end].strip("\r\n").rstrip()


class Excerpts(Units):
    """Lines of a file that is not read as a whole, each a unit: of a transcript, or what an old commit held.

    Of the latter `commit` is one that still has it, and `gone` when it went.
    """

    __slots__ = ("_numbers",)

    def __init__(self, path: str, lines: Sequence[tuple[int, str]], commit: str = "", gone: str = "") -> None:
        self.path = path
        self.layer = layer_of(path) if commit else TRANSCRIPTS
        self.commit = commit
        self.gone = gone
        texts = [" ".join(text.split("\n")) for _, text in lines]
        self.text = "\n".join(texts)
        self.low = fold(self.text)
        self._numbers = [number for number, _ in lines]
        self.starts = [0, *accumulate(len(text) + 1 for text in texts[:-1])]
        first = first_line()
        self.units = [
            Unit(start, start + len(text), ENTRY if first.match(text) else SECTION, "")
            for start, text in zip(self.starts, texts, strict=True)
        ]

    def lines(self, unit: Unit) -> tuple[int, int]:
        """Return the line of a unit in the file it is from, as the first and the last."""
        number = self._numbers[self.starts.index(unit.start)]
        return number, number


@cache
def first_line() -> re.Pattern[str]:
    """Return the pattern of an entry's first line."""
    return re.compile(FIRST_LINE)


def _cut(path: str, text: str) -> Iterator[Unit]:
    body = 0
    opening = _OPENING.match(text)
    if opening:
        closing = _CLOSING.search(text, opening.end(), _MAX_HEADER)
        if closing:
            body = closing.end()
            yield from _fields(text, opening.end(), closing.start(), summary=is_summary(path))
    heading, start, kind = "", body, SECTION
    for at, next_kind, title in _starts(text, body):
        yield from _unit(text, start, at, kind, heading)
        start, kind = at, next_kind
        heading = heading if title is None else title
    yield from _unit(text, start, len(text), kind, heading)


def _fields(text: str, start: int, end: int, *, summary: bool) -> Iterator[Unit]:
    """Yield what a header says in words, a field each."""
    heads = list(_FIELD.finditer(text, start, end))
    for head, following in zip(heads, [*(h.start() for h in heads[1:]), end], strict=False):
        name = head[1]
        if name not in _NOT_TEXT and (summary or name in {"title", "tags", "aliases", "keywords", "summary", "reason"}):
            yield Unit(head.start(), following, FIELD, "", name)


def _starts(text: str, body: int) -> Iterator[tuple[int, str, str | None]]:
    """Yield where headings (with their titles), entries, and what follows an entry begin, and what begins there."""
    fences = _fences(text)
    position, entry, end = body, False, len(text)
    while position < end:
        if text.startswith("#", position) and (found := _HEADING.match(text, position)) and not _in(fences, position):
            yield position, SECTION, found[1].strip()
            entry = False
        elif text.startswith("- [", position) and _ITEM.match(text, position) and not _in(fences, position):
            yield position, ENTRY, None
            entry = True
        elif entry:
            yield position, SECTION, None
            entry = False
        position = _next_start(text, position, entry=entry)


def _next_start(text: str, position: int, *, entry: bool) -> int:
    """Return where the next line begins that may begin a unit."""
    if not entry:
        places = [place for place in (text.find("\n#", position), text.find("\n- [", position)) if place >= 0]
        return min(places) + 1 if places else len(text)
    line = text.find("\n", position) + 1
    while line:
        if text[line : line + 1] not in {" ", "\t", "\n", "\r", ""}:
            return line
        line = text.find("\n", line) + 1
    return len(text)


def _fences(text: str) -> list[tuple[int, int]]:
    if "```" not in text and "~~~" not in text:
        return []
    from gitmem.model.log import fences

    return fences(text)


def _in(spans: list[tuple[int, int]], position: int) -> bool:
    return any(start <= position < end for start, end in spans)


def _unit(text: str, start: int, end: int, kind: str, heading: str) -> Iterator[Unit]:
    """Yield what stands between two starts as one unit or several."""
    if start >= end or not text[start:end].strip():
        return
    if kind == ENTRY:
        yield Unit(start, end, ENTRY, heading)
        return
    line = text.find("\n", start, end)
    if text.startswith("#", start) and (line < 0 or not text[line:end].strip()):
        yield Unit(start, end, HEADING, heading)
        return
    while end - start > LONGEST_SECTION:
        cut = text.rfind("\n\n", start + LONGEST_SECTION // 3, start + LONGEST_SECTION) + 2
        if cut < start + LONGEST_SECTION // 3:
            cut = text.find("\n\n", start + LONGEST_SECTION, end) + 2
            if cut <= 1:
                break
        yield Unit(start, cut, SECTION, heading)
        start = cut
    if text[start:end].strip():
        yield Unit(start, end, SECTION, heading)

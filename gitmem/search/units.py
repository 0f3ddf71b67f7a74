"""The units that are ranked: entries of a log, sections and facts of documents, fields of a summary's header.

Text between entries and before the first heading is in units, too. A search reads a megabyte to rank a few units, so
files are cut when a unit is first needed, and a unit is two positions until then. A long exchange is scored and shown
by its best part, with its request. Users see a unit without a log's marks and ids, models its chunks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import accumulate

from gitmem.document.entry import FIRST_LINE
from gitmem.document.ids import ID_FORM, LENGTH, is_id
from gitmem.search.cut import ENTRY, FIELD, HEADING, SECTION, Span, cut
from gitmem.search.files import LINKED, TRANSCRIPTS, is_summary, layer_of
from gitmem.search.query import fold
from gitmem.values import Value

PART = 1_600  # characters of a part, about; it ends where a paragraph does
WHOLE = 2_200  # characters of a unit that is one part
MOST_LEAD = 600  # characters of the request that each part carries
CHUNK_BYTES = 1_600  # 400 tokens (gitmem.text.words), which is less than the 512 most models read
# Ends a request: the answer of an exchange, or another part after it.
_SAID = "\n  **Said:**"
_ENDS = ("\n  **Answer:**", _SAID, "\n  **Error:**")
_BREAKS = ("\n\n", "\n", ". ", " ")
_NOTHING_SAID = (0, 0)


class Parts(Value):
    """The end of a unit's request or title, which each part carries, and the start and end of each part.

    `said` is the range of the agent's texts between its tool calls, if that has its own parts.
    """

    lead: int
    spans: tuple[tuple[int, int], ...]
    said: tuple[int, int] = _NOTHING_SAID


def _pieces(text: str, begin: int, end: int, size: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of pieces of at most `size` characters, the last one of at most `longest`."""
    while end - begin > longest:
        cut = best_cut(text, begin + size // 2, begin + size)
        yield begin, cut
        begin = cut
    yield begin, end


def best_cut(text: str, least: int, most: int) -> int:
    """Return the best place to cut between two places: after a paragraph, a line, a sentence or a word."""
    for mark in _BREAKS:
        place = text.rfind(mark, least, most)
        if place >= 0:
            return place + len(mark)
    return most


ID_MARK = "^"  # before the id of a memory
_WORD = re.compile(r"[^\W_]*")
_ID_SPACE = LENGTH + 3  # blank, `^`, the id and perhaps a carriage return
# A document that is one memory: a fact, a concept, an episode or a bug pattern, with its id in its name.
_NAMED = r"(?:facts|concepts|episodes|patterns)/(?:[^/]+/){0,2}(?P<id>[a-z][0-9a-hjkmnp-tv-z]{10})(?:-[^/]*)?\.md"
_TARGET = r"\]\(\.\./[^()\n]*\)"
_LINKED_ID = rf"(?m)\) ({ID_FORM})\r?$"
_EXCHANGES = re.compile(r"(?m)^exchanges: \[([^\]\n]*)\]")  # in the header of an episode
_NO_SENTENCES = ("keywords:", "tags:", "aliases:")  # fields of a summary's header without sentences
# Characters of an entry around its text, about: `- [2026-11-21 14:03:22] **Note**: ` and the id.
FRAME = 60


class Unit(Value):
    """A part of a file, `text[start:end]`, with the name of a field or the heading of a section."""

    start: int
    end: int
    kind: str
    heading: str
    name: str = ""


class Units:
    """A file's text and its units, in order; `low` is the text in lower case, with the same positions.

    In a log from `commit` only entries are units: the text between them is in its week's document.
    """

    def __init__(self, path: str, data: bytes, commit: str = "") -> None:
        self.path = path
        self.layer = layer_of(path)
        self.size = len(data)
        self.commit = commit
        self.text = data.decode("utf-8", "replace")
        self.low = fold(self.text)
        if self.is_links:  # where a link leads is no text of the document
            self.low = re.sub(_TARGET, lambda match: " " * len(match[0]), self.low)

    @cached_property
    def _spans(self) -> list[Span]:
        return [span for span in cut(self.path, self.text) if not self.commit or span[2] == ENTRY]

    @cached_property
    def starts(self) -> list[int]:
        """The starts of the units."""
        return [start for start, _, _ in self._spans]

    @cached_property
    def total(self) -> int:
        """The summed length of all units."""
        return sum(end - start - (FRAME if kind == ENTRY else 0) for start, end, kind in self._spans)

    def __len__(self) -> int:
        return len(self._spans)

    def unit(self, index: int) -> Unit:
        """Return a unit by its index."""
        start, end, _ = self._spans[index]
        kind = self.kind(index)
        name = self.text[start : self.text.find(":", start)] if kind == FIELD else ""
        return Unit(start, end, kind, self._heading(index) if kind != FIELD else "", name)

    def kind(self, index: int) -> str:
        """Return the kind of a unit."""
        return self._spans[index][2]

    def _heading(self, index: int) -> str:
        """Return the title of the last heading at or before a unit, or ""."""
        own = self._title(*self._spans[index])
        return self._headings[index] if own is None else own

    def _title(self, start: int, end: int, kind: str) -> str | None:
        """Return the title of a unit's own heading, None if it has none."""
        if kind == ENTRY or not self.text.startswith("#", start):
            return None
        marks, _, words = self.text[start:end].split("\n", 1)[0].replace("\t", " ").partition(" ")
        return None if marks.strip("#") else words.strip()

    @cached_property
    def _headings(self) -> list[str]:
        headings, title = [], ""
        for span in self._spans:
            own = self._title(*span)
            title = title if own is None else own
            headings.append(title)
        return headings

    def around(self, position: int) -> tuple[int, int]:
        """Return the index of the unit at a position, or -1, and the position up to which it stays the same.

        The name of a header field does not count as a word.
        """
        index = bisect_right(self.starts, position) - 1
        start, end, kind = self._spans[index] if index >= 0 else (0, 0, "")
        if position >= end or (kind == FIELD and position < self.text.find(":", start)):
            return -1, position
        return self._owner(index), end

    def in_id(self, position: int, size: int) -> bool:
        """Return whether a text of `size` at a position is a part of a memory's id, after its mark or in a link."""
        mark = self.text.rfind(ID_MARK, max(position - LENGTH, 0), position)
        return (mark >= 0 or self.is_links) and self._is_part_of_id(position, size)

    def _is_part_of_id(self, position: int, size: int) -> bool:
        start = position
        while start and self.text[start - 1].isalnum():
            start -= 1
        word = _WORD.match(self.text, start)
        return word is not None and size < len(word[0]) and is_id(word[0])

    def _owner(self, index: int) -> int:
        """Return the unit for which a unit's words count: a header field or bare title counts for the next unit."""
        if self._spans[index][2] == ENTRY:
            return index
        while index + 1 < len(self._spans) and self._is_head(index) and self._is_below(index, index + 1):
            index += 1
        return index

    def _is_below(self, head: int, index: int) -> bool:
        """Return whether a unit belongs to the head before it: neither an entry nor a section of the same level."""
        return self._spans[index][2] != ENTRY and not 0 < self._level(index) <= self._level(head)

    def _level(self, index: int) -> int:
        line = self.text[self.starts[index] : self.starts[index] + 6]
        return len(line) - len(line.lstrip("#"))

    def _is_head(self, index: int) -> bool:
        start, _, kind = self._spans[index]
        if kind != FIELD:
            return kind == HEADING
        return not is_summary(self.path) or self.text.startswith(_NO_SENTENCES, start)

    def parts(self, index: int) -> Parts:
        """Return the parts of a unit."""
        text, (start, end, _) = self.text, self._spans[index]
        if end - start <= WHOLE:
            return Parts._make((start, ((start, end),), _NOTHING_SAID))  # of hundreds
        ends = [place for mark in _ENDS if (place := text.find(mark, start + 1, end)) >= 0]
        if not ends:
            line = text.find("\n", start, end)
            ends = [line if line >= 0 else start]
        lead = min(*ends, start + MOST_LEAD)
        first = text.find(_SAID, start + 1, end)
        said = (first, end) if first >= 0 else _NOTHING_SAID
        spans = [*_pieces(text, lead, first if first > lead else end, PART, PART + PART // 2)]
        spans += _pieces(text, first, end, PART, PART + PART // 2) if first > lead else []
        return Parts(lead, tuple(spans), said)

    def lines(self, unit: Unit) -> tuple[int, int]:
        """Return the first and the last line of a unit, counted from 1."""
        first = self.text.count("\n", 0, unit.start) + 1
        return first, first + self.text[unit.start : unit.end].rstrip().count("\n")

    def length(self, index: int) -> int:
        """Return the length of a unit in characters, without the frame of an entry."""
        start, end, kind = self._spans[index]
        return max(end - start - FRAME, 1) if kind == ENTRY else end - start

    def outline(self, index: int) -> tuple[int, int]:
        """Return the end of a unit's first line of text, and its number of lines; headings do not count."""
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

    def memory(self, index: int) -> str:
        """Return the id of the memory that a unit is a view of, or ""."""
        if (known := self._memories.get(index)) is None:
            known = self._memories[index] = self.named or self.entry_id(index)
        return known

    @cached_property
    def _memories(self) -> dict[int, str]:
        return {}

    @cached_property
    def named(self) -> str:
        """The id of the fact, concept, episode or known error that the file is, or ""."""
        named = re.fullmatch(_NAMED, self.path)
        return named["id"] if named else ""

    @cached_property
    def is_links(self) -> bool:
        """Whether the file is a concept or an episode, which link to exchanges."""
        return self.path.startswith(LINKED)

    @cached_property
    def linked(self) -> frozenset[str]:
        """The ids of the exchanges that a concept or an episode names in its header or links to."""
        if not self.is_links:
            return frozenset()
        named = _EXCHANGES.search(self.text)
        return frozenset([*re.findall(_LINKED_ID, self.text), *(named[1].split(", ") if named else ())])

    def entry_id(self, index: int) -> str:
        """Return the id at the end of an entry's first line, or ""."""
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
    """Lines of a transcript, or of an old version of a file in `commit`, each a unit."""

    def __init__(self, path: str, lines: Sequence[tuple[int, str]], commit: str = "") -> None:
        self.path = path
        self.layer = layer_of(path) if commit else TRANSCRIPTS
        self.commit = commit
        texts = [" ".join(text.split("\n")) for _, text in lines]
        self.text = "\n".join(texts)
        self.size = len(self.text)
        self.low = fold(self.text)
        self._numbers = [number for number, _ in lines]
        self._texts = texts

    @cached_property
    def starts(self) -> list[int]:
        """The starts of the lines."""
        return [*accumulate((len(text) + 1 for text in self._texts), initial=0)][:-1]

    @cached_property
    def _spans(self) -> list[Span]:
        first = first_line()
        return [
            (start, start + len(text), ENTRY if first.match(text) else SECTION)
            for start, text in zip(self.starts, self._texts, strict=True)
        ]

    def around(self, position: int) -> tuple[int, int]:
        """Return the index of the line at a position, and the start of the next one."""
        index = bisect_right(self.starts, position) - 1
        return index, self.starts[index] + len(self._texts[index])

    def lines(self, unit: Unit) -> tuple[int, int]:
        """Return the line number of a unit in its file, twice."""
        number = self._numbers[self.starts.index(unit.start)]
        return number, number


@cache
def first_line() -> re.Pattern[str]:
    """Return the pattern of an entry's first line."""
    return re.compile(FIRST_LINE)


def chunks(units: Units) -> Iterator[tuple[int, str]]:
    """Yield the chunks of a file in order, as (index of the unit, text to embed)."""
    pending = -1  # the start of a heading that goes into the next chunk
    for index in range(len(units)):
        unit = units.unit(index)
        start = unit.start if pending < 0 else pending
        pending = start if unit.kind == HEADING and index + 1 < len(units) else -1
        if pending >= 0:
            continue
        line = first_line().match(units.text, unit.start, unit.end) if unit.kind == ENTRY else None
        if line:
            start = line.start("text") if line["text"] else line.end()
        title = f"{unit.heading}\n" if unit.heading and not line else ""
        for part in _cut_chunk(units.text, start, unit.end):
            text = part.replace(f" ^{line['id']}", "", 1).strip() if line else part
            if re.search(r"\w", title + text):
                yield index, text if text.startswith("#") else title + text


def _cut_chunk(text: str, start: int, end: int) -> Iterator[str]:
    """Return the parts of a text, each of at most about a full chunk, cut at paragraphs, lines, sentences or words."""
    size = len(text[start:end].encode("utf-8", "replace"))
    most = max(CHUNK_BYTES * (end - start) // size, 1) if size else 1
    return (text[begin:stop].strip() for begin, stop in _pieces(text, start, end, most, most))

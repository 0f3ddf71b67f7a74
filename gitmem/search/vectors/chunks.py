"""What of a file becomes a vector: chunks of at most about 400 tokens, cut where units are.

An entry or a section is a chunk, so that a vector leads to one place; a longer one is several. A heading with nothing
under it goes with what follows. The lines of the chunks cover the units of a file, in order.
"""

from __future__ import annotations

import hashlib
import re

from gitmem.search.units.cut import ENTRY, FIELD, HEADING
from gitmem.search.units.units import first_line
from gitmem.search.vectors.file import KEY_BYTES
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.search.units.units import Unit, Units

VERSION = 1  # of the way a file is cut: vectors of another way are not found
BYTES = 1_600  # 400 tokens (gitmem.text.tokens), which is less than the 512 most models read
_LEAST = 0.5  # of a full chunk, before a place to cut is taken
_WORD = r"\w"


class Chunk(Value):
    """A part of a file: its unit's index, its first and last line (from 1), and the text that is embedded."""

    index: int
    start: int
    end: int
    text: str

    def key(self) -> bytes:
        """Return the hash of what is embedded (spec J13), 16 bytes."""
        return hashlib.blake2b(self.text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()


def chunks(units: Units) -> list[Chunk]:
    """Return the chunks of a file in order."""
    found: list[Chunk] = []
    line, counted = 1, 0
    waiting = -1  # where a heading begins that goes with what follows
    for index in range(len(units)):
        unit = units.unit(index)
        if unit.kind == HEADING and index + 1 < len(units):
            waiting = unit.start if waiting < 0 else waiting
            continue
        start = unit.start if waiting < 0 else waiting
        waiting = -1
        for begin, end, text in _parts(units, unit, start):
            line += units.text.count("\n", counted, begin)
            counted = begin
            if re.search(_WORD, text):
                last = line + units.text[begin:end].rstrip().count("\n")
                found.append(Chunk(index, line, last, text))
    return found


def _parts(units: Units, unit: Unit, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield the parts of a unit: where each begins and ends in the file, and what of it is embedded."""
    text, end = units.text, unit.end
    if unit.kind == ENTRY and (line := first_line().match(text, unit.start, end)):
        told = line.start("text") if line["text"] else line.end()
        for number, (first, last) in enumerate(_split(text, told, end)):
            yield (first if number else start), last, text[first:last].replace(f" ^{line['id']}", "", 1).strip()
        return
    title = unit.heading if unit.kind != FIELD else ""
    for first, last in _split(text, start, end):
        part = text[first:last].strip()
        yield first, last, f"{title}\n{part}" if title and not part.startswith("#") else part


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a stretch of text, each at most about a full chunk, cut at lines or at least at words."""
    size = len(text[start:end].encode("utf-8", "replace"))
    most = max(BYTES * (end - start) // size, 1) if size else 1
    while end - start > most:
        cut = _cut(text, start + int(most * _LEAST), start + most)
        yield start, cut
        start = cut
    yield start, end


def _cut(text: str, least: int, most: int) -> int:
    """Return the best place to cut: behind a blank line, a line, a sentence, a word."""
    for mark in ("\n\n", "\n", ". ", " "):
        place = text.rfind(mark, least, most)
        if place >= 0:
            return place + len(mark)
    return most

"""The chunks of a file that are embedded: units, cut to at most about 400 tokens.

An entry or a section is a chunk, so that a vector leads to one place; a long one is several. A heading without text
goes into the next chunk. The chunks cover the units of a file, in order.
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

VERSION = 2  # of the cutting: maps of another version are ignored
BYTES = 1_600  # 400 tokens (gitmem.text.tokens), which is less than the 512 most models read
_LEAST = 0.5  # of a full chunk, before the first cut
_WORD = r"\w"


class Chunk(Value):
    """A part of a file: the index of its unit, its first and last line (from 1), and the text to embed."""

    index: int
    start: int
    end: int
    text: str

    def key(self) -> bytes:
        """Return the hash of the text, of 16 bytes (docs/spec.md J13)."""
        return hashlib.blake2b(self.text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()


def chunks(units: Units) -> list[Chunk]:
    """Return the chunks of a file in order."""
    found: list[Chunk] = []
    line, counted = 1, 0
    pending = -1  # the start of a heading that goes into the next chunk
    for index in range(len(units)):
        unit = units.unit(index)
        if unit.kind == HEADING and index + 1 < len(units):
            pending = unit.start if pending < 0 else pending
            continue
        start = unit.start if pending < 0 else pending
        pending = -1
        for begin, end, text in _parts(units, unit, start):
            line += units.text.count("\n", counted, begin)
            counted = begin
            if re.search(_WORD, text):
                last = line + units.text[begin:end].rstrip().count("\n")
                found.append(Chunk(index, line, last, text))
    return found


def _parts(units: Units, unit: Unit, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of each part of a unit."""
    text, end = units.text, unit.end
    if unit.kind == ENTRY and (line := first_line().match(text, unit.start, end)):
        body = line.start("text") if line["text"] else line.end()
        for number, (first, last) in enumerate(_split(text, body, end)):
            yield (first if number else start), last, text[first:last].replace(f" ^{line['id']}", "", 1).strip()
        return
    title = unit.heading if unit.kind != FIELD else ""
    for first, last in _split(text, start, end):
        part = text[first:last].strip()
        yield first, last, f"{title}\n{part}" if title and not part.startswith("#") else part


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text, each of at most about a full chunk, cut at lines or words."""
    size = len(text[start:end].encode("utf-8", "replace"))
    most = max(BYTES * (end - start) // size, 1) if size else 1
    while end - start > most:
        cut = _cut(text, start + int(most * _LEAST), start + most)
        yield start, cut
        start = cut
    yield start, end


def _cut(text: str, least: int, most: int) -> int:
    """Return the best place to cut: after a blank line, a line, a sentence or a word."""
    for mark in ("\n\n", "\n", ". ", " "):
        place = text.rfind(mark, least, most)
        if place >= 0:
            return place + len(mark)
    return most

"""Cut units into chunks that a model can embed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from gitmem.search.cut import ENTRY, HEADING
from gitmem.search.units import Units, best_cut, first_line

KEY_BYTES = 16
BYTES = 1_600  # 400 tokens (gitmem.text.words), which is less than the 512 most models read
_LEAST = 0.5  # of a full chunk; it is not cut before that


def chunks(units: Units) -> Iterator[tuple[int, str]]:
    """Yield the chunks of a file in order: the index of the unit that each is of, and the text to embed."""
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
        for part in _split(units.text, start, unit.end):
            text = part.replace(f" ^{line['id']}", "", 1).strip() if line else part
            if re.search(r"\w", title + text):
                yield index, text if text.startswith("#") else title + text


def _split(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the parts of a text, each of at most about a full chunk, cut at paragraphs, lines, sentences or words."""
    size = len(text[start:end].encode("utf-8", "replace"))
    most = max(BYTES * (end - start) // size, 1) if size else 1
    while end - start > most:
        cut = best_cut(text, start + int(most * _LEAST), start + most)
        yield text[start:cut].strip()
        start = cut
    yield text[start:end].strip()


def key_of(text: str) -> bytes:
    """Return the hash of the text of a chunk, of 16 bytes."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()

"""The parts of a long unit: an exchange whose answer is long is scored and shown by its best part, with its request.

Tested through `tests/search/test_engine.py`.
"""

from __future__ import annotations

from gitmem.values import Value

PART = 1_600  # characters of a part, about; it ends where a paragraph does
WHOLE = 2_200  # characters of a unit that is one part
MOST_LEAD = 600  # characters of the request that each part carries
_LEAST = PART // 2
# What ends a request: the answer in an exchange, and the next entry in a log of format version 1.
_ENDS = ("\n  **Answer:**", "\n  **Said:**", "\n  **Noted:**", "\n  **Error:**", "\n- [")
_BREAKS = ("\n\n", "\n", ". ", " ")


class Parts(Value):
    """Where the request, or the title, of a unit ends that each part carries, and start and end of the parts."""

    lead: int
    spans: tuple[tuple[int, int], ...]


def parts_of(text: str, start: int, end: int) -> Parts:
    """Return the parts of the unit `text[start:end]`."""
    if end - start <= WHOLE:
        return Parts(start, ((start, end),))
    ends = [place for mark in _ENDS if (place := text.find(mark, start + 1, end)) >= 0]
    if not ends:
        line = text.find("\n", start, end)
        ends = [line if line >= 0 else start]
    lead = min(*ends, start + MOST_LEAD)
    spans = []
    begin = lead
    while end - begin > PART + _LEAST:
        cut = _cut(text, begin + _LEAST, begin + PART)
        spans.append((begin, cut))
        begin = cut
    spans.append((begin, end))
    return Parts(lead, tuple(spans))


def _cut(text: str, least: int, most: int) -> int:
    for mark in _BREAKS:
        place = text.rfind(mark, least, most)
        if place >= 0:
            return place + len(mark)
    return most

"""The parts of a long unit: an exchange whose answer is long is scored and shown by its best part, with its request.

Tested through `tests/search/test_engine.py`.
"""

from __future__ import annotations

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

PART = 1_600  # characters of a part, about; it ends where a paragraph does
WHOLE = 2_200  # characters of a unit that is one part
MOST_LEAD = 600  # characters of the request that each part carries
_LEAST = PART // 2
# What ends a request: the answer in an exchange, and the next entry in a log of format version 1.
_SAID = "\n  **Said:**"
_ENDS = ("\n  **Answer:**", _SAID, "\n  **Noted:**", "\n  **Error:**", "\n- [")
_BREAKS = ("\n\n", "\n", ". ", " ")


class Parts(Value):
    """Where the request, or the title, of a unit ends that each part carries, and start and end of the parts.

    `said` is the range of what the agent said between its tool calls, where that is in parts of its own.
    """

    lead: int
    spans: tuple[tuple[int, int], ...]
    said: tuple[int, int] = (0, 0)


def parts_of(text: str, start: int, end: int) -> Parts:
    """Return the parts of the unit `text[start:end]`."""
    if end - start <= WHOLE:
        return Parts(start, ((start, end),))
    ends = [place for mark in _ENDS if (place := text.find(mark, start + 1, end)) >= 0]
    if not ends:
        line = text.find("\n", start, end)
        ends = [line if line >= 0 else start]
    lead = min(*ends, start + MOST_LEAD)
    first = text.find(_SAID, start + 1, end)
    said = (first, end) if first >= 0 else (0, 0)
    spans = [*_spans(text, lead, first), *_spans(text, first, end)] if first > lead else _spans(text, lead, end)
    return Parts(lead, tuple(spans), said)


def _spans(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    while end - begin > PART + _LEAST:
        cut = _cut(text, begin + _LEAST, begin + PART)
        yield begin, cut
        begin = cut
    yield begin, end


def _cut(text: str, least: int, most: int) -> int:
    for mark in _BREAKS:
        place = text.rfind(mark, least, most)
        if place >= 0:
            return place + len(mark)
    return most

"""The snippet of a hit: the part of its text with most of the terms.

Tested through `tests/search/test_fuzz.py`.
"""

from __future__ import annotations

import re

LENGTH = 200  # characters of a snippet (docs/spec.md J4), with ellipses
ELLIPSIS = "…"
_BLANKS = re.compile(r"\s+")


def snippet(text: str, places: list[tuple[int, float]], length: int = LENGTH) -> str:
    """Return at most `length` characters on one line, cut at words, around the best places.

    `places` are the positions of terms in `text`, with their weights.
    """
    if len(text) <= length:
        clean = _BLANKS.sub(" ", text).strip()
        if len(clean) <= length:
            return clean
    start = _best_start(sorted(places), length)
    start = max(0, min(start, len(text) - length + 2))
    if start:
        blank = _BLANKS.search(text, start, start + length // 4)
        start = blank.end() if blank else start
    piece = _BLANKS.sub(" ", text[start : start + 2 * length]).strip()
    head = ELLIPSIS if start else ""
    room = length - len(head)
    if len(piece) <= room and start + 2 * length >= len(text):
        return head + piece
    room -= len(ELLIPSIS)
    cut = piece.rfind(" ", room * 2 // 3, room + 1)
    return head + piece[: cut if cut > 0 else room].rstrip() + ELLIPSIS


def _best_start(places: list[tuple[int, float]], length: int) -> int:
    """Return a start a little before the stretch of `length` with the greatest weight."""
    best, start = 0.0, 0
    for index, (position, _) in enumerate(places):
        worth = 0.0
        for other, value in places[index:]:
            if other > position + length * 2 // 3:
                break
            worth += value
        if worth > best:
            best, start = worth, position
    return start - length // 5

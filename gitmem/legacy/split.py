"""A rolling memory that is too large, split into archives under the threshold (spec R10).

At `## YYYY-MM-DD` headings; where there is none, at any `## `; with none at all it is one section. Sections are
grouped as long as they stay under the threshold, one that does not is split by lines, and a line that does not by
characters. Nothing is lost: the parts, one after the other, are the original, byte for byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from gitmem.model.tiers.limits import needs_rotation
from gitmem.text.tokens import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.model.tiers.limits import Limits

_DATED = re.compile(rb"^## +\[?([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])", re.MULTILINE)
_HEADING = re.compile(rb"^## ", re.MULTILINE)
_MOST_CONTINUED = 3  # bytes of a character after its first


@dataclass(frozen=True, slots=True)
class DatedPart:
    """A part of a memory and its last day, `YYYY-MM-DD`."""

    day: str
    data: bytes


def split_memory(data: bytes, limits: Limits, day: str) -> tuple[DatedPart, ...]:
    """Return a memory in parts, each under the threshold; `day` is the day of parts that name none."""
    if not needs_rotation(len(data), limits):
        return (DatedPart(day, data),) if data else ()
    room = max((limits.threshold - 1) * BYTES_PER_TOKEN, 1)
    pieces = (piece for section in _sections(data, day) for piece in _fitting(section, room))
    return tuple(_grouped(pieces, room))


def _sections(data: bytes, day: str) -> list[DatedPart]:
    """Return the sections, each with its heading; text before the first heading belongs to the first."""
    found = [(match.start(), match[1].decode()) for match in _DATED.finditer(data) if _is_day(match[1])]
    found = found or [(match.start(), day) for match in _HEADING.finditer(data)]
    if not found:
        return [DatedPart(day, data)]
    starts = [0, *(start for start, _ in found[1:]), len(data)]
    return [
        DatedPart(named, data[start:end]) for (_, named), start, end in zip(found, starts, starts[1:], strict=False)
    ]


def last_day(data: bytes) -> str:
    """Return the latest day in a memory's headings, "" if none."""
    return max((match[1].decode() for match in _DATED.finditer(data) if _is_day(match[1])), default="")


def in_time_order(body: str) -> str:
    """Return a body with its newest day last; as it is unless its first day is its newest."""
    days = [match[1] for match in _DATED.finditer(body.encode("utf-8", "surrogateescape")) if _is_day(match[1])]
    return reverse_days(body) if days and days[0] > days[-1] else body


def reverse_days(body: str) -> str:
    """Return a body with the sections of its days in the opposite order, in the same places."""
    parts = re.split(r"(?m)^(?=## )", body)
    places = [number for number, part in enumerate(parts) if _DATED.match(part.encode("utf-8", "surrogateescape"))]
    turned = {place: parts[other] for place, other in zip(places, reversed(places), strict=True)}
    return "".join(turned.get(number, part) for number, part in enumerate(parts))


def _is_day(text: bytes) -> bool:
    try:
        date.fromisoformat(text.decode())
    except ValueError:
        return False
    return True


def _fitting(section: DatedPart, room: int) -> Iterator[DatedPart]:
    """Yield a section, split by lines into pieces that fit if too large."""
    if len(section.data) <= room:
        yield section
        return
    lines = (
        DatedPart(section.day, piece) for line in section.data.splitlines(keepends=True) for piece in _cut(line, room)
    )
    yield from _grouped(lines, room)


def _cut(line: bytes, room: int) -> Iterator[bytes]:
    """Yield a line in pieces that fit, split between characters."""
    start = 0
    while len(line) - start > room:
        end = start + room
        while end > max(start + room - _MOST_CONTINUED, start + 1) and line[end] & 0xC0 == 0x80:  # noqa: PLR2004
            end -= 1
        yield line[start:end]
        start = end
    yield line[start:]


def _grouped(pieces: Iterable[DatedPart], room: int) -> Iterator[DatedPart]:
    """Yield pieces joined as long as they fit; a part has the last day of its pieces."""
    held: list[bytes] = []
    day, size = "", 0
    for piece in pieces:
        if held and size + len(piece.data) > room:
            yield DatedPart(day, b"".join(held))
            day, held, size = "", [], 0
        day, size = max(day, piece.day), size + len(piece.data)
        held.append(piece.data)
    if held:
        yield DatedPart(day, b"".join(held))

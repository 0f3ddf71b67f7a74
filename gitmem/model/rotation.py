"""Rotation planned as a value (spec R2, R3, P2; seed `rotation-plan.md` §4): what the archive is called, what stays.

The archive is the whole file, byte for byte. The new `memory.md` is its head (everything before the first section),
the headings of spec P2, the entries that are kept for ever (Core Decisions) or still open (Known Issues), and the tail
of the rest up to the carryover limit: whole entries where a section has entries, whole lines elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gitmem.model.entry import find_entries
from gitmem.model.log import Section, sections
from gitmem.model.paths import archive_path
from gitmem.model.tokens import estimate_tokens, tokens_of_size

MARGIN_PERCENT = 95
KEPT_SECTIONS = ("core decisions", "known issues")
OPEN_SECTIONS = ("current state", "recent context")  # their headings stay even when nothing under them does
KEPT_SHARE = 2  # what is kept for ever may fill one half of the threshold, or a rotation would not make room


@dataclass(frozen=True, slots=True)
class Limits:
    """When `memory.md` rotates and how much it keeps, in tokens, before the margin of 5 % (spec R2)."""

    threshold_tokens: int = 25_000
    carryover_tokens: int = 2_500

    @property
    def threshold(self) -> int:
        """The number of tokens from which on the file rotates: 23,750 by default."""
        return self.threshold_tokens * MARGIN_PERCENT // 100

    @property
    def carryover(self) -> int:
        """The number of tokens that are carried over at most: 2,375 by default."""
        return self.carryover_tokens * MARGIN_PERCENT // 100


@dataclass(frozen=True, slots=True)
class Rotation:
    """A rotation to be done: the archive's path and the text that stays."""

    archive: str
    tokens: int
    remaining: str


def needs_rotation(size: int, limits: Limits) -> bool:
    """Say whether a `memory.md` of `size` bytes rotates; an empty file never does."""
    return size > 0 and tokens_of_size(size) >= limits.threshold


def tail_of_lines(text: str, tokens: int) -> str:
    """Return the whole lines at the end of `text` that fit into `tokens` (seed: `extractTailByTokens`)."""
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    size, first = 0, len(lines)
    while first > 0:
        size += estimate_tokens(lines[first - 1])
        if size > tokens:
            break
        first -= 1
    return "".join(lines[first:])


def plan_rotation(body: str, *, header: str, stamp: str, taken: Collection[str], limits: Limits) -> Rotation | None:
    """Return what a rotation at local time `stamp` (`YYYYMMDD_HHMMSS`) makes of a document, None if it need not rotate.

    `header` is what stands before the body, and stays; `taken` are the paths of archives that exist already: a second
    rotation in one second gets a suffix, which still sorts after the first.
    """
    size = len((header + body).encode("utf-8", "surrogateescape"))
    if not needs_rotation(size, limits):
        return None
    path = archive_path(stamp)
    number = 2
    while path in taken:
        path = archive_path(f"{stamp}_{number:02d}")
        number += 1
    return Rotation(path, tokens_of_size(size), header + _carry_over(body, limits))


def _carry_over(body: str, limits: Limits) -> str:
    parts = sections(body)
    known = {
        part.title.casefold(): part
        for part in reversed(parts)
        if part.title.casefold() in KEPT_SECTIONS + OPEN_SECTIONS
    }
    if not known:
        return tail_of_lines(body, limits.carryover) if not find_entries(body) else _tail(body, limits.carryover)
    kept, rest = limits.threshold // KEPT_SHARE, limits.carryover
    pieces: list[str] = []
    for part in reversed(parts):
        text = body[part.body : part.end]
        if known.get(part.title.casefold()) is not part:
            text = _tail(body[part.start : part.end], rest)
            pieces.append(text)
            rest -= min(rest, estimate_tokens(text)) if text else rest
            continue
        if part.title.casefold() in KEPT_SECTIONS:
            text = _tail(text, kept)
            kept -= min(kept, estimate_tokens(text))
        else:
            text = _tail(text, rest)
            rest -= min(rest, estimate_tokens(text))
        pieces.append(_with_heading(body, part, text))
    head = body[: parts[0].start]
    return (head if estimate_tokens(head) <= limits.carryover else "") + "".join(reversed(pieces))


def _with_heading(body: str, part: Section, text: str) -> str:
    newline = "\r\n" if "\r\n" in body else "\n"
    if not text.strip():
        text = newline if part.end < len(body) else ""
    elif text.strip() and not text.startswith(("\n", "\r\n")):
        text = newline + text
    return body[part.start : part.body] + text


def _tail(text: str, tokens: int) -> str:
    """Return the end of a text: whole entries if it has entries, else whole lines."""
    if estimate_tokens(text) <= tokens:
        return text
    found = find_entries(text)
    if not found:
        return tail_of_lines(text, tokens)
    first = len(text)
    for entry in reversed(found):
        if estimate_tokens(text[entry.start :]) > tokens:
            break
        first = entry.start
    return text[first:]

"""Operations on a log's text: sections, and entries put in and taken out.

A section is a `## ` heading outside a code fence, up to the next heading of its level or above. All functions are
pure, take and return a document's body, and change no line but those they are about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gitmem.model.entry import Entry, FoundEntry, find_entries, render_entry
from gitmem.model.ids import ALPHABET, LENGTH

_HEADING_OR_FENCE = re.compile(
    r"^(?:(?P<level>#{1,2})[ \t]+(?P<title>[^\n]*)|(?P<fence>`{3,}|~{3,})[^\n]*)$", re.MULTILINE
)
_BLOCK_ID = re.compile(rf" \^([{ALPHABET}]{{{LENGTH}}})\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of level 1 or 2 and where its part of the text is; `start` is the heading's own first character."""

    level: int
    title: str
    start: int
    body: int
    end: int


def sections(text: str) -> list[Section]:
    """Return the sections of a text in order; a section of level 1 ends where the next heading begins."""
    heads: list[tuple[int, str, int, int]] = []
    fence = ""
    for match in _HEADING_OR_FENCE.finditer(text):
        mark = match["fence"]
        if mark:
            if not fence:
                fence = mark
            elif mark.startswith(fence):
                fence = ""
        elif not fence:
            heads.append((len(match["level"]), match["title"].strip(), match.start(), min(match.end() + 1, len(text))))
    ends = [start for _, _, start, _ in heads[1:]] + [len(text)]
    return [Section(*head, end) for head, end in zip(heads, ends, strict=True)]


def find_section(text: str, title: str) -> Section | None:
    """Return the first section of level 2 with this title, compared without regard to case."""
    wanted = title.casefold()
    return next((s for s in sections(text) if s.level == 2 and s.title.casefold() == wanted), None)  # noqa: PLR2004


def entry_ids(text: str) -> set[str]:
    """Return the ids of all entries, found by their block ids alone: much cheaper than parsing them."""
    return set(_BLOCK_ID.findall(text))


def add_entry(text: str, section: str, entry: Entry, newline: str = "\n") -> str:
    """Return the text with an entry added at the end of a section, which is made at the end if it is missing.

    An entry whose id stands anywhere in the text already is not added again.
    """
    if f" ^{entry.id}" in text and entry.id in entry_ids(text):
        return text
    block = render_entry(entry, newline)
    found = find_section(text, section)
    if found is None:
        head = text.rstrip()
        gap = newline * 2 if head else ""
        return f"{head}{gap}## {section}{newline}{newline}{block}"
    kept = text[: found.end].rstrip()
    after = text[found.end :]
    lead = newline if len(kept) > found.body else newline * 2
    return f"{kept}{lead}{block}{newline if after else ''}{after}"


def remove_entries(text: str, ids: Collection[str]) -> str:
    """Return the text without the entries of these ids."""
    pieces = []
    position = 0
    for found in find_entries(text):
        if found.entry.id in ids:
            pieces.append(text[position : found.start])
            position = found.end
    return "".join([*pieces, text[position:]])


def section_of(text: str, found: FoundEntry) -> str:
    """Return the title of the section an entry stands in, "" where it stands in none."""
    titles = [s.title for s in sections(text) if s.start <= found.start < s.end]
    return titles[-1] if titles else ""


def restore_entries(text: str, entries: Iterable[tuple[str, Entry]], newline: str = "\n") -> str:
    """Return the text with entries, each given with its section, put back where their ids order them."""
    for section, entry in entries:
        if entry.id in entry_ids(text):
            continue
        place = find_section(text, section)
        if place is not None:
            later = (f for f in find_entries(text) if place.start <= f.start < place.end and f.entry.id > entry.id)
            following = next(later, None)
            if following is not None:
                at = following.start
                text = text[:at] + render_entry(entry, newline) + text[at:]
                continue
        text = add_entry(text, section, entry, newline)
    return text

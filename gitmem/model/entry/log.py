"""Operations on a log's text: sections, and entries put in and taken out.

A section is a `## ` heading outside a code fence, up to the next heading of its level or above. All functions are
pure, take and return a document's body, and change no other line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from gitmem.model.entry.entry import FIRST_LINE, Entry, FoundEntry, find_by_digest, find_entries, render_entry
from gitmem.model.ids import tail_of
from gitmem.values import Value

# Compiled at first use.
_HEADING = r"(?m)^(?P<level>#{1,2})[ \t]+(?P<title>[^\n]*)$"
# An info string after backticks holds no backtick; else it is inline code.
_FENCE = r"(?m)^(?P<mark>`{3,}(?=[^`\n]*$)|~{3,})(?P<words>[^\n]*)$"
_ANY_TIME = r"(?m)^- \[([0-9: -]+)\] "  # at the beginning of any line
_BLANK = " \t\r\n"


class Section(Value):
    """A heading of level 1 or 2 and the range of its section; `start` is the first character of the heading."""

    level: int
    title: str
    start: int
    body: int
    end: int


def fences(text: str) -> list[tuple[int, int]]:
    """Return the ranges of code fences, the end of the last line included.

    An unclosed fence is none: it would hide all sections after it, and every save would add them again.
    """
    if "```" not in text and "~~~" not in text:
        return []
    lines = list(re.finditer(_FENCE, text))
    longest = {"`": 0, "~": 0}  # of each line: the longest closing mark after it
    closed = []
    for line in reversed(lines):
        mark = line["mark"]
        closed.append(len(mark) <= longest[mark[0]])
        if not line["words"].strip(_BLANK):
            longest[mark[0]] = max(longest[mark[0]], len(mark))
    found = []
    opening = None
    for line, closes in zip(lines, reversed(closed), strict=True):
        if opening is None:
            opening = line if closes else None
        elif line["mark"].startswith(opening["mark"]) and not line["words"].strip(_BLANK):
            found.append((opening.start(), min(line.end() + 1, len(text))))
            opening = None
    return found


def sections(text: str) -> list[Section]:
    """Return the sections of a text in order; each ends where the next one begins."""
    heads: list[re.Match[str]] = []
    position = 0
    for start, end in (*fences(text), (len(text), len(text))):
        heads += _headings(text, position, start)
        position = end
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        Section(len(head["level"]), head["title"].strip(), head.start(), min(head.end() + 1, len(text)), end)
        for head, end in zip(heads, ends, strict=False)  # the loop needs one end even without a heading
    ]


def _headings(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the headings in a range. A log has thousands of lines: only lines with `#` at their start are matched."""
    heading = re.compile(_HEADING)
    while start < end:
        if head := heading.match(text, start, end):
            yield head
        line_end = text.find("\n#", start, end)
        start = line_end + 1 if line_end >= 0 else end


def find_section(text: str, title: str) -> Section | None:
    """Return the first section with this title, compared without regard to case; one of level 2 if there is one.

    The title "" stands for what comes before the first section, as in `section_of`.
    """
    parts = sections(text)
    if not title:
        return Section(0, "", 0, 0, parts[0].start if parts else len(text))
    named = (part for part in parts if part.title.casefold() == title.casefold())
    return max(named, key=lambda part: part.level, default=None)


def section_of(text: str, found: FoundEntry) -> str:
    """Return the title of the section that holds an entry, "" if none."""
    return next((part.title for part in sections(text) if part.start <= found.start < part.end), "")


def entry_ids(text: str) -> set[str]:
    """Return the ids of all entries without parsing them."""
    return {line["id"] for line in re.finditer(FIRST_LINE, text)}


def add_entry(text: str, section: str, entry: Entry, newline: str = "\n") -> str:
    """Return the text with an entry appended to a section, which is added at the end if missing.

    An entry whose id is already in the text is not added again.
    """
    if f" ^{entry.id}" in text and entry.id in entry_ids(text):
        return text
    return _appended(text, section, render_entry(entry, newline), newline)


def _appended(text: str, section: str, block: str, newline: str) -> str:
    place = find_section(text, section)
    if place is None:
        before = _ended(text, newline)
        return f"{before}{newline if before else ''}## {section}{newline}{newline}{block}"
    before = _ended(text[: place.end], newline)
    after = text[len(before) :] if text[place.end :] else ""
    if before and not text[place.body : place.end].strip(_BLANK):
        before += newline
    if after[:1].strip(_BLANK):
        block += newline
    return before + block + after


def _ended(text: str, newline: str) -> str:
    """Return a text without trailing blank lines, ending in a line end."""
    content = len(text.rstrip(_BLANK))
    end = text.find("\n", content) + 1
    if not content:
        return ""
    return text[:end] if end else text + newline


def remove_entries(text: str, ids: Collection[str]) -> str:
    """Return the text without the entries with these ids."""
    if not ids:
        return text
    pieces = []
    position = 0
    for found in find_entries(text):
        if found.entry.id in ids:
            pieces.append(text[position : found.start])
            position = found.end
    return "".join([*pieces, text[position:]])


def put_entry(text: str, section: str, entry: Entry, newline: str = "\n") -> str:
    """Return the text with an entry: in place of the one with the same digest, else ordered by its id."""
    found = find_by_digest(text, tail_of(entry.id))
    if found is None:
        return restore_entries(text, [(section, entry)], newline)
    return replace_entry(text, found, entry._replace(id=found.entry.id), newline)


def replace_entry(text: str, old: FoundEntry, new: Entry, newline: str = "\n") -> str:
    """Return the text with one entry replaced."""
    return text[: old.start] + render_entry(new, newline) + text[old.end :]


def entries_in(text: str, section: str) -> list[FoundEntry]:
    """Return the entries of a section."""
    place = find_section(text, section)
    return [] if place is None else find_entries(text, place.start, place.end)


def entry_digests(text: str) -> set[str]:
    """Return the digests in the ids of all entries; they do not depend on the time of capture (`ids.make_id`)."""
    return {tail_of(identifier) for identifier in entry_ids(text)}


def restore_entries(text: str, entries: Iterable[tuple[str, Entry]], newline: str = "\n") -> str:
    """Return the text with entries put back into their sections, ordered by time and id."""
    known = entry_ids(text)
    missing: dict[str, list[Entry]] = {}
    for section, entry in entries:
        if entry.id not in known:
            known.add(entry.id)
            missing.setdefault(section, []).append(entry)
    for section, found in missing.items():
        text = _restored(text, section, sorted(found, key=_order), newline)
    return text


def _restored(text: str, section: str, entries: Sequence[Entry], newline: str) -> str:
    """Return the text with these entries, which are in order, each before the first later one of the section."""
    lines = _lines_of(text, section, entries[0].time)
    pieces: list[str] = []
    position, placed, line = 0, 0, next(lines, None)
    for entry in entries:
        while line is not None and (line["time"], line["id"]) <= _order(entry):
            line = next(lines, None)
        if line is None:
            break
        pieces += [text[position : line.start()], render_entry(entry, newline)]
        position, placed = line.start(), placed + 1
    text = "".join([*pieces, text[position:]])
    block = "".join(render_entry(entry, newline) for entry in entries[placed:])
    return _appended(text, section, block, newline) if block else text


def _order(entry: Entry) -> tuple[str, str]:
    return entry.time, entry.id


def _lines_of(text: str, section: str, since: str) -> Iterator[re.Match[str]]:
    """Return the first lines of a section's entries, none if none of them can be later than `since`."""
    place = find_section(text, section)
    # Mostly there is none, which looking for times alone tells in a fraction of the time.
    if place is None or all(found[1] < since for found in re.compile(_ANY_TIME).finditer(text, place.start, place.end)):
        return iter(())
    return re.compile(FIRST_LINE).finditer(text, place.start, place.end)

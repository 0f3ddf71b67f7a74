"""Entries of logs and their types (docs/format.md, "Entries"): find, add, replace and remove them in a body.

`find_entries` is the inverse of `render_entry` for every text that passed `clean_text`. Lines end at LF or CRLF only. A
section is a heading outside a code fence, up to the next of its level or above. All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum

from gitmem.document.ids import ID_FORM, tail_of
from gitmem.values import Value

CORE_DECISIONS = "Core Decisions"
CURRENT_STATE = "Current State"
STATE = "State"  # the label of that section's entry
RECENT_CONTEXT = "Recent Context"
KNOWN_ISSUES = "Known Issues"
TIMELINE = "Timeline"
LINKS = "Links"  # the section with links from a session to what it taught, and from a fact to its session


class MemoryType(StrEnum):
    """The type of a saved memory."""

    NOTE = "note"
    DECISION = "decision"
    LEARNING = "learning"
    ERROR_FIX = "error_fix"
    ISSUE = "issue"
    PATTERN = "pattern"
    PREFERENCE = "preference"
    RULE = "rule"

    @property
    def label(self) -> str:
        """Return the label of entries of this type, also its section's title in a daily log."""
        return self.value.replace("_", " ").title()

    @property
    def lasts(self) -> bool:
        """Return whether entries of this type are facts, which hold until somebody ends them."""
        return self not in _PASSING

    @property
    def section(self) -> str:
        """Return the section of `memory.md` for entries of this type."""
        return _SECTIONS.get(self, RECENT_CONTEXT)


_SECTIONS = {
    MemoryType.DECISION: CORE_DECISIONS,
    MemoryType.PREFERENCE: CORE_DECISIONS,
    MemoryType.RULE: CORE_DECISIONS,
    MemoryType.ISSUE: KNOWN_ISSUES,
}
_PASSING = (MemoryType.NOTE, MemoryType.LEARNING, MemoryType.ERROR_FIX)
INDENT = "  "
PURGED = "(purged)"  # replaces a purged text; needs no escape in YAML, JSON, markdown or a commit message
_PURGED = re.compile(r"(?:[\w ]{1,30}:\s{0,3})?(?:[^\w()]{0,20}\(purged\)){1,50}\W{0,20}")
MAX_TAG_LENGTH = 50

_TIME = r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}:[0-9]{2}"
_LABEL = r"[^\n*]{1,60}"
# Patterns are compiled at first use: a save needs few of them.
# The first line of an entry. Quantifiers are bounded or followed by a character they cannot match: linear time.
FIRST_LINE = (
    rf"(?m)^- \[(?P<time>{_TIME})\] \*\*(?P<label>{_LABEL})\*\*(?P<tags>(?: #[\w/-]{{1,{MAX_TAG_LENGTH}}})*):"
    rf"(?: (?P<text>[^\n]*?))? \^(?P<id>{ID_FORM})\r?$"
)
# One more line of an entry, with the blank lines before it: a blank line belongs to the entry only if text follows.
CONTINUED = r"(?:[ \t]*\r?\n)*(?![ \t]*\r?(?:\n|\Z))(?:  |\t)[^\n]*(?:\n|\Z)"
_TAG_FORM = rf"[\w/-]{{1,{MAX_TAG_LENGTH}}}"
_CONTROLS = dict.fromkeys(
    (code for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"), "\N{REPLACEMENT CHARACTER}"
) | dict.fromkeys((0x2028, 0x2029), " ")


class Entry(Value):
    r"""One entry as a value.

    `time` is `HH:MM:SS` in a daily log and `YYYY-MM-DD HH:MM:SS` elsewhere. `text` has `\n` line ends, and neither
    blank lines nor blanks at its ends (`clean_text` makes any text so).
    """

    id: str
    time: str
    label: str
    text: str
    tags: tuple[str, ...] = ()


class FoundEntry(Value):
    """An entry and its position: `text[start:end]`, the last line end included."""

    entry: Entry
    start: int
    end: int


def clean_text(text: str) -> str:
    r"""Return `text` as an entry can hold it.

    Line ends become `\n`; trailing blanks, and blank lines at both ends, go; control characters but the tab become
    U+FFFD, Unicode's own line ends become blanks, and what is no Unicode (lone surrogates) becomes `?`.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    text = text.translate(_CONTROLS)
    return "\n".join(line.rstrip(" \t") for line in text.split("\n")).strip("\n").lstrip(" \t")


def is_purged(text: str) -> bool:
    """Return whether a purge left nothing of a text, except perhaps a label ("Decision:")."""
    return PURGED in text and _PURGED.fullmatch(text.strip()) is not None


def without_ids(text: str) -> str:
    """Return a text of entries without their ids, which mean nothing to a reader."""
    return re.sub(rf"(?m) \^{ID_FORM}(?=\r?$)", "", text)


def clean_tag(tag: str) -> str:
    """Return a tag without its `#`. Raises ValueError if it is not 1 to 50 of letters, digits, `_`, `-` and `/`."""
    bare = tag.removeprefix("#")
    if not re.fullmatch(_TAG_FORM, bare):
        raise ValueError(f"a tag is 1 to {MAX_TAG_LENGTH} letters, digits, '_', '-' or '/', not {tag!r}")
    return bare


def render_entry(entry: Entry, newline: str = "\n") -> str:
    """Return the entry's lines, the last one ended."""
    tags = "".join(f" #{tag}" for tag in entry.tags)
    first, *rest = entry.text.split("\n")
    head = f"- [{entry.time}] **{entry.label}**{tags}:" + (f" {first}" if first else "") + f" ^{entry.id}"
    return newline.join([head, *(INDENT + line if line else "" for line in rest), ""])


def find_entries(text: str, start: int = 0, end: int | None = None) -> list[FoundEntry]:
    """Return the entries that begin in `text[start:end]`, in order."""
    entries = []
    position = start
    first_line = re.compile(FIRST_LINE)
    while match := first_line.search(text, position):
        if end is not None and match.start() >= end:
            break
        entries.append(_read(text, match))
        position = entries[-1].end
    return entries


def entry_id(piece: str) -> str:
    """Return the id of the entry with which a text begins, "" if it begins with none; as `find_entries` reads it."""
    match = re.compile(FIRST_LINE).match(piece)
    return match["id"] if match else ""


def without_entries(text: str) -> str:
    """Indent lines of a text that look like entries, so that a model cannot forge any."""
    return re.sub(FIRST_LINE, r"  \g<0>", text)


def find_by_digest(text: str, digest: str) -> FoundEntry | None:
    """Return the entry whose id ends with a digest; parse no other entry."""
    first_line = re.compile(FIRST_LINE)
    at = text.find(digest)
    while at >= 0:
        match = first_line.match(text, text.rfind("\n", 0, at) + 1)
        if match and match["id"].endswith(digest):
            return _read(text, match)
        at = text.find(digest, at + 1)
    return None


def _read(text: str, first: re.Match[str]) -> FoundEntry:
    """Return the entry that begins with this first line."""
    continued = re.compile(CONTINUED)
    position = min(first.end() + 1, len(text))
    lines = [first["text"] or ""]
    while more := continued.match(text, position):
        lines += [_unindented(line) for line in more[0].removesuffix("\n").split("\n")]
        position = more.end()
    tags = tuple(first["tags"].replace("#", "").split())
    return FoundEntry(
        Entry(first["id"], first["time"], first["label"], "\n".join(lines), tags), first.start(), position
    )


def _unindented(line: str) -> str:
    line = line.removesuffix("\r")
    if not line.strip(" \t"):
        return ""
    return line[1:] if line.startswith("\t") else line.removeprefix(INDENT)


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

    An unclosed fence does not count: it would hide all sections after it, and every save would add them again.
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
    marks = []
    opening = None
    for line, closes in zip(lines, reversed(closed), strict=True):
        if opening is None:
            opening = line if closes else None
        elif line["mark"].startswith(opening["mark"]) and not line["words"].strip(_BLANK):
            marks.append((opening.start(), min(line.end() + 1, len(text))))
            opening = None
    return marks


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
    """Return the first section of this title, in any case, of level 2 if there is one; "" is what comes before."""
    parts = sections(text)
    if not title:
        return Section(0, "", 0, 0, parts[0].start if parts else len(text))
    named = (part for part in parts if part.title.casefold() == title.casefold())
    return max(named, key=lambda part: part.level, default=None)


def section_of(text: str, place: FoundEntry) -> str:
    """Return the title of the section that holds an entry, "" if none."""
    return next((part.title for part in sections(text) if part.start <= place.start < part.end), "")


def entry_ids(text: str) -> set[str]:
    """Return the ids of all entries without parsing them."""
    return {line["id"] for line in re.finditer(FIRST_LINE, text)}


def add_entry(text: str, section: str, entry: Entry, newline: str = "\n") -> str:
    """Return the text with an entry at the end of a section, made if missing; an entry of the same id stays alone."""
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
    for entry in find_entries(text):
        if entry.entry.id in ids:
            pieces.append(text[position : entry.start])
            position = entry.end
    return "".join([*pieces, text[position:]])


def put_entry(text: str, section: str, entry: Entry, newline: str = "\n") -> str:
    """Return the text with an entry: in place of the one with the same digest, else ordered by its id."""
    place = find_by_digest(text, tail_of(entry.id))
    if place is None:
        return restore_entries(text, [(section, entry)], newline)
    return replace_entry(text, place, entry._replace(id=place.entry.id), newline)


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
    """Return the text with these entries, which are in order, each before the first later entry of the section."""
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
    """Return the first lines of a section's entries; none if no entry is later than `since`."""
    place = find_section(text, section)
    # Mostly no entry is later, which the times alone tell in a fraction of the time.
    if place is None or all(match[1] < since for match in re.compile(_ANY_TIME).finditer(text, place.start, place.end)):
        return iter(())
    return re.compile(FIRST_LINE).finditer(text, place.start, place.end)

"""Cut a document into entries and sections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.document.entry import fences
from gitmem.search.files import is_summary

Span = tuple[int, int, str]
ENTRY, SECTION, HEADING, FIELD = "entry", "section", "heading", "field"
# Characters of a section; a longer one is cut at blank lines, into parts of at most about this length.
LONGEST_SECTION = 3_000
# A heading; an entry, or a dated list item that a user wrote without an id; or a code fence, which contains neither.
_START = r"\n(?:#{1,6}[ \t]|- \[[0-9:TZ+. -]{5,40}\] |```|~~~)"
_FENCE = "`~"
_FIELD = r"(?m)^([A-Za-z_][\w-]*):"
_OPENING = r"\ufeff?---[ \t]*\r?\n"
_CLOSING = r"(?m)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)"
_MAX_HEADER = 65_536
# Header fields for programs, and fields with text in any document.
NOT_TEXT = frozenset(
    {"id", "kind", "created", "updated", "archive", "method", "date", "date_range", "section_count", "version"}
)
TEXT = frozenset({"title", "tags", "aliases", "keywords", "summary", "reason"})


def cut(path: str, text: str) -> list[Span]:
    """Return start, end and kind of each unit of a file, in order."""
    closing, body = header_of(text)
    spans = [*_fields(text, closing, summary=is_summary(path))]
    starts = [match.start() + 1 for match in re.compile(_START).finditer(text, max(body - 1, 0))]
    if not body and re.match(_START, f"\n{text[:100]}"):
        starts.insert(0, 0)
    starts = _outside_fences(text, starts)
    previous = body
    has_links = path.startswith(("sessions/", "facts/"))
    for start in (*starts, len(text)):
        # The targets of links are found themselves.
        if start > previous and not (has_links and text.startswith("## Links", previous)):
            if text[previous] == "#" and start - previous <= LONGEST_SECTION:  # most sections are short
                spans.append((previous, start, _section(text, previous, start)))
            else:
                _add(spans, text, previous, start)
        previous = start
    return spans


def header_of(text: str) -> tuple[int, int]:
    """Return the start and end of the closing line of a file's header; zeros without a header."""
    if not text.startswith(("---", "\ufeff---")) or not (opening := re.match(_OPENING, text)):
        return 0, 0
    closing = re.compile(_CLOSING).search(text, opening.end(), _MAX_HEADER)
    return closing.span() if closing else (0, 0)


def _fields(text: str, end: int, *, summary: bool) -> Iterator[Span]:
    """Yield the fields of the header up to `end` that have text."""
    heads = list(re.compile(_FIELD).finditer(text, 0, end))
    for head, following in zip(heads, [*(later.start() for later in heads[1:]), end], strict=False):
        if head[1] not in NOT_TEXT and (summary or head[1] in TEXT):
            yield head.start(), following, FIELD


def _outside_fences(text: str, starts: list[int]) -> list[int]:
    """Return the starts outside fences of code."""
    outside = [start for start in starts if text[start] not in _FENCE]
    if len(outside) == len(starts):
        return starts
    spans = fences(text)
    return [start for start in outside if not any(begin <= start < end for begin, end in spans)]


def _add(spans: list[Span], text: str, start: int, end: int) -> None:
    """Add the text between two starts as one or more units."""
    if text.startswith("- [", start):
        entry = _entry_end(text, start, end)
        spans.append((start, entry, ENTRY))
        if entry == end:
            return
        start = entry
    if end - start > LONGEST_SECTION:
        start = _add_long(spans, text, start, end)
    if text.startswith("#", start, end) or text[start:end].strip():
        spans.append((start, end, _section(text, start, end)))


def _section(text: str, start: int, end: int) -> str:
    """Return HEADING for a section without text below its heading, else SECTION."""
    line = text.find("\n", start, end)
    is_bare = text.startswith("#", start) and (line < 0 or text[line:end].isspace())
    return HEADING if is_bare else SECTION


def _entry_end(text: str, start: int, end: int) -> int:
    """Return the end of an entry: before the next line that is neither blank nor indented."""
    line = text.find("\n", start, end) + 1
    while line and line < end:
        if text[line] not in " \t\n\r":
            return line
        line = text.find("\n", line, end) + 1
    return end


def _add_long(spans: list[Span], text: str, start: int, end: int) -> int:
    """Add all parts of a long section except the last; return the start of the last."""
    while end - start > LONGEST_SECTION:
        least = start + LONGEST_SECTION // 3
        blank = text.rfind("\n\n", least, start + LONGEST_SECTION)
        if blank < 0:
            blank = text.find("\n\n", start + LONGEST_SECTION, end)
        if blank < 0:
            break
        spans.append((start, blank + 2, _section(text, start, blank + 2)))
        start = blank + 2
    return start

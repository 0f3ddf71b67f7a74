"""Log entries: one dated, identified item of a daily log or of `memory.md` (docs/format.md, "Entries").

`find_entries` is the inverse of `render_entry` for every text that has passed `clean_text`, and passes over what is not
an entry. Lines end at LF or CRLF only, not at the other ends of `str.splitlines`.
"""

from __future__ import annotations

import re

from gitmem.model.ids import ID_FORM
from gitmem.values import Value

INDENT = "  "
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
)


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
    U+FFFD, and what is no Unicode (lone surrogates) becomes `?`.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    text = text.translate(_CONTROLS)
    return "\n".join(line.rstrip(" \t") for line in text.split("\n")).strip("\n").lstrip(" \t")


def without_ids(text: str) -> str:
    """Return a text of entries without their ids, which mean nothing to a reader."""
    return re.sub(rf"(?m) \^{ID_FORM}(?=\r?$)", "", text)


def clean_tag(tag: str) -> str:
    """Return a tag without its `#`.

    Raises:
        ValueError: it is not 1 to 50 of letters, digits, `_`, `-` and `/`.

    """
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
    found = []
    position = start
    first_line = re.compile(FIRST_LINE)
    while match := first_line.search(text, position):
        if end is not None and match.start() >= end:
            break
        found.append(_read(text, match))
        position = found[-1].end
    return found


def without_entries(text: str) -> str:
    """Return a text in which no line begins an entry: such lines are indented, so that a model can forge none."""
    return re.sub(FIRST_LINE, r"  \g<0>", text)


def find_by_digest(text: str, digest: str) -> FoundEntry | None:
    """Return the entry whose id ends with a digest, without parsing the others."""
    first_line = re.compile(FIRST_LINE)
    at = text.find(digest)
    while at >= 0:
        match = first_line.match(text, text.rfind("\n", 0, at) + 1)
        if match and match["id"].endswith(digest):
            return _read(text, match)
        at = text.find(digest, at + 1)
    return None


def _read(text: str, first: re.Match[str]) -> FoundEntry:
    """Return the entry whose first line is given."""
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

"""Merge three versions of a file, a document by header and body (docs/format.md, "Merging").

Pure and commutative: all machines get the same bytes, whichever side is `ours`. Nothing that a side added or changed is
lost, and no file gets conflict markers: if both changed the same words, the file has both versions and the header
field `review` names the sections. If one side did not change a file, the result is the other's, byte for byte.
tests/merge/test_documents.py has a test for each scenario.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from enum import StrEnum

from gitmem.document.code_lines import day_of_lines, merge_written
from gitmem.document.document import Document
from gitmem.document.entry import FoundEntry, entry_ids, fences, find_entries, remove_entries, sections
from gitmem.document.ids import SUMMARIES
from gitmem.merge.bodies import TOP, MergedBody, merge_bodies, survivors
from gitmem.merge.headers import merge_headers, moment_of
from gitmem.text.difference import merge_lines
from gitmem.values import Value


def conflict_lines(data: bytes) -> Iterator[int]:
    """Yield the first line of each conflict: three markers in order, each at the start of a line.

    Continuation lines of entries are indented, so entries that quote conflicts do not count.
    """
    begin, parted = 0, False
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.startswith(b"<<<<<<< "):
            begin, parted = number, False
        elif line.rstrip(b"\r") == b"=======":
            parted = begin > 0
        elif line.startswith(b">>>>>>> ") and parted:
            yield begin
            begin, parted = 0, False


REVIEW = "review"  # the field of the front matter
_BESIDE = ".other-"  # in the name of a version kept beside a file
_DIGEST = 8
_REWRITTEN = "patterns/"  # documents whose bodies gitmem derives from their headers
_STEM = 60  # bytes kept of a name
_UNTOLD = "\x01what both sides changed "
_MARKERS = re.compile(
    r"^<{7} [^\n]*\n(?P<ours>(?:(?!<{7} |={7}\r?\n|\|{7}[ \r\n])[^\n]*\n)*)"
    r"(?:\|{7}[^\n]*\n(?P<base>(?:(?!<{7} |={7}\r?\n)[^\n]*\n)*))?"
    r"={7}\r?\n(?P<theirs>(?:(?!<{7} |={7}\r?\n|>{7} )[^\n]*\n)*)>{7} [^\n]*(?:\n|\Z)",
    re.MULTILINE,
)


class MergeStatus(StrEnum):
    """The result for a file."""

    SAME = "same"  # equal on both sides
    TAKEN = "taken"  # unchanged on one side
    MERGED = "merged"
    REVIEW = "review"  # two versions of a text or a file are kept
    REMOVED = "removed"


class Merged(Value):
    """A merged file: its content (None: removed), and another version kept beside it, if any."""

    data: bytes | None
    status: MergeStatus
    beside: bytes | None = None


def merge(
    path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None, *, with_facts: bool = True
) -> Merged:
    """Merge three versions of the file at `path`; None stands for a version without it. Never raises.

    For `with_facts` see `gitmem.merge.bodies.merge_bodies`.
    """
    if ours == theirs:
        return Merged(ours, MergeStatus.SAME)
    if base in (ours, theirs):
        data = theirs if ours == base else ours
        return Merged(data, MergeStatus.REMOVED if data is None else MergeStatus.TAKEN)
    if day_of_lines(path):
        rows = merge_written(base or b"", ours or b"", theirs or b"")
        return Merged(rows, MergeStatus.MERGED) if rows else Merged(None, MergeStatus.REMOVED)
    if ours is None or theirs is None:
        return _changed_and_removed(path, base or b"", ours if theirs is None else theirs)
    if not path.endswith(".md") or b"\0" in ours + theirs:
        return _merge_unknown(base, ours, theirs)
    return _merge_documents(path, base, ours, theirs, with_facts=with_facts)


def has_markers(data: bytes) -> bool:
    """Return whether a file holds conflict markers of git outside code fences."""
    return _versions(data) is not None


def without_markers(path: str, data: bytes) -> bytes:
    """Replace git's conflict markers in a file by gitmem's merge of both sides."""
    versions = _versions(data)
    return data if versions is None else merge(path, *versions, with_facts=False).data or b""


def beside_path(path: str, data: bytes) -> str:
    """Return the name for another version of the file at `path`, derived from the content."""
    folder, _, name = path.rpartition("/")
    stem, suffix = os.path.splitext(name)
    while len(stem.encode()) > _STEM:
        stem = stem[:-1]
    import hashlib  # 3 ms, of what 'gitmem status' loads

    name = f"{stem.rstrip('. ')}{_BESIDE}{hashlib.sha256(data).hexdigest()[:_DIGEST]}{suffix}"
    return f"{folder}/{name}" if folder else name


def is_beside(path: str) -> bool:
    """Return whether `beside_path` made a name."""
    return re.search(rf"{re.escape(_BESIDE)}[0-9a-f]{{{_DIGEST}}}(?:\.[^./]*)?$", path) is not None


def _changed_and_removed(path: str, base: bytes, changed: bytes | None) -> Merged:
    """Return the result for a file that one side removed: the other's change, for a log its new entries."""
    assert changed is not None
    if not path.endswith(".md"):
        return Merged(changed, MergeStatus.TAKEN)
    before, after = Document.parse(base), Document.parse(changed)
    rest, more = survivors(before.body, after.body)
    if more or before.header != after.header:
        return Merged(changed, MergeStatus.TAKEN)
    if rest is None:
        return Merged(None, MergeStatus.REMOVED)
    return Merged(after.with_body(rest).render(), MergeStatus.MERGED)


def _merge_unknown(base: bytes | None, ours: bytes, theirs: bytes, *, both_add: bool = False) -> Merged:
    """Merge files of an unknown kind by line, or keep one with the other beside it."""
    first, second = sorted((ours, theirs), key=lambda data: (len(data), data))
    merged = merge_lines(first, base or b"", second, both_add=both_add)
    if merged is not None:
        return Merged(merged, MergeStatus.MERGED)
    return Merged(second, MergeStatus.REVIEW, first)


def _merge_documents(path: str, base: bytes | None, ours: bytes, theirs: bytes, *, with_facts: bool) -> Merged:
    if has_markers(ours) or has_markers(theirs):
        clean = [without_markers(path, data) for data in (ours, theirs)]
        return merge(path, None if base is None else without_markers(path, base), *clean, with_facts=with_facts)
    before = Document.parse(base or b"")
    sides = (Document.parse(data) for data in (ours, theirs))
    older, newer = sorted(sides, key=lambda document: (moment_of(document.get("updated")), document.render()))
    if path.startswith(f"{SUMMARIES}/"):  # derived files: either version will do
        return Merged(max((ours, theirs), key=_worth), MergeStatus.MERGED)
    if older.problem or newer.problem:
        return _merge_unknown(base, ours, theirs, both_add=True)
    try:
        header, frame = _merged_header(before, older, newer)
        body = merge_bodies(before.body, older.body, newer.body, with_facts=with_facts)
        if body.review and path.startswith(_REWRITTEN):
            body = MergedBody(newer.body, ())
        return _with_review(Document(header, "", frame.opening, frame.closing).with_body(body.text), body.review)
    except ValueError:  # a field that cannot be written into this header
        return _merge_unknown(base, ours, theirs, both_add=True)


def _worth(data: bytes) -> tuple[bool, int, bytes]:
    """Return the sort key of summaries: a model's or agent's over offline ones, then the longer."""
    return Document.parse(data).get("method") not in {None, "offline"}, len(data), data


def _merged_header(base: Document, older: Document, newer: Document) -> tuple[str | None, Document]:
    """Return the merged header, and the document whose fences it uses."""
    before = None if base.problem else base.header
    header = merge_headers(before, older.header, newer.header, newer.newline)
    for document in (newer, older):
        if (document.header is None) == (header is None):
            return header, document
    return header, newer


def _with_review(document: Document, places: tuple[str, ...]) -> Merged:
    """Return a merged document with sections added to its `review` field."""
    if not places:
        return Merged(document.render(), MergeStatus.MERGED)
    known = document.get(REVIEW)
    known = [str(place) for place in known] if isinstance(known, list) else []
    return Merged(document.set(REVIEW, sorted({*known, *places})).render(), MergeStatus.REVIEW)


def _versions(data: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Return base, ours and theirs of a file with conflict markers, None without markers."""
    text = data.decode("utf-8", "surrogateescape") if b"<<<<<<< " in data else ""
    fenced = fences(text)
    hunks = [hunk for hunk in _MARKERS.finditer(text) if not any(start < hunk.start() < end for start, end in fenced)]
    texts = []
    for side in ("base", "ours", "theirs") if hunks else ():
        pieces, at = [], 0
        for number, hunk in enumerate(hunks):
            # Without the base in the markers, both sides count as changed.
            pieces += [text[at : hunk.start()], f"{_UNTOLD}{number}\n" if hunk[side] is None else hunk[side]]
            at = hunk.end()
        texts.append("".join([*pieces, text[at:]]).encode("utf-8", "surrogateescape"))
    return (texts[0], texts[1], texts[2]) if texts else None


def without_mark(data: bytes) -> bytes:
    """Return a document without its `review` field."""
    return Document.parse(data).remove(REVIEW).render()


def taken(merged: bytes, chosen: bytes, rest: bytes, places: Collection[str]) -> bytes:
    """Return a merged document with only one side's version of the named sections."""
    document = Document.parse(merged)
    mine, theirs = Document.parse(chosen).body, Document.parse(rest).body
    entries, dropped = ({entry.entry.id: entry for entry in find_entries(body)} for body in (mine, theirs))
    body = _with_entries(document.body, mine, entries, dropped)
    pieces, at = [], 0
    for title, start, end in _spans(body):
        if title in places:
            pieces += [body[at:start], _without_lines(body[start:end], _section(mine, title), _section(theirs, title))]
            at = end
    text = "".join([*pieces, body[at:]])
    return document.remove(REVIEW).with_body(text).render()


def lines_of_one(chosen: bytes, rest: bytes, places: Collection[str]) -> set[str]:
    """Return the lines in the named sections, outside of entries, that only one side has."""
    bodies = (Document.parse(data).body for data in (chosen, rest))
    texts = (remove_entries(body, entry_ids(body)) for body in bodies)
    own, others = ({line for title in places for line in _section(text, title).splitlines()} for text in texts)
    return {line for line in own - others if line.strip()}


def _with_entries(body: str, mine: str, present: dict[str, FoundEntry], dropped: dict[str, FoundEntry]) -> str:
    """Replace entries of both sides by the chosen side's text, and remove copies of the other's."""
    clashes = {key for key in present.keys() & dropped.keys() if _said(present[key]) != _said(dropped[key])}
    versions = {(*_said(side[key]),) for key in clashes for side in (present, dropped)}
    pieces, at = [], 0
    for entry in find_entries(body):
        identifier = entry.entry.id
        if identifier in clashes:
            source = present[identifier]
            pieces += [body[at : entry.start], mine[source.start : source.end]]
            at = entry.end
        elif identifier not in present and identifier not in dropped and _said(entry) in versions:
            pieces.append(body[at : entry.start])
            at = entry.end
    return "".join([*pieces, body[at:]])


def _said(entry: FoundEntry) -> tuple[str, str, str]:
    return entry.entry.time, entry.entry.label, entry.entry.text


def _spans(body: str) -> list[tuple[str, int, int]]:
    heads = sections(body)
    first = (TOP, 0, heads[0].start if heads else len(body))
    return [first, *((head.title, head.body, head.end) for head in heads)]


def _section(body: str, title: str) -> str:
    return "".join(body[start:end] for name, start, end in _spans(body) if name == title)


def _without_lines(text: str, mine: str, theirs: str) -> str:
    """Remove the lines that only the other side has; entries stay."""
    entries = [(entry.start, entry.end) for entry in find_entries(text)]
    only = Counter(theirs.splitlines()) - Counter(mine.splitlines())
    pieces, at = [], 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        bare = line.rstrip("\r\n")
        entry = any(first <= start < last for first, last in entries)
        if not entry and bare.strip() and only[bare] > 0:
            only[bare] -= 1
        else:
            pieces.append(line)
    return "".join(pieces)

"""Merge two machines' versions of the same memory, without asking (spec G5).

`merge` is about one file, `merge_trees` about all files that differ. Both are pure, and commutative: it does not matter
which side is `ours`, so all machines get the same bytes. Nothing either side added or changed is lost, and a
file never holds conflict markers; where both changed the same words, both versions stand in the file, and the field
`review` of its front matter names the sections. A file unchanged on one side comes out as the other's, byte for byte.

Scenarios (tests/model/merge/test_documents.py has one for each):

- one side unchanged, both the same, both absent: the other side's
- appends on both sides: all entries, by time
- entry removed here, untouched there: removed; changed there: kept; changed on both: both kept, to be reviewed
- entry moved to another section here, untouched or changed there: moved, with the change
- rotation here, appends there: the carryover with the appended entries; the archive as it is
- rotation on both sides: both archives; the common part of their carryovers, and all new entries
- log removed here (consolidated, rotated away), appends there: a log of the appended entries alone
- document removed here, changed there: kept; untouched there: removed
- document renamed here, changed there: the changed document under the new name; renamed on both: under the lesser name
- two files made under one name: one document, with the entries, fields and lines of both
- two names that some file system takes for one: one document
- a file here, a folder of that name there: the file beside it
- fields: each for itself (`created` the older, `updated` the newer, lists as sets, counters add up)
- a header that cannot be read: by line; where both changed the same lines, both files kept
- files of an unknown kind: by line; if both changed the same lines, or for binary files, both files kept
- markers left by a plain git merge: taken apart first
"""

from __future__ import annotations

import hashlib
import os
import re
from enum import StrEnum

from gitmem.model.document.document import Document
from gitmem.model.entry.log import fences
from gitmem.model.merge.bodies import merge_bodies, survivors
from gitmem.model.merge.headers import merge_headers, moment_of
from gitmem.model.paths import SUMMARIES
from gitmem.text.linemerge import merge_lines
from gitmem.values import Value

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
    """Return three versions of the file at `path` merged; None stands for a version without it. Never raises.

    For `with_facts` see `gitmem.model.merge.bodies.merge_bodies`.
    """
    if ours == theirs:
        return Merged(ours, MergeStatus.SAME)
    if base in (ours, theirs):
        data = theirs if ours == base else ours
        return Merged(data, MergeStatus.REMOVED if data is None else MergeStatus.TAKEN)
    if ours is None or theirs is None:
        return _changed_and_removed(path, base or b"", ours if theirs is None else theirs)
    if not path.endswith(".md") or b"\0" in ours + theirs:
        return _merge_unknown(base, ours, theirs)
    return _merge_documents(path, base, ours, theirs, with_facts=with_facts)


def has_markers(data: bytes) -> bool:
    """Return whether a file holds conflict markers of git outside code fences."""
    return data.find(b"<<<<<<< ") >= 0 and bool(_hunks(_decode(data)))


def without_markers(path: str, data: bytes) -> bytes:
    """Return a file with git's conflict markers, with both sides merged by gitmem."""
    versions = _versions(data)
    return data if versions is None else merge(path, *versions, with_facts=False).data or b""


def beside_path(path: str, data: bytes) -> str:
    """Return the name for another version of the file at `path`, derived from the content."""
    folder, _, name = path.rpartition("/")
    stem, suffix = os.path.splitext(name)
    while len(stem.encode()) > _STEM:
        stem = stem[:-1]
    name = f"{stem.rstrip('. ')}{_BESIDE}{hashlib.sha256(data).hexdigest()[:_DIGEST]}{suffix}"
    return f"{folder}/{name}" if folder else name


def is_beside(path: str) -> bool:
    """Return whether `beside_path` made a name."""
    return re.search(rf"{re.escape(_BESIDE)}[0-9a-f]{{{_DIGEST}}}(?:\.[^./]*)?$", path) is not None


def _changed_and_removed(path: str, base: bytes, changed: bytes | None) -> Merged:
    """Return the rest of a file that one side removed: a change wins; of a log, the new entries."""
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
    """Return files of an unknown kind merged by line, or one with the other beside it."""
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
    older, newer = sorted((Document.parse(data) for data in (ours, theirs)), key=_age)
    if path.startswith(f"{SUMMARIES}/"):  # derived files: either will do
        return Merged(max((ours, theirs), key=_worth), MergeStatus.MERGED)
    if older.problem or newer.problem:
        return _merge_unknown(base, ours, theirs, both_add=True)
    try:
        header, frame = _merged_header(before, older, newer)
        body = merge_bodies(before.body, older.body, newer.body, with_facts=with_facts)
        if body.review and path.startswith(_REWRITTEN):
            return Merged(
                Document(header, "", frame.opening, frame.closing).with_body(newer.body).render(), MergeStatus.MERGED
            )
        merged = Document(header, "", frame.opening, frame.closing).with_body(body.text)
        return _with_review(merged, body.review)
    except ValueError:  # a field that cannot be written into this header
        return _merge_unknown(base, ours, theirs, both_add=True)


def _age(document: Document) -> tuple[tuple[float, str], bytes]:
    return moment_of(document.get("updated")), document.render()


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
    if b"<<<<<<< " not in data:
        return None
    text = _decode(data)
    hunks = _hunks(text)
    if not hunks:
        return None
    texts = []
    for side in ("base", "ours", "theirs"):
        pieces, at = [], 0
        for number, hunk in enumerate(hunks):
            # Without the base in the markers, both sides count as changed.
            pieces += [text[at : hunk.start()], f"{_UNTOLD}{number}\n" if hunk[side] is None else hunk[side]]
            at = hunk.end()
        texts.append("".join([*pieces, text[at:]]).encode("utf-8", "surrogateescape"))
    return texts[0], texts[1], texts[2]


def _hunks(text: str) -> list[re.Match[str]]:
    fenced = fences(text)
    return [hunk for hunk in _MARKERS.finditer(text) if not any(start < hunk.start() < end for start, end in fenced)]


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")

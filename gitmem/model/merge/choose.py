"""Resolve a document with two versions of something to the side a person chose.

In the sections that a merge named, the other side's lines and its versions of entries that both sides changed are
removed. Entries that only one side has stay.

Tested through `tests/store/review/test_take.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from gitmem.model.document.document import Document
from gitmem.model.entry.entry import FoundEntry, find_entries
from gitmem.model.entry.log import sections
from gitmem.model.merge.bodies import TOP
from gitmem.model.merge.documents import REVIEW


def without_mark(data: bytes) -> bytes:
    """Return a document without its `review` field."""
    return Document.parse(data).remove(REVIEW).render()


def taken(merged: bytes, chosen: bytes, other: bytes, places: Collection[str]) -> bytes:
    """Return a merged document with only one side's version of the named sections."""
    document = Document.parse(merged)
    mine, theirs = Document.parse(chosen).body, Document.parse(other).body
    kept, dropped = ({found.entry.id: found for found in find_entries(body)} for body in (mine, theirs))
    body = _with_entries(document.body, mine, kept, dropped)
    pieces, at = [], 0
    for title, start, end in _spans(body):
        if title in places:
            pieces += [body[at:start], _without_lines(body[start:end], _section(mine, title), _section(theirs, title))]
            at = end
    text = "".join([*pieces, body[at:]])
    return document.remove(REVIEW).with_body(text).render()


def _with_entries(body: str, mine: str, kept: dict[str, FoundEntry], dropped: dict[str, FoundEntry]) -> str:
    """Replace entries of both sides by the chosen side's text, and remove copies of the other's."""
    clashes = {key for key in kept.keys() & dropped.keys() if _said(kept[key]) != _said(dropped[key])}
    versions = {(*_said(side[key]),) for key in clashes for side in (kept, dropped)}
    pieces, at = [], 0
    for found in find_entries(body):
        identifier = found.entry.id
        if identifier in clashes:
            source = kept[identifier]
            pieces += [body[at : found.start], mine[source.start : source.end]]
            at = found.end
        elif identifier not in kept and identifier not in dropped and _said(found) in versions:
            pieces.append(body[at : found.start])
            at = found.end
    return "".join([*pieces, body[at:]])


def _said(found: FoundEntry) -> tuple[str, str, str]:
    return found.entry.time, found.entry.label, found.entry.text


def _spans(body: str) -> list[tuple[str, int, int]]:
    heads = sections(body)
    first = (TOP, 0, heads[0].start if heads else len(body))
    return [first, *((head.title, head.body, head.end) for head in heads)]


def _section(body: str, title: str) -> str:
    return "".join(body[start:end] for name, start, end in _spans(body) if name == title)


def _without_lines(text: str, mine: str, theirs: str) -> str:
    """Remove the lines that only the other side has; entries stay."""
    entries = [(found.start, found.end) for found in find_entries(text)]
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

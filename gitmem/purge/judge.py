"""Limits on purges from other machines: a leaked token goes unasked, the memory does not (docs/sync.md, "Purging").

A purge may change bodies only (no id, trailer, structural header field or name), and only a small share of the tree and
of history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitmem.document.document import Document
from gitmem.document.entry import TIMELINE, MemoryType, find_entries, sections
from gitmem.document.ids import CONFIG, FORMAT, PURGED
from gitmem.git.rewrite import contents
from gitmem.git.treediff import read_tree
from gitmem.purge.marks import MARKER, Replacer

if TYPE_CHECKING:
    from gitmem.git.rewrite import Written
    from gitmem.store.store import Store


_LEAST = 8  # bytes of a text; a shorter one is a word rather than a secret
_MOST_BYTES = 4096  # removed by all purges since the person was last asked
# At most a tenth of the memory; of a small one a quarter, up to `_LITTLE` bytes.
_SHARE, _SMALL_SHARE, _LITTLE = 10, 4, 256
_MOST_PLACES = 50
_FEW_FILES = 4  # with more, at most half may change
_AT_ONCE = 8  # purges with matches
_OWN = {FORMAT, CONFIG, ".gitattributes", ".gitignore"}
_SLUGGED = re.compile(rb"((?:facts/[a-z-]+|concepts)/[a-z][0-9a-z]{10}-)[^/]*\.md")
# Header fields of free text; code depends on all others.
_WORDS = {"name", "description", "keywords", "files", "themes", "key_decisions", "issues"}
_SECTIONS = {"Core Decisions", "Current State", "Recent Context", "Known Issues", "Exchanges", TIMELINE} | {
    kind.label for kind in MemoryType
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """The reasons why purges wait, by key of their record, and the bytes that the others remove."""

    waiting: dict[str, str]
    removed: int


@dataclass(slots=True)
class _Tally:
    """The changes that one purge would make."""

    replacer: Replacer
    broken: str = ""
    places: int = 0
    removed: int = 0
    removed_here: int = 0
    files: set[bytes] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Here:
    """The blobs that the tips hold, and the number and total bytes of their files."""

    blobs: frozenset[str]
    files: int
    size: int


def judge(
    store: Store, walked: Sequence[Written], tips: Collection[str], found: Mapping[str, Collection[bytes]], removed: int
) -> Judgement:
    """Judge purges by their texts that were found; earlier ones removed `removed` bytes unasked."""
    waiting = dict.fromkeys(sorted(found)[_AT_ONCE:], f"more than {_AT_ONCE} purges at once would change something")
    tallies = {key: _Tally(Replacer(texts)) for key, texts in found.items() if key not in waiting}
    for key, texts in found.items():
        if min(map(len, texts)) < _LEAST:
            waiting[key] = f"one of its texts has fewer than {_LEAST} bytes"
            tallies.pop(key, None)
    for tally in tallies.values():
        tally.broken = _broken_names(walked, tally.replacer)
    here = _here(store, [*tips, *filter(None, [store.tip])])
    grown = _count(store, walked, tallies, here)
    total = 0
    for key, tally in tallies.items():
        why = tally.broken or _too_much(tally, here, grown, removed + total)
        if why:
            waiting[key] = why
        else:
            total += tally.removed
    return Judgement(waiting, total)


def _too_much(tally: _Tally, here: _Here, grown: int, removed: int) -> str:
    if tally.places > _MOST_PLACES:
        return f"its texts are in more than {_MOST_PLACES} places"
    if removed + tally.removed > _MOST_BYTES:
        return f"it would remove {tally.removed:,} bytes, more than is removed unasked"
    if tally.removed_here > _most(here.size) or tally.removed > _most(max(grown, here.size)):
        return f"it would remove {tally.removed:,} bytes, too much of the memory"
    if len(tally.files) > _FEW_FILES and len(tally.files) * 2 > here.files:
        return f"it would change {len(tally.files)} of {here.files} files"
    return ""


def _most(size: int) -> int:
    """Return how many of `size` bytes may be removed unasked."""
    return max(size // _SHARE, min(size // _SMALL_SHARE, _LITTLE))


def _here(store: Store, tips: Collection[str]) -> _Here:
    names: dict[str, set[str]] = {}
    for tip in dict.fromkeys(tips):
        for path, (mode, oid) in read_tree(store.repository.git, tip).items():
            if mode.startswith("100") and path not in _OWN and not path.startswith(f"{PURGED}/"):
                names.setdefault(oid, set()).add(path)
    paths = set[str]().union(*names.values())
    return _Here(frozenset(names), len(paths), sum(store.repository.sizes(sorted(names))))


def _count(store: Store, walked: Sequence[Written], tallies: Mapping[str, _Tally], here: _Here) -> int:
    """Count the changes of files by each purge; return the number of bytes that the commits added."""
    anything = Replacer({text for tally in tallies.values() for text in tally.replacer.texts})
    grown = 0
    for change, data, before in contents(store.repository.git, walked):
        if not change.mode.startswith(b"100"):
            continue
        grown += max(len(data) - len(before), 0)
        if not anything.holds(data):
            continue
        for tally in tallies.values():
            if not tally.broken and tally.places <= _MOST_PLACES:
                _count_file(tally, change.path, data, before, is_here=change.new in here.blobs)
    return grown


def _count_file(tally: _Tally, path: bytes, data: bytes, before: bytes, *, is_here: bool) -> None:
    clean = tally.replacer.clean(data)
    if clean == data:
        return
    if _breaks(path.decode("utf-8", "replace"), data, clean):
        tally.broken = (
            f"it would change ids, fields or headings that gitmem reads, in {path.decode('utf-8', 'replace')}"
        )
        return
    places, removed = _taken(data, clean)
    before_places, before_removed = _taken(before, tally.replacer.clean(before))
    tally.places += max(places - before_places, 0)  # matches that the previous version has count once
    tally.removed += max(removed - before_removed, 0)
    if is_here:
        tally.removed_here += removed
        tally.files.add(path)


def _taken(data: bytes, clean: bytes) -> tuple[int, int]:
    """Return the number of matches and of bytes that were removed."""
    places = clean.count(MARKER) - data.count(MARKER)
    return places, len(data) - len(clean) + places * len(MARKER)


def _broken_names(walked: Sequence[Written], replacer: Replacer) -> str:
    """Return why a purge may not be applied: it would change a path, an author or a trailer; "" if none."""
    for path in {change.path for commit in walked for change in commit.changes}:
        clean = replacer.clean_path(path)
        slugged = _SLUGGED.fullmatch(path)
        if clean != path and not (slugged and (kept := _SLUGGED.fullmatch(clean)) and kept[1] == slugged[1]):
            return f"it would rename {path.decode('utf-8', 'replace')}"
    for commit in walked:
        if _commit_facts(commit.raw) != _commit_facts(replacer.clean(commit.raw)):
            return f"it would change who made {commit.oid[:10]}, or its trailers"
    return ""


def _commit_facts(raw: bytes) -> list[bytes]:
    head, _, message = raw.partition(b"\n\n")
    people = [line for line in head.split(b"\n") if line.startswith((b"author ", b"committer "))]
    return [*people, *(line for line in message.split(b"\n") if line.startswith(b"Gitmem-"))]


def _breaks(path: str, data: bytes, clean: bytes) -> bool:
    """Return whether cleaning a file changed its structure: ids, fields, headings."""
    if path in _OWN or path.startswith(f"{PURGED}/"):
        return True
    if path.endswith(".jsonl"):
        return [_shape(line) for line in data.split(b"\n")] != [_shape(line) for line in clean.split(b"\n")]
    return path.endswith(".md") and _facts(data) != _facts(clean)


def _facts(data: bytes) -> object:
    """Return the structure of a document: header fields except free text, heads of entries, known headings."""
    document = Document.parse(data)
    header = {key: None if key in _WORDS else value for key, value in document.metadata.items()}
    entries = [found.entry._replace(text="") for found in find_entries(document.body)]
    titles = [part.title for part in sections(document.body) if part.title in _SECTIONS]
    return (document.header is None, document.problem is None, header, entries, titles)


def _shape(line: bytes) -> object:
    """Return the structure of a transcript's line: its field names, role, time and ids."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return type(fields)
    return ({key: fields.get(key) for key in ("at", "role", "agent", "id")}, [*fields])

"""Limits on purges from other machines: a leaked token goes unasked, the memory does not (docs/sync.md, "Purging").

A purge may change bodies only, no id, trailer, structural header field or name, and only a little of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from gitmem.document.document import Document
from gitmem.document.entry import TIMELINE, MemoryType, find_entries, sections
from gitmem.document.ids import is_memory
from gitmem.git.rewrite import Written, contents
from gitmem.purge.marks import MARKER, Replacer
from gitmem.store.store import Store

_LEAST = 8  # bytes of a text; a shorter one is a word rather than a secret
_MOST_BYTES = 4096  # removed by all purges since the person was last asked
# At most a tenth of the memory; of a small one a quarter, up to `_LITTLE` bytes.
_SHARE, _SMALL_SHARE, _LITTLE = 10, 4, 256
_FEW_FILES = 4  # with more, at most half may change
_SLUGGED = re.compile(rb"((?:facts/[a-z-]+|concepts)/[a-z][0-9a-z]{10}-)[^/]*\.md")
# Header fields of free text; code depends on all others.
_WORDS = {"name", "description", "keywords", "files", "themes", "key_decisions", "issues"}
_SECTIONS = {"Core Decisions", "Current State", "Recent Context", "Known Issues", "Exchanges", TIMELINE} | {
    kind.label for kind in MemoryType
}


@dataclass(slots=True)
class _Effect:
    """What one purge would do: why it may not, the bytes it removes, and the files."""

    replacer: Replacer
    broken: str
    removed: int = 0
    files: set[bytes] = field(default_factory=set)


def judge(
    store: Store, walked: Sequence[Written], tips: Collection[str], found: Mapping[str, Collection[bytes]], removed: int
) -> tuple[dict[str, str], int]:
    """Return why purges wait, by key of their record, and how many bytes the others remove.

    `found` are their texts that were found; earlier ones removed `removed` bytes unasked.
    """
    effects = {}
    for key, texts in found.items():
        short = f"one of its texts has fewer than {_LEAST} bytes" if min(map(len, texts)) < _LEAST else ""
        effects[key] = _Effect(replacer := Replacer(texts), short or _broken_names(walked, replacer))
    _measure(store, walked, effects.values())
    entries = (entry for tip in {*tips, *filter(None, [store.tip])} for entry in store.repository.files(tip))
    here = {(entry.path, entry.oid): entry.size for entry in entries if is_memory(entry.path)}
    size, paths = sum(here.values()), len({path for path, _ in here})
    most = max(size // _SHARE, min(size // _SMALL_SHARE, _LITTLE))
    waiting, total = {}, 0
    for key, effect in effects.items():
        limits = (
            (removed + total + effect.removed > _MOST_BYTES, "more than is removed unasked"),
            (effect.removed > most, "too much of the memory"),
            (_FEW_FILES < len(effect.files) > paths / 2, f"from {len(effect.files)} of {paths} files"),
        )
        excess = next((words for is_exceeded, words in limits if is_exceeded), "")
        if effect.broken or excess:
            waiting[key] = effect.broken or f"it would remove {effect.removed:,} bytes, {excess}"
        else:
            total += effect.removed
    return waiting, total


def _measure(store: Store, walked: Sequence[Written], effects: Collection[_Effect]) -> None:
    """Measure the effect of each purge on the files of commits."""
    anything = Replacer({text for effect in effects for text in effect.replacer.texts})
    for change, data, before in contents(store.repository.git, walked):
        if not change.mode.startswith(b"100") or not anything.holds(data):
            continue
        path = change.path.decode("utf-8", "replace")
        for effect in effects:
            if effect.broken or effect.removed > _MOST_BYTES:
                continue
            clean = effect.replacer.clean(data)
            if clean != data:
                effect.files.add(change.path)
                if _breaks(path, data, clean):
                    effect.broken = f"it would change ids, fields or headings that gitmem reads, in {path}"
            # A match that the version before has, too, counts once.
            effect.removed += max(_removed(data, clean) - _removed(before, effect.replacer.clean(before)), 0)


def _removed(data: bytes, clean: bytes) -> int:
    """Return the number of bytes that the marker replaced."""
    return len(data) - len(clean) + (clean.count(MARKER) - data.count(MARKER)) * len(MARKER)


def _broken_names(walked: Sequence[Written], replacer: Replacer) -> str:
    """Return why a purge may not be applied: it would change a path, an author or a trailer; "" if none."""
    for path in {change.path for commit in walked for change in commit.changes}:
        clean = replacer.clean_path(path)
        slugged = _SLUGGED.fullmatch(path)
        if clean != path and not (slugged and (match := _SLUGGED.fullmatch(clean)) and match[1] == slugged[1]):
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
    if not is_memory(path):
        return True
    if path.endswith(".jsonl"):
        return [_shape(line) for line in data.split(b"\n")] != [_shape(line) for line in clean.split(b"\n")]
    return path.endswith(".md") and _facts(data) != _facts(clean)


def _facts(data: bytes) -> object:
    """Return the structure of a document: header fields except free text, heads of entries, known headings."""
    document = Document.parse(data)
    header = {key: None if key in _WORDS else value for key, value in document.metadata.items()}
    entries = [entry.entry._replace(text="") for entry in find_entries(document.body)]
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

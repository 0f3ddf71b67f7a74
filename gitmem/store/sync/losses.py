"""Measure how much text a memory would lose from one tree to another, whatever operations the commits claim.

A line is lost if no file of the new tree has it; renamed, rotated or joined files lose nothing. Entries may go that a
weekly or monthly summary replaces, and archives that the retention settings here would delete.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.git.objects.treediff import read_tree
from gitmem.model.document.document import Document
from gitmem.model.paths import ARCHIVE, CONFIG, FORMAT, PURGED, SUMMARIES
from gitmem.model.tiers.consolidation import replaced_lines, retold_lines
from gitmem.model.tiers.rotation import outdated_archives
from gitmem.store.rewrite.purge_records import followed_paths

if TYPE_CHECKING:
    from gitmem.git.objects.treediff import Tree
    from gitmem.store.store import Store

_SHARE = 3  # a loss above 1/3 is much
_FEW_LINES = 2  # lines that may always go
_FEW_FILES = 4  # in folders with at least as many, at most half may go
_LITTLE = 512  # bytes; every sync replaces the state of the work
_OWN = {FORMAT, CONFIG, ".gitattributes", ".gitignore"}
_TIERS = ("daily/", "weekly/", "monthly/")
# Compare entries without time and id, which differ between logs, memory.md and archives.
_ENTRY = re.compile(r"^- \[[0-9: -]{8,19}\] (.*?)(?: \^[0-9a-z]{11,20})?$")
_GONE = re.compile(r"^status: *[\"']?(?:retired|superseded|resolved)", re.MULTILINE)

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Losses:
    """A loss: files that lose most of their text, of `of` files, the percentage of all text, and records of purges."""

    files: tuple[str, ...]
    of: int
    percent: int
    records: tuple[str, ...]


def losses(store: Store, local: str, target: str) -> Losses | None:
    """Return the loss from one commit to another, None if it is small."""
    with store.repository.reading():
        changes = [change for change in store.repository.changes(local, target) if change.old is not None]
        followed = followed_paths(store)
        records = tuple(change.path for change in changes if change.path in followed)
        changes = [change for change in changes if _is_memory(change.path)]
        old = _texts(store, {change.path: change.old or "" for change in changes})
        new = _texts(store, {change.path: change.new for change in changes if change.new is not None})
        if not records and _is_little(old, new):
            return None
        return _weighed(
            store, read_tree(store.repository.git, local), read_tree(store.repository.git, target), old, records
        )


def _is_little(old: Mapping[str, Lines], new: Mapping[str, Lines]) -> bool:
    """Return whether the changed files alone show that the loss is small."""
    standing = set[str]().union(*new.values())
    gone = {path: [line for line in lines if line not in standing] for path, lines in old.items()}
    cut = sum(_size(lines) * 2 > _size(old[path]) for path, lines in gone.items())
    return cut <= 1 and sum(map(_size, gone.values())) <= _LITTLE


def _weighed(
    store: Store, here: Tree, there: Tree, old: Mapping[str, Lines], records: tuple[str, ...]
) -> Losses | None:
    files = {path: oid for path, (mode, oid) in here.items() if mode.startswith("100") and path not in _OWN}
    files = {path: oid for path, oid in files.items() if not path.startswith(f"{PURGED}/")}
    same = {path: oid for path, oid in files.items() if path not in old}
    kept = _texts(store, same)
    changed = {
        path: oid for path, (mode, oid) in there.items() if mode.startswith("100") and here.get(path) != (mode, oid)
    }
    standing = set[str]().union(*kept.values(), *_texts(store, changed).values())
    allowed = _allowed(store, old, here, there)
    gone = {path: _gone(lines, standing, allowed.get(path, set())) for path, lines in old.items()}
    emptied = [path for path, lines in gone.items() if lines and _size(lines) * 2 > _size(old[path])]
    total = sum(map(_size, old.values())) + sum(map(_size, kept.values()))
    distinct = _size(set[str]().union(*kept.values(), *old.values()))
    lost, lost_distinct = sum(map(_size, gone.values())), _size(set[str]().union(*gone.values()))
    many = sum(map(len, gone.values())) > _FEW_LINES
    share = max(lost / max(total, 1), lost_distinct / max(distinct, 1))
    if records or (many and share * _SHARE > 1) or _most_of_a_folder(emptied, files):
        return Losses(tuple(sorted(emptied)), len(files), round(100 * share), records)
    return None


def _gone(lines: Lines, standing: Collection[str], allowed: Collection[str]) -> Lines:
    """Return the lost lines of a file; without the allowed ones if nothing else but headings is lost."""
    gone = [line for line in lines if line not in standing]
    left = [line for line in gone if line not in allowed]
    return gone if any(not line.startswith("#") for line in left) else left


def _memory(tree: Tree) -> dict[str, str]:
    """Return the blob ids of the files of the memory itself, by path."""
    return {path: oid for path, (mode, oid) in tree.items() if mode.startswith("100") and _is_memory(path)}


def _is_memory(path: str) -> bool:
    return path not in _OWN and not path.startswith(f"{PURGED}/")


def _most_of_a_folder(emptied: Collection[str], files: Collection[str]) -> bool:
    """Return whether most files of a top folder would be emptied; their share of all text may be small."""
    folders = [path.partition("/")[0] for path in files]
    gone = [path.partition("/")[0] for path in emptied]
    return any(folders.count(one) >= _FEW_FILES and gone.count(one) * 2 > folders.count(one) for one in {*gone})


def _allowed(store: Store, old: Collection[str], here: Tree, there: Tree) -> dict[str, set[str]]:
    """Return, by path, the lines that may go: replaced by summaries, or deleted by retention."""
    tiers = [path for path in old if path.startswith(_TIERS)]
    before = _contents(store, {path: here[path][1] for path in tiers})
    summaries = [path for path in there if tiers and path.startswith(_TIERS[1:])]
    after = _contents(store, {path: there[path][1] for path in summaries})
    today = store.context.clock().date()
    allowed: dict[str, set[str]] = {}
    for path, data in before.items():
        text = retold_lines(data, there.keys())
        if path not in there:
            text += "\n" + replaced_lines(path, data, after, today)
        allowed[path] = {*_lines(text)}
    for path in _outdated(store, here.keys() | there.keys()):
        if path in old and path not in there:
            [lines] = _texts(store, {path: here[path][1]}).values()
            allowed[path] = {*lines}
    return allowed


def _outdated(store: Store, paths: Iterable[str]) -> Iterator[str]:
    """Yield the archives that the retention settings here would delete."""
    rotation = store.config.rotation
    days = rotation.archive_retention_days
    oldest = store.context.clock().replace(tzinfo=None) - timedelta(days=days) if days else None
    names = [path.removeprefix(f"{ARCHIVE}/") for path in paths if path.startswith(f"{ARCHIVE}/")]
    yield from (f"{ARCHIVE}/{name}" for name in outdated_archives(names, rotation.max_archives, oldest))


def _contents(store: Store, files: Mapping[str, str]) -> dict[str, bytes]:
    return dict(zip(files, store.repository.blobs([*files.values()]), strict=True))


def _texts(store: Store, files: Mapping[str, str]) -> dict[str, Lines]:
    """Return the lines of files, given by path and blob id."""
    return {
        path: _counted_lines(path, data)
        for path, data in zip(files, store.repository.blobs([*files.values()]), strict=True)
    }


def _counted_lines(path: str, data: bytes) -> Lines:
    """Return the lines of a file that count: of a document its body, of an obsolete fact none."""
    if not path.endswith(".md"):
        return _lines(data.decode("utf-8", "replace"))
    document = Document.parse(data)
    if path.startswith("facts/") and _GONE.search(document.header or ""):
        return []
    return _lines(document.body + ((document.header or "") if path.startswith(f"{SUMMARIES}/") else ""))


def _lines(text: str) -> Lines:
    stripped = (line.strip() for line in text.split("\n"))
    return [_ENTRY.sub(r"\1", line) for line in stripped if line]


def _size(lines: Iterable[str]) -> int:
    return sum(map(len, lines))

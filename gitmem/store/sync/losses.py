"""Measure how much text a memory would lose from one tree to another, whatever operations the commits claim.

A line is lost if no file of the new tree has it; renamed, rotated or joined files lose nothing. Entries may go that a
weekly or monthly summary replaces, and archives that the retention settings here would delete.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gitmem.git.objects.treediff import read_tree
from gitmem.machine.beneath import read_text
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
_FILE = "losses.json"  # in the private folder
_DAYS, _MOST_NOTED = 30, 1_000
_LITTLE = 512  # bytes; every sync replaces the state of the work
_OWN = {FORMAT, CONFIG, ".gitattributes", ".gitignore"}
_TIERS = ("daily/", "weekly/", "monthly/")
# Compare entries without time and id, which differ between logs, memory.md and archives.
_ENTRY = re.compile(r"^- \[[0-9: -]{8,19}\] (.*?)(?: \^[0-9a-z]{11,20})?$")
_GONE = re.compile(r"^status: *[\"']?(?:retired|superseded|resolved)", re.MULTILINE)

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Losses:
    """A loss: files that lose most of their text, of `of` files, the percentage of all text, and records of purges.

    `shares` are what adds up over syncs: of all text ("") by how much files shrank, and of the files of top folders
    those that shrank to less than half. `is_much` is whether this loss alone is to be asked about.
    """

    files: tuple[str, ...]
    of: int
    percent: int
    records: tuple[str, ...]
    shares: Mapping[str, float]
    is_much: bool


def add_up(earlier: Iterable[Mapping[str, float]], now: Mapping[str, float]) -> bool:
    """Return whether losses that are small each are much together, and this one is a part of it."""
    left: dict[str, float] = {}
    for shares in (*earlier, now):
        for place, share in shares.items():
            left[place] = left.get(place, 1.0) * (1 - min(share, 1.0))
    return any(share > 0 and (1 - left[place]) > (1 / 2 if place else 1 / _SHARE) for place, share in now.items())


def noted_losses(store: Store) -> list[tuple[str, dict[str, float]]]:
    """Return the losses by syncs of the last 30 days: when, and their shares."""
    since = store.context.clock() - timedelta(days=_DAYS)
    try:
        noted = json.loads(read_text(os.path.join(store.private, _FILE)) or "[]")
        recent = [(str(at), shares) for at, shares in noted if datetime.fromisoformat(at) >= since]
        return [(at, {str(place): float(share) for place, share in shares.items()}) for at, shares in recent]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []


def note_losses(store: Store, shares: Mapping[str, float], *, accepted: bool) -> None:
    """Note the losses by a sync; once the person accepted some, earlier ones count no more."""
    if not shares and not accepted:
        return
    noted = [] if accepted else noted_losses(store)[-_MOST_NOTED:]
    path = os.path.join(store.private, _FILE)
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump([*noted, *([(store.context.clock().isoformat(), dict(shares))] if shares else [])], file)
    os.replace(f"{path}.new", path)


def losses(store: Store, local: str, target: str) -> Losses | None:
    """Return the loss from one commit to another, None if it is a few lines."""
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
    cut = sum(_size(lines) * 2 > _size(old[path]) for path, lines in gone.items() if not path.startswith("counts/"))
    return cut == 0 and sum(map(_size, gone.values())) <= _LITTLE


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
    arrived = _texts(store, changed)
    standing = set[str]().union(*kept.values(), *arrived.values())
    allowed = _allowed(store, old, here, there)
    gone = {path: _gone(lines, standing, allowed.get(path, set())) for path, lines in old.items()}
    emptied = [path for path, lines in gone.items() if lines and _size(lines) * 2 > _size(old[path])]
    total = sum(map(_size, old.values())) + sum(map(_size, kept.values()))
    distinct = _size(set[str]().union(*kept.values(), *old.values()))
    lost, lost_distinct = sum(map(_size, gone.values())), _size(set[str]().union(*gone.values()))
    many = sum(map(len, gone.values())) > _FEW_LINES
    share = max(lost / max(total, 1), lost_distinct / max(distinct, 1))
    shares = _shares_of_folders(emptied, files)
    is_empty = bool(_words(gone.values())) and not _words(
        [*kept.values(), *(lines for path, lines in arrived.items() if _is_memory(path))]
    )
    is_much = bool(records) or (many and share * _SHARE > 1) or is_empty or any(one > 1 / 2 for one in shares.values())
    shrunk = [path for path in emptied if _size(arrived.get(path, ())) * 2 < _size(old[path])]  # else it was rewritten
    cut = sum(
        min(_size(lines), max(_size(old[path]) - _size(arrived.get(path, ())), 0)) for path, lines in gone.items()
    )
    added = {"": cut / max(total, 1), **_shares_of_folders(shrunk, files)}
    return Losses(tuple(sorted(emptied)), len(files), round(100 * share), records, added, is_much)


def _words(texts: Iterable[Lines]) -> set[str]:
    """Return the lines that are no headings."""
    return {line for lines in texts for line in lines if not line.startswith("#")}


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


def _shares_of_folders(emptied: Collection[str], files: Collection[str]) -> dict[str, float]:
    """Return the share of emptied files in each top folder with some; their share of all text may be small."""
    folders, gone = (Counter(path.partition("/")[0] for path in paths) for paths in (files, emptied))
    return {one: number / folders[one] for one, number in gone.items() if folders[one] >= _FEW_FILES}


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

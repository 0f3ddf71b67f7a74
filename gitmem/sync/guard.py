"""Refuse unsafe or surprising states of a remote before a merge (docs/security.md, "Trust").

How much a merge would lose is counted in text, whatever operations its commits claim. A line is lost if no file of the
new tree has it; renamed, rotated or joined files lose nothing. Entries may go that a weekly or monthly summary
replaces, and archives that the retention settings here would delete.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gitmem.archives.consolidation import replaced_lines, retold_lines
from gitmem.archives.plans import outdated_archives
from gitmem.document.document import Document
from gitmem.document.ids import ARCHIVE, FORMAT, SUMMARIES, is_memory
from gitmem.errors import RefusedError
from gitmem.git.remote import Remote
from gitmem.git.repository import move_ref, read_refs
from gitmem.git.setup import make_root
from gitmem.git.treediff import Tree, read_tree
from gitmem.platform.safe_open import read_json, write_json
from gitmem.purge.records import followed_paths
from gitmem.store.merge_commits import merge_bases
from gitmem.store.store import Store
from gitmem.sync import remotes
from gitmem.sync.remotes import FETCHED, arrivals_of, check_files, check_version, reserved_folders

_SHARE = 3  # a loss above 1/3 is much
_FEW_LINES = 2  # lines that may always go
_FEW_FILES = 4  # in folders with at least as many, at most half may go
_FILE = "losses.json"  # in the private folder
_DAYS, _MOST_NOTED = 30, 1_000
_LITTLE = 512  # bytes; every sync replaces the state of the work
_SMALL = ":"  # the place of the bytes that were lost little by little; no folder has this name
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
        noted = read_json(os.path.join(store.private, _FILE)) or []
        recent = [(str(at), shares) for at, shares in noted if datetime.fromisoformat(at) >= since]
        return [(at, {str(place): float(share) for place, share in shares.items()}) for at, shares in recent]
    except (ValueError, TypeError, AttributeError):
        return []


def note_losses(store: Store, shares: Mapping[str, float], *, accepted: bool) -> None:
    """Note the losses by a sync; once the person accepted some, earlier ones count no more."""
    if not shares and not accepted:
        return
    noted = [] if accepted else noted_losses(store)[-_MOST_NOTED:]
    if _SMALL not in shares:  # those are a part of `shares`
        noted = [(at, known) for at, known in noted if _SMALL not in known]
    new = [(store.context.clock().isoformat(), dict(shares))] if shares else []
    write_json(os.path.join(store.private, _FILE), [*noted, *new])


def losses(store: Store, local: str, target: str, small: float = 0) -> Losses | None:
    """Return the loss from one commit to another, with `small` bytes that little ones before took; None if no text."""
    repository = store.repository
    with repository.reading():
        changes = [change for change in repository.changes(local, target) if change.old is not None]
        followed = followed_paths(store)
        records = tuple(change.path for change in changes if change.path in followed)
        changes = [change for change in changes if is_memory(change.path)]
        old = _texts(store, {change.path: change.old or "" for change in changes})
        new = _texts(store, {change.path: change.new for change in changes if change.new is not None})
        if not records and _is_little(old, new):
            less = sum(max(_size(lines) - _size(new.get(path, ())), 0) for path, lines in old.items())
            if less + small <= _LITTLE:
                return Losses((), 0, 0, (), {_SMALL: less}, is_much=False) if less else None
        trees = read_tree(repository.git, local), read_tree(repository.git, target)
        return _weighed(store, trees, old, records, small)


def _is_little(old: Mapping[str, Lines], new: Mapping[str, Lines]) -> bool:
    """Return whether the changed files alone show that the loss is small."""
    standing = set[str]().union(*new.values())
    gone = {path: [line for line in lines if line not in standing] for path, lines in old.items()}
    cut = sum(_size(lines) * 2 > _size(old[path]) for path, lines in gone.items() if not path.startswith("counts/"))
    return cut == 0 and sum(map(_size, gone.values())) <= _LITTLE


def _weighed(
    store: Store, trees: tuple[Tree, Tree], old: Mapping[str, Lines], records: tuple[str, ...], small: float
) -> Losses:
    """Return the loss from one tree to another; `old` has the lines here of each file that changes."""
    here, there = trees
    files = _memory(here)
    unchanged = _texts(store, {path: oid for path, oid in files.items() if path not in old})
    arrived = _texts(store, {path: oid for path, oid in _memory(there).items() if path not in unchanged})
    standing = set[str]().union(*unchanged.values(), *arrived.values())
    allowed = _allowed(store, old, here, there)
    gone = {path: _gone(lines, standing, allowed.get(path, set())) for path, lines in old.items()}
    emptied = [path for path, lines in gone.items() if lines and _size(lines) * 2 > _size(old[path])]
    # A file that gets as much other text was rewritten, and adds nothing to the losses of several syncs.
    shrunk = [path for path in emptied if _size(arrived.get(path, ())) * 2 < _size(old[path])]
    cut = small + sum(
        min(_size(lines), max(_size(old[path]) - _size(arrived.get(path, ())), 0)) for path, lines in gone.items()
    )
    before = [*unchanged.values(), *old.values()]
    total, distinct = sum(map(_size, before)), _size(set[str]().union(*before))
    lost, lost_distinct = sum(map(_size, gone.values())), _size(set[str]().union(*gone.values()))
    share = max(lost / max(total, 1), lost_distinct / max(distinct, 1))
    is_much = (
        bool(records)
        or (sum(map(len, gone.values())) > _FEW_LINES and share * _SHARE > 1)
        or (bool(_words(gone.values())) and not _words([*unchanged.values(), *arrived.values()]))
        or any(part > 1 / 2 for part in _shares_of_folders(emptied, files).values())
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
    return {path: oid for path, (mode, oid) in tree.items() if mode.startswith("100") and is_memory(path)}


def _shares_of_folders(emptied: Collection[str], files: Collection[str]) -> dict[str, float]:
    """Return the share of emptied files in each top folder with some; their share of all text may be small."""
    folders, gone = (Counter(path.partition("/")[0] for path in paths) for paths in (files, emptied))
    return {one: number / folders[one] for one, number in gone.items() if folders[one] >= _FEW_FILES}


def _allowed(store: Store, old: Mapping[str, Lines], here: Tree, there: Tree) -> dict[str, set[str]]:
    """Return, by path, the lines that may go: replaced by summaries, or deleted by retention."""
    tiers = [path for path in old if path.startswith(_TIERS)]
    summaries = [path for path in there if tiers and path.startswith(_TIERS[1:])]
    after = dict(zip(summaries, store.repository.blobs([there[path][1] for path in summaries]), strict=True))
    today = store.context.clock().date()
    allowed: dict[str, set[str]] = {}
    for path, data in zip(tiers, store.repository.blobs([here[path][1] for path in tiers]), strict=True):
        text = retold_lines(data, there.keys())
        if path not in there:
            text += "\n" + replaced_lines(path, data, after, today)
        allowed[path] = {*_lines(text)}
    outdated = _outdated(store, here.keys() | there.keys())
    return allowed | {path: {*old[path]} for path in outdated if path in old and path not in there}


def _outdated(store: Store, paths: Iterable[str]) -> Iterator[str]:
    """Yield the archives that the retention settings here would delete."""
    rotation = store.config.rotation
    days = rotation.archive_retention_days
    oldest = store.context.clock().replace(tzinfo=None) - timedelta(days=days) if days else None
    names = [path.removeprefix(f"{ARCHIVE}/") for path in paths if path.startswith(f"{ARCHIVE}/")]
    yield from (f"{ARCHIVE}/{name}" for name in outdated_archives(names, rotation.max_archives, oldest))


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


BACKUPS = "refs/gitmem/backup"
_NAMED = 3  # files that a message names


class Accept(StrEnum):
    """Unusual states that a sync refuses unless the person accepts them."""

    DELETIONS = "deletions"  # the merge would remove much of this memory
    REWRITTEN = "rewritten"  # the remote lost commits that it had
    PURGE = "purge"  # a purge of another machine exceeds the limits
    OTHER_PROJECT = "other-project"  # the histories share no commit of one project


def check_rewritten(
    store: Store,
    remote: Remote,
    seen: str | None,
    theirs: str | None,
    accept: Collection[Accept],
    *,
    purges: Sequence[str] = (),
) -> None:
    """Refuse a remote that lost commits since the last sync, and back these up under `refs/gitmem/backup/`.

    If accepted, the sync merges and pushes the lost commits again. `purges` are paths of records that this machine does
    not follow: if another machine applied one, a merge would bring the purged text back.

    Raises:
        RefusedError: the memory branch was deleted, or its history was rewritten.

    """
    if seen in {None, theirs} or (theirs is not None and store.repository.is_ancestor(seen, theirs)):
        return
    move_ref(store.repository.git, f"{BACKUPS}/{remote.name}/{seen[:12]}", seen, None, "gitmem sync")
    if Accept.REWRITTEN in accept:
        return
    if purges and theirs is not None:
        one = f"gitmem review {purges[0]}"
        many = f" ('gitmem review' lists {len(purges)})" if len(purges) > 1 else ""
        raise RefusedError(
            f"{remote.name} was rewritten, perhaps by a purge that is not followed here{many}: '{one}' shows it. "
            "Nothing was merged or pushed.",
            f"To take out here, too, what it took out: '{one} --take theirs', then 'gitmem sync'. To push the lost "
            "commits again: 'gitmem sync --accept rewritten'.",
        )
    if theirs is None:
        change = "holds no memory any more; it had"
    elif store.repository.is_ancestor(theirs, seen):
        change = f"serves an old state, as a backup that was put back: it has {theirs[:10]}, without its successor"
    else:
        change = f"was rewritten: it has {theirs[:10]}, without"
    raise RefusedError(
        f"{remote.name} {change} {seen[:10]}, which it had when last synced. Nothing was merged or pushed.",
        "To push the lost commits again: 'gitmem sync --accept rewritten'. To adopt the remote's state: "
        "'gitmem clone' it into a new store.",
    )


def check_incoming(
    store: Store, remote: Remote, local: str, theirs: str, accept: Collection[Accept], *, shared: bool
) -> None:
    """Refuse the changes from commit `local` to `theirs` unless they are safe; `shared` is whether histories meet.

    Raises:
        StoreFormatError: the remote has a newer format.
        RefusedError: a file is unsafe or too large, or the branch is no memory or unrelated to this one.

    """
    changes = arrivals_of(store.repository, local, theirs)
    check_version(store.repository, remote.called, changes)
    if not shared:
        _check_unknown(store, remote, theirs, accept)
    reserved = reserved_folders(store.root, store.context.home)
    check_files(store.repository, remote.called, changes, reserved=reserved)


def check_project(store: Store, remote: Remote, local: str, theirs: str | None, accept: Collection[Accept]) -> None:
    """Refuse the memory of another project: all begin with one commit, and the next is the project's own.

    Raises:
        RefusedError: the histories share nothing else.

    """
    if theirs is None:
        return
    root = make_root(store.repository.git)
    if root not in {local, theirs} and not {*merge_bases(store.repository.git, local, theirs)} - {root}:
        _check_unknown(store, remote, theirs, accept)


def _check_unknown(store: Store, remote: Remote, theirs: str, accept: Collection[Accept]) -> None:
    if store.repository.read(theirs, FORMAT) is None:
        raise RefusedError(f"The branch 'gitmem' of {remote.called} is not a memory.", "Use another one.")
    if Accept.OTHER_PROJECT in accept:
        return
    wrong = "" if remote.backup else f"If the address is wrong: 'gitmem remote remove {remote.name}'. "
    raise RefusedError(
        f"The memory at {remote.described} seems to be another project's: this one shares no history with it. "
        "Nothing was merged or pushed.",
        f"{wrong}To make one memory of the two for good: {remote.to_accept(Accept.OTHER_PROJECT)}.",
    )


def check_extent(store: Store, remote: Remote, commit: str | None, known: Collection[str | None]) -> None:
    """Refuse a fetched commit with too many files in its history beyond `known`, and delete its refs.

    Raises:
        RefusedError: a commit has too many files, or the object is not a commit.

    """
    if commit is None or commit in known:
        return
    try:
        remotes.check_extent(store.repository, remote.called, commit, {*filter(None, known)})
    except RefusedError:
        git = store.repository.git
        for ref, oid in read_refs(git, f"{FETCHED}/{remote.name}/").items():
            if oid == commit:
                move_ref(git, ref, None, oid)
        raise


def check_losses(
    store: Store, remote: Remote, local: str, target: str, accept: Collection[Accept]
) -> Mapping[str, float]:
    """Refuse a merge that would remove much of this memory, whatever operations its commits claim.

    Losses of the last 30 days add up. Return what this one adds, to be noted once it is merged.

    Raises:
        RefusedError: it would.

    """
    if local == target or Accept.DELETIONS in accept:
        return {}
    earlier = [shares for _, shares in noted_losses(store)]
    small = sum(shares.pop(_SMALL, 0.0) for shares in earlier)
    lost = losses(store, local, target, small)
    if lost is None or _SMALL in lost.shares or not (lost.is_much or add_up(earlier, lost.shares)):
        return lost.shares if lost else {}
    remedy = f"'git log {target[:10]}' shows who did it. To accept: {remote.to_accept('deletions')}."
    if lost.records:
        raise RefusedError(
            f"{remote.called} has commits that remove or change the record of a purge, {lost.records[0]}. "
            "Nothing was merged.",
            remedy,
        )
    names = ", ".join(lost.files[:_NAMED]) + (", …" if len(lost.files) > _NAMED else "")
    named = f" ({names})" if names else ""
    together = "" if lost.is_much else f", with what {len(earlier)} syncs of the last 30 days removed"
    raise RefusedError(
        f"{remote.called} has commits that would remove much of this memory{together}: {lost.percent} % of its text; "
        f"{len(lost.files)} of {lost.of} files lose most of theirs{named}. Nothing was merged.",
        remedy,
    )

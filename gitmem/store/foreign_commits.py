"""Bring the store up to commits that gitmem did not make here: fetched ones, and those of plain git.

A fast-forward moves the branch to a fetched commit by compare-and-swap; then recovery brings the files up to it, also
after a kill. The file `arriving` says that the commits did not come from this work tree. If a commit of plain git
changed a fact but not its line in `memory.md`, or the line alone, the other one follows. Fast-forwards are tested
through `tests/sync/test_rounds.py`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from gitmem.document.document import BrokenHeaderError, Document
from gitmem.document.entry import Entry
from gitmem.document.ids import MEMORY, fold
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import GitFailedError, GitmemError, RefusedError
from gitmem.git.locking import beating
from gitmem.git.log import Fork, commits, log
from gitmem.git.objects import PathChange
from gitmem.git.repository import RefMoves, Repository, empty_tree, move_refs
from gitmem.merge.documents import has_markers, merge, without_markers
from gitmem.merge.trees import merge_trees
from gitmem.model.fact import FOLDER, PATH, Fact, is_fact_path, parse_fact, render_fact
from gitmem.model.line_edits import LISTED, fact_entries, facts_as_edited, line_edits
from gitmem.model.validity import reworded
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import drop_file, replace_file
from gitmem.store.entrance import collision_reason, file_id, unusable_name
from gitmem.store.fact_lines import FactsById, with_edits
from gitmem.store.merge_commits import MergeCommit, write_on
from gitmem.store.recovery import ARRIVING, is_version, recover
from gitmem.store.store import Store
from gitmem.store.transaction import Transaction

_MESSAGE = op_message(Op.REPAIR, "Follow edits of facts and their lines")
_MARKERS = op_message(Op.REPAIR, "Repair conflict markers")
# Operations whose commits a user may have amended. Others, as a rotation, remove lines of facts still in force.
_KEEPING = frozenset({None, Op.SAVE.value, Op.TURN.value})
# Limits of hostile input: bytes of `memory.md`, which rotates long before, lines that are gone, and commits.
_MAX_MEMORY, _MAX_GONE, _MAX_COMMITS = 1 << 21, 1_000, 1_000


class _Span:
    """The facts and lines of facts that the commits between two commits changed."""

    def __init__(self, repository: Repository, old: str, new: str, changes: Sequence[PathChange]) -> None:
        self._repository, self._span = repository, (old, new)
        self._changed = {match["id"]: change for change in changes if (match := PATH.fullmatch(change.path))}
        with repository.reading() as objects:
            before, after = objects.contents([f"{old}:{MEMORY}", f"{new}:{MEMORY}"])
        self.stored = self.memory = without_markers(MEMORY, after or b"")
        self.lines = fact_entries(Document.parse(self.memory).body)
        made = {key: change.path.split("/")[1] for key, change in self._changed.items() if change.old is None}
        self._made = {key for key, kind in made.items() if kind in LISTED}
        same = before == after and self._made <= self.lines.keys()  # else the line of a new fact was removed again
        self._same = same or len(self.memory) > _MAX_MEMORY
        self._before = {} if self._same else fact_entries(Document.parse(before or b"").body)

    def facts_as_edited(self, lookup: FactsById, now: datetime) -> dict[str, bytes]:
        """Return by path the facts whose line alone was edited, and repair damaged lines.

        `lookup` holds the facts as they are now. Where commits changed the fact as well, both are merged.
        """
        document = Document.parse(self.memory)
        if self._same or not document.body.strip():
            return {}
        edits = line_edits(self._old_lines(lookup), document.body)
        self.memory = document.with_body(edits.body).render()
        files = {}
        for key, fact in facts_as_edited(edits, lookup.get, now).items():
            change = self._changed.get(key)
            if change is None:
                files[fact.path] = self._merged(fact, None, None)
            elif key not in edits.revived:
                files[fact.path] = self._merged(fact, change.old if key in edits.reworded else None, lookup.get(key))
        return {path: data for path, data in files.items() if data is not None}

    def _old_lines(self, lookup: FactsById) -> dict[str, Entry]:
        """Return the lines to compare with, without those that gitmem itself removed."""
        old, changed = self._before, self._changed
        facts = {key: fact for key in changed if key in old or key in self.lines if (fact := lookup.get(key))}
        binding = {key: fact for key, fact in facts.items() if fact.binds}
        gone = (old.keys() | self._made) - self.lines.keys() - (facts.keys() - binding.keys())
        return {
            **{key: line for key, line in old.items() if key in self.lines},
            **{key: self.lines[key]._replace(text=fact.text) for key, fact in binding.items() if key not in old},
            **(self._taken(gone) if 0 < len(gone) <= _MAX_GONE else {}),
        }

    def _taken(self, gone: set[str]) -> dict[str, Entry]:
        """Return those of the missing lines that a user's commits removed."""
        entries: dict[str, Entry] = {}
        for commit in log(self._repository.git, "..".join(self._span), paths=[MEMORY], limit=_MAX_COMMITS):
            if commit.value(Trailer.OP) not in _KEEPING or not commit.parents:
                continue
            with self._repository.reading() as objects:
                names = [f"{parent}:{MEMORY}" for parent in (commit.oid, *commit.parents)]
                after, *olds = (Document.parse(data or b"").body for data in objects.contents(names))
            if after.strip():
                here, lines = fact_entries(after), [fact_entries(old) for old in olds]
                took = [key for key in gone if key not in here and all(key in old for old in lines)]
                entries = {key: lines[0][key] for key in took} | entries
        return entries

    def _merged(self, fact: Fact, base: str | None, now: Fact | None) -> bytes | None:
        """Merge the edit of a fact's line with the fact's own change since the blob `base`; return the file."""
        try:
            before = parse_fact(self._repository.blob(base), fact.path) if base else None
            if before is None or now is None or before.text == now.text:
                return render_fact(fact)
            line = before._replace(text=fact.text, description=fact.description, updated=fact.updated)
            return merge(fact.path, before.source, now.source, render_fact(line)).data
        except BrokenHeaderError:
            return None


def reconcile_moved(transaction: Transaction, store: Store, old: str, new: str) -> None:
    """Bring facts and their lines in line with the commits between two commits; commit that if anything changes."""
    try:
        changes = store.repository.changes(old, new, FOLDER)
        transaction.know(changes)
        span = _Span(store.repository, old, new, changes)
        memory = transaction.read(MEMORY)
        here = fact_entries(Document.parse(memory or b"").body)
        lookup = FactsById(transaction.read, transaction.names, paths=[change.path for change in changes])
        facts = {  # an edit in the work tree since is newer
            path: data
            for path, data in span.facts_as_edited(lookup, transaction.now).items()
            if (match := PATH.fullmatch(path)) and here.get(match["id"]) == span.lines.get(match["id"])
        }
        olds, news = _versions(store.repository, transaction.read, changes, facts)
        facts |= _restated(olds, news, transaction.now)
        news |= facts
    except (GitFailedError, RefusedError, OSError):  # `old` was purged, or a file cannot be read
        return
    if memory is not None and news:
        memory = span.memory if memory == span.stored else memory
        transaction.commit(_MESSAGE, {**facts, MEMORY: with_edits(memory, olds, news, lookup, transaction.now)})


def _versions(
    repository: Repository,
    read: Callable[[str], bytes | None],
    changes: Sequence[PathChange],
    facts: Mapping[str, bytes],
) -> tuple[dict[str, bytes | None], dict[str, bytes | None]]:
    """Return the files of facts before these changes, and now, from `facts` or else `read`."""
    known = {change.path: change.old for change in changes if change.old}
    olds: dict[str, bytes | None] = dict.fromkeys(change.path for change in changes)
    olds.update(zip(known, repository.blobs([*known.values()]), strict=True))
    olds |= {path: read(path) for path in facts if path not in olds}
    return olds, {path: facts.get(path) or read(path) for path in olds}


def _restated(olds: Mapping[str, bytes | None], news: Mapping[str, bytes | None], now: datetime) -> dict[str, bytes]:
    """Return the facts whose file has new text but still the old description; two versions are not joined into one."""
    restated = {}
    for path, data in news.items():
        old = olds[path]
        if not old or not data or old.rpartition(b"\n---")[2] == data.rpartition(b"\n---")[2]:
            continue
        before, after = parse_fact(old, path), parse_fact(data, path)
        if before is None or after is None or before.description != after.description or after.has_two_versions:
            continue
        fact = reworded(after, after.text, now)
        if fact.description != after.description == reworded(before, before.text, now).description:
            with contextlib.suppress(BrokenHeaderError):
                restated[path] = render_fact(fact)
    return restated


def complete_fetched(store: Store, both: Fork) -> MergeCommit | None:
    """Write a commit on top of the second of two fetched commits that completes its history; None if none is needed.

    A merge without the driver, as on a forge, leaves conflict markers, whose sides are merged here; edits there leave
    facts and their lines apart. The commit is the same on every machine. Raises NotSavedError if the store cannot be
    written.
    """
    repository, commit = store.repository, next(commit for commit in both.commits if commit.oid == both.tips[1])
    with repository.reading() as objects:

        def stored(path: str) -> bytes | None:
            return next(objects.contents([f"{commit.oid}:{path}"]))

        def read(path: str) -> bytes | None:
            return healed.get(path) or stored(path)

        def names(folder: str) -> list[str]:
            return [entry.path.rpartition("/")[2] for entry in repository.files(commit.oid, folder)]

        marked = find_marked(store, both.bases[0], commit.oid)
        healed: dict[str, bytes | None] = {path: without_markers(path, stored(path) or b"") for path in marked}
        every = repository.changes(both.bases[0], commit.oid)
        changes = [change for change in every if PATH.fullmatch(change.path)]
        if not changes and not any(change.path == MEMORY for change in every):
            return write_on(store, commit, _MARKERS, healed) if healed else None
        span = _Span(repository, both.bases[0], commit.oid, changes)
        memory, lookup = span.memory, FactsById(read, names, paths=[change.path for change in changes if change.new])
        facts = span.facts_as_edited(lookup, commit.committed)
        edited = [change for change in changes if change.old and change.new]
        facts |= _restated(*_versions(repository, read, edited, facts), commit.committed)
        shown = [change for change in changes if (match := PATH.fullmatch(change.path)) and match["id"] in span.lines]
        olds, news = _versions(repository, read, shown, facts)
        data = with_edits(span.memory, olds, news, lookup, commit.committed)
    if not facts and not healed and data == memory:
        return None
    return write_on(store, commit, _MARKERS if healed else _MESSAGE, {**healed, **facts, MEMORY: data})


def without_unusable(store: Store, old: str, new: str) -> tuple[MergeCommit | None, dict[str, str]]:
    """Write a commit on top of a fetched one without files that no store may have; None if it has none.

    `old` is the local commit, whose files stay. Also return each path left out, with the reason. Every machine that
    leaves out the same files writes the same commit.
    """
    changes = [change for change in store.repository.changes(old, new) if change.old is None and change.new]
    files = [change.path for change in changes if change.mode.startswith("100")]  # links are refused
    omitted = {path: words for path in files if (words := unusable_name(path))}
    names, joined = _twins_joined(store.repository, new, files)
    omitted |= {path: f"{collision_reason(name)}, which has both texts" for path, name in names.items()}
    added = {path: file_id(path) for path in files if is_fact_path(path)}
    if added:  # a second file with the id of a fact that is here
        paths = [entry.path for entry in store.repository.files(new, FOLDER)]
        here = {file_id(path): path for path in paths if path not in added}
        twins = {path: here[key] for path, key in added.items() if key in here}
        omitted |= {path: f"a second file with the id of {original!a}" for path, original in twins.items()}
    if not omitted:
        return None, {}
    message = op_message(Op.REPAIR, f"Leave out {len(omitted)} files that no store can have")
    contents = {**dict.fromkeys(omitted), **joined}
    return write_on(store, commits(store.repository.git, [new])[new], message, contents), omitted


def _twins_joined(
    repository: Repository, commit: str, files: Sequence[str]
) -> tuple[dict[str, str], dict[str, bytes | None]]:
    """Merge files of a commit with twins among `files`, whose names are the same to some file system.

    Return for each twin the name that stays, and the contents by name.
    """
    folders = {path[: path.rfind("/") + 1] for path in files}
    entries = repository.files(commit, *sorted(folders - {""}), deep=False) if folders - {""} else []
    entries += repository.files(commit, deep=False) if "" in folders else []
    groups: dict[str, dict[str, str]] = {}
    for entry in entries:
        if entry.mode.startswith("100") and not unusable_name(entry.path):
            groups.setdefault(fold(entry.path), {})[entry.path] = entry.oid
    twins = [group for group in groups.values() if len(group) > 1]
    oids = {path: oid for group in twins for path, oid in group.items()}
    sides = dict(zip(oids, repository.blobs([*oids.values()]), strict=True))
    names = {path: min(group) for group in twins for path in group if path != min(group)}
    return names, merge_trees({}, sides, {}).files if sides else {}


_MAX_NAMED = 3


def find_marked(store: Store, old: str | None, new: str) -> list[str]:
    """Return the documents added or changed between two commits that have conflict markers."""
    git = store.repository.git
    try:
        changes = store.repository.changes(old or empty_tree(git), new)
    except GitFailedError:  # `old` was purged
        changes = store.repository.changes(empty_tree(git), new)
    files = [change for change in changes if change.path.endswith(".md") and change.mode.startswith("100")]
    documents = {change.path: change.new for change in files if change.new}
    contents = store.repository.blobs([*documents.values()])
    return [path for path, data in zip(documents, contents, strict=True) if has_markers(data)]


def resolve(transaction: Transaction, paths: Iterable[str]) -> bool:
    """Add a commit that merges both sides in these documents, and a notice; return False if none has markers."""
    resolved: dict[str, bytes | None] = {}
    for path in paths:
        try:
            data = transaction.read(path)
        except (RefusedError, OSError):
            continue
        if data is not None and has_markers(data):
            resolved[path] = without_markers(path, data)
    if not resolved:
        return False
    names = ", ".join(sorted(resolved)[:_MAX_NAMED]) + (" and others" if len(resolved) > _MAX_NAMED else "")
    message = op_message(Op.REPAIR, f"Repair {names}: conflict markers")
    transaction.notices.append(
        f"Git left conflict markers in {names}. Both sides were merged as 'gitmem sync' does; entries that need a "
        "decision are marked 'review'."
    )
    return transaction.commit(message, resolved)


def set_edits_aside(store: Store, old: str, new: str) -> list[str]:
    """Put aside uncommittable files that block the checkout of `new`; return notices.

    `old` is the tip, on which all other edits by hand are committed: what differs is a fact whose header an edit broke,
    or a copy.
    """
    notices = []
    with store.saving(), store.lock("sync").acquire(store.config.lock.wait_seconds):
        for change in store.repository.changes(old, new):
            data = store.files.read(change.path)
            if data is None or is_version(data, change, change.old) or is_version(data, change, change.new):
                continue
            copy = store.spool.keep_aside(change.path.replace("/", "-"), data)
            notices.append(f"{change.path} was not committed, and other machines changed it: yours is kept as {copy}.")
            path = os.path.join(store.root, change.path)
            replace_file(path, store.repository.blob(change.old)) if change.old else drop_file(path)
    return notices


def fast_forward(
    store: Store, expected: str, new: str, *, purpose: str, other_refs: RefMoves | None = None
) -> tuple[str, ...] | None:
    """Move the branch from `expected` to its descendant `new`, and bring the files up to it.

    `other_refs` are to move in the same update: old and new commit, None for a ref that does not exist.

    Return notices for the user. Return None, with nothing changed, if the branch has moved, or a user has edited one
    of the files, which a transaction has to commit first. Raises as `gitmem.store.transact.transact`.
    """
    with store.saving():
        branch = store.repository.branch()
        with store.lock(purpose).acquire(store.config.lock.wait_seconds) as lock, beating(lock):
            if store.repository.tip(branch) != expected or store.recorded_checkout() != expected:
                return None
            changes = store.repository.changes(expected, new)
            if not all(is_version(store.files.read(change.path), change, change.old) for change in changes):
                return None  # edited
            lock.check()
            replace_file(os.path.join(store.private, ARRIVING), f"{new}\n".encode("ascii"))
            if not move_refs(store.repository.git, {**(other_refs or {}), branch: (expected, new)}, "gitmem sync"):
                return None
            try:
                return recover(store, new, moved=True, changes=changes)
            except (OSError, GitmemError) as error:
                failure = f"The branch is at {new[:10]}, but the work tree could not be updated: {error}."
                return (f"{failure} The next gitmem command repairs that.",)

"""What was purged on one machine is purged on all (spec G7; docs/format.md, "Purging").

The records of purges stand in the memory. Whatever they name is taken out of every commit that is here or comes from a
remote, each time in the same way, so that all machines get the same commits again and none brings anything back. What
was scanned already is remembered, and not scanned again.

Taking it out of a whole store has an order: the new commits are written, then what is to be done is written down
(`purging` in the private folder), then the refs move at once, then the files, the caches and the objects follow. A
process that is killed before the note leaves the store as it was; after it, the next command finishes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitmem.errors import BusyError
from gitmem.git.history import blobs
from gitmem.git.refs import move_refs
from gitmem.git.rewrite import contents, find, history, rewrite
from gitmem.model.paths import PURGED
from gitmem.model.purge import Record, Replacer, Seeker, read_record
from gitmem.store.incoming import Accept, check_purge
from gitmem.store.purgestate import Journal, read_state, write_state
from gitmem.store.recovery import recover, remove_litter
from gitmem.store.transcripts import branch_of

if TYPE_CHECKING:
    from gitmem.git.locks import Lock
    from gitmem.git.remote import Remote
    from gitmem.git.rewrite import Found, Written
    from gitmem.store.store import Store

_SUFFIX = ".json"
_OURS = "refs/gitmem/"
_FETCHED = "refs/gitmem/fetched/"
_STASH = "refs/stash"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What cleaning some history came to: the new ids of commits that have one, and the texts that are known."""

    commits: dict[str, str]
    texts: frozenset[bytes]


@dataclass(slots=True)
class Applied:
    """What purging a store came to: refs that moved, commits written again, objects read afterwards, what to tell."""

    refs: int = 0
    commits: int = 0
    objects: int = 0
    notices: list[str] = field(default_factory=list)


def record_path(identifier: str) -> str:
    """Return where the record of a purge stands."""
    return f"{PURGED}/{identifier}{_SUFFIX}"


def records_at(store: Store, *commits: str) -> list[Record]:
    """Return the records of purges that some commits hold; one that cannot be read is none. Mostly one process."""
    with store.repository.reading() as objects:
        folders = objects.infos([f"{commit}:{PURGED}" for commit in dict.fromkeys(commits)])
    trees = {folder.oid for folder in folders if folder is not None and folder.kind == "tree"}
    found: dict[str, Record] = {}
    for tree in sorted(trees):
        entries = [
            one for one in store.repository.files(tree) if one.path.endswith(_SUFFIX) and one.mode.startswith("100")
        ]
        for entry, data in zip(entries, blobs(store.repository.git, [one.oid for one in entries]), strict=True):
            record = read_record(data)
            if record is not None:
                found.setdefault(entry.path, record)
    return [found[path] for path in sorted(found)]


def clean_commits(
    store: Store, tips: Iterable[str], records: Collection[Record], known: Iterable[bytes] = ()
) -> Cleaned:
    """Write the history of some commits again without what was purged, as far as it has it. Moves nothing."""
    tips = list(dict.fromkeys(tips))
    state, names = read_state(store.private), {record.id for record in records}
    walked = history(store.repository.git, tips, state.clean if names <= {*state.records} else ())
    texts = _known(store, walked, records, known)
    cleaned = _written(store, walked, Replacer(texts))
    if names == {*state.records}:
        write_state(store.private, state.with_clean(cleaned.get(tip, tip) for tip in tips))
    return Cleaned(cleaned, texts)


def _known(
    store: Store, walked: Sequence[Written], records: Collection[Record], known: Iterable[bytes]
) -> frozenset[bytes]:
    seeker = Seeker([*records], known)
    if not seeker.done:
        for commit in walked:
            seeker.seek(commit.raw)
        seeker.seek(b"\n".join(sorted({change.path for commit in walked for change in commit.changes})))
    for data, before in () if seeker.done else contents(store.repository.git, walked):
        seeker.seek(data, before)
    return frozenset({*seeker.known, *known})


def _written(store: Store, walked: Sequence[Written], replacer: Replacer) -> dict[str, str]:
    git = store.repository.git
    found = find(git, walked, replacer) if replacer else None
    return rewrite(git, walked, found, replacer, keep_pack=store.own_repository) if found else {}


def clean_incoming(store: Store, commit: str) -> str:
    """Return the commit to take for one that a remote has: itself, or without what was purged here or there."""
    records = records_at(store, *filter(None, (store.tip,)), commit)
    return clean_commits(store, [commit], records).commits.get(commit, commit) if records else commit


def follow(store: Store, remote: Remote, held: str | None, accept: Collection[Accept]) -> Applied | None:
    """Have this store hold nothing of what was purged here, or by what a remote has, the commit `held`.

    Returns None where there was nothing to do; otherwise branches may have moved.

    Raises:
        RefusedError: a purge that came from there would change most of what is here.
        BusyError: another process kept the store's lock.

    """
    local = store.tip
    assert local is not None
    records = records_at(store, local, *([held] if held else []))
    if not records:
        return None
    known = {record.id for record in records} <= {*read_state(store.private).records}
    tips = [tip for tip in (local, store.repository.tip(branch_of(store))) if tip]
    cleaned = clean_commits(store, tips, records)
    if known and not cleaned.commits:
        return None
    check_purge(store, remote, local, cleaned.commits.get(local, local), accept)
    with locked(store) as lock:
        return apply(store, lock, records, cleaned.texts)


def sweep(store: Store) -> None:
    """Remove what came from a remote and was purged before: nothing points to it any more."""
    with locked(store) as lock:
        apply(store, lock, records_at(store, *filter(None, (store.tip,))))


@contextlib.contextmanager
def locked(store: Store) -> Iterator[Lock]:
    """Hold the store's lock for as long as a purge takes."""
    from gitmem.store.maintenance import beating

    with store.lock("purge").acquire(store.config.lock.wait_seconds) as lock, beating(lock):
        yield lock


def apply(store: Store, lock: Lock, records: Collection[Record], known: Iterable[bytes] = ()) -> Applied:
    """Take what records name out of a store, for good; under the store's lock, with the work tree settled."""
    from gitmem.store.purgefinish import finish

    branch = store.repository.branch()
    refs = refs_of(store)
    stash = _stashed(store) if _STASH in refs else []
    tips = [*(commit for _, commit in refs.values() if commit), *(oid for oid, _ in stash)]
    cleaned = clean_commits(store, tips, records, known)
    moves: dict[str, tuple[str | None, str | None]] = {}
    for ref, (oid, commit) in refs.items():
        if ref.startswith(_FETCHED):
            moves[ref] = (oid, None)
        elif commit in cleaned.commits:
            moves[ref] = (oid, cleaned.commits[commit])
    old, new = moves.get(branch, (store.repository.tip(branch),) * 2)
    files = store.repository.changes(old, new) if old and new and old != new else []
    journal = Journal(
        records=tuple(sorted(record.id for record in records)),
        moves=moves,
        files={change.path: (change.old, change.new, change.mode) for change in files},
        stash=tuple((cleaned.commits.get(oid, oid), words) for oid, words in stash),
    )
    if not lock.held():
        raise BusyError("Another process took the lock over while this one stood still.", "Try again.")
    journal.write(store.private)
    done = finish(store, journal, records, cleaned.texts)
    done.commits = len(cleaned.commits)
    return done


def resume(store: Store, lock: Lock) -> Applied | None:
    """Finish a purge that was cut off; under the store's lock. None where it had not come to anything."""
    from gitmem.store.maintenance import beating

    with beating(lock):
        remove_litter(store, store.repository.branch())
        return _resume(store, lock)


def _resume(store: Store, lock: Lock) -> Applied | None:
    from gitmem.store.purgefinish import finish

    journal = Journal.read(store.private)
    tip = store.tip
    records = records_at(store, *([tip] if tip else []), *(new for _, new in journal.moves.values() if new))
    if not records:
        Journal.remove(store.private)
        return None
    now = {ref: oid for ref, (oid, _) in refs_of(store).items()}
    if journal.moves and all(now.get(ref) in move for ref, move in journal.moves.items()):
        return finish(store, journal, records, frozenset())
    recover(store, tip)  # it had only begun, or a person has committed something since
    return apply(store, lock, records)


def refs_of(store: Store) -> dict[str, tuple[str, str]]:
    """Return the refs that are gitmem's to move: what each points to, and the commit that is ("": none).

    In a repository of the store's own all are.
    """
    mine = [] if store.own_repository else [store.repository.branch(), branch_of(store), _OURS]
    form = "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(symref)%00%(refname)"
    said = store.repository.git.run("for-each-ref", form, *mine).decode("utf-8", "surrogateescape")
    found = {}
    for line in said.splitlines():
        facts, _, name = line.partition("\0")
        oid, kind, peeled, peeled_kind, symbolic = (facts.split(" ") + [""] * 5)[:5]
        commit = oid if kind == "commit" else peeled if peeled_kind == "commit" else ""
        if not symbolic:
            found[name] = (oid, commit)
    return found


def _stashed(store: Store) -> list[tuple[str, str]]:
    from gitmem.git.expunge import stashed

    return stashed(store.repository.git) if store.own_repository else []


def move(store: Store, journal: Journal) -> bool:
    """Move the refs of a journal that have not moved yet, all at once; False where somebody moved one meanwhile."""
    now = {ref: oid for ref, (oid, _) in refs_of(store).items()}
    left = {ref: step for ref, step in journal.moves.items() if now.get(ref) != step[1]}
    return move_refs(store.repository.git, left, "gitmem purge")


def oldest_found(walked: Sequence[Written], found: Found) -> list[str]:
    """Return the commits that have something in them and none before them that has."""
    affected: set[str] = set()
    oldest = []
    for commit in walked:
        if not affected.isdisjoint(commit.parents):
            affected.add(commit.oid)
        elif commit.oid in found.commits or any(
            change.new in found.blobs or change.path in found.paths for change in commit.changes
        ):
            affected.add(commit.oid)
            oldest.append(commit.oid)
    return oldest

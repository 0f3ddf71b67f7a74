"""Apply the records of purges to a store and to fetched commits (spec G7; docs/format.md, "Purging").

The records are files of the memory. Each machine removes the texts they describe from all commits, local and fetched,
deterministically: all machines get the same new commits, and no push brings a text back. Commits that were scanned are
remembered and not scanned again.

Order of a purge: write the new commits, write the journal (`purging` in the private folder), move all refs at once,
then update files, caches and objects. A process killed before the journal leaves the store unchanged; after it, the
next command finishes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitmem.errors import BusyError
from gitmem.git.history.commits import log
from gitmem.git.locks.heartbeat import beating
from gitmem.git.refs import read_refs
from gitmem.git.signatures import Signatures
from gitmem.git.upkeep.rewrite import contents, find, history, rewrite
from gitmem.model.message import Trailer, one_line
from gitmem.model.purge.purge import PurgeRecord, Replacer
from gitmem.model.purge.seek import Seeker
from gitmem.store.rewrite.finish import Applied, finish
from gitmem.store.rewrite.judge import Judgement, judge
from gitmem.store.rewrite.progress import Journal, State, read_state, write_state
from gitmem.store.rewrite.purge_records import answer, followed, followed_at, look_at_records, record_path
from gitmem.store.upkeep.recovery import recover, remove_litter
from gitmem.store.upkeep.refs import own_refs
from gitmem.text.quantities import count

if TYPE_CHECKING:
    from gitmem.git.locks.choose import Lock
    from gitmem.git.upkeep.rewrite import Occurrences, Written
    from gitmem.store.store import Store

_FETCHED = "refs/gitmem/fetched/"
_STASH = "refs/stash"
_MOST_TOLD = 20  # purges of which it is told what they removed
_NAME = 80  # characters of an author's name


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The new ids of rewritten commits by their old ones, and the texts that were found.

    `records` are the keys of the records that were applied; those applied without asking the person removed `removed`
    bytes.
    """

    commits: dict[str, str]
    texts: frozenset[bytes]
    records: tuple[str, ...]
    removed: int


def clean_commits(
    store: Store, tips: Iterable[str], records: Collection[PurgeRecord], known: Iterable[bytes] = (), *, before: int = 0
) -> Cleaned:
    """Rewrite the history of some commits without purged texts; move no refs.

    A record from another machine that would remove too much is not applied and waits for an answer; `before` is how
    many bytes such records removed earlier.
    """
    tips = list(dict.fromkeys(tips))
    state, keys = read_state(store.private), {record.key for record in records}
    seen = state.clean if keys <= {*state.records} else ()
    walked = history(store.repository.git, tips, seen)
    seeker = seek_texts(store, walked, records, known, limited=keys - {*state.agreed})
    judgement = _judged(store, walked, tips, seeker, before)
    left = tuple(sorted(keys - judgement.waiting.keys()))
    texts = frozenset[bytes]().union(*(seeker.found[key] for key in left))
    cleaned = _written(store, walked, Replacer(texts))
    if judgement.waiting:
        state = state.with_waiting(judgement.waiting)
    if keys <= {*state.records}:
        state = state.with_clean(cleaned.get(tip, tip) for tip in tips)
    if state != read_state(store.private):
        write_state(store.private, state)
    return Cleaned(cleaned, texts, left, judgement.removed)


def _judged(store: Store, walked: Sequence[Written], tips: Collection[str], seeker: Seeker, before: int) -> Judgement:
    done = {*read_state(store.private).agreed, *seeker.tired}
    found = {key: texts for key, texts in seeker.found.items() if texts and key not in done}
    strange = _by_others(store, tips, found)
    found = {key: texts for key, texts in found.items() if key not in strange}
    judgement = judge(store, walked, tips, found, before) if found else Judgement({}, 0)
    tired = dict.fromkeys(seeker.tired, "the search for its texts takes too long")
    return Judgement({**judgement.waiting, **strange, **tired}, judgement.removed)


def _by_others(store: Store, tips: Iterable[str], keys: Collection[str]) -> dict[str, str]:
    """Return the purges that no machine of the person's made, each with the reason to ask.

    It is theirs if the commit of the record is by them, and they listed its machine or the commit is signed.
    """
    if not keys:
        return {}
    fetched = read_refs(store.repository.git, _FETCHED).values()
    revisions = dict.fromkeys([*tips, *filter(None, [store.tip]), *fetched])
    signatures = Signatures(store.repository.layout, store.context.environ)
    strange = {}
    for key in keys:
        path = record_path(key.partition(" ")[0])
        made = {one.oid: one for revision in revisions for one in log(store.repository.git, revision, paths=[path])}
        for commit in made.values():  # that added or changed it, merges as well
            machine = commit.value(Trailer.MACHINE) or "an unknown machine"
            own = store.is_person(commit.author, commit.email, gitmem=False)
            if not (own and (machine in store.config.purge.machines or signatures.is_signed(commit.oid))):
                name = one_line(commit.author, _NAME)
                strange[key] = f"it is by {name} on {machine}, which purge.machines does not list"
    return strange


def seek_texts(
    store: Store,
    walked: Sequence[Written],
    records: Collection[PurgeRecord],
    known: Iterable[bytes],
    limited: Collection[str],
) -> Seeker:
    """Search some commits for the texts of records; effort is bounded for records with a key in `limited`."""
    seeker = Seeker([*records], known, limited=limited)
    if not seeker.done:
        for commit in walked:
            seeker.seek(commit.raw)
        seeker.seek(b"\n".join(sorted({change.path for commit in walked for change in commit.changes})))
    for data, before in () if seeker.done else contents(store.repository.git, walked):
        seeker.seek(data, before)
    return seeker


def _written(store: Store, walked: Sequence[Written], replacer: Replacer) -> dict[str, str]:
    git = store.repository.git
    found = find(git, walked, replacer) if replacer else None
    return rewrite(git, walked, found, replacer, keep_pack=store.own_repository) if found else {}


def clean_incoming(store: Store, commit: str, *holders: str) -> str:
    """Return a fetched commit, rewritten if it holds texts purged by records of this memory or of `holders`."""
    records = followed_at(store, store.tip, *holders)
    if not records:
        return commit
    return clean_commits(store, [commit], records).commits.get(commit, commit)


def follow(store: Store, held: Iterable[str], *, answers: Mapping[str, bool] | None = None) -> Applied | None:
    """Apply the records of this store and of `held`, the fetched commits; return None if there was nothing to do.

    `answers` maps keys of records to whether the person accepts them; None accepts all that were not refused. Branches
    may have moved unless the result is None.

    Raises:
        BusyError: another process kept the store's lock.

    """
    found = look_at_records(store, [*filter(None, [store.tip]), *held])
    if answers is None:
        refused = {*read_state(store.private).refused}
        answers = {record.key: True for record in found.records if record.key not in refused}
    for key, yes in answers.items():
        answer(store, [key], yes=yes)
    records = followed(store, found.records)
    if not records:
        return None
    state = read_state(store.private)
    tips = [commit for ref, (_, commit) in own_refs(store).items() if commit and not ref.startswith(_FETCHED)]
    cleaned = clean_commits(store, tips, records, before=state.removed)
    agreed = {*cleaned.records} & {*state.agreed}
    if not cleaned.commits and agreed <= {*state.records}:
        if {*cleaned.records} != {*state.records}:
            now = replace(read_state(store.private), records=cleaned.records, clean=())
            write_state(store.private, now.with_clean(tips))
        return None
    with locked(store) as lock:
        done = apply(store, lock, followed(store, records), cleaned.texts)
    _tell(store, state, done)
    return done


def _note_removed(store: Store, cleaned: Cleaned) -> None:
    """Add up the bytes removed without asking, so that many small purges meet the limit, too."""
    if cleaned.removed:
        state = read_state(store.private)
        write_state(store.private, replace(state, removed=state.removed + cleaned.removed))


def _tell(store: Store, before: State, done: Applied) -> None:
    """Note what purges of other machines removed, for `gitmem status`."""
    after = read_state(store.private)
    new = [record_path(key.partition(" ")[0]) for key in after.records if key not in before.records]
    if new:
        size = f"{after.removed - before.removed:,} bytes, " if after.removed > before.removed else ""
        words = f"{store.context.clock():%Y-%m-%d}: {size}in {count(done.files, 'file')} of today ({', '.join(new)})"
        write_state(store.private, replace(after, told=(*after.told, words)[-_MOST_TOLD:]))


def sweep(store: Store) -> None:
    """Remove unreachable objects that a fetch brought and that hold purged texts."""
    with locked(store) as lock:
        apply(store, lock, followed_at(store, store.tip))


@contextlib.contextmanager
def locked(store: Store) -> Iterator[Lock]:
    """Hold the store's lock during a purge."""
    with store.lock("purge").acquire(store.config.lock.wait_seconds) as lock, beating(lock):
        yield lock


def apply(store: Store, lock: Lock, records: Collection[PurgeRecord], known: Iterable[bytes] = ()) -> Applied:
    """Remove the texts of records from a store; needs the store's lock, with edits by hand committed."""
    branch = store.repository.branch()
    refs = own_refs(store)
    stash = _stashed(store) if _STASH in refs else []
    kept = [commit for ref, (_, commit) in refs.items() if commit and not ref.startswith(_FETCHED)]
    tips = [*kept, *(oid for oid, _ in stash)]
    cleaned = clean_commits(store, tips, records, known, before=read_state(store.private).removed)
    moves: dict[str, tuple[str | None, str | None]] = {}
    for ref, (oid, commit) in refs.items():
        if ref.startswith(_FETCHED):
            moves[ref] = (oid, None)
        elif commit in cleaned.commits:
            moves[ref] = (oid, cleaned.commits[commit])
    old, new = moves.get(branch, (store.repository.tip(branch),) * 2)
    files = store.repository.changes(old, new) if old and new and old != new else []
    journal = Journal(
        records=cleaned.records,
        moves=moves,
        files={change.path: (change.old, change.new, change.mode) for change in files},
        stash=tuple((cleaned.commits.get(oid, oid), words) for oid, words in stash),
    )
    if not lock.held():
        raise BusyError("Another process took over the lock while this one was suspended.", "Try again.")
    journal.write(store.private)
    _note_removed(store, cleaned)
    done = finish(store, journal, records, cleaned.texts)
    done.commits, done.files = len(cleaned.commits), len(files)
    return done


def resume(store: Store, lock: Lock) -> Applied | None:
    """Finish an interrupted purge, under the store's lock; None if it had not written a record."""
    with beating(lock):
        remove_litter(store, store.repository.branch())
        return _resume(store, lock)


def _resume(store: Store, lock: Lock) -> Applied | None:
    journal = Journal.read(store.private)
    tip = store.tip
    records = followed_at(store, tip, *(new for _, new in journal.moves.values()))
    if not records:
        Journal.remove(store.private)
        return None
    now = {ref: oid for ref, (oid, _) in own_refs(store).items()}
    if journal.moves and all(now.get(ref) in move for ref, move in journal.moves.items()):
        return finish(store, journal, records, frozenset())
    recover(store, tip)  # the journal is empty, or a person has committed since
    return apply(store, lock, records)


def _stashed(store: Store) -> list[tuple[str, str]]:
    from gitmem.git.upkeep.expunge import stashed

    return stashed(store.repository.git) if store.own_repository else []


def oldest_affected(walked: Sequence[Written], found: Occurrences) -> list[str]:
    """Return the affected commits that have no affected ancestor."""
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

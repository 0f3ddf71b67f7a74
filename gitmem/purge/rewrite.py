"""Apply purge records to a store and to fetched commits (docs/sync.md, "Purging").

Order: write the new commits, move all refs at once, then update files, caches and objects. `purging` in the private
folder exists meanwhile; after a kill the next command starts again and writes the same commits. In a project's own
repository only gitmem's refs and reflogs change.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gitmem.document.ids import PURGED, TEMPORARY
from gitmem.document.message import Trailer, one_line
from gitmem.errors import BusyError, GitFailedError, GitmemError, RefusedError
from gitmem.git.lock import Lock
from gitmem.git.locking import beating
from gitmem.git.log import Commit, additions
from gitmem.git.objects import PathChange, read_tree
from gitmem.git.packing import (
    check_whole,
    every_object,
    forget_moves,
    is_partial,
    remove_unreachable,
    stash_again,
    stashed,
)
from gitmem.git.process import Git
from gitmem.git.repository import RefMoves, blob_id, move_refs, read_refs
from gitmem.git.rewrite import Written, contents, find, history, rewrite
from gitmem.git.trust import Signatures
from gitmem.platform.safe_open import plain_files, read_file, read_json, write_json
from gitmem.purge.erased import Erased, find_erased
from gitmem.purge.record import PurgeRecord, Replacer, Seeker
from gitmem.purge.records import (
    State,
    answer,
    applied_records,
    applied_records_at,
    judge,
    look_at_records,
    read_state,
    record_path,
    write_state,
)
from gitmem.store.recovery import recover
from gitmem.store.store import PURGING, Store
from gitmem.store.transact import remove_litter
from gitmem.store.transcripts import REF as TRANSCRIPTS
from gitmem.text.sentences import count
from gitmem.values import Value

_DERIVED = ("known/origins", "vectors", "texts", "days", "search.json")
_LISTED = 5
_FETCHED = "refs/gitmem/fetched/"
_MOST_RECORDED = 20  # purges whose effect `gitmem status` shows
_LOOKED_UP = 5  # records whose authors are looked up: each costs digests of 40 ms, and anybody may push hundreds
_NAME = 80  # characters of an author's name


class CleanedHistory(Value):
    """The new ids of rewritten commits by their old ones, and the texts that were found.

    `records` are the keys of the records that were applied; those applied without asking the user removed `removed`
    bytes.
    """

    commits: dict[str, str]
    texts: frozenset[bytes]
    records: tuple[str, ...]
    removed: int


def clean_commits(
    store: Store, tips: Iterable[str], records: Collection[PurgeRecord], known: Iterable[bytes] = (), *, before: int = 0
) -> CleanedHistory:
    """Rewrite the history of some commits without purged texts; move no refs.

    A record from another machine that would remove too much is not applied and waits for an answer; `before` is how
    many bytes such records removed earlier.
    """
    git, tips = store.repository.git, list(dict.fromkeys(tips))
    state, keys = read_state(store.private), {record.key for record in records}
    clean = state.clean if keys <= {*state.records} else ()
    walked = history(git, tips, clean)
    seeker = seek_texts(store, walked, records, known, limited=keys - {*state.agreed})
    asked = {record.key: record for record in records if record.key not in state.agreed}
    untrusted = by_others(store, tips, [record for key, record in asked.items() if record.whose or seeker.found[key]])
    full = partial(history, git, tips, ())
    unsure = [key for key in asked if key in untrusted and not seeker.found[key]]
    for key in unsure if len(unsure) <= _LOOKED_UP else ():
        if not (_concerns(git, walked, asked[key]) and (not clean or _concerns(git, full(), asked[key]))):
            del untrusted[key]
    untrusted |= dict.fromkeys(seeker.gave_up, "the search for its texts takes too long")
    met = {key: seeker.found[key] for key in asked if seeker.found[key] and key not in untrusted}
    waiting, removed = judge(store, walked, tips, met, before) if met else ({}, 0)
    waiting |= untrusted
    left = tuple(sorted(keys - waiting.keys()))
    erasing = [record for record in records if record.key in left]
    erased = find_erased(git, walked, erasing)
    if clean and erased != Erased():
        erased = find_erased(git, full(), erasing)
    texts = erased.texts.union(*(seeker.found[key] for key in left))
    commits: dict[str, str] = {}
    if texts or erased.ids or erased.paths:
        replacer = Replacer(texts, erased.ids)
        places = find(git, walked, replacer)._replace(gone=erased.paths)
        commits = rewrite(git, walked, places, replacer, keep_pack=store.has_separate_repository)
    after = state.with_waiting(waiting) if waiting else state
    if keys <= {*after.records}:
        after = after.with_clean(commits.get(tip, tip) for tip in tips)
    if after != state:
        write_state(store.private, after)
    return CleanedHistory(commits, texts, left, removed)


def _concerns(git: Git, walked: Sequence[Written], record: PurgeRecord) -> bool:
    """Return whether commits contain anything of a record's authors and sessions; in a part of history too often."""
    erased = find_erased(git, walked, [record])
    return bool(erased.paths or find(git, walked, Replacer(erased.texts, erased.ids)))


def by_others(store: Store, tips: Iterable[str], records: Collection[PurgeRecord]) -> dict[str, str]:
    """Return the purges that none of the user's machines made, each with the reason to ask.

    A purge is the user's if each commit of its record is theirs, and they listed its machine or signed it.
    """
    if not records:
        return {}
    fetched = read_refs(store.repository.git, _FETCHED).values()
    revisions = dict.fromkeys([*tips, *filter(None, [store.tip]), *fetched])
    commits_of: dict[str, dict[str, Commit]] = {}  # the commits that added or changed each record, merges as well
    for addition in additions(store.repository.git, revisions, PURGED, changed=True, merges=True):
        commits_of.setdefault(addition.path, {})[addition.commit.oid] = addition.commit
    commits = {oid: commit for record in records for oid, commit in commits_of.get(record_path(record.id), {}).items()}
    is_user = partial(store.is_user, gitmem=False, address=store.identity().result().email)
    own = [oid for oid, commit in commits.items() if is_user(commit.author, commit.email)]
    trusted = {oid for oid in own if commits[oid].value(Trailer.MACHINE) in store.config.purge.machines}
    signatures = Signatures(store.repository.layout, store.context.environ)
    signers = signatures.signers([oid for oid in own if oid not in trusted])
    trusted |= {oid for oid, signer in signers.items() if is_user("", signer)}
    untrusted = {}
    for record in records:
        for oid, commit in commits_of.get(record_path(record.id), {}).items():
            if oid not in trusted:
                machine = commit.value(Trailer.MACHINE) or "an unknown machine"
                name = one_line(commit.author, _NAME)
                untrusted[record.key] = f"it is by {name} on {machine}, which purge.machines does not list"
    return untrusted


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
    for _, data, before in () if seeker.done else contents(store.repository.git, walked):
        seeker.seek(data, before)
    return seeker


def clean_incoming(store: Store, commit: str, *holders: str) -> str:
    """Return a fetched commit, rewritten if it contains texts purged by records of this memory or of `holders`."""
    records = applied_records_at(store, store.tip, *holders)
    return clean_commits(store, [commit], records).commits.get(commit, commit) if records else commit


@dataclass(slots=True)
class Applied:
    """Counts of rewritten commits, changed files and objects read to verify, and notices for the user."""

    commits: int = 0
    files: int = 0
    objects: int = 0
    notices: list[str] = field(default_factory=list)


def apply_purges(store: Store, fetched: Iterable[str], *, answers: Mapping[str, bool] | None = None) -> Applied | None:
    """Apply the records of this store and of `fetched`, the fetched commits; return None if there was nothing to do.

    `answers` maps keys of records to whether the user accepts them; None accepts all that were not refused. Branches
    may have moved unless the result is None. Raises BusyError if another process kept the store's lock, RefusedError if
    this clone lacks a part of its history.
    """
    look = look_at_records(store, [*filter(None, [store.tip]), *fetched])
    if answers is None:
        refused = {*read_state(store.private).refused}
        answers = {record.key: True for record in look if record.key not in refused}
    for key, yes in answers.items():
        answer(store, [key], yes=yes)
    records = applied_records(store, look)
    if not records:
        return None
    if is_partial(store.repository.layout.common_dir):
        check_history(store)
    state = read_state(store.private)
    tips = [commit for ref, (_, commit) in store.own_refs().items() if commit and not ref.startswith(_FETCHED)]
    cleaned = clean_commits(store, tips, records, before=state.removed)
    if not cleaned.commits and {*cleaned.records} & {*state.agreed} <= {*state.records}:
        if {*cleaned.records} != {*state.records}:
            now = read_state(store.private)._replace(records=cleaned.records, clean=())
            write_state(store.private, now.with_clean(tips))
        return None
    check_history(store)
    with locked(store) as lock:
        done = apply(store, lock, applied_records(store, records), cleaned.texts)
    _tell(store, state, done)
    return done


def check_history(store: Store) -> None:
    """Raise RefusedError if a part of history is missing, so that it cannot be rewritten."""
    check_whole(store.repository.git, store.repository.layout.common_dir, store.tip or "HEAD")


def _tell(store: Store, before: State, done: Applied) -> None:
    """Record what purges of other machines removed, for `gitmem status`."""
    after = read_state(store.private)
    new = [record_path(key) for key in after.records if key not in before.records]
    if new:
        size = f"{after.removed - before.removed:,} bytes, " if after.removed > before.removed else ""
        words = f"{store.context.clock():%Y-%m-%d}: {size}in {count(done.files, 'file')} of today ({', '.join(new)})"
        write_state(store.private, after._replace(told=(*after.told, words)[-_MOST_RECORDED:]))
    elif done.commits:
        message = f"Purged words were saved again: this sync took them out of {count(done.commits, 'commit')}"
        done.notices.append(f"{message}. To keep what they say, save it in other words.")


def sweep(store: Store) -> None:
    """Remove unreachable objects that a fetch brought and that hold purged texts."""
    with locked(store) as lock:
        apply(store, lock, applied_records_at(store, store.tip))


@contextlib.contextmanager
def locked(store: Store) -> Iterator[Lock]:
    """Hold the store's lock during a purge."""
    with store.lock("purge").acquire(store.config.lock.wait_seconds) as lock, beating(lock):
        yield lock


def begin(store: Store, stash: Mapping[str, str] = {}) -> None:
    """Record that a purge is running, with the rewritten stash, so that the next command continues after a kill."""
    write_json(os.path.join(store.private, PURGING), {"v": 1, "stash": [*stash.items()]}, sync=True)


def _end(store: Store) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(store.private, PURGING))


def _stash(store: Store) -> dict[str, str]:
    """Return the stash's messages by commit, newest first, including those that a killed purge recorded."""
    entries = stashed(store.repository.git) if store.has_separate_repository else []
    with contextlib.suppress(ValueError, TypeError, KeyError):
        entries += [(str(oid), str(words)) for oid, words in read_json(os.path.join(store.private, PURGING))["stash"]]
    return dict(entries)


def resume(store: Store, lock: Lock) -> Applied | None:
    """Finish an interrupted purge, under the store's lock; None if it had not written a record."""
    with beating(lock):
        remove_litter(store, store.repository.branch())
        tip, marked = store.tip, store.recorded_checkout()
        records = applied_records_at(store, tip)
        if not records:
            _end(store)
            return None
        if tip and marked and store.repository.is_ancestor(marked, tip):  # the killed purge had not moved the branch
            recover(store, tip)
        return apply(store, lock, records)


def apply(store: Store, lock: Lock, records: Collection[PurgeRecord], known: Iterable[bytes] = ()) -> Applied:
    """Remove the texts of records from a store; needs the store's lock, with edits by hand committed."""
    git, refs, stash = store.repository.git, store.own_refs(), _stash(store)
    tips = [commit for ref, (_, commit) in refs.items() if commit and not ref.startswith(_FETCHED)]
    state = read_state(store.private)
    cleaned = clean_commits(store, [*tips, *stash], records, known, before=state.removed)
    moves: RefMoves = {}
    for ref, (oid, commit) in refs.items():
        if ref.startswith(_FETCHED):
            moves[ref] = (oid, None)
        elif commit in cleaned.commits:
            clean = cleaned.commits[commit]
            moves[ref] = (oid, None if ref.startswith(TRANSCRIPTS) and not read_tree(git, clean) else clean)
    stash = {cleaned.commits.get(oid, oid): words for oid, words in stash.items()}
    lock.check()
    begin(store, stash)
    if cleaned.removed:  # the bytes removed without asking add up, so that many small purges meet the limit, too
        state = read_state(store.private)
        write_state(store.private, state._replace(removed=state.removed + cleaned.removed))
    if not move_refs(git, moves, "gitmem purge"):
        raise BusyError("Another git command moved a branch meanwhile.", "The next gitmem command continues.")
    done = Applied(len(cleaned.commits))
    _bring_up_files(store, Replacer(cleaned.texts), done)
    agreed = {*read_state(store.private).agreed}
    # Texts of records from other machines that turn up only now would have to be judged first.
    seeker = Seeker([record for record in records if record.key in agreed], cleaned.texts)
    for path in (os.path.join(store.private, *name.split("/")) for name in _DERIVED):
        with contextlib.suppress(FileNotFoundError):
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
    _clean_private(store, seeker)
    replacer = Replacer(seeker.known)
    _name_leftovers(store, replacer, done)
    if store.has_separate_repository:
        store.repository.rest()
        _expunge(store, stash, replacer, done)
    else:
        forget_moves(git, [ref for ref in moves if ref.startswith("refs/heads/")])
        done.notices.append(
            "Memory is on a branch of the project's repository: no branch of gitmem's holds it any more, but the old "
            "objects stay until git itself drops them: 'git gc --prune=now' in the project does, with all other "
            "unreachable objects."
        )
    moved = [new for _, new in moves.values() if new]
    state = read_state(store.private)._replace(records=cleaned.records, clean=())
    write_state(store.private, state.with_clean([*moved, *filter(None, [store.tip])]))
    _end(store)
    return done


def _bring_up_files(store: Store, replacer: Replacer, done: Applied) -> None:
    """Bring files and index up to the new tip; an edit by hand since stays, without the texts."""
    tip, marked = store.tip, store.recorded_checkout()
    assert tip is not None
    changes: list[PathChange] = []
    with contextlib.suppress(GitFailedError):  # git removed the former commit meanwhile
        changes = store.repository.changes(marked or tip, tip)
    for change in changes:
        with contextlib.suppress(RefusedError, OSError):  # an unreadable file is not updated either
            disk = store.files.read(change.path)
            if disk is not None and blob_id(disk, like=tip) not in {change.old, change.new}:
                executable = change.mode == "100755"
                store.files.publish([store.files.stage(change.path, replacer.clean(disk), executable=executable)])
    done.notices += recover(store, tip, moved=True)
    done.files = len(changes)


def _clean_private(store: Store, seeker: Seeker) -> None:
    """Clean the files of the private folder, and keep their times, which date the events of hooks."""
    for path in plain_files(store.private):
        if os.path.basename(path).startswith((PURGING, "lock")):
            continue
        data = read_file(path)
        seeker.seek(data)
        clean = Replacer(seeker.known).clean(data)
        if clean != data:
            temporary = f"{path}.purged"
            with open(temporary, "wb") as file:
                file.write(clean)
            shutil.copystat(path, temporary)
            os.replace(temporary, path)


def _name_leftovers(store: Store, replacer: Replacer, done: Applied) -> None:
    """Add a notice about ignored files, and files of git's own folder, that still hold a text."""
    git_dir = store.repository.layout.git_dir
    files = [
        path for path in plain_files(store.root) if os.path.relpath(path, store.root).split(os.sep)[0] != TEMPORARY
    ]
    if store.has_separate_repository:
        files += [os.path.join(git_dir, name) for name in ("config", os.path.join("info", "exclude"), "description")]
    leftovers = [path for path in files if replacer.matches(read_file(path))]
    if leftovers:
        names = ", ".join(leftovers[:_LISTED]) + (", …" if len(leftovers) > _LISTED else "")
        done.notices.append(f"Files outside of history still hold it; clean them by hand: {names}")


def _expunge(store: Store, stash: Mapping[str, str], replacer: Replacer, done: Applied) -> None:
    git, common = store.repository.git, store.repository.layout.common_dir
    if stash:
        stash_again(git, [*stash.items()])
    forget_moves(git)
    if stash:  # again, since the stash is itself a reflog
        stash_again(git, [*stash.items()])
    remove_unreachable(git, common)
    if os.path.exists(os.path.join(common, "objects", "info", "alternates")):
        done.notices.append("This repository uses objects of another one ('alternates'), which were not purged.")
    for oid, data in every_object(git):
        done.objects += 1
        if replacer.matches(data):
            raise GitmemError(
                f"The object {oid} still holds it: git still reaches it.",
                f"In {store.root}, see 'git fsck --lost-found' and 'git worktree list', then run it again.",
            )

"""Apply the records of purges to a store and to fetched commits (spec G7; docs/sync.md, "Purging").

Order: write the new commits, write the journal (`purging` in the private folder), move all refs at once, then update
files, caches and objects. A process killed before the journal leaves the store unchanged; after it, the next command
finishes. Every machine gets the same commits. In a project's own repository only gitmem's refs and reflogs change.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitmem.document.ids import TEMPORARY
from gitmem.document.message import Trailer, one_line
from gitmem.errors import BusyError, GitmemError, RefusedError
from gitmem.git.index import follow_tip
from gitmem.git.lock import Lock, beating
from gitmem.git.log import log
from gitmem.git.objects import blob_id
from gitmem.git.packing import (
    check_whole,
    every_object,
    forget_moves,
    is_partial,
    remove_unreachable,
    stash_again,
    stashed,
)
from gitmem.git.repository import move_refs, read_refs
from gitmem.git.rewrite import Written, contents, find, history, rewrite
from gitmem.git.signatures import Signatures
from gitmem.git.treediff import read_tree
from gitmem.purge.erase import Eraser, author_key, find_erased, is_named
from gitmem.purge.judge import Judgement, judge
from gitmem.purge.marks import PurgeRecord, Replacer, Seeker
from gitmem.purge.records import (
    Journal,
    State,
    answer,
    followed,
    followed_at,
    look_at_records,
    read_state,
    record_path,
    write_state,
)
from gitmem.store.maintenance import REF as TRANSCRIPTS
from gitmem.store.maintenance import own_refs
from gitmem.store.recovery import recover, remove_litter
from gitmem.store.store import PURGING, Store
from gitmem.text.sentences import count
from gitmem.values import Value

_ATTEMPTS = 20  # to bring up a file that a person edits at the same moment
_MAX_BYTES = 256 << 20
_DERIVED = (
    os.path.join("known", "origins"),
    "vectors",
    "texts",
    "days",
    "search.json",
    os.path.join("maintenance", "kept"),
    os.path.join("maintenance", "kept.forgotten"),
)
_LISTED = 5
_FETCHED = "refs/gitmem/fetched/"
_STASH = "refs/stash"
_MOST_TOLD = 20  # purges of which it is told what they removed
_NAME = 80  # characters of an author's name


@dataclass(slots=True)
class Applied:
    """Counts of rewritten commits, changed files and objects read to verify, and notices for the user."""

    commits: int = 0
    files: int = 0
    objects: int = 0
    notices: list[str] = field(default_factory=list)


def finish(store: Store, journal: Journal, records: Collection[PurgeRecord], known: Collection[bytes]) -> Applied:
    """Carry out a journal and remove it; `known` are the texts that are known already."""
    done = Applied()
    if not _move(store, journal):
        raise BusyError("Another git command moved a branch meanwhile.", "The next gitmem command continues.")
    state = read_state(store.private)
    # Texts of records from other machines that turn up only now would have to be judged first.
    seeker = Seeker([record for record in records if record.key in state.agreed], known)
    _bring_up_files(store, journal, seeker, done)
    for path in (os.path.join(store.private, name) for name in _DERIVED):
        with contextlib.suppress(FileNotFoundError):
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
    _clean_private(store, seeker)
    replacer = Replacer(seeker.known)
    _name_leftovers(store, replacer, done)
    if store.own_repository:
        store.repository.rest()
        _expunge(store, journal, replacer, done)
    else:
        forget_moves(store.repository.git, [ref for ref in journal.moves if ref.startswith("refs/heads/")])
        done.notices.append(
            "Memory is on a branch of the project's repository: no branch of gitmem's holds it any more, but the old "
            "objects stay until git itself drops them: 'git gc --prune=now' in the project does, with all other "
            "unreachable objects."
        )
    clean = [new for _, new in journal.moves.values() if new] + [tip for tip in (store.tip,) if tip]
    state = read_state(store.private)
    write_state(store.private, state._replace(records=journal.records, clean=()).with_clean(clean))
    Journal.remove(store.private)
    return done


def _move(store: Store, journal: Journal) -> bool:
    """Move the remaining refs of a journal in one transaction; False if another process moved one."""
    now = {ref: oid for ref, (oid, _) in own_refs(store).items()}
    left = {ref: step for ref, step in journal.moves.items() if now.get(ref) != step[1]}
    return move_refs(store.repository.git, left, "gitmem purge")


def _bring_up_files(store: Store, journal: Journal, seeker: Seeker, done: Applied) -> None:
    """Write the new content of files to the work tree; keep edits by hand, without the purged texts."""
    tip = store.tip
    assert tip is not None
    left = dict(journal.files)
    for _ in range(_ATTEMPTS):
        staged = []
        for path, (old, new, mode) in left.items():
            try:
                disk = store.files.read(path)
            except (RefusedError, OSError) as error:
                done.notices.append(f"{path} was not changed: {error}")
                continue
            held = None if disk is None else blob_id(disk, like=tip)
            if held == new:
                continue
            if held == old:
                content = None if new is None else store.repository.blob(new)
            else:  # edited since
                seeker.seek(disk or b"")
                content = None if disk is None else Replacer(seeker.known).clean(disk)
            if content != disk:
                staged.append(store.files.stage(path, content, executable=mode == "100755"))
        again = store.files.publish(staged)
        left = {path: left[path] for path in again}
        if not left:
            break
    follow_tip(store.repository.git)
    store.mark(tip)


def _clean_private(store: Store, seeker: Seeker) -> None:
    """Clean the files of the private folder; keep their times, by which events of hooks are dated."""
    for path in plain_files(store.private):
        if os.path.basename(path).startswith((PURGING, "lock")):
            continue
        data = read_file(path)
        seeker.seek(data)
        clean = Replacer(seeker.known).clean(data)
        if clean != data:
            times = os.stat(path)
            temporary = f"{path}.purged"
            with open(temporary, "wb") as file:
                file.write(clean)
            shutil.copymode(path, temporary)
            os.utime(temporary, ns=(times.st_atime_ns, times.st_mtime_ns))
            os.replace(temporary, path)


def _name_leftovers(store: Store, replacer: Replacer, done: Applied) -> None:
    """Add a notice about ignored files, and files of git's own folder, that still hold a text."""
    git_dir = store.repository.layout.git_dir
    files = [
        path for path in plain_files(store.root) if os.path.relpath(path, store.root).split(os.sep)[0] != TEMPORARY
    ]
    if store.own_repository:
        files += [os.path.join(git_dir, name) for name in ("config", os.path.join("info", "exclude"), "description")]
    found = [path for path in files if replacer.holds(read_file(path))]
    if found:
        names = ", ".join(found[:_LISTED]) + (", …" if len(found) > _LISTED else "")
        done.notices.append(f"Files outside of history still hold it; clean them by hand: {names}")


def _expunge(store: Store, journal: Journal, replacer: Replacer, done: Applied) -> None:
    git, common = store.repository.git, store.repository.layout.common_dir
    if journal.stash:
        stash_again(git, journal.stash)
    forget_moves(git)
    if journal.stash:  # again, since the stash is a reflog itself
        stash_again(git, journal.stash)
    remove_unreachable(git, common)
    if os.path.exists(os.path.join(common, "objects", "info", "alternates")):
        done.notices.append("This repository uses objects of another one ('alternates'), which were not purged.")
    for oid, data in every_object(git):
        done.objects += 1
        if replacer.holds(data):
            raise GitmemError(
                f"The object {oid} still holds it: git still reaches it.",
                f"Look with 'git -C {store.root} fsck --lost-found' and 'git worktree list', then run it again.",
            )


def plain_files(folder: str) -> Iterator[str]:
    """Yield the paths of regular files below a folder, except in `.git`."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def read_file(path: str) -> bytes:
    """Return the content of a file, b"" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""


class Cleaned(Value):
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
    judgement.waiting.update(_erasures_by_others(store, tips, records, state))
    left = tuple(sorted(keys - judgement.waiting.keys()))
    erased = find_erased(store.repository.git, walked, [record for record in records if record.key in left])
    texts = erased.texts.union(*(seeker.found[key] for key in left))
    cleaned = _written(store, walked, Eraser(texts, erased.ids), erased.paths)
    if judgement.waiting:
        state = state.with_waiting(judgement.waiting)
    if keys <= {*state.records}:
        state = state.with_clean(cleaned.get(tip, tip) for tip in tips)
    if state != read_state(store.private):
        write_state(store.private, state)
    return Cleaned(cleaned, texts, left, judgement.removed)


_MOST_NAMED = 20  # records of others that are asked whether they name the person: each takes a digest of 40 ms


def _erasures_by_others(
    store: Store, tips: Sequence[str], records: Iterable[PurgeRecord], state: State
) -> dict[str, str]:
    """Return the records that take out all of an author or a session and that no machine of the person's made."""
    asked = {record.key: record for record in records if record.whose and record.key not in state.agreed}
    strange = _by_others(store, tips, [*asked])
    key = author_key(store.identity().result().email) if strange else b""
    own = {name: "it takes out all that you wrote" for name in [*strange][:_MOST_NAMED] if is_named(asked[name], key)}
    return {**strange, **own}


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

    It is theirs if the commit of the record is by them, and they listed its machine or signed the commit.
    """
    if not keys:
        return {}
    fetched = read_refs(store.repository.git, _FETCHED).values()
    revisions = dict.fromkeys([*tips, *filter(None, [store.tip]), *fetched])
    signatures = Signatures(store.repository.layout, store.context.environ)

    def signed_by_person(commit: str) -> bool:
        signer = signatures.signer(commit)
        return signer is not None and store.is_person("", signer, gitmem=False)

    strange = {}
    for key in keys:
        path = record_path(key)
        made = {one.oid: one for revision in revisions for one in log(store.repository.git, revision, paths=[path])}
        for commit in made.values():  # that added or changed it, merges as well
            machine = commit.value(Trailer.MACHINE) or "an unknown machine"
            own = store.is_person(commit.author, commit.email, gitmem=False)
            if not own or (machine not in store.config.purge.machines and not signed_by_person(commit.oid)):
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
    for _, data, before in () if seeker.done else contents(store.repository.git, walked):
        seeker.seek(data, before)
    return seeker


def _written(
    store: Store, walked: Sequence[Written], replacer: Replacer, gone: frozenset[bytes] = frozenset()
) -> dict[str, str]:
    git = store.repository.git
    found = find(git, walked, replacer)._replace(gone=gone) if replacer or gone else None
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
        RefusedError: this clone lacks a part of its history.

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
    if is_partial(store.repository.layout.common_dir):
        check_history(store)
    state = read_state(store.private)
    tips = [commit for ref, (_, commit) in own_refs(store).items() if commit and not ref.startswith(_FETCHED)]
    cleaned = clean_commits(store, tips, records, before=state.removed)
    agreed = {*cleaned.records} & {*state.agreed}
    if not cleaned.commits and agreed <= {*state.records}:
        if {*cleaned.records} != {*state.records}:
            now = read_state(store.private)._replace(records=cleaned.records, clean=())
            write_state(store.private, now.with_clean(tips))
        return None
    check_history(store)
    with locked(store) as lock:
        done = apply(store, lock, followed(store, records), cleaned.texts)
    _tell(store, state, done)
    return done


def check_history(store: Store) -> None:
    """Refuse to rewrite a history of which a part is not here; raises RefusedError."""
    check_whole(store.repository.git, store.repository.layout.common_dir, store.tip or "HEAD")


def _tell(store: Store, before: State, done: Applied) -> None:
    """Note what purges of other machines removed, for `gitmem status`."""
    after = read_state(store.private)
    new = [record_path(key) for key in after.records if key not in before.records]
    if new:
        size = f"{after.removed - before.removed:,} bytes, " if after.removed > before.removed else ""
        words = f"{store.context.clock():%Y-%m-%d}: {size}in {count(done.files, 'file')} of today ({', '.join(new)})"
        write_state(store.private, after._replace(told=(*after.told, words)[-_MOST_TOLD:]))


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
    stash = stashed(store.repository.git) if store.own_repository and _STASH in refs else []
    kept = [commit for ref, (_, commit) in refs.items() if commit and not ref.startswith(_FETCHED)]
    tips = [*kept, *(oid for oid, _ in stash)]
    cleaned = clean_commits(store, tips, records, known, before=read_state(store.private).removed)
    moves: dict[str, tuple[str | None, str | None]] = {}
    for ref, (oid, commit) in refs.items():
        if ref.startswith(_FETCHED):
            moves[ref] = (oid, None)
        elif commit in cleaned.commits:
            clean = cleaned.commits[commit]
            emptied = ref.startswith(TRANSCRIPTS) and not read_tree(store.repository.git, clean)
            moves[ref] = (oid, None if emptied else clean)
    old, new = moves.get(branch, (store.repository.tip(branch),) * 2)
    files = store.repository.changes(old, new) if old and new and old != new else []
    journal = Journal(
        records=cleaned.records,
        moves=moves,
        files={change.path: (change.old, change.new, change.mode) for change in files},
        stash=tuple((cleaned.commits.get(oid, oid), words) for oid, words in stash),
    )
    lock.check()
    journal.write(store.private)
    if cleaned.removed:  # the bytes removed without asking add up, so that many small purges meet the limit, too
        state = read_state(store.private)
        write_state(store.private, state._replace(removed=state.removed + cleaned.removed))
    done = finish(store, journal, records, cleaned.texts)
    done.commits, done.files = len(cleaned.commits), len(files)
    return done


def resume(store: Store, lock: Lock) -> Applied | None:
    """Finish an interrupted purge, under the store's lock; None if it had not written a record."""
    with beating(lock):
        remove_litter(store, store.repository.branch())
        journal, tip = Journal.read(store.private), store.tip
        records = followed_at(store, tip, *(new for _, new in journal.moves.values()))
        if not records:
            Journal.remove(store.private)
            return None
        now = {ref: oid for ref, (oid, _) in own_refs(store).items()}
        if journal.moves and all(now.get(ref) in move for ref, move in journal.moves.items()):
            return finish(store, journal, records, frozenset())
        recover(store, tip)  # the journal is empty, or a person has committed since
        return apply(store, lock, records)

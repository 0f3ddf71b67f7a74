"""Sync the memory branch with a remote, in rounds (docs/sync.md).

A round fetches, merges, pushes by compare-and-swap, and moves the branch. If another machine pushed first, the round
leaves nothing behind and starts over after a random pause. No lock is held during network access.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from gitmem.errors import BusyError, GitmemError, ProtectedError, RefusedError
from gitmem.git.address import Remote
from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.log import Fork, commits, count_commits, fork
from gitmem.git.remote import INBOX, Connection, PushRacedError
from gitmem.git.repository import RefMoves, move_refs
from gitmem.git.root import make_root
from gitmem.history.changes_by_others import others_changes
from gitmem.platform.safe_open import drop_file, read_text, replace_file
from gitmem.purge.records import purge_notices, read_state, record_path
from gitmem.purge.rewrite import apply_purges, clean_incoming, sweep
from gitmem.store.arrivals import check_arrivals
from gitmem.store.foreign_commits import complete_fetched, fast_forward, set_edits_aside
from gitmem.store.init import complete_store
from gitmem.store.maintenance import MAKE_ROOM, crowded, new_pending_ref
from gitmem.store.merge_commits import MergeCommit, merge_bases, merge_commits, merge_many
from gitmem.store.remotes import REFS, added_remotes, note_synced, synced_ref_moves
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.sync.fetch import MEMORY_REF, Options, Synced, SyncStep, fetch_memory, in_rounds
from gitmem.sync.guard import (
    Accept,
    check_extent,
    check_first_branch,
    check_incoming,
    check_project,
    check_pulled,
    check_rewritten,
    check_signed,
    left_out,
    signed,
)
from gitmem.sync.losses import check_losses, note_losses
from gitmem.sync.records import left_file, recorded
from gitmem.sync.transcripts import clean_transcripts, sync_transcripts

# After so many lost rounds, or so many seconds, a sync leaves its commits in the remote's inbox.
LOST, LOST_SECONDS = 3, 10.0
CROWD, MOST_CROWDED = 2, 15  # machines that push at once: from so many on, a sync may let others go first
LATELY = 60.0  # seconds that a machine waits after it left its commits in the inbox
_MOST_LOOKED_AT = 256  # commits of the inbox that one sync checks
_MOST_TAKEN = 64  # commits of the inbox that one sync takes along


def sync_remote(store: Store, remote: Remote, options: Options, *, asks: bool) -> Synced:
    """Sync with one remote, also transcripts if configured, and record the result. Raises as `sync`."""
    store.check_writes()
    layout = store.repository.layout
    connection = Connection(layout, store.context.environ, own=store.has_separate_repository, asks=asks)
    with recorded(store, remote.name):
        done = sync(store, remote, connection, options)
        if store.config.sync.transcripts:
            sync_transcripts(store, remote, connection, options)
        elif done.purged:
            clean_transcripts(store, remote, connection)
    return done


def sync_in_background(store: Store, options: Options) -> Iterator[GitmemError]:
    """Sync the remotes that were added here, without prompts; yield the errors."""
    for remote in added_remotes(store) if store.may_write() else ():
        try:
            sync_remote(store, remote, options, asks=False)
        except GitmemError as error:
            yield error


def sync(store: Store, remote: Remote, connection: Connection, options: Options) -> Synced:
    """Sync the memory branch with a remote; both hold the same commit when it returns.

    Raises:
        UnreachableError: the remote cannot be reached; local commits stay for the next sync.
        RefusedError: the remote's commits are unsafe, were rewritten, or would remove much of this memory.
        StoreFormatError: the remote's memory has another format version; nothing was touched.
        BusyError: other machines pushed first in every round.
        GitmemError: the remote denies access, or rejects the push.
    """
    is_cut_off = store.acceptance.is_cut_off(remote.url)  # the user asked for this memory when the clone began
    if is_cut_off:
        options = options._replace(accept={*options.accept, Accept.OTHER_PROJECT})
    done = _Sync(store, remote, connection, options).run()
    if is_cut_off:
        complete_store(store)
        store.acceptance.end_clone()
    return done


class _Sync:
    """One sync, in one or more rounds."""

    def __init__(self, store: Store, remote: Remote, connection: Connection, options: Options) -> None:
        self._store, self._remote, self._connection, self._options = store, remote, connection, options
        self._git = store.repository.git
        # Refs that protect new objects, deleted when the branch has moved.
        self._keep_refs: RefMoves = {}
        self._notices: list[str] = []
        self._inbox: dict[str, str] | None = None if remote.backup else {}
        self._most_taken = _MOST_TAKEN
        self._left = left_file(store.private, remote.name)
        self._since = options.chance.clock()
        self._races = 0  # lost rounds, without those that applied a purge
        self._purges = read_state(store.private)
        self._lost: Mapping[str, int] = {}
        self._purged = False
        self._local: str | None = None  # the branch with edits by hand committed; None if unknown

    def run(self) -> Synced:
        with self._store.repository.reading() as objects:
            objects.start()
            before = others_changes(self._store)
            try:
                done = in_rounds(self._round, self._options, self._remote.called)
            finally:
                move_refs(self._git, self._keep_refs)
            new = (change for change in others_changes(self._store).values() if before.get(change.id) != change)
            notices = (f"{change.id} of yours was {change} ('gitmem review' accepts or refuses it)." for change in new)
            return done._replace(notices=(*done.notices, *notices))

    def _round(self, number: int) -> Synced | None:
        """Run one round; None if another machine or process was faster, or a purge was applied."""
        began = self._options.chance.clock()
        store, remote, accept = self._store, self._remote, self._options.accept
        seen = store.repository.tip(f"{REFS}/{remote.name}/{MEMORY_BRANCH}")
        local = self._local = self._local or self._settle()
        if self._inbox is not None:
            self._inbox.clear()
        remote_tip = fetch_memory(remote, self._connection, self._options, self._inbox)
        check_extent(store, remote, remote_tip, {local, seen})
        check_project(store, remote, local, None if seen else remote_tip, accept)
        check_signed(store, remote, remote_tip, {seen}, local)
        check_pulled(store, remote, local)
        if self._follow_purges(remote_tip):
            return None
        theirs = None if remote_tip is None else clean_incoming(store, remote_tip, remote_tip)
        both = None if theirs is None else fork(self._git, local, theirs)
        if both is None or not (seen and both.is_in_second(seen)):
            purges = [*map(record_path, read_state(store.private).unapplied)]
            check_rewritten(store, remote, seen, theirs, accept, purges=purges)
        yields = both is not None and remote_tip == theirs and local not in both.bases and self._yields()
        if both and yields and (result := self._leave(number, both, local, local)):
            return result
        return self._push_merged(number, began, remote_tip, both)

    def _push_merged(self, number: int, began: float, remote_tip: str | None, both: Fork | None) -> Synced | None:
        """Merge, push and adopt it; None if another machine or process was faster."""
        local = both.tips[0] if both else self._local or ""
        theirs = both.tips[1] if both else None
        taken = self._taken(*both.tips) if both else {}
        target, review = local, tuple[str, ...]()
        if theirs is not None and both is not None and (theirs not in both.bases or taken):
            both = self._without_unusable(both)
            local, theirs = both.tips
            check_incoming(self._store, self._remote, local, theirs, self._options.accept, shared=bool(both.bases))
            target, review = self._merged(both, [*taken.values()])
            try:
                self._lost = check_losses(self._store, self._remote, local, target, self._options.accept)
            except RefusedError as error:
                if not taken:
                    raise
                if len(taken) == 1:
                    self._refuse(next(iter(taken)), error.message)
                self._most_taken = 1  # some commit removes much: take one per round to find it
                return None
        try:
            target = self._signed(target)
            refused = None if target == remote_tip else self._push(target, remote_tip, purged=remote_tip != theirs)
        except PushRacedError:
            self._races += 1
            if both is None or remote_tip != theirs or not self._is_over(began):
                return None
            return self._leave(number, both, local, target)
        if refused and taken and both and local in both.bases:
            self._inbox = None  # a user with read access only leaves the inbox alone
            return None
        self._options.progress(SyncStep.FILES)
        adopted = self._adopt(local, target, {} if refused else synced_ref_moves(self._store, self._remote, target))
        self._note_push(refused, remote_tip, target, taken)
        self._purged |= remote_tip != theirs
        if self._purged:
            sweep(self._store)
        if not adopted:
            return None
        done = self._result(number, both, target, review)
        return done._replace(went=0) if refused else done

    def _yields(self) -> bool:
        """Return whether to let others push first, for at most a minute: the inbox or lost races show a crowd."""
        crowd = max(len(self._inbox or ()), 2 * CROWD * self._races)
        if self._inbox is None or crowd < CROWD or self._since_left() >= LATELY:
            return False
        return self._options.chance.random() * (min(crowd, MOST_CROWDED) + 1) > 1

    def _since_left(self) -> float:
        """Return for how many seconds this machine's commits have waited in the inbox."""
        since = read_text(self._left).partition(" ")[2].strip()
        return self._store.context.clock().timestamp() - float(since) if since.isdecimal() else 0.0

    def _is_over(self, began: float) -> bool:
        """Return whether to stop racing: after three rounds, ten seconds, or if the inbox has commits of others."""
        if self._inbox is None:  # the remote takes no such refs
            return False
        now = self._options.chance.clock()
        return bool(self._inbox) or self._races >= LOST or 2 * now - began - self._since >= LOST_SECONDS

    def _taken(self, local: str, theirs: str) -> dict[str, str]:
        """Return the commits of the remote's inbox that may be merged, by ref."""
        store, remote = self._store, self._remote
        taken: dict[str, str] = {}
        refused = self._refused()
        waiting = {ref: oid for ref, oid in (self._inbox or {}).items() if oid not in refused}
        for ref, oid in [*waiting.items()][:_MOST_LOOKED_AT]:
            if len(taken) >= self._most_taken:
                break
            pending_ref = new_pending_ref(store)
            self._keep_refs[pending_ref] = (oid, None)
            move_refs(self._git, {pending_ref: (None, oid)})
            try:
                check_extent(store, remote, oid, {local, theirs})
                check_signed(store, remote, oid, {theirs}, local)
                clean = clean_incoming(store, oid, theirs)
                if clean != oid:
                    self._purged = move_refs(self._git, {pending_ref: (oid, clean)})
                    self._keep_refs[pending_ref] = (clean, None)
                done, notices = left_out(store, remote, local, clean)
                if done is not None:
                    self._note(*notices)
                    self._keep_refs.update(done.keep_refs)
                    clean = done.oid
                if bases := merge_bases(self._git, theirs, clean):
                    if clean not in bases:
                        check_incoming(store, remote, local, clean, (), shared=True)
                    taken[ref] = clean
            except GitmemError as error:
                self._refuse(ref, error.message)
        return taken

    def _refused(self) -> set[str]:
        """Return the refused commits of the inbox, each already reported once."""
        return {*read_text(f"{self._left}.refused").split("\n")} - {""}

    def _refuse(self, ref: str, reason: str) -> None:
        """Report a commit of the inbox that is not merged, and skip it from now on."""
        self._note(f"{ref} of {self._remote.called} was left there: {reason}")
        inbox = self._inbox or {}
        refused = {*self._refused(), inbox.get(ref, "")}.intersection(inbox.values())
        with contextlib.suppress(OSError):
            replace_file(f"{self._left}.refused", "\n".join(sorted(refused)).encode())

    def _leave(self, number: int, both: Fork, local: str, target: str) -> Synced | None:
        """Leave the commits of this machine in the remote's inbox; None if the remote takes no such ref.

        They come back later, merged with those of others, so that no merge is needed here; that takes at most a minute.
        """
        now = self._store.context.clock().timestamp()
        since = now - self._since_left()
        if local in both.bases:  # nothing local, only commits of the inbox were to be pushed
            target = both.tips[1]
        else:
            name = re.sub("[^0-9a-z]+", "-", self._store.context.machine.lower())[:40].strip("-") or "machine"
            ref = f"{INBOX}/{name}-{local[:12]}"
            try:
                if ref not in (self._inbox or ()):
                    self._connection.push(self._remote, self._signed(local), ref, None)
            except PushRacedError:  # it is there already
                pass
            except GitmemError:
                self._inbox = None
                return None
            replace_file(self._left, f"{local} {since:.0f}\n".encode("ascii"))
            place = f"the inbox of {self._remote.called}; the next sync takes them along"
            self._note(f"Other machines pushed first, so new commits of this machine wait in {place}.")
        if now - since >= LATELY or local in both.bases:
            self._adopt(local, target, {})
        else:
            target = local
        return self._result(number, both, target, ())

    def _push(self, target: str, remote_tip: str | None, *, purged: bool) -> GitmemError | None:
        """Push; return the remote's refusal, if any: the merge is adopted nevertheless."""
        self._options.progress(SyncStep.PUSH)
        if remote_tip is None:
            check_first_branch(self._store, self._remote, self._connection)
        try:
            # Commits of plain git have passed no check.
            check_arrivals(self._store.repository, "", remote_tip or make_root(self._git), target)
            self._connection.push(self._remote, target, MEMORY_REF, remote_tip)
        except GitmemError as error:
            if purged:
                error.message += " What was purged here can still be read there."
            return error
        return None

    def _note_push(
        self, refused: GitmemError | None, remote_tip: str | None, target: str, taken: Collection[str]
    ) -> None:
        """Record what the remote has now and empty its inbox of `taken`, or raise the refusal of a push."""
        if refused is None:
            note_synced(self._store, self._remote, target)
            drop_file(self._left)  # the inbox has no commits of this machine any more
            if taken:
                self._connection.empty(self._remote, {ref: self._inbox[ref] for ref in taken if self._inbox})
        elif isinstance(refused, ProtectedError) and remote_tip is not None:
            note_synced(self._store, self._remote, remote_tip)
            self._note(refused.sentences)
        else:
            raise refused

    def _note(self, *notices: str) -> None:
        """Add notices for the user, each once, as rounds repeat."""
        self._notices += [notice for notice in notices if notice not in self._notices]

    def _signed(self, target: str) -> str:
        """Return the commit to push, as `gitmem.sync.guard.signed`, kept by a ref while the sync runs."""
        commit, moves = signed(self._store, target)
        self._keep_refs.update(moves)
        return commit

    def _settle(self) -> str:
        """Commit edits by hand, and return the tip of the branch."""
        tip = self._store.checked_out_tip()
        if tip is not None:
            with self._store.files.look(tip) as look:
                if not look.edited():
                    return tip
        self._note(*transact(self._store, lambda _: None, purpose="sync", scan=True).notices)
        tip = self._store.tip
        if tip is None:
            raise BusyError("Another process deleted the memory branch.", "Try again.")
        return tip

    def _follow_purges(self, remote_tip: str | None) -> bool:
        """Apply purges here, and on the remote by the next push; True if commits got new ids: a new round is needed."""
        answers: dict[str, bool] | None = None if Accept.PURGE in self._options.accept else {}
        done = apply_purges(self._store, [remote_tip] if remote_tip else [], answers=answers)
        if done is None:
            return False
        self._note(*done.notices)
        self._local = None
        return True

    def _without_unusable(self, both: Fork) -> Fork:
        """Return the fork, the remote's tip extended by a commit that leaves out files which no store may have."""
        local, theirs = both.tips
        if theirs in both.bases:
            return both
        done, notices = left_out(self._store, self._remote, local, theirs)
        self._note(*notices)
        return both if done is None else self._extended(both, done)

    def _extended(self, both: Fork, done: MergeCommit) -> Fork:
        """Return the fork with a commit that was written on top of the remote's tip."""
        self._keep_refs.update(done.keep_refs)
        mine = next(commit for commit in both.commits if commit.oid == both.tips[0])
        return both._replace(tips=(mine.oid, done.oid), commits=(mine, commits(self._git, [done.oid])[done.oid]))

    def _merged(self, both: Fork, taken: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        local, theirs = both.tips
        # Edits may have been committed with plain git.
        if both.bases and theirs not in both.bases and (done := complete_fetched(self._store, both)):
            both = self._extended(both, done)
            theirs = done.oid
        if local in both.bases and not taken:
            return theirs, ()
        self._options.progress(SyncStep.MERGE)
        merge = merge_many(self._store, [theirs, local, *taken]) if taken else merge_commits(self._store, both)
        self._keep_refs.update(merge.keep_refs)
        return merge.oid, merge.review

    def _adopt(self, local: str, target: str, notes: RefMoves) -> bool:
        if target == local:
            return True
        self._local = None
        notices = fast_forward(self._store, local, target, purpose="sync", other_refs={**notes, **self._keep_refs})
        if notices is not None:
            self._keep_refs.clear()
            note_losses(self._store, self._lost, accepted=Accept.DELETIONS in self._options.accept)
        else:  # a file was edited meanwhile; if only uncommittable edits are left, put them aside
            settled = self._local = self._settle()
            self._note(*(set_edits_aside(self._store, settled, target) if settled == local else ()))
        self._note(*(notices or ()))
        return notices is not None

    def _result(self, number: int, both: Fork | None, target: str, review: tuple[str, ...]) -> Synced:
        came, went = (both.count(1), both.count(0)) if both else (0, count_commits(self._git, target, without=None))
        if full := crowded(self._store):
            self._note(f"{full} {MAKE_ROOM}")
        notices = (*self._notices, *purge_notices(self._purges, read_state(self._store.private)))
        return Synced(self._remote.name, target, came, went, review, number, notices, self._purged)

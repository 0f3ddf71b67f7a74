"""Forgetting raw transcripts (spec G6): they have commits of their own, so that memory's history stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.errors import BusyError, RefusedError
from gitmem.git.commit.fast_import import REGULAR, NewCommit, Signature, Writer
from gitmem.git.identity import GITMEM
from gitmem.git.locks.heartbeat import beating
from gitmem.git.refs import move_ref, move_refs, read_refs
from gitmem.git.setup import make_root
from gitmem.git.upkeep.expunge import remove_unreachable
from gitmem.git.upkeep.packing import sizes
from gitmem.model.message import Message, Op, Trailer
from gitmem.store.setup.remotes import FETCHED
from gitmem.store.transcripts.transcripts import Transcript, sessions, tip_of
from gitmem.store.upkeep.refs import REF

if TYPE_CHECKING:
    from gitmem.store.store import Store


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Transcripts that were forgotten, or would be: how many, their bytes, the bytes freed on the disk, how many stay.

    `notices` is what the user should be told.
    """

    sessions: int
    size: int
    kept: int
    freed: int = 0
    notices: tuple[str, ...] = ()


def forget_transcripts(store: Store, before: datetime | None = None, *, dry_run: bool = False) -> Forgotten:
    """Forget the transcripts of sessions that began before a moment, without one all of them; it cannot be undone.

    Raises:
        RefusedError: they are synced, so that the next sync would bring them back.
        BusyError: another process kept the store's lock, or wrote transcripts meanwhile.

    """
    planned, _ = _divide(store, before)
    if dry_run or not planned.sessions:
        return planned
    if store.config.sync.transcripts and store.has_remotes():
        raise RefusedError(
            "Transcripts are synced here: the next sync would bring them back.",
            "'gitmem config sync.transcripts false', on each machine, then delete the branch gitmem-l1 of the remote.",
        )
    with store.lock("forget").acquire(store.config.lock.wait_seconds) as lock, beating(lock):
        old = tip_of(store)
        return _forget(store, old, *_divide(store, before))  # again: one may have come before the lock was held


def _divide(store: Store, before: datetime | None) -> tuple[Forgotten, list[Transcript]]:
    """Return what there is to be forgotten, and the transcripts that stay."""
    found = sessions(store)
    gone = [one for one in found if before is None or one.started < before]
    kept = [one for one in found if one not in gone]
    return Forgotten(len(gone), sum(one.size for one in gone), len(kept)), kept


def _forget(store: Store, old: str | None, planned: Forgotten, kept: list[Transcript]) -> Forgotten:
    git = store.repository.git
    room = sizes(git).bytes
    if not move_ref(git, REF, _rest(store, kept) if kept else None, old, "gitmem forget"):
        raise BusyError("The transcripts were written to meanwhile.", "Try again.")
    fetched = {ref: oid for ref, oid in read_refs(git, FETCHED).items() if ref.endswith("/l1")}
    move_refs(git, {ref: (oid, None) for ref, oid in fetched.items()})
    if not store.own_repository:
        said = "Their objects stay in the project's repository until git drops them: 'git gc --prune=now' there does."
        return Forgotten(planned.sessions, planned.size, planned.kept, 0, (said,))
    remove_unreachable(git, store.repository.layout.common_dir)
    return Forgotten(planned.sessions, planned.size, planned.kept, max(room - sizes(git).bytes, 0))


def _rest(store: Store, kept: list[Transcript]) -> str:
    """Write a commit with what stays, on the commit that all transcripts begin with."""
    git = store.repository.git
    who = Signature(GITMEM.name, GITMEM.email, store.context.clock().astimezone(UTC))
    trailers = ((Trailer.OP.value, Op.TRANSCRIPT.value), (Trailer.MACHINE.value, store.context.machine))
    message = Message(f"Keep {len(kept)} transcripts and forget the older ones", trailers).render()
    entries = tuple((one.path, REGULAR, one.oid) for one in kept)
    with Writer(git, REF, make_root(git), listed_in=store.packs_file) as writer:
        writer.commit(NewCommit(message, {}, who, who, {}, entries))
        return writer.write()[-1]

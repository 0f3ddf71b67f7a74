"""Delete raw transcripts for good (spec G6); memory's history, in other commits, does not change."""

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
from gitmem.text.quantities import count

if TYPE_CHECKING:
    from gitmem.store.store import Store


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result of forgetting, or of a dry run: transcripts forgotten, their bytes, transcripts kept, bytes freed.

    `notices` are for the user.
    """

    sessions: int
    size: int
    kept: int
    freed: int = 0
    notices: tuple[str, ...] = ()


def forget_transcripts(store: Store, before: datetime | None = None, *, dry_run: bool = False) -> Forgotten:
    """Delete the transcripts of sessions that began before a moment, all if it is None; this cannot be undone.

    Raises:
        RefusedError: transcripts are synced, so the next sync would restore them.
        BusyError: another process kept the store's lock, or stored a transcript meanwhile.

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
        return _forget(store, old, *_divide(store, before))  # again: one may have been stored before the lock was held


def _divide(store: Store, before: datetime | None) -> tuple[Forgotten, list[Transcript]]:
    """Return the counts of transcripts to forget, and the transcripts to keep."""
    stored = sessions(store)
    forgotten = [item for item in stored if before is None or item.started < before]
    kept = [item for item in stored if item not in forgotten]
    return Forgotten(len(forgotten), sum(item.size for item in forgotten), len(kept)), kept


def _forget(store: Store, old: str | None, planned: Forgotten, kept: list[Transcript]) -> Forgotten:
    git = store.repository.git
    size_before = sizes(git).bytes
    if not move_ref(git, REF, _kept_commit(store, kept) if kept else None, old, "gitmem forget"):
        raise BusyError("Another process stored a transcript meanwhile.", "Try again.")
    fetched = {ref: oid for ref, oid in read_refs(git, FETCHED).items() if ref.endswith("/l1")}
    move_refs(git, {ref: (oid, None) for ref, oid in fetched.items()})
    if not store.own_repository:
        notice = "Their objects stay in the project's repository until git drops them: 'git gc --prune=now' there does."
        return Forgotten(planned.sessions, planned.size, planned.kept, 0, (notice,))
    remove_unreachable(git, store.repository.layout.common_dir)
    return Forgotten(planned.sessions, planned.size, planned.kept, max(size_before - sizes(git).bytes, 0))


def _kept_commit(store: Store, kept: list[Transcript]) -> str:
    """Write a commit with the kept transcripts, on the root commit of every store."""
    git = store.repository.git
    who = Signature(GITMEM.name, GITMEM.email, store.context.clock().astimezone(UTC))
    trailers = ((Trailer.OP.value, Op.TRANSCRIPT.value), (Trailer.MACHINE.value, store.context.machine))
    message = Message(f"Keep {count(len(kept), 'transcript')} and forget the older ones", trailers).render()
    entries = tuple((item.path, REGULAR, item.oid) for item in kept)
    with Writer(git, REF, make_root(git), listed_in=store.packs_file) as writer:
        writer.commit(NewCommit(message, {}, who, who, {}, entries))
        return writer.write()[-1]

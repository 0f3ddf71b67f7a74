"""Sync transcripts (L1) with a branch of their own, only if `sync.transcripts` is set (spec G6).

They are merged like other files, but never checked out.

Tested through `tests/store/sync/test_losses.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import RefusedError
from gitmem.git.history.commits import fork
from gitmem.git.refs import move_refs, read_refs
from gitmem.git.remote.connection import PushRacedError
from gitmem.store.rewrite.apply import clean_incoming, sweep
from gitmem.store.setup.remotes import FETCHED
from gitmem.store.sync.guard import check_extent, check_losses
from gitmem.store.sync.retry import Options, in_rounds
from gitmem.store.transaction.merge import MergeCommit
from gitmem.store.transcripts.transcripts import merged, migrate_branch
from gitmem.store.upkeep.refs import REF, other_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.git.history.commits import Fork
    from gitmem.git.remote.address import Remote
    from gitmem.git.remote.connection import Connection
    from gitmem.store.store import Store

REMOTE_REF = "refs/heads/gitmem-l1"  # a branch, since some remotes reject other refs


def sync_transcripts(
    store: Store, remote: Remote, connection: Connection, options: Options, *, ref: str = REMOTE_REF
) -> None:
    """Sync the transcripts with a remote's `ref`. Raises as `gitmem.store.sync.memory.sync` does."""
    migrate_branch(store)
    in_rounds(lambda _: _round(store, remote, connection, options, ref) or None, options, remote.called)


def _round(store: Store, remote: Remote, connection: Connection, options: Options, ref: str) -> bool:
    """Run one round; False if another machine was faster."""
    git = store.repository.git
    held = theirs = connection.fetch(remote, ref, f"{FETCHED}/{remote.name}/l1")
    local = read_refs(git, REF).get(REF)
    target = local
    holds: Mapping[str, tuple[str | None, str | None]] = {}
    check_extent(store, remote, theirs, {local})
    if theirs is not None:
        theirs = clean_incoming(store, theirs)
        both = None if local is None else fork(git, local, theirs)
        _check(store, remote, both, theirs)
        merge = MergeCommit(theirs, (), {}) if both is None else merged(store, both)
        target, holds = merge.oid, merge.held
        if local is not None:
            _check_losses(store, remote, local, merge, options)
    if target is None:
        return True
    if target != held:
        try:
            connection.push(remote, target, ref, held)
        except PushRacedError:
            move_refs(git, holds)
            return False
    moved = target == local or move_refs(git, {**holds, REF: (local, target)}, "gitmem sync")
    if moved and held != theirs:
        sweep(store)
    return moved


def _check_losses(store: Store, remote: Remote, local: str, merge: MergeCommit, options: Options) -> None:
    """Refuse a merge that would delete many transcripts, and release its objects."""
    try:
        check_losses(store, remote, local, merge.oid, options.accept)
    except RefusedError:
        move_refs(store.repository.git, merge.held)
        raise


def _check(store: Store, remote: Remote, both: Fork | None, theirs: str) -> None:
    """Refuse a branch that is not one of transcripts of this memory."""
    if other_files(store, theirs) or (both is not None and not both.bases):
        raise RefusedError(
            f"The transcripts of {remote.called} are none, or those of another memory.",
            "Use another remote, or 'gitmem config sync.transcripts false'.",
        )

"""Transcripts (L1) go to a remote only where `sync.transcripts` says so (spec G6), on a branch of their own.

They are merged as all files are, without a work tree: nothing is checked out of that branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import BusyError, RefusedError
from gitmem.git.refs import move_ref, read_refs
from gitmem.git.remote import PushRacedError
from gitmem.store.mergecommit import merge_bases, merge_commits, read_tree
from gitmem.store.purging import clean_incoming, sweep
from gitmem.store.remotes import FETCHED
from gitmem.store.transcripts import FOLDER, SUFFIX, branch_of

if TYPE_CHECKING:
    from gitmem.git.remote import Connection, Remote
    from gitmem.store.store import Store
    from gitmem.store.sync import Options

REMOTE_REF = "refs/heads/gitmem-l1"  # on every remote: one may be a project's own repository
_REGULAR = "100644"


def sync_transcripts(store: Store, remote: Remote, connection: Connection, options: Options) -> None:
    """Sync the l1 branch with a remote. Raises as `gitmem.store.sync.sync` does."""
    from gitmem.store.sync import pause

    for number in range(1, options.attempts + 1):
        if _round(store, remote, connection):
            return
        options.chance.sleep(pause(number, options.chance.random()))
    raise BusyError(
        f"Others were quicker {options.attempts} times to push transcripts to {remote.name}.", "Sync again."
    )


def _round(store: Store, remote: Remote, connection: Connection) -> bool:
    git, branch = store.repository.git, branch_of(store)
    held = theirs = connection.fetch(remote, REMOTE_REF, f"{FETCHED}/{remote.name}/l1")
    local = read_refs(git, branch).get(branch)
    if theirs is not None:
        theirs = clean_incoming(store, theirs)
        _check(store, remote, local, theirs)
    target = _merged(store, branch, local, theirs)
    if target is None:
        return True
    if target != held:
        try:
            connection.push(remote, target, REMOTE_REF, held)
        except PushRacedError:
            return False
    moved = target == local or move_ref(git, branch, target, local, "gitmem sync")
    if moved and held != theirs:
        sweep(store)
    return moved


def _merged(store: Store, branch: str, local: str | None, theirs: str | None) -> str | None:
    repository = store.repository
    if local is None or theirs is None:
        return local or theirs
    if repository.is_ancestor(theirs, local):
        return local
    if repository.is_ancestor(local, theirs):
        return theirs
    return merge_commits(store, branch, local, theirs, merge_bases(repository.git, local, theirs)).oid


def _check(store: Store, remote: Remote, local: str | None, theirs: str) -> None:
    """Refuse what is no branch of transcripts."""
    git = store.repository.git
    strange = [
        path
        for path, (mode, _) in read_tree(git, theirs).items()
        if mode != _REGULAR or not path.startswith(f"{FOLDER}/") or not path.endswith(SUFFIX)
    ]
    if strange or (local is not None and not merge_bases(git, local, theirs)):
        raise RefusedError(
            f"The branch 'gitmem-l1' of {remote.name} holds something else than transcripts of this memory.",
            "Use another remote, or 'gitmem config sync.transcripts false'.",
        )

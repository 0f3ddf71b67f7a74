"""Move the branch forward to a fetched commit, and bring the files up to it.

All files are staged before the branch moves by compare-and-swap; recovery finishes a killed one. The file `arriving`
says that the commits did not come from this work tree. Tested through `tests/sync/test_rounds.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.errors import GitmemError
from gitmem.git.lock import Lock
from gitmem.git.objects import blob_id
from gitmem.git.repository import move_refs
from gitmem.git.treediff import PathChange
from gitmem.git.worktree import Staged
from gitmem.platform.safe_open import replace_file
from gitmem.store.merge_commits import with_parents
from gitmem.store.recovery import ARRIVING, publish
from gitmem.store.store import Store

# Limits of a batch, which is held in memory and then written; the lock's heartbeat goes between batches.
_BATCH, _BATCH_BYTES = 256, 1 << 24
_FEW = 8  # up to so many files are written without threads


def fast_forward(
    store: Store,
    expected: str,
    new: str,
    *,
    purpose: str,
    notes: Mapping[str, tuple[str | None, str | None]] | None = None,
) -> tuple[str, ...] | None:
    """Move the branch from `expected` to its descendant `new`, and bring the files up to it.

    `notes` are other refs to move in the same update: old and new commit, None for a ref that does not exist.

    Return notices for the user. Return None, with nothing changed, if the branch has moved, or a person has edited one
    of the files, which a transaction has to commit first.

    Raises:
        the errors of `gitmem.store.transact.transact`.

    """
    with store.saving():
        branch = store.repository.branch()
        with store.lock(purpose).acquire(store.config.lock.wait_seconds) as lock:
            if store.repository.tip(branch) != expected or store.marked() != expected:
                return None
            return _move_forward(store, branch, expected, new, lock=lock, notes=notes or {})


def _move_forward(
    store: Store, branch: str, old: str, new: str, *, lock: Lock, notes: Mapping[str, tuple[str | None, str | None]]
) -> tuple[str, ...] | None:
    """Bring branch and files from `old` to `new`, under the lock."""
    changes = store.repository.changes(old, new)
    removed = {change.path for change in changes if change.new is None}
    # Where a folder replaces a file, the file has to be removed first.
    late = [change for change in changes if change.new and not removed.isdisjoint(with_parents(change.path)[:-1])]
    staged: list[Staged] = []
    with store.files.open_index() as index:
        try:
            if any(_is_edited(store, change) for change in changes):
                return None
            staged += _staged(store, [change for change in changes if change not in late], lock)
            lock.check()
            replace_file(os.path.join(store.private, ARRIVING), f"{new}\n".encode("ascii"))
            if not move_refs(store.repository.git, {**notes, branch: (old, new)}, "gitmem sync"):
                store.files.discard(staged)
                return None
        except BaseException:
            store.files.discard(staged)
            raise
        try:
            if late:
                store.files.publish([item for item in staged if item.temporary is None])
                staged = [item for item in staged if item.temporary is not None] + _staged(store, late, lock)
            return publish(store, new, staged, index, [change.path for change in changes])
        except (OSError, GitmemError) as error:
            failure = f"The branch is at {new[:10]}, but the work tree could not be updated: {error}."
            return (f"{failure} The next gitmem command repairs that.",)


def _is_edited(store: Store, change: PathChange) -> bool:
    data = store.files.read(change.path)
    oid = None if data is None else blob_id(data, change.old or change.new or "")
    return oid != change.old


def _staged(store: Store, changes: Sequence[PathChange], lock: Lock) -> list[Staged]:
    staged = [store.files.stage(change.path, None) for change in changes if change.new is None]
    kept = [change for change in changes if change.new is not None]
    contents = store.repository.blobs([change.new or "" for change in kept])
    try:
        for batch in _batches(zip(kept, contents, strict=True)):
            lock.heartbeat()
            files = [(item.path, data, item.mode == "100755") for item, data in batch]
            if len(kept) > _FEW:
                staged += store.files.stage_all(files)
            else:
                staged += [store.files.stage(path, data, executable=executable) for path, data, executable in files]
    except BaseException:
        store.files.discard(staged)
        raise
    return staged


def _batches(files: Iterable[tuple[PathChange, bytes]]) -> Iterator[list[tuple[PathChange, bytes]]]:
    """Yield files with their contents in batches that fit into memory."""
    batch: list[tuple[PathChange, bytes]] = []
    size = 0
    for file in files:
        batch.append(file)
        size += len(file[1])
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch

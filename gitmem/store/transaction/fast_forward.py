"""Bringing the branch and the work tree to a commit that another machine made (docs/format.md, "Synchronising").

As in every write: all files are staged, then the branch moves by compare-and-swap, then the files are put into place.
What is cut off after that the next command does (gitmem.store.upkeep.recovery); that the commits on the way came from
elsewhere, and not out of this work tree, it knows by `arriving`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.git.objects.oid import blob_id
from gitmem.git.refs import move_refs
from gitmem.store.transaction.attempt import check_held, publish
from gitmem.store.upkeep.recovery import ARRIVING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitmem.git.locks.choose import Lock
    from gitmem.git.objects.treediff import PathChange
    from gitmem.git.worktree.files import Staged
    from gitmem.store.store import Store

# Files, and bytes of them, that are read before they are written; then the lock's holder shows that it lives.
_BATCH, _BATCH_BYTES = 256, 1 << 24
_FEW = 8  # files of a sync for which no threads are started


def fast_forward(
    store: Store,
    expected: str,
    new: str,
    *,
    purpose: str,
    notes: Mapping[str, tuple[str | None, str | None]] | None = None,
) -> tuple[str, ...] | None:
    """Move the branch from a commit to one that descends from it and exists already, and bring the files along.

    `notes` are other refs that move with it, each from and to a commit (None: nowhere).

    Returns what the user should be told; None, and nothing is done, where the branch is elsewhere by now, or a person
    has changed one of the files meanwhile: a transaction commits that first.

    Raises:
        as `gitmem.store.transaction.transact.transact`.

    """
    with store.saving():
        branch = store.repository.branch()
        with store.lock(purpose).acquire(store.config.lock.wait_seconds) as lock:
            if store.repository.tip(branch) != expected or store.marked() != expected:
                return None
            return _follow(store, branch, expected, new, lock=lock, notes=notes or {})


def _follow(
    store: Store, branch: str, old: str, new: str, *, lock: Lock, notes: Mapping[str, tuple[str | None, str | None]]
) -> tuple[str, ...] | None:
    """Bring branch and files to `new`, under the lock, with both at `old`."""
    changes = store.repository.changes(old, new)
    removed = {change.path for change in changes if change.new is None}
    # Where a folder takes the place of a file, the file goes first.
    late = [change for change in changes if change.new and not removed.isdisjoint(_parents(change.path))]
    staged: list[Staged] = []
    with store.files.open_index() as index:
        try:
            if any(_is_edited(store, change) for change in changes):
                return None
            staged += _staged(store, [change for change in changes if change not in late], lock)
            check_held(lock)
            _note_arriving(store, new)
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
            said = f"What came is here ({new[:10]}), but the files of the work tree are not in step with it: {error}."
            return (f"{said} The next gitmem command repairs that.",)


def _parents(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:depth]) for depth in range(1, len(parts))}


def _is_edited(store: Store, change: PathChange) -> bool:
    disk = store.files.read(change.path)
    held = None if disk is None else blob_id(disk, change.old or change.new or "")
    return held != change.old


def _staged(store: Store, changes: Sequence[PathChange], lock: Lock) -> list[Staged]:
    staged = [store.files.stage(change.path, None) for change in changes if change.new is None]
    kept = [change for change in changes if change.new is not None]
    contents = store.repository.blobs([change.new or "" for change in kept])
    try:
        for batch in _batches(zip(kept, contents, strict=True)):
            lock.heartbeat()
            files = [(one.path, data, one.mode == "100755") for one, data in batch]
            if len(kept) > _FEW:
                staged += store.files.stage_all(files)
            else:
                staged += [store.files.stage(path, data, executable=mode) for path, data, mode in files]
    except BaseException:
        store.files.discard(staged)
        raise
    return staged


def _batches(files: Iterable[tuple[PathChange, bytes]]) -> Iterator[list[tuple[PathChange, bytes]]]:
    """Yield files with their contents, as many at once as are held in memory."""
    batch: list[tuple[PathChange, bytes]] = []
    size = 0
    for file in files:
        batch.append(file)
        size += len(file[1])
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _note_arriving(store: Store, commit: str) -> None:
    path = os.path.join(store.private, ARRIVING)
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(f"{commit}\n")
    os.replace(f"{path}.new", path)

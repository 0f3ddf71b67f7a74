"""Repair what a killed process left: bring files and index up to the branch.

`checkout` names the commit last checked out (docs/architecture.md, "Order of writes"). Recovery replaces a
file that equals that commit, leaves one that equals the tip, and merges or keeps any other, which a user edited.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from gitmem.errors import BusyError, RefusedError
from gitmem.git.index import read_entries, set_entries
from gitmem.git.log import log
from gitmem.git.objects import PathChange
from gitmem.git.repository import blob_id
from gitmem.platform.safe_open import read_text
from gitmem.store.forbids import note_forbidden
from gitmem.store.store import Store
from gitmem.text.difference import merge_lines

ARRIVING = "arriving"  # private file with the fetched commit of the last fast-forward, whether begun or done
_ATTEMPTS = 20  # to update a file that a user edits at the same moment
_PAUSE = 0.01


def recover(
    store: Store, tip: str | None, *, moved: bool = False, changes: Sequence[PathChange] | None = None
) -> tuple[str, ...]:
    """Bring work tree, index and `checkout` up to the tip, under the store's lock; return notices for the user.

    `moved` says that the work tree still holds the commit that `checkout` names; otherwise `recover` finds out.
    `changes` lead from that commit to the tip, if the caller knows them. Raises BusyError if a file was edited during
    each attempt to update it. A transaction must wait for it: lines that only the tip has would look as if the user
    had removed them.
    """
    marked = store.recorded_checkout()
    if tip is None or tip == marked:
        return ()
    notices: list[str] = []
    checkout = marked if moved or marked is None else _held(store, marked, tip)
    if marked is not None and checkout is not None:
        changes = store.repository.changes(checkout, tip) if changes is None else changes
        stale = changes if marked == checkout else store.repository.changes(marked, tip)
        for _ in range(_ATTEMPTS):
            edited = _bring_up(store, changes, stale, notices)
            if not edited:
                break
            time.sleep(_PAUSE)
        else:
            raise BusyError(f"{', '.join(sorted(edited))}: edited again and again meanwhile.", "Try again.")
    store.record_checkout(tip)
    note_forbidden(store, [change.path for change in changes or () if change.new is not None])
    return tuple(notices)


# Limits of a batch of files, which is read into memory and then written.
_BATCH, _BATCH_BYTES = 256, 1 << 24
_FEW = 8  # up to so many files are written without threads


def _bring_up(store: Store, changes: Sequence[PathChange], stale: Sequence[PathChange], notices: list[str]) -> set[str]:
    """Bring files up to the tip by these changes; return the paths edited meanwhile.

    The index may lack the `stale` ones and is updated as well; an edited file gets only its mode and id there.
    """
    with store.files.open_index() as index:
        index.start()  # while the files are written
        behind, written = _bring_up_files(store, changes, notices)
        unchanged: list[str] = []
        edited: dict[str, tuple[str, str] | None] = {}
        for change in stale:
            is_at_tip = change.path in written
            with contextlib.suppress(RefusedError):
                is_at_tip = is_at_tip or is_version(store.files.read(change.path), change, change.new)
            if is_at_tip and change.path not in behind:
                unchanged.append(change.path)
            elif change.path not in behind:
                edited[change.path] = None if change.new is None else (change.mode, change.new)
        index.finish(unchanged)
    set_entries(store.repository.git, edited)
    return behind


def _bring_up_files(store: Store, changes: Sequence[PathChange], notices: list[str]) -> tuple[set[str], set[str]]:
    """Bring files up to the tip; return the paths edited meanwhile, and the unedited ones that were written."""
    plain, behind = [], set[str]()
    entries: dict[str, str] | None = None
    for change in changes:
        try:
            disk = store.files.read(change.path) if is_file(change) else None
            if is_file(change) and is_version(disk, change, change.old):
                plain.append(change)
                continue
            entries = read_entries(store.repository.git) if entries is None else entries
            notice, done = _merge_edited_file(store, change, disk, entries.get(change.path))
        except RefusedError as error:
            notice, done = error.sentences, True
        if notice and notice not in notices:
            notices.append(notice)
        if not done:
            behind.add(change.path)
    noted = len(notices)
    behind.update(_write(store, [(change.path, None, False) for change in plain if change.new is None], notices))
    for batch in _batches(store, [change for change in plain if change.new]):  # a folder may replace a file
        behind.update(_write(store, batch, notices))
    refused = len(notices) > noted  # then check each file again
    return behind, set() if refused else {change.path for change in plain}


def is_file(change: PathChange) -> bool:
    """Return whether a change is one of a file: gitmem writes no links and no submodules."""
    return change.mode.startswith("100")


def is_version(disk: bytes | None, change: PathChange, oid: str | None) -> bool:
    """Return whether a file of the work tree is the version with this object id, None for no file."""
    return (None if disk is None else blob_id(disk, change.new or change.old or "")) == oid


def _batches(store: Store, changes: Sequence[PathChange]) -> Iterator[list[tuple[str, bytes | None, bool]]]:
    """Yield the tip's files in batches that fit into memory, each with path, content and whether it is executable."""
    batch: list[tuple[str, bytes | None, bool]] = []
    size = 0
    for change, data in zip(changes, store.repository.blobs([change.new or "" for change in changes]), strict=True):
        batch.append((change.path, data, change.mode == "100755"))
        size += len(data)
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _write(store: Store, files: Sequence[tuple[str, bytes | None, bool]], notices: list[str]) -> list[str]:
    """Write or remove files; return the paths that a user has edited since they were read."""
    try:
        if len(files) > _FEW:
            staged = store.files.stage_all(files)
        else:
            staged = [store.files.stage(path, data, executable=executable) for path, data, executable in files]
    except RefusedError as error:
        if len(files) > 1:
            return [path for file in files for path in _write(store, [file], notices)]
        notices.append(error.sentences)
        return []
    return store.files.publish(staged)


def _held(store: Store, marked: str, tip: str) -> str | None:
    """Return the commit that was checked out when gitmem moved the branch from `marked` and was killed.

    Return None if another program moved it: that updated the work tree, and all differences are edits. The commit is
    `marked`, or the next one if that is a commit of edits by hand, since those came from the work tree.
    """
    if not store.repository.is_ancestor(marked, tip):
        return None
    commits = log(store.repository.git, f"{marked}..{tip}")
    # A new work tree that is not filled yet is at the root commit, which has no parent.
    if not any(commit.value("Gitmem-Op") for commit in commits):
        ids = store.repository.git.run("rev-list", "--parents", "--max-count=1", marked, "--").split()
        if len(ids) > 1:
            return None
    arriving = read_text(os.path.join(store.private, ARRIVING)).strip()
    if arriving in {commit.oid for commit in commits}:  # a fast-forward: no commit came from this work tree
        return marked
    first = next((commit for commit in commits if commit.parents == (marked,)), None)
    return first.oid if first is not None and first.value("Gitmem-Op") == "edit" else marked


def _merge_edited_file(store: Store, change: PathChange, disk: bytes | None, indexed: str | None) -> tuple[str, bool]:
    """Bring an edited file up to the tip; return a notice or "", and False if it was edited again meanwhile."""
    if not is_file(change) or is_version(disk, change, change.new):
        return "", True
    path = change.path
    old, new = (None if oid is None else store.repository.blob(oid) for oid in (change.old, change.new))
    if disk is None or indexed == change.new or _is_built_on(disk, old or b"", new or b""):
        return "", True  # removed or edited by hand after gitmem had written it
    executable = change.mode == "100755"
    # Where both only add lines, the user's come first: they may continue the line above.
    merged = disk if new is None else merge_lines(disk, old or b"", new)
    if merged is not None:
        notice = f"{path} was edited by hand during a save; both versions were merged."
        return notice, not _write(store, [(path, merged, executable)], [])
    beside = _name_beside(store, path)
    done = not _write(store, [(beside, disk, False)], []) and not _write(store, [(path, new, executable)], [])
    return f"{path} was edited by hand during a save; your version is kept as {beside}.", done


def _is_built_on(disk: bytes, old: bytes, new: bytes) -> bool:
    """Return whether an edited file has all lines that `new` adds to `old`, and none that it removes."""
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    own = Counter(disk.splitlines()) - (before & after)
    added, removed = after - before, before - after
    return bool(added or removed) and added <= own and not own & removed


def _name_beside(store: Store, path: str) -> str:
    stem, suffix = os.path.splitext(path)
    stem += f".edited-{store.context.clock():%Y%m%d-%H%M%S}"
    name, number = f"{stem}{suffix}", 1
    while store.files.read(name) is not None:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name

"""Repair what a killed process left, and keep the repository small: files, refs and packs.

`checkout` names the commit that the work tree last held (docs/architecture.md, "Order of writes"). Recovery replaces a
file that equals that commit, leaves one that equals the tip, and merges or keeps any other, which a person edited. Refs
under `refs/gitmem/pending/` protect commits without a branch from `git gc`; their names hold their times. Maintenance
changes no object and may be killed at any point: git puts a new pack in place before it removes those it replaces.
Tested through `tests/store/test_maintenance.py`, too.
"""

from __future__ import annotations

import contextlib
import os
import time

from gitmem.errors import BusyError, GitFailedError, GitmemError, RefusedError, disk_errors
from gitmem.git import blob_id, move_refs, read_refs
from gitmem.git.index import read_entries, set_entries
from gitmem.platform.safe_open import drop_file, read_text, replace_file
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitmem.git.objects import PathChange
    from gitmem.git.packing import Sizes
    from gitmem.store.store import Store


_PENDING = "refs/gitmem/pending"
ABANDONED_SECONDS = 24 * 3600.0  # after which refs and unfinished files of killed processes go


def new_pending_ref(store: Store) -> str:
    """Return a unique name for a ref, with the present time."""
    return f"{_PENDING}/{int(store.context.clock().timestamp())}-{os.urandom(6).hex()}"


def remove_abandoned(store: Store) -> None:
    """Remove the refs of killed processes: those older than a day."""
    oldest = store.context.clock().timestamp() - ABANDONED_SECONDS
    pending = read_refs(store.repository.git, f"{_PENDING}/")
    made = {ref: ref.rpartition("/")[2].partition("-")[0] for ref in pending}  # in seconds
    old = [ref for ref, when in made.items() if not when.isdecimal() or int(when) < oldest]
    move_refs(store.repository.git, {ref: (pending[ref], None) for ref in old}, "gitmem maintain")


_LISTED = ".pack:"  # separates path and commits in a line of the list, as fast-import writes it
_INDEX_FIRST = (".idx", ".rev", ".pack")  # git ignores a pack without its index


def listed_packs(store: Store) -> list[str]:
    """Return the names, without `.pack`, of the listed packs that still exist."""
    if not store.packs_file:
        return []
    folder = _folder(store)
    lines = read_text(store.packs_file).splitlines()
    names = dict.fromkeys(os.path.basename(line.partition(_LISTED)[0]) for line in lines if _LISTED in line)
    return [name for name in names if os.path.exists(os.path.join(folder, f"{name}.pack"))]


def holds_only_ours(store: Store, name: str) -> bool:
    """Return whether all commits of a pack (its name without `.pack`) are gitmem's; False if larger than a drain's."""
    from gitmem.git.log import commits
    from gitmem.git.packing import objects_of

    git = store.repository.git
    try:
        found = commits(git, objects_of(git, os.path.join(_folder(store), f"{name}.idx"))).values()
    except GitFailedError:  # it is damaged
        return False
    return bool(found) and all(commit.value("Gitmem-Op") for commit in found)


def join_listed(store: Store) -> None:
    """Join the listed packs, under the store's lock, until each is larger than twice all smaller ones together.

    With a multi-pack-index, which the user asked git for, leave the packs alone. Raises BusyError if another process
    kept the lock, GitFailedError if git failed; no pack was removed.
    """
    remove_abandoned(store)
    folder = _folder(store)
    with store.lock("maintain").acquire(store.config.lock.wait_seconds):
        listed = listed_packs(store)
        joined = _to_join(folder, [name for name in listed if not os.path.exists(os.path.join(folder, f"{name}.keep"))])
        if len(joined) < 2 or os.path.exists(os.path.join(folder, "multi-pack-index")):  # noqa: PLR2004
            _list(store, listed)
            return
        from gitmem.git.packing import pack_together

        new = pack_together(store.repository.git, folder, joined)
        _list(store, [*(name for name in listed if name not in joined), *new])
        for name in joined:
            for suffix in _INDEX_FIRST if name not in new else ():
                drop_file(os.path.join(folder, f"{name}{suffix}"))


def _to_join(folder: str, names: Iterable[str]) -> list[str]:
    """Return the smallest packs, up to the first that is larger than twice all smaller ones together."""
    chosen: list[str] = []
    total = 0
    for size, name in sorted((os.path.getsize(os.path.join(folder, f"{name}.pack")), name) for name in names):
        if len(chosen) > 1 and size > 2 * total:
            break
        chosen.append(name)
        total += size
    return chosen


def _list(store: Store, names: Iterable[str]) -> None:
    replace_file(store.packs_file, "".join(f"{name}{_LISTED}\n" for name in names).encode("ascii"))


def _folder(store: Store) -> str:
    return os.path.join(store.repository.layout.common_dir, "objects", "pack")


class Maintenance(Value):
    """The result: sizes before and after, unfinished files that were removed, and notices for the user."""

    before: Sizes
    after: Sizes
    removed: tuple[str, ...]
    notices: tuple[str, ...]


def maintain(store: Store, progress: Callable[[str], None] = lambda _: None) -> Maintenance:
    """Pack the store's repository; `progress` is called with the name of each step before it.

    Raises:
        BusyError: another maintenance is running.
        GitFailedError: git failed.
        GitmemError: the store cannot be written.
    """
    from gitmem.git.lock import LockKind, beating, open_lock
    from gitmem.git.packing import pack_loose, sizes, write_commit_graph

    git, folder = store.repository.git, os.path.join(store.private, "maintenance")
    notices = []
    with disk_errors("The store could not be packed", GitmemError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # Where file locks do not work, it is the ref that writers use too, so that they have to wait.
        kind, machine = LockKind(store.config.lock.kind), store.context.machine
        lock = open_lock(git, folder, kind=kind, purpose="maintain", machine=machine)
        with lock.acquire(0), beating(lock):
            removed = _remove_unfinished(store)
            remove_abandoned(store)
            before = sizes(git)
            progress("packing loose objects")
            pack_loose(git)
            progress("joining packs")
            _join(store, os.path.join(folder, "joined"))
            progress("writing the commit graph")
            try:
                write_commit_graph(git)
            except GitFailedError as error:  # a cache only; the next maintenance writes it
                notices.append(f"The commit graph was not written: {error.message}")
    return Maintenance(before, sizes(git), removed, tuple(notices))


def _join(store: Store, record: str) -> None:
    """Join the packs, and list the results in the file `record`: their deltas need no second search."""
    from gitmem.git.packing import fresh_packs, is_partial, join_fresh, join_packs, pack_names

    git, common = store.repository.git, store.repository.layout.common_dir
    fresh = fresh_packs(common, read_text(record).split()) if store.own_repository and not is_partial(common) else []
    if len(fresh) > 1:
        join_fresh(git, common, fresh)
    join_packs(git, common)
    with open(record, "w", encoding="ascii") as file:
        file.writelines(f"{name}\n" for name in pack_names(common) if name not in fresh)


def _remove_unfinished(store: Store) -> tuple[str, ...]:
    """Remove the unfinished files of processes that were killed long ago, and return them."""
    from gitmem.git.packing import unfinished_files

    removed = []
    for path in unfinished_files(store.repository.layout, store.context.clock().timestamp() - ABANDONED_SECONDS):
        with contextlib.suppress(OSError):
            os.unlink(path)
            removed.append(path)
    return tuple(removed)


ARRIVING = "arriving"  # file of the private folder: the fetched commit of the last fast-forward, begun or done
_ATTEMPTS = 20  # to update a file that a person edits at the same moment
_PAUSE = 0.01


def recover(
    store: Store, tip: str | None, *, moved: bool = False, changes: Sequence[PathChange] | None = None
) -> tuple[str, ...]:
    """Bring work tree, index and `checkout` up to the tip, under the store's lock; return notices for the user.

    `moved` says that the work tree still holds the commit that `checkout` names; else it is found out. `changes` are
    those from there to the tip, where they are known. Raises BusyError if a file was edited during each attempt to
    update it. A transaction must not go on before that: lines that only the tip has would count as removed by the
    person.
    """
    marked = store.marked()
    if tip is None or tip == marked:
        return ()
    notices: list[str] = []
    held = marked if moved or marked is None else _held(store, marked, tip)
    if marked is not None and held is not None:
        changes = store.repository.changes(held, tip) if changes is None else changes
        stale = changes if marked == held else store.repository.changes(marked, tip)
        for _ in range(_ATTEMPTS):
            behind = _bring_up(store, changes, stale, notices)
            if not behind:
                break
            time.sleep(_PAUSE)
        else:
            raise BusyError(f"{', '.join(sorted(behind))}: edited again and again meanwhile.", "Try again.")
    store.mark(tip)
    return tuple(notices)


# Limits of a batch, which is held in memory and then written.
_BATCH, _BATCH_BYTES = 256, 1 << 24
_FEW = 8  # up to so many files are written without threads


def _bring_up(store: Store, changes: Sequence[PathChange], stale: Sequence[PathChange], notices: list[str]) -> set[str]:
    """Bring files up to the tip by these changes; return the paths edited meanwhile.

    The index lacks the `stale` ones or less, and is brought up as well: where a file differs from the tip, which is an
    edit, only mode and id are set.
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
    """Bring files up to the tip; return the paths edited meanwhile, and those that were as before and are written."""
    plain, behind = [], set[str]()
    entries: dict[str, str] | None = None
    for change in changes:
        try:
            disk = store.files.read(change.path) if is_file(change) else None
            if is_file(change) and is_version(disk, change, change.old):
                plain.append(change)
                continue
            entries = read_entries(store.repository.git) if entries is None else entries
            notice, done = _follow(store, change, disk, entries.get(change.path))
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
    refused = len(notices) > noted  # then each file is looked at once more
    return behind, set() if refused else {change.path for change in plain}


def is_file(change: PathChange) -> bool:
    """Return whether a change is one of a file: gitmem writes no links and no submodules."""
    return change.mode.startswith("100")


def is_version(disk: bytes | None, change: PathChange, oid: str | None) -> bool:
    """Return whether a file of the work tree is the version with this object id, None for no file."""
    return (None if disk is None else blob_id(disk, change.new or change.old or "")) == oid


def _batches(store: Store, changes: Sequence[PathChange]) -> Iterator[list[tuple[str, bytes | None, bool]]]:
    """Yield files as the tip has them, path, content and whether it is executable, as many as fit into memory."""
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
    """Write or remove files; return the paths that a person has edited since they were read."""
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
    """Return the commit that the work tree held when gitmem moved the branch from `marked` and was killed.

    Return None if another program moved it: that updated the work tree, and all differences are edits. The commit is
    `marked`, or the next one if that is a commit of edits by hand, since those came from the work tree.
    """
    from gitmem.git.log import log

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


def _follow(store: Store, change: PathChange, disk: bytes | None, indexed: str | None) -> tuple[str, bool]:
    """Bring a file that is not as before up to the tip; return a notice or "", and False if it was edited meanwhile."""
    from gitmem.text.difference import merge_lines  # late: rarely needed

    if not is_file(change) or is_version(disk, change, change.new):
        return "", True
    path = change.path
    old, new = (None if oid is None else store.repository.blob(oid) for oid in (change.old, change.new))
    if disk is None or indexed == change.new or _is_built_on(disk, old or b"", new or b""):
        return "", True  # removed or edited by hand after gitmem had written it
    executable = change.mode == "100755"
    # Where both only add lines, the person's come first: they may continue the line above.
    merged = disk if new is None else merge_lines(disk, old or b"", new)
    if merged is not None:
        notice = f"{path} was edited by hand during a save; both versions were merged."
        return notice, not _write(store, [(path, merged, executable)], [])
    beside = _name_beside(store, path)
    done = not _write(store, [(beside, disk, False)], []) and not _write(store, [(path, new, executable)], [])
    return f"{path} was edited by hand during a save; your version is kept as {beside}.", done


def _is_built_on(disk: bytes, old: bytes, new: bytes) -> bool:
    """Return whether an edited file has all lines that `new` adds to `old`, and none that it removes."""
    from collections import Counter

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

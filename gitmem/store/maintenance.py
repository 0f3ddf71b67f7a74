"""Keep the repository small: pack it when that is due, and remove what killed processes left.

Refs under `refs/gitmem/pending/` protect commits without a branch from `git gc`; their names hold their times.
Maintenance changes no object and may be killed at any point: git puts a new pack in place before it removes those it
replaces. Tested through `tests/store/test_recovery.py`, too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable

from gitmem.errors import GitFailedError, GitmemError, disk_errors
from gitmem.git.locking import LockKind, beating, open_lock
from gitmem.git.log import commits
from gitmem.git.packing import (
    Sizes,
    fresh_packs,
    is_partial,
    join_fresh,
    join_packs,
    loose_estimate,
    objects_of,
    pack_loose,
    pack_names,
    pack_together,
    sizes,
    unfinished_files,
    write_commit_graph,
)
from gitmem.git.repository import move_refs, read_refs
from gitmem.platform.safe_open import drop_file, read_text, replace_file
from gitmem.store.store import Store
from gitmem.values import Value

_PENDING = "refs/gitmem/pending"
ABANDONED_SECONDS = 24 * 3600.0  # refs and unfinished files of killed processes are removed after this time


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
    """Return whether gitmem made all commits of a pack, given without `.pack`; False for more than a drain writes."""
    git = store.repository.git
    try:
        members = commits(git, objects_of(git, os.path.join(_folder(store), f"{name}.idx"))).values()
    except GitFailedError:  # it is damaged
        return False
    return bool(members) and all(commit.value("Gitmem-Op") for commit in members)


def join_listed(store: Store) -> None:
    """Join the listed packs, under the store's lock, until each is larger than twice all smaller ones together.

    Leave the packs alone if the user had git write a multi-pack-index. Raises BusyError if another process kept the
    lock, GitFailedError if git failed; no pack was removed.
    """
    remove_abandoned(store)
    folder = _folder(store)
    with store.lock("maintain").acquire(store.config.lock.wait_seconds):
        listed = listed_packs(store)
        joined = _to_join(folder, [name for name in listed if not os.path.exists(os.path.join(folder, f"{name}.keep"))])
        if len(joined) < 2 or os.path.exists(os.path.join(folder, "multi-pack-index")):  # noqa: PLR2004
            _list(store, listed)
            return
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


MAX_LOOSE = 2000
MAX_FILES = 200_000  # in a commit from another machine; larger commits are refused
MANY_FILES = 150_000
MAKE_ROOM = (
    "'gitmem clear old --days 365 --dry-run' lists logs and sessions that could go, 'gitmem cleanup --dry-run' "
    "episodes and patterns. History keeps them, and 'gitmem undo' brings them back."
)


def is_due(store: Store) -> bool:
    """Return whether maintenance is due, by listing five folders; never in a project's repository."""
    common = store.repository.layout.common_dir
    return store.has_separate_repository and (store.spare_packs() > 0 or loose_estimate(common) > MAX_LOOSE)


def crowded(store: Store) -> str:
    """Return the warning that other machines will soon refuse the memory, or ""; reads only the head of the index."""
    try:
        with open(os.path.join(store.repository.layout.git_dir, "index"), "rb") as file:
            files = int.from_bytes(file.read(12)[8:])
    except OSError:
        return ""
    if files < MANY_FILES:
        return ""
    refused = "refuse it now" if files > MAX_FILES else f"refuse it above {MAX_FILES:,}"
    return f"The memory has {files:,} files; other machines {refused}."


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
    git, folder = store.repository.git, os.path.join(store.private, "maintenance")
    notices = []
    with disk_errors("The store could not be packed", GitmemError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # Where file locks do not work this is the ref that writers lock, too, so they have to wait.
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
    """Join the packs, and list the new ones in the file `record`, so that git need not search their deltas again."""
    git, common = store.repository.git, store.repository.layout.common_dir
    joins = store.has_separate_repository and not is_partial(common)
    fresh = fresh_packs(common, read_text(record).split()) if joins else []
    if len(fresh) > 1:
        join_fresh(git, common, fresh)
    join_packs(git, common)
    with open(record, "w", encoding="ascii") as file:
        file.writelines(f"{name}\n" for name in pack_names(common) if name not in fresh)


def _remove_unfinished(store: Store) -> tuple[str, ...]:
    """Remove the unfinished files of processes that were killed long ago, and return them."""
    removed = []
    for path in unfinished_files(store.repository.layout, store.context.clock().timestamp() - ABANDONED_SECONDS):
        with contextlib.suppress(OSError):
            os.unlink(path)
            removed.append(path)
    return tuple(removed)

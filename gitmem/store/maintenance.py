"""Join packs, remove files of killed processes, write the commit graph; and the refs that gitmem may move.

Maintenance changes no object and may be killed at any point: git puts a new pack in place before it removes the packs
that it replaces. It has a lock of its own, for which writers need not wait.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from gitmem.errors import BusyError, GitFailedError, GitmemError, disk_errors
from gitmem.git.lock import LockKind, beating, open_lock
from gitmem.git.objects import read_tree
from gitmem.git.packing import (
    Sizes,
    fresh_packs,
    is_partial,
    join_fresh,
    join_packs,
    pack_loose,
    pack_names,
    sizes,
    unfinished_files,
    write_commit_graph,
)
from gitmem.platform.safe_open import read_text
from gitmem.store.recovery import remove_abandoned
from gitmem.store.store import Store
from gitmem.values import Value

FOLDER = "sessions"  # of transcripts
SUFFIX = ".l1.jsonl"
REF = "refs/gitmem/l1"  # a person's transcripts are on a ref below it
_OWN_REFS = "refs/gitmem/"
_REGULAR = "100644"


def own_refs(store: Store) -> dict[str, tuple[str, str]]:
    """Return the refs that gitmem may move: for each the object id and the peeled commit, or "".

    In a repository of the store's own these are all refs.
    """
    patterns = [] if store.own_repository else [store.repository.branch(), _OWN_REFS]
    form = "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(symref)%00%(refname)"
    output = store.repository.git.run("for-each-ref", form, *patterns).decode("utf-8", "surrogateescape")
    refs = {}
    for line in output.splitlines():
        fields, _, name = line.partition("\0")
        oid, kind, peeled, peeled_kind, symbolic = (fields.split(" ") + [""] * 5)[:5]
        commit = oid if kind == "commit" else peeled if peeled_kind == "commit" else ""
        if not symbolic:
            refs[name] = (oid, commit)
    return refs


def other_files(store: Store, commit: str) -> list[str]:
    """Return the paths of a commit that are not transcripts."""
    return [
        path
        for path, (mode, _) in read_tree(store.repository.git, commit).items()
        if mode != _REGULAR or not path.startswith(f"{FOLDER}/") or not path.endswith(SUFFIX)
    ]


ABANDONED_SECONDS = 24 * 3600.0  # after which an unfinished file counts as abandoned
_FOLDER = "maintenance"


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
    git, folder = store.repository.git, os.path.join(store.private, _FOLDER)
    notices = []
    with disk_errors("The store could not be packed", GitmemError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with _alone(store, folder):
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
    git, common = store.repository.git, store.repository.layout.common_dir
    fresh = fresh_packs(common, read_text(record).split()) if store.own_repository and not is_partial(common) else []
    if len(fresh) > 1:
        join_fresh(git, common, fresh)
    join_packs(git, common)
    with open(record, "w", encoding="ascii") as file:
        file.writelines(f"{name}\n" for name in pack_names(common) if name not in fresh)


@contextlib.contextmanager
def _alone(store: Store, folder: str) -> Iterator[None]:
    """Hold the lock of maintenance.

    Where file locks do not work, the lock is the ref that writers use too, so that writers have to wait.
    """
    context, kind = store.context, LockKind(store.config.lock.kind)
    lock = open_lock(store.repository.git, folder, kind=kind, purpose="maintain", machine=context.machine)
    try:
        lock.acquire(0)
    except BusyError as error:
        raise BusyError(f"Maintenance has to wait. {error.message}", error.remedy) from None
    try:
        with beating(lock):
            yield
    finally:
        lock.release()


def _remove_unfinished(store: Store) -> tuple[str, ...]:
    before = store.context.clock().timestamp() - ABANDONED_SECONDS
    removed = []
    for path in unfinished_files(store.repository.layout, before):
        with contextlib.suppress(OSError):
            os.unlink(path)
            removed.append(path)
    return tuple(removed)

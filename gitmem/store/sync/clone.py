"""Make a store as a clone of a remote's memory (docs/format.md, "Synchronising").

Tested through `tests/cli/commands/test_sync.py` and `tests/store/setup/test_incoming.py`.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError, NotFoundError
from gitmem.git.refs import move_ref
from gitmem.git.remote.address import Remote, check_url
from gitmem.git.remote.connection import Connection
from gitmem.git.setup import check_out, make_root
from gitmem.store.rewrite.apply import clean_incoming, sweep
from gitmem.store.setup.init import Place, complete_store, make_store
from gitmem.store.setup.remotes import DEFAULT, ONCE, add_remote, forget
from gitmem.store.sync.guard import check_extent, check_incoming, check_signed
from gitmem.store.sync.memory import fetch_memory, note_synced
from gitmem.store.transaction.merge import merge_bases
from gitmem.text.urls import mask_urls

if TYPE_CHECKING:
    from gitmem.machine.context import Context
    from gitmem.store.store import Store
    from gitmem.store.sync.retry import Options


def clone_store(
    start: str, context: Context, place: Place, url: str, *, asks: bool, options: Options, once: bool = False
) -> Store:
    """Clone a remote's memory as the store of the project around the folder `start`, and return it.

    With `once` the address is read now and not kept as a remote, as of a backup.

    Raises:
        NotFoundError: the remote holds no memory.
        GitmemError: the project has a store already; or as `sync`.

    """
    check_url(url)
    made = make_store(start, context, place)
    store = made.store
    root = make_root(store.repository.git)
    if not made.new and store.tip not in {None, root}:
        raise GitmemError(
            f"This project has a store already, at {store.root}.",
            f"'gitmem remote add {mask_urls(url)}' and 'gitmem sync' merge the two.",
        )
    try:
        remote = Remote(ONCE, url, url, backup=True) if once else add_remote(store, DEFAULT, url)
        connection = Connection(store.repository.layout, context.environ, own=store.own_repository, asks=asks)
        held = _fetched(remote, connection, options)
        check_extent(store, remote, held, {root})
        check_signed(store, remote, held, {root})
        os.makedirs(store.private, mode=0o700, exist_ok=True)  # holds the state of purges
        theirs = clean_incoming(store, held, held)
        check_incoming(
            store, remote, root, theirs, options.accept, shared=bool(merge_bases(store.repository.git, root, theirs))
        )
    except BaseException:
        if made.new and store.own_repository and _holds_nothing(store.root):
            shutil.rmtree(store.root, ignore_errors=True)
        raise
    _check_out(store, theirs)
    if once:
        forget(store, remote.name)
    else:
        note_synced(store, remote, theirs)
    complete_store(store)
    if held != theirs:
        sweep(store)
    return store


def _fetched(remote: Remote, connection: Connection, options: Options) -> str:
    theirs = fetch_memory(remote, connection, options)
    if theirs is None:
        remedy = "'gitmem init', 'gitmem remote add URL' and 'gitmem sync' make one."
        remedy = "'gitmem backup FILE' makes one that does." if remote.backup else remedy
        raise NotFoundError(f"{remote.shown} holds no memory.", remedy)
    return theirs


def _holds_nothing(root: str) -> bool:
    return os.listdir(root) == [".git"]


def _check_out(store: Store, commit: str) -> None:
    """Move the branch to a commit, and check it out into the empty work tree."""
    branch = store.repository.branch()
    if not move_ref(store.repository.git, branch, commit, store.tip, "gitmem clone"):
        raise GitmemError("Another process moved the memory branch.", "Try again.")
    check_out(store.repository.git, commit)
    store.mark(commit)

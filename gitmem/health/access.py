"""Check whether sessions can be recorded in a store: its folders, the disk, the environment, a pause."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator

from gitmem.git.lock import file_locks_serve
from gitmem.store.findings import Finding, Level, judged
from gitmem.store.layers import mode_words
from gitmem.store.store import Store

ACCESS = "access"  # the check that finds why nothing is recorded
_LEAST_FREE = 1 << 18  # bytes; with less, a save fails


def check_access(store: Store) -> Iterator[Finding]:
    """Report what prevents recording: a folder without write permission, a full disk, the environment."""
    closed = [path for path in (store.root, store.private) if os.path.exists(path) and not os.access(path, os.W_OK)]
    message = f"{' and '.join(closed)} not writable."
    remedy = "Give yourself write permission, or nothing can be saved."
    if not closed and shutil.disk_usage(store.root).free < _LEAST_FREE:
        message, remedy = f"The disk of {store.root} is full.", "Make room, or nothing can be saved."
        closed = [store.root]
    yield judged(Finding(ACCESS, Level.PROBLEM, message, remedy), "The store can be written.", is_broken=closed)
    if store.context.environ.get("GITMEM_HOOKS") == "off":
        message = "GITMEM_HOOKS=off is set here: the hooks of an agent that is started so record nothing."
        yield Finding(ACCESS, Level.WARNING, message, "Unset it, then start your agent anew.")


def check_layer(store: Store) -> Iterator[Finding]:
    """Report that sessions are paused or private."""
    if words := mode_words(store, ""):
        yield Finding("layer", Level.NOTE, f"Sessions are {words}.")


def check_private_folder(store: Store) -> Iterator[Finding]:
    """Check that the private folder is private, and whether several machines may share it."""
    spool = store.spool.folder
    if sys.platform != "win32" and os.path.isdir(spool) and stat.S_IMODE(os.stat(spool).st_mode) & 0o077:
        message = "Other users can read the spool, which is not redacted yet."
        yield Finding("access", Level.WARNING, message, f"chmod 700 '{spool}'")
    else:
        yield Finding("spool", Level.OK, "The spool is private.")
    if os.path.isdir(store.private) and not file_locks_serve(store.private):
        message = (
            "The file system may be shared by several machines: the store is locked by a git ref, which is slower."
        )
        remedy = "Set lock.kind to something else than 'file'." if store.config.lock.kind == "file" else ""
        yield Finding("filesystem", Level.WARNING if remedy else Level.NOTE, message, remedy)

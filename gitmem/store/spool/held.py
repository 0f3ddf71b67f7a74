"""Events for a store that may not be used (another user's, a copy): kept in the person's own folder until it may.

Such a store is no place to write them to: another user would read what a session said.
"""

from __future__ import annotations

import contextlib
import os

from gitmem.store.locate import HOME_HOSTS, user_store
from gitmem.store.spool.hooks import HookSpool

_FOLDER = "held"
_MOST = 1_000  # events of one store: nobody may ever say that it is to be used


def hold(home: str, root: str, event: str, owner: int, data: bytes) -> None:
    """Keep an event for the store at `root`, unless a great many are kept for it already."""
    spool = _spool(home, root)
    if len(spool.names()) < _MOST:
        spool.accept(event, owner, data)


def release(home: str, root: str, into: HookSpool) -> None:
    """Move what is kept for the store at `root`, which may be used now, into its spool, with the times it came at."""
    if not os.path.isdir(os.path.join(user_store(home), HOME_HOSTS, _FOLDER)):
        return
    import shutil  # as below: hardly ever, and a session's start waits for it

    held = _spool(home, root)
    names = held.names()
    if names:
        into.make()
    for name in names:
        target = os.path.join(into.folder, name)
        if not os.path.lexists(target):
            shutil.move(os.path.join(held.folder, name), target)
    with contextlib.suppress(OSError):
        os.removedirs(held.folder)


def _spool(home: str, root: str) -> HookSpool:
    import hashlib

    name = hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return HookSpool(os.path.join(user_store(home), HOME_HOSTS, _FOLDER, name))

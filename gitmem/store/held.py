"""Events held while git refuses a store, until it is accepted."""

from __future__ import annotations

import contextlib
import os

from gitmem.store.locate import HOME_HOSTS, user_store
from gitmem.store.spool import HookSpool

_FOLDER = "held"
_MAX_EVENTS = 1_000  # of one store, which may stay refused for ever


def hold(home: str, root: str, event: str, owner: int, data: bytes) -> None:
    """Hold an event for the store at `root`, unless `_MAX_EVENTS` are held for it already."""
    spool = _spool(home, root)
    if len(spool.names()) < _MAX_EVENTS:
        try:
            spool.accept(event, owner, data)
        except FileNotFoundError:  # `release` has just removed the empty folder
            spool.accept(event, owner, data)


def release(home: str, root: str, into: HookSpool) -> None:
    """Move the events held for the store at `root` into its spool, with their modification times."""
    if not os.path.isdir(os.path.join(user_store(home), HOME_HOSTS, _FOLDER)):
        return
    spool = _spool(home, root)
    for name in spool.names():
        spool.move(name, into)
    with contextlib.suppress(OSError):
        os.removedirs(spool.folder)


def _spool(home: str, root: str) -> HookSpool:
    import hashlib

    name = hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return HookSpool(os.path.join(user_store(home), HOME_HOSTS, _FOLDER, name))

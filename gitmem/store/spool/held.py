"""Hook events for a store that gitmem refuses (another user's, a copy), held in the person's own folder.

They are not written to the store itself, where another user could read them.

Tested through `tests/cli/commands/test_hook.py`.
"""

from __future__ import annotations

import contextlib
import os

from gitmem.store.config.locate import HOME_HOSTS, user_store
from gitmem.store.spool.hooks import HookSpool

_FOLDER = "held"
_MAX_EVENTS = 1_000  # of one store, which may stay refused for ever


def hold(home: str, root: str, event: str, owner: int, data: bytes) -> None:
    """Hold an event for the store at `root`, unless `_MAX_EVENTS` are held for it already."""
    spool = _spool(home, root)
    if len(spool.names()) < _MAX_EVENTS:
        spool.accept(event, owner, data)


def release(home: str, root: str, into: HookSpool) -> None:
    """Move the events held for the store at `root` into its spool, with their modification times."""
    if not os.path.isdir(os.path.join(user_store(home), HOME_HOSTS, _FOLDER)):
        return
    import shutil  # late, as below: rarely needed, and a session's start waits for it

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

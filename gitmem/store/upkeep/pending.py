"""Refs that keep what was written, and nothing else points to yet, from git's clean-up: `refs/gitmem/pending/`.

A merge is pushed before the branch moves to it, which may take minutes. Its ref goes when the branch moves; one whose
gitmem was killed goes when it is a day old, which its name tells.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.git.refs import move_refs, read_refs

if TYPE_CHECKING:
    from gitmem.store.store import Store

_FOLDER = "refs/gitmem/pending"
_ABANDONED_SECONDS = 24 * 3600


def new_hold(store: Store) -> str:
    """Return the name of a ref that nobody else uses, of now."""
    return f"{_FOLDER}/{int(store.context.clock().timestamp())}-{os.urandom(6).hex()}"


def remove_abandoned(store: Store) -> None:
    """Remove the refs that killed processes left."""
    before = store.context.clock().timestamp() - _ABANDONED_SECONDS
    held = read_refs(store.repository.git, f"{_FOLDER}/")
    old = {ref: (oid, None) for ref, oid in held.items() if _made(ref) < before}
    move_refs(store.repository.git, old, "gitmem maintain")


def _made(ref: str) -> float:
    seconds = ref.rpartition("/")[2].partition("-")[0]
    return float(seconds) if seconds.isdecimal() and seconds.isascii() else 0.0

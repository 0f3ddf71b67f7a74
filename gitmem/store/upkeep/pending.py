"""Refs under `refs/gitmem/pending/`, which protect commits that no branch has yet from `git gc`.

A merge is pushed before the branch moves to it, which may take minutes. Its ref is removed as the branch moves. The ref
of a killed process is removed after a day; its name holds the time it was created.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.git.refs import move_refs, read_refs

if TYPE_CHECKING:
    from gitmem.store.store import Store

_FOLDER = "refs/gitmem/pending"
_ABANDONED_SECONDS = 24 * 3600


def new_pending_ref(store: Store) -> str:
    """Return a unique name for a ref, with the present time."""
    return f"{_FOLDER}/{int(store.context.clock().timestamp())}-{os.urandom(6).hex()}"


def remove_abandoned(store: Store) -> None:
    """Remove the refs of killed processes: those older than a day."""
    oldest = store.context.clock().timestamp() - _ABANDONED_SECONDS
    pending = read_refs(store.repository.git, f"{_FOLDER}/")
    abandoned = {ref: (oid, None) for ref, oid in pending.items() if _created(ref) < oldest}
    move_refs(store.repository.git, abandoned, "gitmem maintain")


def _created(ref: str) -> float:
    seconds = ref.rpartition("/")[2].partition("-")[0]
    return float(seconds) if seconds.isdecimal() and seconds.isascii() else 0.0

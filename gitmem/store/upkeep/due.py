"""Decide whether a repository is due for packing, or a memory nears its limit. Light: it imports nothing that packs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.git.upkeep.packing import loose_estimate

if TYPE_CHECKING:
    from gitmem.store.store import Store

MAX_LOOSE = 2000
MAX_FILES = 200_000  # of a commit that comes from another machine; more are refused
MANY_FILES = 150_000
MAKE_ROOM = (
    "'gitmem clear old --days 365 --dry-run' lists logs and sessions that could go, 'gitmem cleanup --dry-run' "
    "episodes and patterns. History keeps them, and 'gitmem undo' brings them back."
)


def is_due(store: Store) -> bool:
    """Return whether maintenance is due, by listing five folders; never in a project's repository."""
    common = store.repository.layout.common_dir
    return store.own_repository and (store.spare_packs() > 0 or loose_estimate(common) > MAX_LOOSE)


def crowded(store: Store) -> str:
    """Return the warning that other machines will soon refuse the memory, "" for none; reads the head of the index."""
    try:
        with open(os.path.join(store.repository.layout.git_dir, "index"), "rb") as file:
            files = int.from_bytes(file.read(12)[8:])
    except OSError:
        return ""
    if files < MANY_FILES:
        return ""
    refused = "refuse it now" if files > MAX_FILES else f"refuse it above {MAX_FILES:,}"
    return f"The memory has {files:,} files; other machines {refused}."

"""Decide whether a repository is due for packing. Light: it imports nothing that packs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.git.upkeep.packing import loose_estimate

if TYPE_CHECKING:
    from gitmem.store.store import Store

MAX_LOOSE = 2000


def is_due(store: Store) -> bool:
    """Return whether maintenance is due, by listing five folders; never in a project's repository."""
    common = store.repository.layout.common_dir
    return store.own_repository and (store.spare_packs() > 0 or loose_estimate(common) > MAX_LOOSE)

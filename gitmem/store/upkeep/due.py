"""Say whether a repository is to be packed, without what packs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.git.upkeep.packing import loose_estimate

if TYPE_CHECKING:
    from gitmem.store.store import Store

MAX_LOOSE = 2000


def is_due(store: Store) -> bool:
    """Say whether maintenance is due, by listing five folders. In a project's repository it never is."""
    common = store.repository.layout.common_dir
    return store.own_repository and (store.spare_packs() > 0 or loose_estimate(common) > MAX_LOOSE)

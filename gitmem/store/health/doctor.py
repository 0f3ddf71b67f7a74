"""The checks of `gitmem doctor` (spec R12, P9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.store.health import files, quick, repository
from gitmem.store.health.attributes import check_attributes

if TYPE_CHECKING:
    from gitmem.store.health.examine import Check

FULL: tuple[Check, ...] = (
    repository.check_tools,
    repository.check_format,
    quick.check_branch,
    repository.check_objects,
    repository.check_work_tree,
    repository.check_locks,
    repository.check_private_folder,
    repository.check_identity,
    quick.check_maintenance,
    quick.check_config,
    files.check_headers,
    files.check_conflicts,
    files.check_secrets,
    files.check_names,
    check_attributes,
    quick.check_spool,
    quick.check_log,
    quick.check_purges,
)
DEEP: tuple[Check, ...] = tuple(
    repository.check_objects_deeply if check is repository.check_objects else check for check in FULL
)

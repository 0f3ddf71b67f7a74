"""The checks of `gitmem doctor` (spec R12, P9)."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from gitmem.store.health import files, quick, repository
from gitmem.store.health.attributes import check_attributes
from gitmem.store.health.changed import look
from gitmem.store.upkeep.findings import Finding, Level
from gitmem.text.quantities import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gitmem.store.health.examine import Check
    from gitmem.store.store import Store

_AT_ONCE = 2_000  # documents that doctor never checked: a person waits
_RECORD = "diagnosed.json"


def check_documents(store: Store) -> Iterator[Finding]:
    """Report what is wrong with documents: those that changed since the last time, and some that were never checked."""
    yield from look_at(store, _AT_ONCE)


def check_all_documents(store: Store) -> Iterator[Finding]:
    """Report what is wrong with documents."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(store.private, _RECORD))
    yield from look_at(store, None)


def look_at(store: Store, most: int | None) -> Iterator[Finding]:
    """Report what is wrong with documents that changed, and with at most `most` that were never checked."""
    edited = store.files.edited()
    looked = look(store, edited, most=most, record=_RECORD, more=(files.check_secrets, files.check_names))
    yield from looked.findings
    if looked.left:
        message = f"{count(looked.left, 'file')} of this large store not looked at yet; the next times look at more."
        yield Finding("files", Level.NOTE, message, "'gitmem doctor --deep' looks at all.")


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
    quick.check_size,
    check_documents,
    check_attributes,
    quick.check_spool,
    quick.check_log,
    quick.check_purges,
    quick.check_changes,
)
_DEEP: Mapping[Check, Check] = {
    repository.check_objects: repository.check_objects_deeply,
    check_documents: check_all_documents,
}
DEEP: tuple[Check, ...] = tuple(_DEEP.get(check, check) for check in FULL)

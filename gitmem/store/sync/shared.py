"""Run long jobs on one of the machines that share a memory; the others fetch the result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.store.sync.all import sync_in_background
from gitmem.store.sync.lease import alone
from gitmem.store.sync.retry import Options

if TYPE_CHECKING:
    from gitmem.store.store import Store


@contextlib.contextmanager
def on_one_machine(store: Store, job: str) -> Iterator[bool]:
    """Yield whether to do a job here; if so, sync before and after the block.

    Without automatic sync, or offline, yield True: two machines may do the job, and their results are merged.
    """
    if store.config.sync.auto == "off" or not store.has_remotes():
        yield True
        return
    with alone(store, job) as mine:
        if mine:
            _sync(store)
        yield mine
        if mine:
            _sync(store)


def _sync(store: Store) -> None:
    for _ in sync_in_background(store, Options()):  # failures are recorded; being offline is normal
        pass

"""Long jobs of a memory that several machines share: one does them, and the others get what it did."""

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
    """Say whether a job is to be done here: what others did is fetched first, and what is done here is pushed at once.

    Where syncing is left to the person nothing is asked of the network, and both machines may do it: what both did is
    merged. So it is where the remote cannot be reached.
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
    for _ in sync_in_background(store, Options()):  # how it went is remembered; being offline is no failure
        pass

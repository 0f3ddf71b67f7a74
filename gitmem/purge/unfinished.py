"""Finish a purge that was interrupted: each door does so where it opens a store (docs/architecture.md, "Recovery").

A transaction in a store with an unfinished purge is refused (`gitmem.store.transact`). Tested through
`tests/purge/test_rewrite.py` and `tests/faults`.
"""

from __future__ import annotations

import os

from gitmem.errors import BusyError, GitmemError, UnfinishedError
from gitmem.store.store import PURGING, Store


def finish_purge(store: Store) -> Store:
    """Finish an interrupted purge, unless another process is doing so, and return the store with its notices."""
    if not os.path.exists(os.path.join(store.private, PURGING)) or not store.may_write():
        return store
    from gitmem.purge.rewrite import resume  # noqa: PLC0415  # each door opens a store through here, and few resume

    try:
        store.repository.branch()  # raises UnfinishedError before waiting for the lock
        with store.lock("purge").acquire(store.config.lock.wait_seconds) as lock:
            result = resume(store, lock) if os.path.exists(os.path.join(store.private, PURGING)) else None
    except (BusyError, UnfinishedError):  # a transaction will report that
        return store
    except (GitmemError, OSError) as error:
        store.notices.append(f"An interrupted purge could not be finished: {error}")
        return store
    if result is not None:
        store.notices += ("An interrupted purge was finished.", *result.notices)
    return store

"""A transaction: its lock, and attempts until the branch stands still (docs/format.md, "Order of writes").

An attempt (`gitmem.store.transaction.attempt`) is imported when one is made: most commands read.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from gitmem.errors import BusyError

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from typing import TypeVar

    from gitmem.store.store import Store
    from gitmem.store.transaction.outcome import Outcome
    from gitmem.store.transaction.transaction import Transaction

    T = TypeVar("T")

ATTEMPTS = 50  # with the lock held, only a person's git command can move the branch
_LONGEST_PAUSE = 0.2  # seconds between two attempts: all take long enough for a burst of a person's commits to end


def transact(
    store: Store,
    plan: Callable[[Transaction], T],
    *,
    purpose: str,
    scan: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> Outcome[T]:
    """Run `plan` on the present tip, commit what it asks for, and return when that is synced.

    The plan may run again, from a new tip, so it has no effects but on its transaction. With `scan` every edit by hand
    in the store is committed too, not just those in files the plan reads. `meanwhile` is called while git starts, for
    instance to import what the plan needs.

    Raises:
        BusyError: another process kept the lock for longer than `lock.wait_seconds`.
        NotSavedError: nothing was committed: disk full, read-only, not ours to write.
        UnfinishedError: the store is in the middle of a git operation of the user's.

    """
    from gitmem.git.commit.fast_import import TipLockedError, TipMovedError
    from gitmem.git.repository import clear_left_behind
    from gitmem.store.transaction.attempt import attempt

    busy = BusyError(f"The branch was moved by others {ATTEMPTS} times meanwhile.", "Nothing was lost; try again.")
    with store.saving(), contextlib.ExitStack() as stack:
        store.repository.branch()  # refused before anybody waits
        lock = store.lock(purpose)
        lock.acquire(store.config.lock.wait_seconds)
        stack.callback(lock.release)
        identity = store.identity()
        stack.callback(identity.result)  # it is not left behind where nothing is committed
        repaired: list[str] = []
        for number in range(ATTEMPTS):
            try:
                outcome = attempt(store, plan, lock, identity, repaired, scan=scan, meanwhile=meanwhile)
            except TipLockedError as error:
                clear_left_behind(error.lock)
                busy = BusyError(f"Another git command holds {error.lock}.", "If none is running, remove that file.")
            except TipMovedError:
                time.sleep(_pause(number))
            else:
                return outcome._replace(notices=(*repaired, *outcome.notices))
    raise busy


def _pause(number: int) -> float:
    """Return how long to wait after so many lost races: longer each time, and never in step with the other's."""
    return min(0.001 * 2.0**number, _LONGEST_PAUSE) * (0.5 + os.urandom(1)[0] / 255)

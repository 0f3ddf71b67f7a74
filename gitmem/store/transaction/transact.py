"""Run a transaction: take the lock and retry while other programs move the branch (docs/format.md, "Order of writes").

`gitmem.store.transaction.attempt` is imported late: most commands only read.
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

ATTEMPTS = 50  # under the lock, only a user's git command can move the branch
_LONGEST_PAUSE = 0.2  # seconds between attempts; all pauses together outlast a burst of commits


def transact(
    store: Store,
    plan: Callable[[Transaction], T],
    *,
    purpose: str,
    scan: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> Outcome[T]:
    """Run `plan` on the present tip, make its commits, and return once they are synced to disk.

    The plan may run again from a new tip, so it must change nothing but its transaction. With `scan`, commit every edit
    by hand in the store, not only those in files that the plan reads. `meanwhile` is called while git starts, for
    instance to import modules.

    Raises:
        BusyError: another process kept the lock for longer than `lock.wait_seconds`.
        NotSavedError: the store cannot be written; nothing was committed.
        UnfinishedError: the user has a git operation in progress in the store.
        NotAcceptedError: the store came from elsewhere, and the person did not say yes.

    """
    store.acceptance.check()
    from gitmem.git.commit.fast_import import TipLockedError, TipMovedError
    from gitmem.git.repository import clear_left_behind
    from gitmem.store.transaction.attempt import attempt

    busy = BusyError(f"Another git command moved the branch {ATTEMPTS} times.", "Nothing was lost; try again.")
    with store.saving(), contextlib.ExitStack() as stack:
        store.repository.branch()  # raises UnfinishedError before waiting for the lock
        lock = store.lock(purpose)
        lock.acquire(store.config.lock.wait_seconds)
        stack.callback(lock.release)
        identity = store.identity()
        stack.callback(identity.result)  # waits for its git, also if nothing is committed
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
    """Return the pause in seconds after so many lost races: exponential, with jitter."""
    return min(0.001 * 2.0**number, _LONGEST_PAUSE) * (0.5 + os.urandom(1)[0] / 255)

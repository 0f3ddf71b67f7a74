"""Renew a lock during long work.

Tested through `tests/store/upkeep/test_maintenance.py`.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.git.locks.choose import Lock

_BEAT_SECONDS = 15.0  # well under `STALE_SECONDS`


@contextlib.contextmanager
def beating(lock: Lock) -> Iterator[None]:
    """Renew a lock in the background while the block runs."""
    done = threading.Event()
    heart = threading.Thread(target=_beat, args=(lock, done), daemon=True)
    heart.start()
    try:
        yield
    finally:
        done.set()
        heart.join()


def _beat(lock: Lock, done: threading.Event) -> None:
    while not done.wait(_BEAT_SECONDS):
        with contextlib.suppress(OSError, GitmemError):  # the next one may succeed
            lock.heartbeat()

"""Base of the two locks: waiting, the holder's record, and when a holder loses its lock (docs/spec.md, R11).

Tested through `tests/git/test_store_lock.py`.
"""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod

from gitmem.errors import BusyError
from gitmem.platform.programs import is_running, namespace, start_time
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


STALE_SECONDS = 60.0  # without a heartbeat for so long a holder loses the lock (docs/spec.md, R11)
_NEVER = float("inf")
RECORD_LIMIT = 4096  # bytes; a longer one is no record

_QUEUE = "lock.queue"  # since when the longest waiter waits, rewritten by it regularly
_QUEUE_SECONDS = 0.2  # after which that is stale


class Clock(Value):
    """Where a lock gets its time: `monotonic` and `wall` in seconds, `sleep` for seconds.

    `monotonic` is the same for all processes of a machine and does not follow the wall clock's jumps.
    """

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Holder(Value):
    """The record of who holds a lock, kept in the lock itself as JSON.

    `place` is the boot and process namespace in which `pid`, `started` (clock ticks since boot) and `beat` (the last
    sign of life, monotonic seconds) mean something, "" where the system does not tell. `at` is the wall clock's time
    of the acquisition, in seconds since 1970 UTC, for people only.
    """

    host: str
    pid: int
    started: str
    place: str
    token: str
    purpose: str
    at: float
    beat: float

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.at))
        return f"process {self.pid} on {self.host} ({self.purpose}), since {since}"

    def to_bytes(self) -> bytes:
        """Return the record as it is stored."""
        return json.dumps(self._asdict(), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"

    @staticmethod
    def from_bytes(text: bytes) -> Holder | None:
        """Read a record; None if it is not whole."""
        try:
            fields = json.loads(text)
            strings = (str(fields[name]) for name in ("host", "started", "place", "token", "purpose"))
            host, started, place, token, purpose = strings
            at, beat = float(fields["at"]), float(fields["beat"])
            time.gmtime(at)
            return Holder(host, int(fields["pid"]), started, place, token, purpose, at, beat)
        except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
            return None


class Lock(ABC):
    """A lock that one process at a time holds; acquired with `with lock.acquire(timeout):` or released by hand.

    First come, first served as a rule: only the longest waiter tries. One that stops is skipped after a moment;
    correctness does not depend on `lock.queue`.
    """

    _PAUSE = 0.001  # seconds between two attempts, about
    _PAUSE_IN_QUEUE = 0.005  # between two reads of the queue

    def __init__(self, folder: str, *, purpose: str, machine: str, clock: Clock) -> None:
        self._folder = folder
        self._purpose = purpose
        self._machine = machine
        self._clock = clock
        self._place = namespace()
        self._token = ""
        self._seen: bytes | None = None  # the record of the holder being waited for
        self._seen_at = 0.0

    def acquire(self, timeout: float) -> Self:
        """Wait up to `timeout` seconds for the lock.

        Raises:
            BusyError: it is still held; the message names the holder.
            OSError, GitFailedError: the private folder, or the repository, cannot be written.

        """
        end = self._clock.monotonic() + timeout
        self._token = os.urandom(8).hex()
        self._seen = None
        since, shown = round(self._clock.wall(), 6), -_NEVER  # as in `lock.queue`
        while True:
            left = end - self._clock.monotonic()
            turn = left <= 0 or not self._others_wait_longer(since)
            if turn and self._attempt():
                break
            if left <= 0:
                raise self._busy()
            if turn and self._clock.monotonic() - shown > _QUEUE_SECONDS / 4:
                shown = self._clock.monotonic()
                self._show_waiting(since)
            pause = self._PAUSE if turn else self._PAUSE_IN_QUEUE
            self._clock.sleep(min(left, pause * (0.5 + os.urandom(1)[0] / 255)))  # so that waiters do not try in step
        if shown > -_NEVER:
            self._show_waiting(_NEVER)
        return self

    def _others_wait_longer(self, since: float) -> bool:
        try:
            with open(os.path.join(self._folder, _QUEUE), "rb") as file:
                age = self._clock.wall() - os.fstat(file.fileno()).st_mtime
                return 0 <= age < _QUEUE_SECONDS and float(file.read(20)) < since
        except (OSError, ValueError):
            return False

    def _show_waiting(self, since: float) -> None:
        """Write since when this one waits; infinity: no longer."""
        file = os.open(os.path.join(self._folder, _QUEUE), os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(file, b"%20.6f" % since)  # in place: ext4 would sync a truncated file on close
        os.close(file)

    @abstractmethod
    def _attempt(self) -> bool:
        """Take the lock if it is free or stale, else keep the holder's record in `_seen`."""

    @abstractmethod
    def release(self) -> None:
        """Release the lock if this object holds it."""

    @abstractmethod
    def heartbeat(self) -> None:
        """Renew the lock; call it more often than every `STALE_SECONDS`. Never retakes a lost one."""

    @abstractmethod
    def held(self) -> bool:
        """Return whether this object still has the lock."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _busy(self) -> BusyError:
        holder = Holder.from_bytes(self._seen or b"") or "another process"
        return BusyError(f"The store is held by {holder}.", "Try again when it is done.")

    def _record(self, beat: float) -> bytes:
        started = start_time(os.getpid())
        holder = Holder(
            self._machine, os.getpid(), started, self._place, self._token, self._purpose, self._clock.wall(), beat
        )
        return holder.to_bytes()

    def _silent(self, text: bytes, beat: float | None) -> bool:
        """Return whether a holder's lock is stale; `beat` is None if its clock is not comparable."""
        now = self._clock.monotonic()
        if text != self._seen:
            self._seen, self._seen_at = text, now
        return now - (self._seen_at if beat is None else min(beat, self._seen_at)) >= STALE_SECONDS


def alive(holder: Holder) -> bool:
    """Return whether a holder in this namespace still runs; a later process with its number does not count."""
    return is_running(holder.pid) and start_time(holder.pid) in {"", holder.started}

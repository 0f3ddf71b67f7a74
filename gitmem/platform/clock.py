"""The clock, and what a command is given of its machine.

Import `datetime` from its C module: the module in Python costs 2 ms in Python 3.11.

Tested through `tests/test_main.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from datetime import datetime


__all__ = ["UTC", "date", "datetime", "local", "time_limit", "timedelta"]

if TYPE_CHECKING:
    from datetime import UTC, date, datetime, timedelta
else:
    try:
        from _datetime import date, datetime, timedelta, timezone
    except ImportError:  # another Python
        from datetime import date, datetime, timedelta, timezone
    UTC = timezone.utc  # noqa: UP017  # the C module of 3.11 has no other name for it


def local(moment: datetime) -> datetime:
    """Return a moment in this machine's time zone, or in UTC if Python refuses `TZ`."""
    try:
        return moment.astimezone()
    except (OSError, OverflowError, ValueError):
        return moment.astimezone(UTC)


@contextlib.contextmanager
def time_limit(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Call `act`, in a thread, if the block takes longer than this many seconds."""
    import _thread  # `threading` takes a session's start a millisecond to import

    done = _thread.allocate_lock()
    done.acquire()

    def wait() -> None:
        if not done.acquire(timeout=seconds):
            act()

    _thread.start_new_thread(wait, ())
    try:
        yield
    finally:
        done.release()


class Context(Value):
    """The surroundings of a command.

    `environ` are the environment variables, `home` the user's home folder, `machine` its name, `clock` returns
    the time with its zone.
    """

    environ: Mapping[str, str]
    home: str
    machine: str
    clock: Callable[[], datetime]

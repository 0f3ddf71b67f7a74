"""Record the memories given to agents, a file a day in the private folder (docs/format.md, "Guidance that was given").

The record keeps a session from being told a memory twice, and lets gitmem judge later whether it helped (spec M4, M7).
A line is one write, so that hooks of several sessions need no lock.
"""

from __future__ import annotations

import contextlib
import json
import os
from datetime import timedelta

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

FOLDER = "given"
_SUFFIX = ".jsonl"
_KEPT = timedelta(days=90)
_MAX_BYTES = 4_000_000  # read of a day's file


class Given(Value):
    """A text that a session was given: its time, occasion (`prompt`, `error`, `guide`), memories and tokens."""

    at: datetime
    session: str
    how: str
    ids: tuple[str, ...]
    tokens: int


def record(private: str, given: Given) -> None:
    """Record a text given to a session; if the file cannot be written, the session may get it again."""
    line = {"at": given.at.isoformat(timespec="seconds"), **given._asdict(), "ids": list(given.ids)}
    line["at"] = given.at.isoformat(timespec="seconds")
    folder = os.path.join(private, FOLDER)
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{given.at.date().isoformat()}{_SUFFIX}")
        new = not os.path.exists(path)
        with open(path, "ab", buffering=0) as file:
            file.write((json.dumps(line) + "\n").encode())
        if new:
            _forget(folder, given.at)


def known_to(private: str, session: str, now: datetime) -> set[str]:
    """Return the ids of the memories that a session was given today or the day before."""
    days = (now.date() - timedelta(days=1), now.date())
    names = [f"{day.isoformat()}{_SUFFIX}" for day in days]
    return {id_ for line in _read(private, names) if line.get("session") == session for id_ in _ids(line)}


def all_given(private: str) -> Iterator[Given]:
    """Yield all recorded texts, the oldest first."""
    from datetime import datetime

    folder = os.path.join(private, FOLDER)
    for line in _read(private, sorted(_names(folder))):
        with contextlib.suppress(ValueError, TypeError):
            at = datetime.fromisoformat(str(line.get("at")))
            tokens = line.get("tokens")
            yield Given(
                at, str(line.get("session")), str(line.get("how")), _ids(line), tokens if isinstance(tokens, int) else 0
            )


def _ids(line: dict[str, object]) -> tuple[str, ...]:
    given = line.get("ids")
    return tuple(map(str, given)) if isinstance(given, list) else ()


def _read(private: str, names: Iterable[str]) -> Iterator[dict[str, object]]:
    for name in names:
        with contextlib.suppress(OSError):
            with open(os.path.join(private, FOLDER, name), "rb") as file:
                lines = file.read(_MAX_BYTES).splitlines()
            for text in lines:
                with contextlib.suppress(ValueError, RecursionError):
                    line = json.loads(text)
                    if isinstance(line, dict):
                        yield line


def _names(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return [name for name in os.listdir(folder) if name.endswith(_SUFFIX)]
    return []


def _forget(folder: str, now: datetime) -> None:
    oldest = f"{(now - _KEPT).date().isoformat()}{_SUFFIX}"
    for name in _names(folder):
        if name < oldest:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))

"""When each agent's last event arrived in a store on this machine, and whether that was after its installation."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from gitmem.platform.safe_open import read_object, set_mark
from gitmem.store.locate import HOME_HOSTS, user_store

_FOLDER = "heard"  # an empty file per agent; its modification time is that of the last event


def note_event_arrival(private: str, labels: Iterable[str]) -> None:
    """Note that events of these agents arrived just now."""
    for label in labels:
        path = os.path.join(private, _FOLDER, label)
        set_mark(path, on=True)
        os.utime(path)


def last_event_time(private: str, labels: Iterable[str] = ()) -> float:
    """Return when the last event of these agents (default: of any) arrived on this machine; 0 if none did."""
    folder = os.path.join(private, _FOLDER)
    with contextlib.suppress(OSError):
        labels = labels or os.listdir(folder)
    return max((_time_of(os.path.join(folder, label)) for label in labels), default=0.0)


def last_install_time(private: str, home: str, label: str) -> float:
    """Return when an agent's hooks were last installed, by the installation records; 0 without any."""
    return max(map(_time_of, _records(private, home, label)))


def installed_files(private: str, home: str, label: str) -> set[str]:
    """Return the files that gitmem wrote for an agent, by the installation records."""
    files = [read_object(path).get("files") for path in _records(private, home, label)]
    return {str(path) for listed in files if isinstance(listed, dict) for path in listed}


def _records(private: str, home: str, label: str) -> list[str]:
    folders = (private, user_store(home))
    return [os.path.join(folder, HOME_HOSTS, f"{label}.json") for folder in folders]


def last_event_since_install(private: str, home: str, label: str) -> float:
    """Return the time of an agent's last event, 0 if none has arrived since its hooks were last installed."""
    heard = last_event_time(private, (label,))
    return heard if heard >= last_install_time(private, home, label) else 0.0


def _time_of(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0

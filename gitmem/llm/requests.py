"""Requests to judge a session, each a file in the private folder, for a model in the background.

If the configured model is the agent itself (`summary.provider host`), a session's start lists the waiting ones. Every
start loads this module, so it stays light.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitmem.platform.safe_open import drop_file, read_object, write_json

FOLDER = "asking"
SUFFIX = ".json"
_MOST = 200  # waiting requests; the oldest ones beyond are dropped


def waiting(private: str) -> list[str]:
    """Return the paths of the waiting requests, the oldest first."""
    folder = os.path.join(private, FOLDER)
    try:
        with os.scandir(folder) as entries:
            requests = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith(SUFFIX)]
    except OSError:
        return []
    return [path for _, path in sorted(requests)]


def sessions_waiting(private: str, most: int) -> list[str]:
    """Return the ids of the newest `most` waiting sessions, the oldest first."""
    ids = (read_object(path).get("session") for path in waiting(private)[-most:])
    return [name for name in ids if isinstance(name, str) and name]


def write_request(private: str, name: str, value: Mapping[str, object]) -> None:
    """Write the request about a session with this file name, synced."""
    write_json(os.path.join(private, FOLDER, name + SUFFIX), value, sync=True)
    for path in waiting(private)[:-_MOST]:
        drop_file(path)


def drop_request(private: str, name: str) -> None:
    """Remove the request about a session, if there is one."""
    drop_file(os.path.join(private, FOLDER, name + SUFFIX))

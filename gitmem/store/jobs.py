"""Work in the background: one job of a kind at a time on this machine, whatever store it is for.

A job that finds another of its kind running leaves a request file in the kind's folder and exits; the running job
starts it when done. `running` reads these files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from enum import StrEnum

from gitmem.git.lock import alone
from gitmem.platform.machine import is_running, lower_priority, start_detached
from gitmem.platform.safe_open import drop_file, read_object, read_text, replace_file, write_json
from gitmem.store.store import Store
from gitmem.values import Value

_FOLDER = (".local", "share", "gitmem", "jobs")
_LOCK, _RUNNING = "lock", "running"  # files of a kind; the other files are requests


class Kind(StrEnum):
    """A kind of work in the background; the value says what it does."""

    REINDEX = "indexing authors and meanings"
    MAINTAIN = "tidying up its git repository"
    SYNC = "syncing"
    ASK = "asking the model about sessions"


_COMMANDS = {
    Kind.REINDEX: ("reindex", "--background"),
    Kind.MAINTAIN: ("maintain", "--if-needed"),
    Kind.SYNC: ("sync", "--background"),
    Kind.ASK: ("hook", "claude", "--drain"),
}


class Job(Value):
    """A job that runs: its kind, the store it is for, since when, and how many stores wait for it."""

    kind: Kind
    store: str
    since: str
    waiting: int


@contextlib.contextmanager
def exclusive_job(store: Store, kind: Kind) -> Iterator[bool]:
    """Yield whether this job may run now (at low priority, except a sync); if not, the running one starts it later."""
    folder = os.path.join(store.context.home, *_FOLDER, kind.name.lower())
    request = os.path.join(folder, hashlib.sha256(os.fsencode(store.root)).hexdigest()[:16])
    try:
        replace_file(request, os.fsencode(store.root))  # before the lock, so that the running job finds it
    except OSError:  # as in a home that cannot be written
        yield True
        return
    with alone(os.path.join(folder, _LOCK)) as is_free:
        if is_free:
            drop_file(request)
            if kind is not Kind.SYNC:
                lower_priority()
            since = store.context.clock().isoformat(timespec="seconds")
            write_json(os.path.join(folder, _RUNNING), {"store": store.root, "since": since, "pid": os.getpid()})
        try:
            yield is_free
        finally:
            if is_free:
                drop_file(os.path.join(folder, _RUNNING))
    if is_free:
        _start_next(store, kind, folder)


def _start_next(store: Store, kind: Kind, folder: str) -> None:
    """Start the job that has waited longest; drop requests whose store is gone."""
    for request in _requests(folder):
        root = read_text(request)
        drop_file(request)
        if os.path.isdir(root):
            with contextlib.suppress(OSError):
                child = start_detached(store.context.environ, "-C", root, *_COMMANDS[kind])
                child.returncode = 0  # keeps Popen from warning that nobody waited for it
            return


def _requests(folder: str) -> list[str]:
    """Return the request files, the oldest first."""
    with contextlib.suppress(OSError):
        requests = [os.path.join(folder, name) for name in os.listdir(folder) if len(name) == 16]  # noqa: PLR2004
        return sorted(requests, key=os.path.getmtime)
    return []


def running(home: str) -> list[Job]:
    """Return the jobs that run on this machine."""
    jobs = []
    for kind in Kind:
        folder = os.path.join(home, *_FOLDER, kind.name.lower())
        value = read_object(os.path.join(folder, _RUNNING))
        if isinstance(value.get("pid"), int) and is_running(value["pid"]):
            jobs.append(Job(kind, str(value.get("store")), str(value.get("since")), len(_requests(folder))))
    return jobs


def job_files(home: str) -> list[str]:
    """Return the files that jobs keep on this machine, also those of killed jobs."""
    folders = [os.path.join(home, *_FOLDER, kind.name.lower()) for kind in Kind]
    return [os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]

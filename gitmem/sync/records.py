"""Decide when a sync is due, and record the result of the last one with each remote (`sync.json`).

A session's start reads that file, so imports stay light. It is in the private folder and can be deleted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from gitmem.errors import GitmemError
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import read_json, write_json
from gitmem.store.store import Store, open_user_store
from gitmem.text.terminal import fields
from gitmem.values import Value

_FILE = "sync.json"


class SyncRecord(Value):
    """The last attempt to sync with a remote, the last success, and why the attempt failed."""

    tried: datetime
    synced: datetime | None = None
    failure: str = ""


def is_due(store: Store, *, session: bool) -> bool:
    """Return whether an automatic sync is due, cheaply: at a session's begin or end, or after `sync.minutes`."""
    config = store.config.sync
    if config.auto == "off" or not (session or config.auto == "interval") or not store.has_remotes():
        return False
    tried = [record.tried for record in read_records(store.private).values()]
    if session or not tried:
        return True
    return (store.context.clock() - max(tried)).total_seconds() >= config.minutes * 60


def sync_later(store: Store, *, session: bool) -> None:
    """Sync this and the user's own store in the background if due; `session`: one has just begun or ended."""
    for target in (store, open_user_store(store)):
        if target is not None and is_due(target, session=session):
            target.start("sync", "--background")


def failures(private: str) -> list[str]:
    """Return a sentence for each remote whose last sync failed."""
    sentences = []
    for name, record in sorted(read_records(private).items()):
        if record.failure:
            since = f"since {record.synced:%Y-%m-%d %H:%M}" if record.synced else "yet"
            sentences.append(f"Not synced with {name} {since}: {record.failure}")
    return sentences


def read_records(private: str) -> dict[str, SyncRecord]:
    """Return the record of each remote by name; {} if the file cannot be read."""
    try:
        content = read_json(os.path.join(private, _FILE))
        return {str(name): _record(fields) for name, fields in content["remotes"].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def _record(fields: dict[str, object]) -> SyncRecord:
    tried = datetime.fromisoformat(str(fields["tried"]))
    if tried.tzinfo is None:
        raise ValueError
    synced = datetime.fromisoformat(str(fields["synced"])) if fields.get("synced") else None
    return SyncRecord(tried, synced, str(fields.get("failure", "")))


def write_record(private: str, name: str, record: SyncRecord | None) -> None:
    """Write the record of a remote, or delete it with None."""
    records = {**read_records(private), name: record}.items()
    content = {remote: fields(known, "tried synced failure") for remote, known in records if known is not None}
    write_json(os.path.join(private, _FILE), {"v": 1, "remotes": content})


@contextlib.contextmanager
def recorded(store: Store, name: str) -> Iterator[None]:
    """Record when the block tried to sync with a remote, and whether that worked."""
    now, before = store.context.clock(), read_records(store.private).get(name)
    try:
        yield
    except GitmemError as error:
        write_record(store.private, name, SyncRecord(now, before.synced if before else None, error.message))
        raise
    write_record(store.private, name, SyncRecord(now, now))


def left_file(private: str, remote: str) -> str:
    """Return the file with the commit that the last sync left in a remote's inbox."""
    return os.path.join(private, f"left-{remote.replace('/', '%2F')}")

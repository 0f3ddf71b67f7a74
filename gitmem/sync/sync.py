"""Exchange a memory with all remotes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import BusyError, GitmemError, UnreachableError
from gitmem.git.lock import open_lock
from gitmem.git.log import count_commits
from gitmem.git.remote import Connection
from gitmem.git.repository import MEMORY_BRANCH, read_refs
from gitmem.platform.safe_open import read_text
from gitmem.sync.attempts import SyncRecord, left_file, read_records, write_record
from gitmem.sync.remotes import REFS, added_remotes, remotes

if TYPE_CHECKING:
    from gitmem.git.remote import Remote
    from gitmem.store.store import Store
    from gitmem.sync.rounds import Options, Synced


_FOLDER = "sync"


@dataclass(frozen=True, slots=True)
class RemoteState:
    """A remote, the numbers of commits to push to it and to merge from it, and the record of its last sync.

    The numbers are None if it was never synced, `behind` also if it was not asked for. `automatic`: it was added on
    this machine, so background syncs go there.
    """

    name: str
    url: str
    waiting: int | None
    record: SyncRecord | None
    behind: int | None = None
    automatic: bool = True

    def as_value(self) -> dict[str, object]:
        """Return the fields for `--json`."""
        record = self.record
        synced = record.synced.isoformat() if record and record.synced else None
        failure = record.failure if record else ""
        behind = {} if self.behind is None else {"behind": self.behind}
        value = {"name": self.name, "url": self.url, "waiting": self.waiting, "synced": synced, "failure": failure}
        return {**value, **behind, "automatic": self.automatic}


def sync_remote(store: Store, remote: Remote, options: Options, *, asks: bool) -> Synced:
    """Sync with one remote, also transcripts if configured, and record the result. Raises as `sync`."""
    from gitmem.sync.rounds import sync  # `states` needs none of it
    from gitmem.sync.transcripts import clean_transcripts, sync_transcripts

    store.check_writes()
    layout = store.repository.layout
    connection = Connection(layout, store.context.environ, own=store.own_repository, asks=asks)
    now = store.context.clock()
    before = read_records(store.private).get(remote.name)
    try:
        done = sync(store, remote, connection, options)
        if store.config.sync.transcripts:
            sync_transcripts(store, remote, connection, options)
        elif done.purged:
            clean_transcripts(store, remote, connection)
    except GitmemError as error:
        last = before.synced if before else None
        record = SyncRecord(now, last, error.message, isinstance(error, UnreachableError))
        write_record(store.private, remote.name, record)
        raise
    write_record(store.private, remote.name, SyncRecord(now, now))
    return done


def sync_in_background(store: Store, options: Options) -> Iterator[GitmemError]:
    """Sync the remotes that were added here, without prompts, in one process at a time; yield the errors."""
    if not store.may_write():
        return
    folder = os.path.join(store.private, _FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = open_lock(store.repository.git, folder, purpose="sync", machine=store.context.machine)
    try:
        lock.acquire(0)
    except BusyError:
        return
    with lock:
        for remote in added_remotes(store):
            try:
                sync_remote(store, remote, options, asks=False)
            except GitmemError as error:
                yield error


def states(store: Store, *, behind: bool = False) -> list[RemoteState]:
    """Return the state of each remote as of the last fetch, without network access; `behind` counts what to merge."""
    git, records = store.repository.git, read_records(store.private)
    added, result = added_remotes(store), []
    for remote in remotes(store):
        ref = f"{REFS}/{remote.name}/{MEMORY_BRANCH}"
        seen = read_refs(git, ref).get(ref)
        left = read_text(left_file(store.private, remote.name)).partition(" ")[0].strip()
        waiting = None if seen is None else count_commits(git, store.repository.branch(), without=left or seen)
        missing = count_commits(git, seen, without=store.repository.branch()) if behind and seen else None
        record = records.get(remote.name)
        result.append(RemoteState(remote.name, remote.shown, waiting, record, missing, remote in added))
    return result

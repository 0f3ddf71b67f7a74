"""The state of each remote, as of its last fetch and its last sync."""

from __future__ import annotations

from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.log import count_commits
from gitmem.git.repository import read_refs
from gitmem.platform.safe_open import read_text
from gitmem.store.remotes import REFS, added_remotes, remotes
from gitmem.store.store import Store
from gitmem.sync.records import SyncRecord, left_file, read_records
from gitmem.text.terminal import fields
from gitmem.values import Value


class RemoteState(Value):
    """A remote, the numbers of commits to push to it and to merge from it, and the record of its last sync.

    The numbers are None if it was never synced, `behind` also if not requested. `automatic`: it was added on this
    machine, so background syncs go there.
    """

    name: str
    url: str
    waiting: int | None
    record: SyncRecord | None
    behind: int | None = None
    automatic: bool = True

    def as_value(self) -> dict[str, object]:
        """Return the fields for `--json`."""
        last = fields(self.record, "synced failure") if self.record else {"synced": None, "failure": ""}
        behind = {} if self.behind is None else {"behind": self.behind}
        return {**fields(self, "name url waiting"), **last, **behind, "automatic": self.automatic}


def states(store: Store, *, behind: bool = False) -> list[RemoteState]:
    """Return the state of each remote as of the last fetch, without network access; `behind` counts what to merge."""
    git, records = store.repository.git, read_records(store.private)
    added, result = added_remotes(store), []
    for remote in remotes(store):
        ref = f"{REFS}/{remote.name}/{MEMORY_BRANCH}"
        seen = read_refs(git, ref).get(ref)
        left_commit = read_text(left_file(store.private, remote.name)).partition(" ")[0].strip()
        waiting = None if seen is None else count_commits(git, store.repository.branch(), without=left_commit or seen)
        missing = count_commits(git, seen, without=store.repository.branch()) if behind and seen else None
        record = records.get(remote.name)
        result.append(RemoteState(remote.name, remote.shown, waiting, record, missing, remote in added))
    return result

"""Fetch a remote's memory."""

from __future__ import annotations

from gitmem.git.address import Remote
from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.remote import Connection
from gitmem.store.remotes import FETCHED, no_memory
from gitmem.sync.retries import Options, SyncStep
from gitmem.values import Value

MEMORY_REF = f"refs/heads/{MEMORY_BRANCH}"  # of the memory, on every remote


class Synced(Value):
    """The result of a sync: commits received and sent, without merges, documents to review, rounds, notices.

    `purged`: the remote held purged texts, which this sync took out.
    """

    remote: str
    commit: str
    came: int
    went: int
    review: tuple[str, ...]
    rounds: int
    notices: tuple[str, ...]
    purged: bool = False


def fetch_memory(
    remote: Remote, connection: Connection, options: Options, inbox: dict[str, str] | None = None
) -> str | None:
    """Fetch the memory branch of a remote and return its commit, None if there is none. Raises as `sync`.

    It may hold purged texts; see `gitmem.purge.rewrite.clean_incoming`.
    """
    options.progress(SyncStep.FETCH)
    fetched = connection.fetch(remote, MEMORY_REF, f"{FETCHED}/{remote.name}/{MEMORY_BRANCH}", inbox)
    if fetched is None and remote.backup:
        raise no_memory(remote)
    return fetched

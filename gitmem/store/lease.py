"""A lease on a remote, so that one of several machines does a long job (spec G4).

The lease is a ref of the remote, pushed by compare-and-swap, to a commit that names holder, time and duration. A lease
is expired once this machine has seen it unchanged for its duration, or `SKEW_SECONDS` after its end by the holder's
clock. It only saves work: without a lease, or offline, two machines may do the job, and the results are merged.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.git.remote import Connection, PushRacedError
from gitmem.git.repository import MEMORY_BRANCH
from gitmem.git.trust import GITMEM
from gitmem.platform.clock import UTC
from gitmem.store.remotes import FETCHED, REFS, added_remotes

if TYPE_CHECKING:
    from gitmem.git.remote import Remote
    from gitmem.store.store import Store


SECONDS = 600  # duration of a lease
SKEW_SECONDS = 300  # tolerated difference of two clocks
_REF = "refs/gitmem/leases"
_SEEN = "leases.json"
_FREE = "free"


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a lease: the machine, a random token, when it was taken, and its duration."""

    machine: str
    token: str
    taken: datetime
    seconds: int


class Lease:
    """The lease of one job on one remote."""

    def __init__(self, store: Store, remote: Remote, connection: Connection, job: str) -> None:
        self._store, self._remote, self._connection = store, remote, connection
        self._git, self._job = store.repository.git, job
        self._ref = f"{_REF}/{job}"
        self._token = os.urandom(8).hex()
        self._commit: str | None = None

    def take(self, seconds: int = SECONDS) -> bool:
        """Take or renew the lease; return False if another machine has it, or was faster.

        Raises:
            UnreachableError: the remote cannot be reached.
            GitmemError: the remote rejects the ref.

        """
        now = self._now()
        old = self._connection.fetch(self._remote, self._ref, f"{FETCHED}/{self._remote.name}/lease-{self._job}")
        if old is not None and old != self._commit and not self._is_over(old, now):
            return False
        fields = {"machine": self._store.context.machine, "token": self._token, "taken": now.isoformat()}
        return self._push({**fields, "seconds": seconds}, old)

    def release(self) -> None:
        """Release the lease; if the remote cannot be reached, it expires."""
        if self._commit is not None:
            with contextlib.suppress(GitmemError):
                self._push({_FREE: True, "taken": self._now().isoformat()}, self._commit)
            self._commit = None

    def _push(self, fields: dict[str, object], old: str | None) -> bool:
        commit = self._write(fields)
        try:
            self._connection.push(self._remote, commit, self._ref, old)
        except PushRacedError:
            return False
        self._commit = commit
        return True

    def _write(self, fields: dict[str, object]) -> str:
        tree = self._git.run("hash-object", "-t", "tree", "-w", "--stdin", stdin=b"").decode().strip()
        who = {"NAME": GITMEM.name, "EMAIL": GITMEM.email, "DATE": f"@{int(self._now().timestamp())} +0000"}
        env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        text = f"{json.dumps({**fields, 'salt': os.urandom(4).hex()}, ensure_ascii=True)}\n"
        return self._git.run("commit-tree", tree, stdin=text.encode(), env=env).decode().strip()

    def _is_over(self, commit: str, now: datetime) -> bool:
        held = _read(self._git.run("cat-file", "commit", commit))
        if held is None or held.seconds <= 0:
            return True
        if now > held.taken + timedelta(seconds=held.seconds + SKEW_SECONDS):
            return True
        return now >= self._first_seen(commit, now) + timedelta(seconds=held.seconds)

    def _first_seen(self, commit: str, now: datetime) -> datetime:
        """Return when this machine first saw a lease's commit, by its own clock, and record it."""
        path = os.path.join(self._store.private, _SEEN)
        try:
            with open(path, encoding="ascii") as file:
                known = json.loads(file.read(1 << 16))
            seen = datetime.fromisoformat(known[self._ref][commit])
        except (OSError, ValueError, TypeError, KeyError):
            with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
                json.dump({self._ref: {commit: now.isoformat()}}, file)
            return now
        return min(seen, now)

    def _now(self) -> datetime:
        return self._store.context.clock().astimezone(UTC)


def _read(raw: bytes) -> Held | None:
    """Return the content of a lease, None if it is free or unreadable."""
    try:
        fields = json.loads(raw.partition(b"\n\n")[2])
        if fields.get(_FREE):
            return None
        taken = datetime.fromisoformat(fields["taken"]).astimezone(UTC)
        return Held(str(fields["machine"]), str(fields["token"]), taken, min(int(fields["seconds"]), 24 * 3600))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None


@contextlib.contextmanager
def alone(store: Store, job: str, *, seconds: float = 30.0) -> Iterator[bool]:
    """Take the lease of a job for the block; yield False if another machine does the job.

    Yields True, too, without a remote that was synced with, which may be another project's, or if the first one cannot
    be reached or rejects leases. `seconds` limits each connection.
    """
    known = [remote for remote in added_remotes(store) if store.repository.tip(f"{REFS}/{remote.name}/{MEMORY_BRANCH}")]
    if not known:
        yield True
        return
    layout = store.repository.layout
    connection = Connection(layout, store.context.environ, own=store.own_repository, seconds=seconds)
    lease = Lease(store, known[0], connection, job)
    try:
        mine = lease.take()
    except GitmemError:
        mine = True
    try:
        yield mine
    finally:
        lease.release()

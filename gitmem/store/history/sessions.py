"""The sessions of which a store keeps something, from the trailers of its commits.

Tested through `tests/cli/commands/test_sessions.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import NotFoundError
from gitmem.model.message import Op
from gitmem.store.history.records import HEAD, records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gitmem.store.history.records import CommitRecord
    from gitmem.store.store import Store

_SAID = (Op.TURN, Op.SAVE)  # operations whose subjects quote the session
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Session:
    """A session: when its first and last memory was made, its requests, the first of them, its commits and its file.

    `file` is the path of its exchanges, "" if the tree has none.
    """

    id: str
    host: str
    machine: str
    author: str
    email: str
    first: datetime
    last: datetime
    requests: int
    about: str
    commits: int
    file: str


def sessions(store: Store, every: Sequence[CommitRecord] | None = None) -> list[Session]:
    """Return all sessions, the newest first, out of all commits, which a caller may know, the newest first."""
    found: dict[str, list[CommitRecord]] = {}
    for record in records(store) if every is None else every:
        if record.session:
            found.setdefault(record.session, []).append(record)
    files = _session_files(store)
    listed = [_session(identifier, commits[::-1], files) for identifier, commits in found.items()]
    return sorted(listed, key=lambda session: session.last, reverse=True)


def find_session(store: Store, prefix: str) -> Session:
    """Return the session with this id, or the only one whose id begins so.

    Raises:
        NotFoundError: there is none, or more than one.

    """
    bare = prefix.removeprefix("#")
    every = sessions(store)
    matches = [one for one in every if one.id == bare] or [one for one in every if bare and one.id.startswith(bare)]
    if not matches:
        raise NotFoundError(f"There is no session {prefix[:80]!r}.", "'gitmem sessions' lists them.")
    if len(matches) > 1:
        names = ", ".join(one.id for one in matches[:_MAX_NAMED])
        raise NotFoundError(f"More than one session begins with {prefix[:80]!r}: {names}.", "Give more of its id.")
    return matches[0]


def _session(identifier: str, commits: Sequence[CommitRecord], files: Mapping[str, str]) -> Session:
    """Return a session by its commits, the oldest first."""
    quoting = [commit for commit in commits if commit.op in _SAID] or commits
    about = quoting[0].subject
    # A turn that goes on is committed again, with the same first entry.
    turns = {commit.entries[0] for commit in commits if commit.op == Op.TURN and commit.entries}
    return Session(
        id=identifier,
        host=next((commit.host for commit in commits if commit.host), ""),
        machine=next((commit.machine for commit in commits if commit.machine), ""),
        author=quoting[0].author,
        email=quoting[0].email,
        first=min(commit.date for commit in commits),
        last=max(commit.date for commit in commits),
        requests=len(turns),
        about=about.partition(": ")[2] or about,
        commits=len(commits),
        file=files.get(identifier, ""),
    )


def _session_files(store: Store) -> dict[str, str]:
    """Return the files of sessions by the session's id, which stands behind the time in their names."""
    files = store.repository.files(store.repository.resolve(HEAD), "sessions")
    return {file.path.rpartition("/")[2].partition("-")[2].removesuffix(".md"): file.path for file in reversed(files)}

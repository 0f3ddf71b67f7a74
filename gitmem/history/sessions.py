"""Sessions, read from the commits that name them. Tested through `tests/cli/commands/test_history.py`."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise, takewhile

from gitmem.document.ids import find_named
from gitmem.document.message import Op, Trailer
from gitmem.git.log import log
from gitmem.history.origin import undone_commits
from gitmem.history.records import HEAD, CommitRecord, records, removal
from gitmem.model.exchange import file_name
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import read_text, replace_file
from gitmem.store.locate import KNOWN_FOLDER
from gitmem.store.store import Store
from gitmem.values import Value

_SHORTEST = 8  # characters of a session's id
_NEWEST = frozenset({"last", "latest"})  # no agent's session id begins with these
SAID = (Op.TURN, Op.SAVE)  # operations whose subjects quote the session
_COUNTED = "sessions"  # file with the commit up to which sessions were counted, and their ids


class SessionSummary(Value):
    """A session: times of its first and last memory, number of requests, the first request, its commits and its file.

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


def sessions(store: Store, every: Sequence[CommitRecord] | None = None) -> list[SessionSummary]:
    """Return sessions that were not fully undone, newest first; `every` are all commits, if the caller has them."""
    every, by_session = records(store) if every is None else every, dict[str, list[CommitRecord]]()
    for commit in every:
        if commit.session:
            by_session.setdefault(commit.session, []).append(commit)
    undone, files = _undone(store, every), session_files(store)
    listed = []
    for identifier, commits in by_session.items():
        # Where the requests were undone one by one, what was learned of them went with them.
        if quoting := [commit for commit in _quoting(commits) if commit.commit not in undone]:
            listed.append(_session(identifier, commits[::-1], quoting[::-1], files))
    return sorted(listed, key=lambda session: session.last, reverse=True)


def last_save(store: Store, every: Iterable[CommitRecord]) -> CommitRecord | None:
    """Return the newest save or captured turn that was not undone among the newest commits, None without one."""
    every = tuple(every)
    undone = _undone(store, every, f"{every[-1].commit}.." if every else "")  # what undoes one of them is newer
    saves = (commit for commit in every if commit.op in SAID and commit.commit not in undone)
    return max(saves, key=lambda commit: commit.committed, default=None)


def _undone(store: Store, every: Iterable[CommitRecord], since: str = "") -> Collection[str]:
    is_any_undone = any(commit.op == Op.UNDO for commit in every)
    return undone_commits(store.repository.git, since + store.repository.memory) if is_any_undone else ()


def _quoting(commits: Sequence[CommitRecord]) -> Sequence[CommitRecord]:
    """Return the commits of a session whose subjects quote it, all where none does."""
    return [commit for commit in commits if commit.op in SAID] or commits


def count_sessions(store: Store) -> int:
    """Return the number of sessions that `sessions` lists; read only commits since the last count."""
    path, git = os.path.join(store.private, KNOWN_FOLDER, _COUNTED), store.repository.git
    tip = store.tip or ""  # starts no git
    last, *names = read_text(path).split("\n")
    if last == tip:
        return len(names)
    is_before = bool(last) and store.repository.is_ancestor(last, tip)
    new = log(git, f"{last}..{tip}" if is_before else tip)
    known = dict.fromkeys(names if is_before else [])
    came = [(commit.value(Trailer.OP), commit.value(Trailer.SESSION)) for commit in new]
    known |= dict.fromkeys(session for op, session in came if session and op in SAID)
    # What is learned of a session that was undone does not bring it back, and an import says nothing.
    is_unsure = any(op == Op.UNDO or (session and session not in known) for op, session in came)
    names = [session.id for session in sessions(store)] if is_unsure else [*known]
    with contextlib.suppress(OSError):  # else it is counted anew
        replace_file(path, "\n".join((tip, *names)).encode())
    return len(names)


def find_session(store: Store, prefix: str) -> SessionSummary:
    """Return the session with this id or unambiguous prefix, or the `last` one; else raise NotFoundError."""
    every = {session.id: session for session in sessions(store)}
    if every and prefix in _NEWEST:
        return next(iter(every.values()))
    return every[_find_id(prefix.removeprefix("#"), every)]


def _find_id(prefix: str, ids: Iterable[str]) -> str:
    return find_named(prefix, ((name, name) for name in ids), "session", "'gitmem sessions' lists them.")


def named_session(store: Store, prefix: str | None) -> str:
    """Return the id with this unambiguous prefix, else the prefix itself (an undone or unknown session); "" for None.

    Raises NotFoundError if several ids have this prefix.
    """
    if prefix in _NEWEST:
        return find_session(store, prefix).id
    begins = (prefix or "").removeprefix("#")
    every = {record.session for record in records(store) if record.session} if begins else set()
    if not any(name.startswith(begins) for name in every):
        return prefix or ""
    return _find_id(begins, every)


def _session(
    identifier: str, commits: Sequence[CommitRecord], quoting: Sequence[CommitRecord], files: Mapping[str, str]
) -> SessionSummary:
    """Return a session by its commits, and by those that quote it, the oldest first."""
    about = quoting[0].subject
    # A continued turn is committed again, with the same first entry.
    turns = {commit.entries[0] for commit in quoting if commit.op == Op.TURN and commit.entries}
    # A session imported from an older tool has exchanges only.
    turns = turns or {entry for commit in commits if commit.op == Op.EXCHANGES for entry in commit.entries}
    return SessionSummary(
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
        file=file_of(files, identifier),
    )


def short_names(listed: Sequence[str]) -> dict[str, str]:
    """Return the shortest unambiguous prefix of each session id, at least eight characters."""
    ordered = sorted({*listed})
    lengths = dict.fromkeys(ordered, _SHORTEST)
    for current, following in pairwise(ordered):
        same = len([*takewhile(bool, map(operator.eq, current, following))])
        lengths |= {name: max(lengths[name], same + 1) for name in (current, following)}
    return {name: name[:length] for name, length in lengths.items()}


def session_files(store: Store) -> dict[str, str]:
    """Return the files of sessions by the part of the file name after the time (`file_name`)."""
    files = store.repository.files(store.repository.resolve(HEAD), "sessions")
    return {file.path.rpartition("/")[2].partition("-")[2].removesuffix(".md"): file.path for file in reversed(files)}


def file_of(files: Mapping[str, str], session: str) -> str:
    """Return the path of a session among those of `session_files`, "" if it has no file."""
    return files.get(file_name(session), "") if session.strip() else ""


def cleared_file(store: Store, session: SessionSummary) -> str:
    """Return the former path of a session's file that a user cleared, else ""."""
    for record in records(store, session=session.id):
        if record.op == Op.EXCHANGES and record.parents:
            for change in store.repository.changes(record.parents[0], record.commit, "sessions"):
                gone = removal(store, change.path)
                return change.path if gone and gone.op == Op.CLEAR else ""
    return ""

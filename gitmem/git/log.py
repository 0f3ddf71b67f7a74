"""Read history: commits, their trailers, the files they added. One git process for each function.

The caller resolves revisions; dates are the commit's own, with its own offset.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.git.process import Dialogue, Git
from gitmem.platform.machine import UTC, datetime, timedelta, timezone
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from typing import Protocol

    class Runner(Protocol):
        """Our `Git`, or the `StoreRepo` of GitPython that uses it."""

        def run(self, *args: str, timeout: float = ...) -> bytes:
            """Return a command's output."""
            ...


_FIELDS = ("%H", "%P", "%an", "%ae", "%ad", "%cd", "%s", "%(trailers:only,unfold)")
_FORMAT = ("-z", "--date=raw", "--no-color", "--format=" + "%x00".join(_FIELDS))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = 253_370_764_800  # 9999-01-01: Python's years end there, git's do not
_DAY = 24 * 60  # minutes; an offset is less than that
_SECONDS = 300.0  # for all of history, on a busy machine


class Commit(Value):
    """A commit: its author and commit date with their own zones, and its trailers, unfolded and in order."""

    oid: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: datetime
    committed: datetime
    subject: str
    trailers: tuple[tuple[str, str], ...]

    def values(self, key: str) -> tuple[str, ...]:
        """Return the values of all trailers with this key, ignoring case."""
        return tuple(value for name, value in self.trailers if name.casefold() == key.casefold())

    def value(self, key: str) -> str | None:
        """Return the value of the first trailer with this key, or None."""
        return next(iter(self.values(key)), None)


class Addition(Value):
    """A file that a commit added or changed: its path, and the id of its content there."""

    commit: Commit
    path: str
    oid: str


def log(
    git: Runner,
    revision: str,
    *,
    paths: Sequence[str] = (),
    trailers: Mapping[str, str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
    merges: bool = True,
    timeout: float = _SECONDS,
) -> list[Commit]:
    """Return the commits of a revision, newest first, as `git log` orders them.

    `paths` keeps those that changed one of these files or folders, `trailers` those that have a trailer with this
    prefix for every key. `since` and `until`, both inclusive, compare the author date; git's own options of that name
    compare the commit date, and stop at the first one out of order. `limit` is the largest number returned.
    """
    wanted = dict(trailers or {})
    # git's `--grep` also matches a subject that reads like a trailer; that is filtered here.
    greps = [f"--grep={key}: {value}" for key, value in wanted.items()]
    options = ["--fixed-strings", "--all-match", *greps] if greps else []
    options += ["--no-merges"] * (not merges)

    def read(count: int | None) -> list[Commit]:
        bound = [] if count is None else [f"--max-count={count}"]
        command = ("log", *_FORMAT, *options, *bound, "--end-of-options", revision, "--", *paths)
        output = git.run("--literal-pathspecs", *command, timeout=timeout)
        return list(_commits(output))

    def keep(commit: Commit) -> bool:
        return (
            all(any(recorded.startswith(value) for recorded in commit.values(key)) for key, value in wanted.items())
            and (since is None or commit.authored >= since)
            and (until is None or commit.authored <= until)
        )

    count = None if since or until else limit
    commits = read(count)
    if limit is not None and len(commits) == count and not all(map(keep, commits)):
        commits = read(None)
    return list(filter(keep, commits))[:limit]


def newest_with(git: Git, revision: str, key: str, values: Iterable[str]) -> list[Commit]:
    """Return the newest commit whose trailer `key` has one of these values, or [], by one walk through history."""
    greps = [f"--grep={key}: {value}" for value in values]
    output = git.run("log", *_FORMAT, "--fixed-strings", *greps, "--max-count=1", "--end-of-options", revision, "--")
    return list(_commits(output))


def messages(git: Git, revision: str, limit: int) -> list[tuple[str, str]]:
    """Return the ids and the whole messages of the newest commits of a revision."""
    output = git.run("log", "-z", "--format=%H %B", f"--max-count={limit}", "--end-of-options", revision, "--")
    return [
        (part[:at], part[at + 1 :])
        for part in output.decode("utf-8", "replace").split("\0")
        if (at := part.find(" ")) > 0
    ]


def commits(git: Git, oids: Iterable[str]) -> dict[str, Commit]:
    """Return commits by their full ids."""
    names = "".join(f"{oid}\n" for oid in dict.fromkeys(oids))
    if not names:
        return {}
    output = git.run("log", *_FORMAT, "--no-walk=unsorted", "--stdin", stdin=names.encode())
    return {commit.oid: commit for commit in _commits(output)}


def was_at(git: Git) -> set[str]:
    """Return the commits in the reflog of `HEAD`; none in a new clone."""
    return set(git.run("log", "--walk-reflogs", "--format=%H", "HEAD", "--", ok=(0, 128)).decode().split())


def count_commits(git: Git, commit: str, *, without: str | None) -> int:
    """Count the commits of `commit` that `without` does not have; merges do not count."""
    if commit == without:
        return 0
    excluded = [f"^{without}"] if without else []
    return int(git.run("rev-list", "--count", "--no-merges", commit, *excluded, "--"))


class Fork(Value):
    """How two histories fork: the commits of only one of them, and the common ones.

    `alone` has the ids of only the first and of only the second, each with whether it is a merge; `bases` are the
    best common ancestors, sorted; `shared` are these and other common commits, as far as git listed them.
    """

    tips: tuple[str, str]
    alone: tuple[Mapping[str, bool], Mapping[str, bool]]
    bases: tuple[str, ...]
    shared: frozenset[str]
    commits: tuple[Commit, ...]

    def is_in_second(self, commit: str) -> bool:
        """Return whether the second is known to have a commit; False if unknown."""
        return commit == self.tips[1] or commit in self.alone[1] or commit in self.shared

    def count(self, side: int) -> int:
        """Count the commits that only one of the two has, without merges."""
        return sum(not merge for merge in self.alone[side].values())


def fork(git: Git, first: str, second: str) -> Fork:
    """Return where two commits, given by full ids, fork; one process unless their histories cross."""
    if first == second:
        return Fork((first, second), ({}, {}), (first,), frozenset((first,)), ())
    options = ("--left-right", "--boundary", "--date=raw", "--no-color", "-z", "--format=%m%x00" + "%x00".join(_FIELDS))
    output = git.run("log", *options, "--end-of-options", f"{first}...{second}", "--", timeout=_SECONDS)
    fields, width = output.split(b"\0")[:-1], len(_FIELDS) + 1
    sides: dict[bytes, dict[str, bool]] = {b"<": {}, b">": {}, b"-": {}}
    tips = []
    for start in range(0, len(fields), width):
        mark, oid, parents = fields[start], fields[start + 1].decode(), fields[start + 2]
        sides[mark][oid] = b" " in parents
        if oid in {first, second}:
            tips.append(_commit(fields[start + 1 : start + width]))
    ours, theirs, edge = sides[b"<"], sides[b">"], sides[b"-"]
    bases: tuple[str, ...]
    if not (ours and theirs):  # one is an ancestor of the other
        bases = (first,) if not ours else (second,)
    elif len(edge) > 1:  # every best ancestor is at the edge, but not every one at the edge is best
        bases = tuple(sorted(git.run("merge-base", "--all", first, second, ok=(0, 1)).decode().split()))
    else:
        bases = tuple(edge)
    return Fork((first, second), (ours, theirs), bases, frozenset((*edge, *bases)), tuple(tips))


def additions(
    git: Git, revisions: Iterable[str], folder: str, *, changed: bool = False, merges: bool = False
) -> list[Addition]:
    """Return the commits of revisions that added files to a folder, or with `changed` also those that changed them.

    Newest first; a file that was removed and added again occurs twice. All side branches count (`--full-history`), and
    with `merges` also merges whose version of a file differs from all parents'.
    """
    options = ["--raw", "--no-abbrev", "--no-renames", "--full-history", f"--diff-filter={'AMT' if changed else 'A'}"]
    options += ["-c"] if merges else []
    command = ("log", *_FORMAT, *options, "--end-of-options", *revisions, "--", folder)
    output = git.run("--literal-pathspecs", *command, timeout=_SECONDS)
    tokens = iter(output.split(b"\0")[:-1])
    additions: list[Addition] = []
    commit: Commit | None = None
    for token in tokens:
        meta = token.removeprefix(b"\n")
        if commit is not None and meta.startswith(b":"):
            path = os.fsdecode(next(tokens))
            additions.append(Addition(commit, path, meta.split(b" ")[-2].decode()))
        elif meta:  # an object id begins the next commit; an empty field precedes the files of a merge
            commit = _commit([token, *(next(tokens) for _ in _FIELDS[1:])])
    return additions


class EarlyLog(Dialogue):
    """The newest commits of a revision, read by a git process that starts before they are needed."""

    def __init__(self, git: Git, revision: str, limit: int) -> None:
        """Start git."""
        super().__init__(git, "log", *_FORMAT, f"--max-count={limit}", "--end-of-options", revision, "--")

    def commits(self) -> list[Commit]:
        """Return the commits, newest first; raises GitFailedError if there is no such commit."""
        return list(_commits(self.output()))


def _commits(output: bytes) -> Iterator[Commit]:
    fields = output.split(b"\0")[:-1]
    for start in range(0, len(fields), len(_FIELDS)):
        yield _commit(fields[start : start + len(_FIELDS)])


def _commit(fields: Sequence[bytes]) -> Commit:
    oid, parents, author, email, authored, committed, subject, trailers = (f.decode("utf-8", "replace") for f in fields)
    pairs = (line.partition(":") for line in trailers.split("\n") if ":" in line)
    return Commit(
        oid=oid,
        parents=tuple(parents.split()),
        author=author,
        email=email,
        authored=_moment(authored),
        committed=_moment(committed),
        subject=subject,
        trailers=tuple((key.strip(), value.strip()) for key, _, value in pairs),
    )


def _moment(raw: str) -> datetime:
    """Parse git's `SECONDS +HHMM`; clamp it to the range of `datetime`; 1970 if it is no time."""
    seconds, _, zone = raw.partition(" ")
    try:
        moment = _EPOCH + timedelta(seconds=min(max(int(seconds), 0), _LAST_SECOND))
        minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    except ValueError:
        return _EPOCH
    if minutes >= _DAY:
        return moment
    return moment.astimezone(timezone(timedelta(minutes=-minutes if zone[0] == "-" else minutes)))

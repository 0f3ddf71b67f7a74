"""What history says: commits with their trailers, and which of them added a file. One git process a question.

Reads are at explicit revisions that the caller has resolved; a date is the commit's own, with its own offset.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.git.process.run import Git

_FIELDS = ("%H", "%P", "%an", "%ae", "%ad", "%cd", "%s", "%(trailers:only,unfold)")
_FORMAT = ("-z", "--date=raw", "--no-color", "--format=" + "%x00".join(_FIELDS))
_PATCH = ("--patch", "--no-color", "--no-ext-diff", "--no-textconv")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = 253_370_764_800  # 9999-01-01: Python's years end there, git's do not
_DAY = 24 * 60  # minutes; an offset is less than that
_SECONDS = 300.0  # for a walk through all of history on a busy machine
_BLOBS = 64  # read at a time: some 6 MB, where they are archives


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `authored` is when it happened, `committed` when it was committed, each with its zone.

    `trailers` are those git itself finds in the message, unfolded, in order; a key may come more than once.
    """

    oid: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: datetime
    committed: datetime
    subject: str
    trailers: tuple[tuple[str, str], ...]

    def values(self, key: str) -> tuple[str, ...]:
        """Return the values of every trailer with this key; case does not matter, as to git."""
        return tuple(value for name, value in self.trailers if name.casefold() == key.casefold())

    def value(self, key: str) -> str | None:
        """Return the value of the first trailer with this key, None where there is none."""
        return next(iter(self.values(key)), None)


@dataclass(frozen=True, slots=True)
class Addition:
    """A file that a commit added: where, and the id of its first content."""

    commit: Commit
    path: str
    oid: str


@dataclass(frozen=True, slots=True)
class LineChange:
    """A commit that changed some lines of a file: those it took away and those it put there."""

    commit: Commit
    before: tuple[str, ...]
    after: tuple[str, ...]


def log(
    git: Git,
    revision: str,
    *,
    paths: Sequence[str] = (),
    trailers: Mapping[str, str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
) -> list[Commit]:
    """Return the commits of a revision, newest first, as `git log` orders them.

    `paths` keeps those that changed one of these files or folders, `trailers` those that have, for every key, a
    trailer whose value begins so; `since` and `until`, both inclusive, look at when it happened: git's own options of
    that name look at the commit date, and stop at the first one out of order. `limit` is the most that are returned.
    """
    wanted = dict(trailers or {})
    # git keeps most of the others away; that it was a trailer, and not a subject that reads like one, is seen here.
    greps = [f"--grep={key}: {value}" for key, value in wanted.items()]
    options = ["--fixed-strings", "--all-match", *greps] if greps else []

    def read(count: int | None) -> list[Commit]:
        bound = [] if count is None else [f"--max-count={count}"]
        command = ("log", *_FORMAT, *options, *bound, "--end-of-options", revision, "--", *paths)
        said = git.run("--literal-pathspecs", *command, timeout=_SECONDS)
        return list(_commits(said))

    def keep(commit: Commit) -> bool:
        return (
            all(any(found.startswith(value) for found in commit.values(key)) for key, value in wanted.items())
            and (since is None or commit.authored >= since)
            and (until is None or commit.authored <= until)
        )

    first = read(None if since or until else limit)
    kept = [commit for commit in first if keep(commit)]
    if limit is not None and len(kept) < len(first) == limit:
        kept = [commit for commit in read(None) if keep(commit)]
    return kept[:limit]


def messages(git: Git, revision: str, limit: int) -> list[tuple[str, str]]:
    """Return the ids and the whole messages of the newest commits of a revision."""
    said = git.run("log", "-z", "--format=%H %B", f"--max-count={limit}", "--end-of-options", revision, "--")
    return [
        (one[:at], one[at + 1 :]) for one in said.decode("utf-8", "replace").split("\0") if (at := one.find(" ")) > 0
    ]


def commits(git: Git, oids: Iterable[str]) -> dict[str, Commit]:
    """Return commits by their full ids."""
    names = "".join(f"{oid}\n" for oid in dict.fromkeys(oids))
    if not names:
        return {}
    said = git.run("log", *_FORMAT, "--no-walk=unsorted", "--stdin", stdin=names.encode())
    return {commit.oid: commit for commit in _commits(said)}


def count_commits(git: Git, commit: str, *, without: str | None) -> int:
    """Count the commits, merges apart, that one commit has and another has not."""
    if commit == without:
        return 0
    excluded = [f"^{without}"] if without else []
    return int(git.run("rev-list", "--count", "--no-merges", commit, *excluded, "--"))


@dataclass(frozen=True, slots=True)
class Fork:
    """How two commits stand to each other: the commits that only one of them holds, and what both share.

    `alone` are the ids of those that only the first, and only the second one holds, with whether each is a merge;
    `bases` their best common ancestors, sorted, and `shared` those and others that both hold, as far as they were seen.
    """

    tips: tuple[str, str]
    alone: tuple[Mapping[str, bool], Mapping[str, bool]]
    bases: tuple[str, ...]
    shared: frozenset[str]
    commits: tuple[Commit, ...]

    def is_in_second(self, commit: str) -> bool:
        """Say whether the second one is known to hold a commit; False also where that is not known."""
        return commit == self.tips[1] or commit in self.alone[1] or commit in self.shared

    def count(self, side: int) -> int:
        """Count the commits, merges apart, that one of the two alone holds."""
        return sum(not merge for merge in self.alone[side].values())


def fork(git: Git, one: str, other: str) -> Fork:
    """Return how two commits, given by their full ids, stand to each other; one process, where histories do not cross.

    Raises:
        GitFailedError: one of them is missing.

    """
    if one == other:
        return Fork((one, other), ({}, {}), (one,), frozenset((one,)), ())
    options = ("--left-right", "--boundary", "--date=raw", "--no-color", "-z", "--format=%m%x00" + "%x00".join(_FIELDS))
    said = git.run("log", *options, "--end-of-options", f"{one}...{other}", "--", timeout=_SECONDS)
    fields, width = said.split(b"\0")[:-1], len(_FIELDS) + 1
    sides: dict[bytes, dict[str, bool]] = {b"<": {}, b">": {}, b"-": {}}
    tips = []
    for start in range(0, len(fields), width):
        mark, oid, parents = fields[start], fields[start + 1].decode(), fields[start + 2]
        sides[mark][oid] = b" " in parents
        if oid in {one, other}:
            tips.append(_commit(fields[start + 1 : start + width]))
    ours, theirs, edge = sides[b"<"], sides[b">"], sides[b"-"]
    bases: tuple[str, ...]
    if not (ours and theirs):  # one holds the other
        bases = (one,) if not ours else (other,)
    elif len(edge) > 1:  # all of the best are at the edge, but not all there are the best
        bases = tuple(sorted(git.run("merge-base", "--all", one, other, ok=(0, 1)).decode().split()))
    else:
        bases = tuple(edge)
    return Fork((one, other), (ours, theirs), bases, frozenset((*edge, *bases)), tuple(tips))


def additions(git: Git, revision: str, folder: str) -> list[Addition]:
    """Return which commits of a revision added the files that are or were in a folder, newest first.

    A file that was removed and added again comes twice. Side branches count in full: git would leave out one whose
    files a merge did not keep.
    """
    options = ("--raw", "--no-abbrev", "--no-renames", "--full-history", "--diff-filter=A")
    said = git.run(
        "--literal-pathspecs", "log", *_FORMAT, *options, "--end-of-options", revision, "--", folder, timeout=_SECONDS
    )
    tokens = iter(said.split(b"\0")[:-1])
    found: list[Addition] = []
    commit: Commit | None = None
    for token in tokens:
        meta = token.removeprefix(b"\n")
        if commit is not None and meta.startswith(b":"):
            path = os.fsdecode(next(tokens))
            found.append(Addition(commit, path, meta.split(b" ")[3].decode()))
        else:  # an object id: the first field of the next commit
            commit = _commit([token, *(next(tokens) for _ in _FIELDS[1:])])
    return found


def line_changes(git: Git, revision: str, path: str, lines: tuple[int, int], limit: int) -> list[LineChange]:
    """Return the commits that changed a range of lines (both inclusive) of a file, newest first; git follows the lines.

    The revision is a full id.

    Raises:
        GitFailedError: there is no such file in the revision, or it has fewer lines.

    """
    mark = os.urandom(16).hex()  # which stands in no file
    place = f"-L{lines[0]},{lines[1]}:{path}"
    said = git.unfiltered.run(
        "log", *_PATCH, place, f"--max-count={limit}", f"--format={mark}%H%x00", "--end-of-options", revision, "--",
        timeout=_SECONDS,
    )  # fmt: skip
    parts = re.split(f"{mark}([0-9a-f]+)\0".encode(), said)
    found = list(zip(parts[1::2], parts[2::2], strict=True))
    known = commits(git, (oid.decode() for oid, _ in found))
    changes = []
    for oid, patch in found:
        hunks = patch.decode("utf-8", "replace").partition("\n@@ ")[2].split("\n")[1:]
        sides = [tuple(line[1:].removesuffix("\r") for line in hunks if line[:1] == sign) for sign in "-+"]
        changes.append(LineChange(known[oid.decode()], sides[0], sides[1]))
    return changes


def blobs(git: Git, oids: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of blobs, in the order asked for; a few at a time are in memory."""
    for start in range(0, len(oids), _BLOBS):
        wanted = oids[start : start + _BLOBS]
        said = git.run("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode())
        position = 0
        for _ in wanted:
            header, _, _ = said[position : position + 200].partition(b"\n")
            begin = position + len(header) + 1
            position = begin + int(header.rsplit(b" ", 1)[1])
            yield said[begin:position]
            position += 1


def newest_until(git: Git, revision: str, moment: datetime) -> str | None:
    """Return the newest commit of a revision that was committed by `machine.moment`, None where all are younger.

    Newest is what comes first in history: behind a commit whose clock was ahead, the one before it is found; a commit
    whose clock was behind brings what was committed before it.
    """
    seconds = max(int(moment.timestamp()), 0)
    until = f"--until=@{seconds} +0000"  # in git's own form: what it cannot read, it would take for now
    said = git.run("rev-list", "--max-count=1", until, "--end-of-options", revision, "--", timeout=_SECONDS)
    return said.decode().strip() or None


def diff(git: Git, old: str, new: str, *paths: str) -> bytes:
    """Return the unified diff between two commits or trees, given by their full ids."""
    return git.unfiltered.run("--literal-pathspecs", "diff", *_PATCH, "--end-of-options", old, new, "--", *paths)


def show(git: Git, commit: str) -> bytes:
    """Return a commit, given by its full id, its message and its diff as `git show` prints them."""
    return git.unfiltered.run(
        "show", *_PATCH, "--no-mailmap", "--no-notes", "--format=medium", "--end-of-options", commit, "--"
    )


def empty_tree(git: Git) -> str:
    """Return the id of the tree that holds nothing: what a first commit is compared with."""
    return git.run("hash-object", "-t", "tree", "--stdin", stdin=b"").decode().strip()


def _commits(said: bytes) -> Iterator[Commit]:
    fields = said.split(b"\0")[:-1]
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
    """Return the time of git's `SECONDS +HHMM`; what no calendar holds is brought to its end, 1970 for no time."""
    seconds, _, zone = raw.partition(" ")
    try:
        moment = _EPOCH + timedelta(seconds=min(max(int(seconds), 0), _LAST_SECOND))
        minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    except ValueError:
        return _EPOCH
    if minutes >= _DAY:
        return moment
    return moment.astimezone(timezone(timedelta(minutes=-minutes if zone[0] == "-" else minutes)))

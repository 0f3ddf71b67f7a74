"""Read saves and past versions of files from git history; parse dates strictly.

Nothing is cached, and reading needs no lock. A date is a span: `at` uses its end, `since` its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from gitmem.document.message import VALUE_LENGTH, Op, Trailer, one_line
from gitmem.errors import NotFoundError
from gitmem.git.log import Commit, commits, log
from gitmem.git.objects import PathChange
from gitmem.git.repository import Repository, empty_tree
from gitmem.platform.machine import UTC, datetime, timedelta, timezone
from gitmem.store.store import Store
from gitmem.values import Value

FORMS = "2026-11-21, '2026-11-21 14:03', today, yesterday, 3d, '3 days ago'"

_ISO = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<time>[0-9]{2}:[0-9]{2})(?P<seconds>:[0-9]{2}(?:[.,][0-9]+)?)?"
    r" ?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?",
    re.IGNORECASE,
)
# `123d` could be the beginning of a commit's id.
_AGO = re.compile(r"([0-9]{1,4}) (minute|hour|day|week)s? ago|([0-9]{1,2})([mhdw])")
_UNITS = {"m": "minute", "h": "hour", "d": "day", "w": "week"}  # as in `gitmem pause 1h`
DAYS = {"today": 0, "yesterday": 1, "오늘": 0, "어제": 1}
_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)


class DateSpan(Value):
    """A time span, given by its first and its last second, both included, with time zones."""

    first: datetime
    last: datetime


def parse_date(text: str, now: datetime) -> DateSpan | None:
    """Return the span that `text` names, None if it has no form of a date.

    The forms: `2026-11-21` with an optional `14:03`, `14:03:22` and offset; `today`, `yesterday`; `3 days ago` (or
    weeks: a day; hours or minutes: that second), or `3d`. Without an offset the time is that of the zone of `now`.
    Raises ValueError if there is no such day or time; the message is a clause.
    """
    words = " ".join(text.split()).lower()
    if words in DAYS:
        return _day(now, DAYS[words])
    if ago := _AGO.fullmatch(words):
        number, unit = int(ago[1] or ago[3]), ago[2] or _UNITS[ago[4]]
        if unit in {"day", "week"}:
            return _day(now, number * (7 if unit == "week" else 1))
        moment = (now.astimezone(UTC) - timedelta(**{f"{unit}s": number})).replace(microsecond=0)
        return DateSpan(moment, moment)
    if iso := _ISO.fullmatch(words):
        return _iso(iso, now)
    return None


def _day(now: datetime, ago: int) -> DateSpan:
    start = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None) - ago * _DAY
    return _span(start, _DAY, now)


def _iso(match: re.Match[str], now: datetime) -> DateSpan:
    try:
        start = datetime.fromisoformat(f"{match['date']}T{match['time'] or '00:00'}{(match['seconds'] or '')[:3]}")
        length = _DAY if not match["time"] else _SECOND if match["seconds"] else _MINUTE
        if match["zone"]:
            zone = datetime.strptime(match["zone"].upper(), "%z").tzinfo
            return DateSpan(start.replace(tzinfo=zone), (start + (length - _SECOND)).replace(tzinfo=zone))
        return _span(start, length, now)
    except (ValueError, OverflowError):
        raise ValueError(f"there is no such time as {match[0]}") from None


def _span(start: datetime, length: timedelta, now: datetime) -> DateSpan:
    """Return the span of local times; it includes both passes of an hour that a clock change repeats."""
    return DateSpan(_zoned(start, now), _zoned((start + (length - _SECOND)).replace(fold=1), now))


def _zoned(local: datetime, now: datetime) -> datetime:
    """Return a local time with its time zone.

    If `now` has just the system's present offset, ask the system: the offset may differ at that time of the year. Keep
    any other zone.
    """
    if isinstance(now.tzinfo, timezone):
        try:
            if now.astimezone().utcoffset() == now.utcoffset():
                return local.astimezone()
        except (OSError, OverflowError, ValueError):  # years that the C library does not know
            pass
    return local.replace(tzinfo=now.tzinfo)


HEAD = "HEAD"
# Matches `@{DATE}`, but not `@{1}`, `@{-1}` or `@{upstream}`: git takes a date that it cannot parse for now.
_LOOSE_DATE = re.compile(r"@\{(?!(?:-?[0-9]+|u|upstream|push)\})", re.IGNORECASE)


class CommitRecord(Value):
    """A commit with its trailers by name; `date` is the author's date, and missing trailers are None or empty."""

    commit: str
    parents: tuple[str, ...]
    date: datetime
    committed: datetime
    author: str
    email: str
    subject: str
    op: str | None
    type: str | None
    session: str | None
    host: str | None
    machine: str | None
    entries: tuple[str, ...]
    archive: str | None


class Difference(Value):
    """The changed paths between two commits, and the unified diff of `git diff`."""

    old: str
    new: str
    changes: tuple[PathChange, ...]
    text: bytes


def date_span(store: Store, text: str) -> DateSpan | None:
    """Return the span of a date, None if the text is no date. Raises NotFoundError for a day that does not exist."""
    try:
        return parse_date(text, store.context.clock())
    except ValueError as error:
        raise NotFoundError(f"{text!r} is not a date: {error}.", f"Accepted dates: {FORMS}.") from None


def resolve(store: Store, text: str) -> str:
    """Return the id of the commit that a revision or a date names; a day means its end.

    For a date before the first save, imports count (`replay`, `migrate`): the commit with the last author date by then.

    A commit of the project's own code counts as not found. Raises NotFoundError if there is none; the message lists the
    accepted forms.
    """
    if (span := date_span(store, text)) is not None:
        return _at(store, span, text)
    commit = None if _LOOSE_DATE.search(text) else _revision(store.repository, text)
    if commit is None:
        raise NotFoundError(
            f"{text!r} is neither a revision of the store nor a date.",
            f"'gitmem log' lists the revisions; accepted dates: {FORMS}.",
        )
    return commit


def _revision(repository: Repository, text: str) -> str | None:
    try:
        commit = repository.resolve(text)
    except NotFoundError:
        return None
    return commit if repository.git.run("merge-base", commit, repository.memory, ok=(0, 1)).strip() else None


def _at(store: Store, span: DateSpan, text: str) -> str:
    """Return the last commit made by a date, else the last imported one with an author date by then."""
    repo, tip = store.repository.history, store.repository.resolve(HEAD)
    commit = repo.newest_until(tip, span.last)
    if commit is None or not store.repository.files(commit):
        imported = log(repo, tip, until=span.last)
        commit = max(imported, key=lambda commit: commit.authored).oid if imported else None
    if commit is None or not store.repository.files(commit):
        raise NotFoundError(f"The store was still empty at {text!r}.", "'gitmem log -n 0' lists all of history.")
    return commit


def records(
    store: Store,
    *,
    path: str | None = None,
    op: str | None = None,
    session: str | None = None,
    kind: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
    merges: bool = True,
) -> list[CommitRecord]:
    """Return the commits that match all filters, newest first.

    `session` is a session's id or a prefix of one, `kind` a memory type. Raises NotFoundError if no commit in history
    has this path, or this session.
    """
    wanted = ((Trailer.OP, op), (Trailer.SESSION, session), (Trailer.TYPE, kind))
    # Trailers hold values on one line.
    trailers = {key.value: one_line(value, VALUE_LENGTH) for key, value in wanted if value}
    git, tip = store.repository.history, store.repository.resolve(HEAD)
    paths = [path] if path else []
    commits = log(git, tip, paths=paths, trailers=trailers, since=since, until=until, limit=limit, merges=merges)
    if not commits and path and not log(git, tip, paths=paths, limit=1):
        day = f"Did you mean 'gitmem log --since {path}'? " * bool(date_span(store, path))
        raise NotFoundError(f"The store never had a file {path}.", f"{day}'gitmem at HEAD --list' lists the files.")
    if not commits and session:
        key = Trailer.SESSION.value
        if not log(git, tip, trailers={key: trailers[key]}, limit=1):
            raise NotFoundError(f"Nothing was saved in a session {session!r}.", "'gitmem log' names the sessions.")
    return [record(commit) for commit in commits]


# gitmem's own work, in the background of sessions and syncs, on what a user or an agent saved.
_HOUSEKEEPING = {
    *(Op.EXCHANGES, Op.CONCEPT, Op.EPISODE, Op.PATTERN, Op.COUNT, Op.SUMMARIZE, Op.CONSOLIDATE, Op.REPAIR),
    *(Op.TRANSCRIPT, Op.SIGN),
}
_AT_ONCE = 8  # at first, so many times the commits to show are read


def shown_history(read: Callable[[int | None], list[CommitRecord]], most: int | None) -> tuple[list[CommitRecord], int]:
    """Return the newest `most` commits without housekeeping, and the number of housekeeping commits between them.

    `read` returns the given number of newest commits, for None all.
    """
    count = most and most * _AT_ONCE
    while True:
        every = read(count)
        shown = [number for number, record in enumerate(every) if record.op not in _HOUSEKEEPING][:most]
        if count is None or len(shown) == most or len(every) < count:
            end = shown[-1] + 1 if shown and len(shown) == most else len(every)
            return [every[number] for number in shown], end - len(shown)
        count *= _AT_ONCE


def record(commit: Commit) -> CommitRecord:
    """Convert a commit to a record."""
    return CommitRecord(
        commit=commit.oid,
        parents=commit.parents,
        date=commit.authored,
        committed=commit.committed,
        author=commit.author,
        email=commit.email,
        subject=commit.subject,
        op=commit.value(Trailer.OP),
        type=commit.value(Trailer.TYPE),
        session=commit.value(Trailer.SESSION),
        host=commit.value(Trailer.HOST),
        machine=commit.value(Trailer.MACHINE),
        entries=commit.values(Trailer.ENTRY),
        archive=commit.value(Trailer.ARCHIVE),
    )


def read_records(store: Store, oids: Iterable[str]) -> dict[str, CommitRecord]:
    """Return the records of commits, by full id."""
    return {oid: record(commit) for oid, commit in commits(store.repository.git, oids).items()}


def last_version(repository: Repository, path: str, tip: str = HEAD) -> bytes | None:
    """Return the last version of a file that was deleted before `tip`, None if it never existed."""
    removed = _last_change(repository, path, tip)
    return repository.read(f"{removed}^", path) if removed else None


def removed_versions(repository: Repository, path: str) -> list[bytes]:
    """Return the last version of a file before each of its deletions, the newest first."""
    options = ("--format=%H", "--diff-filter=D", "--no-renames", HEAD)
    removals = repository.git.run("--literal-pathspecs", "log", *options, "--", path).decode().split()
    removals = removals or [_last_change(repository, path, HEAD)]  # a merge deleted it
    versions = (repository.read(f"{commit}^", path) for commit in removals if commit)
    return [version for version in versions if version is not None]


def _last_change(repository: Repository, path: str, tip: str) -> str:
    return repository.git.run("--literal-pathspecs", "rev-list", "--max-count=1", tip, "--", path).decode().strip()


def removal(store: Store, path: str) -> CommitRecord | None:
    """Return the commit that removed a file, None if the file never existed."""
    removed = _last_change(store.repository, path, store.repository.memory)
    return read_records(store, [removed])[removed] if removed else None


def difference(store: Store, old: str | None, new: str, path: str | None = None, *, brief: bool = False) -> Difference:
    """Return the difference from `old` or the first parent; if `brief`, how many lines of which files."""
    repository = store.repository
    if old is None:
        parents = read_records(store, [new])[new].parents
        old = parents[0] if parents else empty_tree(repository.git)
    paths = [path] if path else []
    changes = tuple(repository.changes(old, new, *paths))
    return Difference(old, new, changes, repository.history.diff_of(old, new, *paths, brief=brief))


def changed_lines(store: Store, commits: Collection[CommitRecord]) -> dict[str, str]:
    """Return the statistics of each commit as `git log --stat` prints them; "" for a commit without changes."""
    by_commit = store.repository.history.statistics([record.commit for record in commits])
    return {record.commit: by_commit.get(record.commit, "") for record in commits}


def edits_by_hand(store: Store, path: str | None = None) -> bytes:
    """Return the unified diff of edits by hand that are not committed yet; none while something else is checked out."""
    if store.documents != store.root:
        return b""
    tip = store.repository.resolve(HEAD)
    edited = [name for name in store.files.edited() if path is None or name == path or name.startswith(f"{path}/")]
    return store.repository.history.diff_of_files(tip, edited) if edited else b""

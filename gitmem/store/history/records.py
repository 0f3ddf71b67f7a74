"""History instead of an index file (spec R7, G3): what was saved when, by whom, and how the files stood at any time.

Nothing here is cached: each answer comes from the commits and the tree of one revision, so a fresh clone gives the
same. All of it is good for reading while the store is busy or in the middle of a merge.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import NotFoundError
from gitmem.git.history.commits import (
    Addition,
    Commit,
    additions,
    blobs,
    commits,
    diff,
    empty_tree,
    log,
    newest_until,
    show,
)
from gitmem.model.entry.entry import FIRST_LINE
from gitmem.model.message import VALUE_LENGTH, Op, Trailer, one_line
from gitmem.model.paths import ARCHIVE, SUMMARIES, summary_path
from gitmem.store.history.dates import FORMS, Span, parse_date
from gitmem.text.tokens import tokens_of_size

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.git.objects.treediff import PathChange
    from gitmem.git.repository import Repository
    from gitmem.store.store import Store

HEAD = "HEAD"
_ARCHIVE_NAME = re.compile(rf"{ARCHIVE}/memory_[^/]*\.md")
_DATED_HEADING = re.compile(r"^#{1,6} +([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])", re.MULTILINE)
# `@{1}`, `@{-1}`, `@{upstream}`; a date in there goes to the part of git that takes any words for now.
_LOOSE_DATE = re.compile(r"@\{(?!(?:-?[0-9]+|u|upstream|push)\})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Record:
    """A commit as memory sees it. `date` is when it happened; what its trailers do not say is None or empty."""

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


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two commits: the paths, and the unified diff as git prints it."""

    old: str
    new: str
    changes: tuple[PathChange, ...]
    text: bytes


@dataclass(frozen=True, slots=True)
class RotatedFile:
    """An archive, with what `memory-index.json` held of it in older tools (spec R7).

    `present` says whether it is still in the tree; if not, history has it, and the numbers are those it had. `days`
    are the first and the last day of the entries that it holds and no earlier archive does, None where no line of it
    is dated.
    """

    path: str
    rotated_at: datetime
    commit: str
    present: bool
    size: int
    tokens: int
    lines: int
    days: tuple[str, str] | None
    summary: str
    summarized: bool


def resolve(store: Store, text: str) -> str:
    """Return the id of the commit that a revision or a date names; a day stands for its end.

    Source: spec G3. A commit of the project's own code, in a store on a branch of its repository, is none of memory's.

    Raises:
        NotFoundError: there is none; the message says what can be given.

    """
    try:
        span = parse_date(text, store.context.clock())
    except ValueError as error:
        raise NotFoundError(f"{text!r} is no date: {error}.", f"Dates are given like {FORMS}.") from None
    if span is not None:
        return _at(store, span, text)
    commit = None if _LOOSE_DATE.search(text) else _revision(store.repository, text)
    if commit is None:
        raise NotFoundError(
            f"{text!r} is neither a revision of the store nor a date.",
            f"'gitmem log' lists the revisions; dates are given like {FORMS}.",
        )
    return commit


def _revision(repository: Repository, text: str) -> str | None:
    try:
        commit = repository.resolve(text)
    except NotFoundError:
        return None
    return commit if repository.git.run("merge-base", commit, HEAD, ok=(0, 1)).strip() else None


def _at(store: Store, span: Span, text: str) -> str:
    tip = store.repository.resolve(HEAD)
    commit = newest_until(store.repository.git, tip, span.last)
    if commit is None or not store.repository.files(commit):
        raise NotFoundError(
            f"There was nothing in the store yet at {text!r}.", "'gitmem log -n 0' goes back to the beginning."
        )
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
) -> list[Record]:
    """Return what happened, newest first; `session` may be the beginning of one's name, `kind` is a memory type.

    Raises:
        NotFoundError: nothing in all of history is of this path, or of this session.

    """
    wanted = ((Trailer.OP, op), (Trailer.SESSION, session), (Trailer.TYPE, kind))
    # A trailer holds the value on one line; what is asked for is brought into the same form.
    trailers = {key.value: one_line(value, VALUE_LENGTH) for key, value in wanted if value}
    git, tip = store.repository.git, store.repository.resolve(HEAD)
    paths = [path] if path else []
    found = log(git, tip, paths=paths, trailers=trailers, since=since, until=until, limit=limit)
    if not found and path and not log(git, tip, paths=paths, limit=1):
        raise NotFoundError(f"{path} was never in the store.", "'gitmem at HEAD --list' lists the files.")
    if not found and session:
        only = {key: value for key, value in trailers.items() if key == Trailer.SESSION.value}
        if not log(git, tip, trailers=only, limit=1):
            raise NotFoundError(f"Nothing was saved in a session {session!r}.", "'gitmem log' names the sessions.")
    return [record(commit) for commit in found]


def record(commit: Commit) -> Record:
    """Return a commit with its trailers by name."""
    return Record(
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


def read_records(store: Store, oids: Iterable[str]) -> dict[str, Record]:
    """Return commits by their full ids."""
    return {oid: record(commit) for oid, commit in commits(store.repository.git, oids).items()}


def read_at(store: Store, commit: str, path: str) -> bytes | None:
    """Return a file as it was in a commit, None where there was no such file; a folder is none."""
    found = store.repository.files(commit, path)
    return store.repository.blob(found[0].oid) if [file.path for file in found] == [path] else None


def last_version(repository: Repository, path: str, tip: str = HEAD) -> bytes | None:
    """Return a file that has left the tree of `tip` as it last was; None where it never was there."""
    removed = repository.git.run("rev-list", "--max-count=1", tip, "--", path).decode().strip()
    return repository.read(f"{removed}^", path) if removed else None


def was_ever_there(repository: Repository, path: str, tip: str = HEAD) -> bool:
    """Return whether a file of this path is, or ever was, in the tree of a commit up to `tip`."""
    return bool(repository.git.run("rev-list", "--max-count=1", repository.resolve(tip), "--", path))


def difference(store: Store, old: str | None, new: str, path: str | None = None) -> Difference:
    """Return what changed between two commits; with no `old`, what `new` changed (of a merge: to its first parent)."""
    repository = store.repository
    if old is None:
        parents = read_records(store, [new])[new].parents
        old = parents[0] if parents else empty_tree(repository.git)
    paths = [path] if path else []
    changes = tuple(repository.changes(old, new, *paths))
    return Difference(old, new, changes, diff(repository.git, old, new, *paths))


def shown(store: Store, commit: str) -> bytes:
    """Return a commit as `git show` prints it."""
    return show(store.repository.git, commit)


def rotations(store: Store, revision: str = HEAD) -> list[RotatedFile]:
    """Return every rotation up to a revision, the oldest first; what `memory-index.json` held, from history alone.

    An archive that left the tree by retention (spec R13) is one of them, not `present`: the rotation took place. One
    whose rotation was undone is none. Source: spec R7.
    """
    commit = store.repository.resolve(revision)
    files = {file.path: file for file in store.repository.files(commit, ARCHIVE, SUMMARIES)}
    first = _first_additions(store, commit, {path: file.oid for path, file in files.items()})
    undone = _undone(store, commit) if any(path not in files for path in first) else ()
    kept = [found for found in first.values() if found.path in files or found.commit.oid not in undone]
    kept.sort(key=lambda found: (found.commit.authored, found.path))
    oids = [files[found.path].oid if found.path in files else found.oid for found in kept]
    seen: set[str] = set()
    return [
        _rotated(found, data, seen, present=found.path in files, summarized=summary_path(found.path) in files)
        for found, data in zip(kept, blobs(store.repository.git, oids), strict=True)
    ]


def _first_additions(store: Store, commit: str, present: Mapping[str, str]) -> dict[str, Addition]:
    """Return the commit that first added each archive, by path."""
    git = store.repository.git
    first = {found.path: found for found in additions(git, commit, ARCHIVE) if _ARCHIVE_NAME.fullmatch(found.path)}
    for path in present:
        if path not in first and _ARCHIVE_NAME.fullmatch(path):  # it came into being in a merge
            first[path] = Addition(log(git, commit, paths=[path])[-1], path, present[path])
    return first


def _undone(store: Store, commit: str) -> Collection[str]:
    from gitmem.model.undo import Reversal, undone_commits

    found = log(store.repository.git, commit, trailers={Trailer.OP: Op.UNDO})
    return undone_commits(Reversal(undo.oid, undo.values(Trailer.UNDOES)) for undo in found)


def _rotated(found: Addition, data: bytes, seen: set[str], *, present: bool, summarized: bool) -> RotatedFile:
    summary = summary_path(found.path)
    return RotatedFile(
        path=found.path,
        rotated_at=found.commit.authored,
        commit=found.commit.oid,
        present=present,
        size=len(data),
        tokens=tokens_of_size(len(data)),
        lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)),
        days=_days(data.decode("utf-8", "replace"), seen),
        summary=summary,
        summarized=summarized,
    )


def _days(text: str, seen: set[str]) -> tuple[str, str] | None:
    """Return the first and the last day of an archive's entries that are not in `seen`, and add them to it.

    What a rotation carries over, Core Decisions most of all, stands in every archive after it as well.
    """
    dated = {line["id"]: line["time"][:10] for line in re.finditer(FIRST_LINE, text) if " " in line["time"]}
    days = [day for entry, day in dated.items() if entry not in seen] or list(dated.values())
    seen.update(dated)
    days += _DATED_HEADING.findall(text)
    return (min(days), max(days)) if days else None

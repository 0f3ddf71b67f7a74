"""Find which memories each commit added, and its author, for the index of `gitmem.history.authors`.

The trailers of gitmem's own commits name their memories. For other authors' commits, and those made with plain git,
the files are read. Tested through `tests/history/test_authors.py`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gitmem.document.entry import find_entries
from gitmem.document.ids import BUGS, ID_FORM, MEMORY
from gitmem.document.message import Op, Trailer, one_line
from gitmem.errors import GitmemError
from gitmem.git.objects import Objects
from gitmem.history.authorship import (
    AGAIN,
    CHANGED,
    FOREIGN,
    LENGTH,
    MADE,
    Manner,
    Origin,
    claim_id,
    counts_id,
    identifier_of,
    key_of,
)
from gitmem.model.pattern import claims, parse_pattern
from gitmem.platform.safe_open import read_text
from gitmem.store.store import Store
from gitmem.values import Value

_COMPOSES = (Op.CONSOLIDATE, Op.ROTATE, Op.SUMMARIZE)
# Operations of gitmem that change neither bug patterns nor counts.
_TEACHES_NOTHING = {Op.SAVE, Op.TURN, Op.EXTRACT, Op.EXCHANGES, Op.FACT, Op.CONCEPT, *_COMPOSES}
_ARE_MADE = ("weekly/", "monthly/", "archive/", "summaries/")
_HEAD = "\n- ["  # begins an entry, and no entry contains it
_OF_ENTRIES = ("memory.md", "daily/", "weekly/", "monthly/", "archive/", "sessions/")
_BRINGS = (Trailer.ENTRY, Trailer.FACT, Trailer.CONCEPT, Trailer.PATTERN, Trailer.EPISODE)
# Headings and header fields of a log that gitmem generates.
_IS_MADE = re.compile(
    r"---|#{1,2} (?:[0-9W-]{4,10}|Memory|Core Decisions|Current State|Recent Context|Known Issues|Timeline|Links"
    r"|Exchanges|Note|Decision|Learning|Error Fix|Issue|Pattern|Preference|Rule|Exchange|State|Summary|Open)"
    r"|(?:id|kind): (?:memory|day|daily|week|weekly|month|monthly|archive)?[0-9W_-]{0,20}"
    r"|- [0-9,]{1,9} more are facts: gitmem facts list\."
    r"|(?:date|created|updated|ended|week|month|number|exchanges): [0-9TWZ:+ -]{1,40}"
)
_MENTIONED = re.compile(rf"\^({ID_FORM})")
_ID = re.compile(ID_FORM)
_A_SECOND = 10_000_000  # bytes of entries that are surely read in a second
_LATE = "The authors of entries in others' commits could not be looked up in time."
BEFORE = "an earlier author"  # the name in a shallow clone, which lacks the real one


class _Commit(Value):
    """A commit: the ids in its trailers, its origin, its operation, and the archive it concerns.

    `is_by_git`: it has no operation of gitmem. `is_users_own` is False for gitmem's own commits, which are not foreign.
    """

    oid: str
    ids: Sequence[str]
    origin: Origin
    op: str
    archive: str
    is_by_git: bool
    is_foreign: bool
    is_users_own: bool


def _commits(store: Store, old: str, new: str, seconds: float) -> list[_Commit]:
    """Return the commits that `new` has and `old` lacks, the oldest first."""
    cut = read_text(os.path.join(store.repository.layout.common_dir, "shallow")).split()
    commits = []
    for logged in reversed(store.repository.since(old, new, seconds)):
        oid, name, email, trailers = logged.oid, logged.author, logged.email, logged.trailers
        ids = [value for key, value in trailers if key in _BRINGS and _ID.fullmatch(value)]
        if oid in cut:  # the oldest commit of a shallow clone has all files, but did not add them
            name, email, trailers = BEFORE, "", ()
        last = dict(trailers)
        origin = _origin(name, email, dict(reversed(trailers)))
        is_by_git = not any(key == Trailer.OP and value != Op.EDIT for key, value in trailers)
        is_foreign = not store.is_user(name, email, origin.machine)
        own = store.is_user(name, email, gitmem=False)
        said = last.get(Trailer.OP, ""), last.get(Trailer.ARCHIVE, "")
        commits.append(_Commit(oid, ids, origin, *said, is_by_git, is_foreign, own))
    return commits


def contributions(
    store: Store, old: str, new: str, seconds: float, *, has_others: bool
) -> Iterator[tuple[str, Origin, Sequence[str]]]:
    """Yield key, origin and sources of the memories that commits of `new` but not `old` added, oldest first.

    If others have commits (`has_others`: also before `old`), also yield the files that the user's own commits
    composed, each with the ids and paths of its sources.
    """
    end = time.monotonic() + seconds
    commits = _commits(store, old, new, seconds)
    foreign = {commit.oid for commit in commits if commit.is_foreign}
    # A commit of plain git has no trailers, and another author's trailers may be incomplete on purpose.
    read = foreign | {commit.oid for commit in commits if commit.is_by_git and not commit.ids}
    unnamed: set[str] = set()
    if has_others or foreign:  # then only what is known to be the user's counts as theirs
        read.update(commit.oid for commit in commits)
        unnamed = {commit.oid for commit in commits if commit.is_by_git or not (commit.ids or commit.op in _COMPOSES)}
    teaching = {commit.oid for commit in commits if commit.op not in _TEACHES_NOTHING or not commit.is_users_own}
    composing = {commit.oid: commit.archive for commit in commits if commit.op in _COMPOSES and not commit.is_foreign}
    changed = _changed(store, read, foreign, unnamed | foreign, end) if read else {}
    claimed = _claimed(store, teaching, end) if teaching else {}
    composed = _composed(store, composing, end) if composing and (has_others or foreign) else {}
    for commit in commits:
        if commit.is_foreign:
            yield FOREIGN, commit.origin, ()
        files = changed.get(commit.oid, ())
        named = [key for key in commit.ids if CHANGED + key not in files]  # what a commit changed it did not bring
        for identifier in dict.fromkeys((*files, *named, *claimed.get(commit.oid, ()))):
            yield identifier, commit.origin, ()
        composed_paths, sources = composed.get(commit.oid, ((), ()))
        for path in composed_paths:
            yield MADE + path, commit.origin, sources


def _origin(name: str, email: str, trailers: Mapping[str, str]) -> Origin:
    op = trailers.get(Trailer.OP, "")
    if trailers.get(Trailer.MODEL):
        how = Manner.MODEL
    elif trailers.get(Trailer.MIGRATED) or op in {Op.MIGRATE, Op.ADOPT}:
        how = Manner.IMPORT
    elif op in {"", Op.EDIT}:
        how = Manner.EDIT
    elif op == Op.SAVE or (op == Op.FACT and Trailer.TYPE in trailers):  # a saved entry's fact has its origin
        how = Manner.AGENT if trailers.get(Trailer.SESSION) else Manner.COMMAND
    else:
        how = Manner.SESSION
    values = (name, email, trailers.get(Trailer.MACHINE, ""), trailers.get(Trailer.HOST, ""))
    author, address, machine, host = (one_line(value, LENGTH) for value in values)
    return Origin(author, address, machine, host, how)


def _changed(
    store: Store, commits: Collection[str], foreign: Collection[str], of_entries: Collection[str], end: float
) -> dict[str, list[str]]:
    """Return by commit the files it added, and for foreign commits also the files and entries they changed.

    Added entries are read for commits in `of_entries`. An entry that only moved to another file is not changed. A merge
    changes what differs from all its parents.
    """
    by_commit: dict[str, list[str]] = {}
    with store.repository.reading() as objects:

        def parts(oids: Iterable[str]) -> set[str]:
            texts = (data.decode("utf-8", "replace") for data in _read(objects, oids, end))
            return {part for text in texts for part in f"\n{text}".split(_HEAD)}

        def entries(of: Iterable[str]) -> set[tuple[str, str, str]]:
            entries_in = (entry.entry for part in of for entry in find_entries(_HEAD + part))
            return {(entry.id, entry.label, entry.text) for entry in entries_in}

        for oid, files in _files(store, commits, "combined", end).items():
            by_commit[oid] = [named for file in files if file.letter == "A" and (named := identifier_of(file.path))]
            if oid not in of_entries:
                continue
            logs = [file for file in files if file.is_file and file.path.startswith(_OF_ENTRIES)]
            was, is_now = parts(blob for log in logs for blob in log.before), parts(log.after for log in logs)
            old = entries(was - is_now)
            known = {entry[0] for entry in old}
            new = {entry[0]: entry[0] in known for entry in entries(is_now - was) - old}
            if oid not in foreign:
                by_commit[oid] += [key for key, is_known in new.items() if not is_known]
                continue
            changed = [CHANGED + named for file in files if file.letter == "M" and (named := identifier_of(file.path))]
            changed += [AGAIN + named for named in by_commit[oid]]
            changed += [(CHANGED if is_known else AGAIN) + key for key, is_known in new.items()]
            by_commit[oid] = changed + [key for key, is_known in new.items() if not is_known] + by_commit[oid]
            removed = _other_lines(was - is_now)
            for file in logs:
                key, is_new = key_of(file.path), file.letter == "A" and file.path != MEMORY
                if not identifier_of(file.path) and (lines := _other_lines(parts([file.after]) - was) - removed):
                    by_commit[oid].append(key if is_new else CHANGED + key)
                    # A line that is no entry may belong to a fact as well (`gitmem.model.lines`).
                    by_commit[oid] += [AGAIN + key for line in lines for key in _MENTIONED.findall(line)]
    return by_commit


def _composed(store: Store, commits: Mapping[str, str], end: float) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    """Return by commit the files it composed, and the ids and paths of their sources."""
    by_commit: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
    with store.repository.reading() as objects:
        for oid, files in _files(store, commits, "first-parent", end).items():
            archive = commits[oid]
            deleted = {file.path: file.before[0] for file in files if file.letter == "D"}
            remaining = (file.path for file in files if file.letter != "D")
            made = [key_of(path) for path in remaining if path.startswith(_ARE_MADE)]
            read = [f"{oid}:{archive}"] if any(path != archive for path in made) and archive else [*deleted.values()]
            texts = [data.decode("utf-8", "replace") for data in _read(objects, read, end)]
            ids = [entry.entry.id for text in texts for entry in find_entries(text)]
            paths = [MEMORY] if archive in made else [archive] if archive else [*deleted]
            by_commit[oid] = made, [*ids, *(mark + path for path in paths for mark in ("", CHANGED, MADE))]
    return by_commit


def _claimed(store: Store, commits: Collection[str], end: float) -> dict[str, list[str]]:
    """Return by commit the claims it added to bug patterns, and the files of counts it changed."""
    by_commit: dict[str, list[str]] = {}
    with store.repository.reading() as objects:

        def claims_in(oids: Iterable[str]) -> set[str]:
            patterns = filter(None, map(parse_pattern, _read(objects, oids, end)))
            return {claim_id(pattern.id, *claim) for pattern in patterns for claim in claims(pattern)}

        for oid, files in _files(store, commits, "combined", end, BUGS, "counts").items():
            bugs = [file for file in files if file.path.startswith(BUGS)]
            new = claims_in(bug.after for bug in bugs) - claims_in(blob for bug in bugs for blob in bug.before)
            counts = (key_of(file.path) for file in files if file not in bugs)
            by_commit[oid] = [*sorted(new), *map(counts_id, counts)]
    return by_commit


def _read(objects: Objects, oids: Iterable[str], end: float) -> Iterator[bytes]:
    """Yield the objects that exist. Raises GitmemError if reading them would take too long."""
    named = [oid for oid in oids if oid.strip("0")]
    if sum(objects.sizes(named)) > (end - time.monotonic()) * _A_SECOND:
        raise GitmemError(_LATE)
    yield from objects.existing(named)


def _other_lines(parts: Iterable[str]) -> set[str]:
    """Return the lines of a log outside of entries with an id, except those that gitmem generates."""
    texts = (_HEAD + part if part[:1] != "\n" else part for part in parts)
    rests = (text[entries[-1].end :] if (entries := find_entries(text)) else text for text in texts)
    return {line for rest in rests for line in rest.split("\n") if line.strip() and not _IS_MADE.fullmatch(line)}


class _File(Value):
    """A path that a commit changed: its blobs in the parents and the commit, and git's status letter (M in a merge)."""

    path: str
    before: Sequence[str]
    after: str
    letter: str
    is_file: bool


def _files(store: Store, commits: Collection[str], merges: str, end: float, *paths: str) -> dict[str, list[_File]]:
    """Return the files that commits changed."""
    output = store.repository.git.run(
        *("log", "-z", f"--diff-merges={merges}", "--no-walk=unsorted", "--stdin", "--format=%x00%H", "--raw"),
        *("--no-abbrev", "--no-renames", "--diff-filter=ADM", "--", *paths),
        stdin="".join(f"{oid}\n" for oid in commits).encode(),
        timeout=max(end - time.monotonic(), 0),
    )
    by_field: dict[str, list[_File]] = {}
    fields = (field.strip("\n") for field in output.decode("utf-8", "replace").split("\0"))
    files: list[_File] = []
    for field in fields:
        if field.startswith(":"):
            *objects, letters = field.lstrip(":").split()  # the modes of parents and commit, their blobs
            letter = letters[0] if len({*letters}) == 1 else "M"
            is_file = not {"120000", "160000"}.intersection(objects)
            files.append(_File(next(fields), objects[len(objects) // 2 : -1], objects[-1], letter, is_file))
        elif field:
            files = by_field[field] = []
    return by_field

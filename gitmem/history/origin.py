"""Find commits: those that wrote a line or an entry, those to undo, and those already undone."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher

from gitmem.document.entry import Entry, FoundEntry, find_by_digest, find_entries
from gitmem.document.ids import MEMORY, find_named, is_fact_id, is_id
from gitmem.document.message import VALUE_LENGTH, Op, Trailer, one_line
from gitmem.errors import GitmemError, NotFoundError
from gitmem.git.log import Commit, log, was_at
from gitmem.git.objects import Objects
from gitmem.git.process import Git
from gitmem.git.repository import Repository, is_object_id
from gitmem.history.records import HEAD, CommitRecord, parse_date, read_records, record, resolve
from gitmem.store.store import Store
from gitmem.values import Value


class Version(Value):
    """A commit that changed the lines, with their text before and after it; () if there was none."""

    origin: CommitRecord
    before: tuple[str, ...]
    after: tuple[str, ...]


def versions(store: Store, path: str, lines: tuple[int, int], limit: int) -> list[Version]:
    """Return the versions of lines of a file, newest first, without rotations; uncommitted lines have none."""
    tip = store.repository.resolve(HEAD)
    now, then = store.read(path) or b"", store.repository.read(tip, path)
    committed = _before(then, now, lines) if then is not None else None
    if committed is None:
        return []
    changes = store.repository.history.line_changes(tip, path, committed, limit)
    return [Version(record(change.commit), change.before, change.after) for change in changes]


def _before(then: bytes, now: bytes, lines: tuple[int, int]) -> tuple[int, int] | None:
    """Return the range of lines of `then` that became `lines` of `now`, None if they are all new."""
    if then == now:
        return lines
    first, last = lines[0] - 1, lines[1]
    matcher = SequenceMatcher(None, then.split(b"\n"), now.split(b"\n"), autojunk=False)
    starts, ends = [], []
    for tag, old, old_end, new, new_end in matcher.get_opcodes():
        if new < last and first < new_end and old < old_end:
            starts.append(old + max(first - new, 0) if tag == "equal" else old)
            ends.append(old_end - max(new_end - last, 0) if tag == "equal" else old_end)
    return (min(starts) + 1, max(ends)) if starts else None


class BlamedLine(Value):
    """A line of a file and the commit that wrote it, None if it is uncommitted."""

    number: int
    text: str
    origin: CommitRecord | None


class EntryPlace(Value):
    """The location of an entry: a file, and the number of the entry's first line."""

    path: str
    line: int


class EntryFound(Value):
    """An entry with its text, its present places (none if it was removed), and the commit that saved it."""

    entry: Entry
    text: str
    places: tuple[EntryPlace, ...]
    origin: CommitRecord | None


def blame(store: Store, path: str, lines: tuple[int, int] | None = None) -> list[BlamedLine]:
    """Return the lines of a file of the work tree, or a range of them (both inclusive), each with its commit.

    Lines of an archive are traced through the rotation to the save that wrote them. Raises NotFoundError if there is no
    such file, or it has no such line.
    """
    data = store.read(path)
    if data is None:
        remedy = "'gitmem at HEAD --list' lists the files; for code: 'gitmem why'."
        raise NotFoundError(f"There is no file {path} in the store.", remedy)
    text = data.decode("utf-8", "replace")
    texts = text.removesuffix("\n").split("\n") if text else []
    first, last = lines or (1, len(texts))
    if lines and not 1 <= first <= last <= len(texts):
        wanted = f"line {first}" if first == last else f"lines {first}-{last}"
        raise NotFoundError(f"{path} has no {wanted}: it has {len(texts)}.", "Lines count from 1.")
    entries = [(number, line) for number, line in _numbered(text) if number <= last]
    # Extend a range that begins inside an entry to the entry's first line.
    begin = max((number for number, _ in entries if number < first), default=first)
    tip = store.repository.resolve(HEAD)
    committed = store.repository.read(tip, path)
    written: dict[int, str] = {}
    if committed is not None and texts:
        within = (begin, last) if lines else None
        written = store.repository.history.blame_lines(tip, path, within, edited=committed != data)
    records = read_records(store, {oid for oid in written.values() if oid.strip("0")})
    origins = {number: records[oid] for number, oid in written.items() if oid in records}
    for number, entry in entries:
        # Git may attribute a line to an older entry with the same words; the first line is unique by the entry's id.
        head = origins.get(number)
        for line in range(number + 1, number + entry.entry.text.count("\n") + 1):
            origin = origins.get(line)
            if head and origin and origin.op == Op.SAVE and entry.entry.id not in origin.entries:
                origins[line] = head
    return [BlamedLine(n, texts[n - 1].removesuffix("\r"), origins.get(n)) for n in range(first, last + 1)]


def find_entry(store: Store, identifier: str) -> EntryFound:
    """Return an entry by its id, from the work tree or else from history; raises NotFoundError."""
    origin, places, text = entry_origin(store, identifier), list[EntryPlace](), ""
    for path in files_naming(store, [identifier]):
        content = (store.read(path) or b"").decode("utf-8", "replace")
        if (entry := find_by_digest(content, identifier)) and entry.entry.id == identifier:
            places.append(EntryPlace(path, content.count("\n", 0, entry.start) + 1))
            text = text or content[entry.start : entry.end]
    if origin and not text:
        text = _as_saved(store, origin, identifier)
    if not text:
        raise NotFoundError(f"There is no entry ^{identifier} in the store.", "'gitmem log --long' names the entries.")
    return EntryFound(find_entries(text)[0].entry, text, tuple(places), origin)


def entry_origin(store: Store, identifier: str) -> CommitRecord | None:
    """Return the commit that saved an entry; None if no commit names it, as for an entry written by hand."""
    tip = store.repository.resolve(HEAD)
    commits = log(store.repository.git, tip, trailers={Trailer.ENTRY: identifier})
    saved = [commit for commit in commits if commit.value(Trailer.OP) == Op.SAVE] or commits
    return record(saved[-1]) if saved else None


def files_naming(store: Store, ids: Collection[str], mark: str = "^") -> list[str]:
    """Return the files of the work tree that contain one of these ids after `mark`, `memory.md` first."""
    if not ids:
        return []
    options = ("--files-with-matches", "-z", "--full-name", "--text", "--fixed-strings", "-f", "-")
    patterns = "".join(f"{mark}{identifier}\n" for identifier in ids).encode()
    commit = [store.tip] if store.documents != store.root and store.tip else []
    output = store.repository.git.run("grep", *options, *commit, stdin=patterns, ok=(0, 1), timeout=300)
    paths = [os.fsdecode(path).removeprefix(f"{store.tip}:") for path in output.split(b"\0")[:-1]]
    return sorted(paths, key=lambda path: (path != MEMORY, path))


def _as_saved(store: Store, origin: CommitRecord, identifier: str) -> str:
    repository = store.repository
    for change in repository.changes(origin.parents[0], origin.commit) if origin.parents else []:
        if change.new is not None:
            content = repository.blob(change.new).decode("utf-8", "replace")
            if (entry := find_by_digest(content, identifier)) and entry.entry.id == identifier:
                return content[entry.start : entry.end]
    return ""


def _numbered(text: str) -> Iterator[tuple[int, FoundEntry]]:
    """Yield the entries of a text, each with the number of its first line."""
    number, position = 1, 0
    for entry in find_entries(text):
        number += text.count("\n", position, entry.start)
        position = entry.start
        yield number, entry


SHORT = 10  # characters of an object id in messages
_FIRST = "'gitmem clear all' empties the memory."
_RECENT = 64  # commits to search first for one to undo
_HEX = re.compile(r"[0-9a-f]+")
_SHORT = re.compile(r"[0-9a-f]{4,64}")
# The message of `git revert`.
_REVERTED = re.compile(r"^This reverts commit ([0-9a-f]{7,64})\b", re.MULTILINE)
# Operations of a user. Facts are also learned from sessions; then their commits name the session.
_BY_USER = {Op.SAVE, Op.ROTATE, Op.MIGRATE, Op.CLEAR, Op.CONFIG, Op.ADOPT, Op.RETAIN, Op.REVIEW}
_NAMES = "'gitmem log --long' lists commits with the ids of their entries and sessions."


def chosen_commits(store: Store, revision: str | None, session: str | None) -> list[CommitRecord]:
    """Return the commits to undo, newest first; called before the transaction, so that all attempts undo the same."""
    repository = store.repository
    tip = repository.resolve(repository.branch())
    if session is not None:
        return _with_trailer(repository.git, tip, Trailer.SESSION, session, "session")
    if revision is None:
        return [_last(store, tip)]
    if revision.startswith("^") or (is_id(revision) and not _HEX.fullmatch(revision)):
        name = revision.removeprefix("^")
        try:
            commits = _with_trailer(repository.git, tip, Trailer.ENTRY, name, "saved entry")
        except NotFoundError:
            if is_fact_id(name) and log(repository.git, tip, trailers={Trailer.FACT: name}, limit=1):
                remedy = f"'gitmem facts retire {name}' ends it."
                raise NotFoundError(f"{name} is a fact, and undo takes back commits.", remedy) from None
            raise
        # The commit of a session's end has other entries, too: this one is taken out of its files.
        return [item for item in commits if len(item.entries) == 1] or commits
    try:
        return [_single(store, tip, revision)]
    except NotFoundError:
        if log(repository.git, tip, trailers={Trailer.SESSION: one_line(revision, VALUE_LENGTH)}, limit=1):
            return _with_trailer(repository.git, tip, Trailer.SESSION, revision, "session")
        raise


def _single(store: Store, tip: str, revision: str) -> CommitRecord:
    if _is_date(store, revision):
        remedy = f"'gitmem log --until {revision!r}' lists what can be undone."
        raise NotFoundError(f"{revision!r} is a date, not a commit.", remedy)
    try:
        oid = resolve(store, revision)
    except NotFoundError:
        raise NotFoundError(f"{revision!r} is neither a COMMIT nor ^ENTRY nor SESSION.", _NAMES) from None
    if not store.repository.is_ancestor(oid, tip):
        raise NotFoundError(f"{revision!r} is not part of this memory's history.", "'gitmem log' lists what is.")
    commit = record(log(store.repository.git, oid, limit=1)[0])
    if not commit.parents:
        raise GitmemError(f"{oid[:SHORT]} is the first commit of the store and cannot be undone.", _FIRST)
    if commit.op == Op.PURGE:
        raise GitmemError(
            f"{oid[:SHORT]} is a purge and cannot be undone: the purged text is in no commit any more.",
            "Its record has to stay, so that other machines apply it, too.",
        )
    if len(commit.parents) > 1:
        raise _merge_error(store, tip, commit)
    return commit


def _merge_error(store: Store, tip: str, merge: CommitRecord) -> GitmemError:
    """Return the error that explains how to undo a merge by hand, for example one with a wrong remote."""
    here = was_at(store.repository.git)
    ours, theirs = sorted(merge.parents[:2], key=lambda parent: parent not in here)
    back = f"git rebase --onto {ours[:SHORT]} {merge.commit[:SHORT]}"  # keeps later commits
    back = back if merge.commit != tip else f"git reset --hard {ours[:SHORT]}"
    return GitmemError(
        f"{merge.commit[:SHORT]} is a merge and cannot be undone by a commit.",
        f"To undo one commit that it brought: 'git log {ours[:SHORT]}..{theirs[:SHORT]}' lists them. "
        f"To part with a remote that is not this project's: 'gitmem remote remove NAME', in {store.root} '{back}'. "
        f"If that remote is to get its own state back: 'git push --force URL {theirs[:SHORT]}:refs/heads/gitmem'.",
    )


def _is_date(store: Store, text: str) -> bool:
    try:
        return parse_date(text, store.context.clock()) is not None
    except ValueError:
        return True


def _last(store: Store, tip: str) -> CommitRecord:
    """Return the user's newest commit on this machine that was not undone."""
    git = store.repository.git
    undone = undone_commits(git, tip)
    for limit in (_RECENT, None):
        for commit in log(git, tip, limit=limit):
            is_own = _is_users_own(commit) and store.is_user(commit.author, commit.email, commit.value(Trailer.MACHINE))
            if is_own and len(commit.parents) == 1 and commit.oid not in undone:
                return record(commit)
    raise NotFoundError(
        "There is nothing to undo: no save or other act of yours is left that was not undone already.",
        "'gitmem log' lists all commits; 'gitmem undo COMMIT' and 'gitmem undo --session ID' undo any of them.",
    )


def _is_users_own(commit: Commit) -> bool:
    """Return whether a user made a commit, rather than gitmem in the background of a session."""
    op = commit.value(Trailer.OP)
    return op in _BY_USER or (op == Op.FACT and not commit.value(Trailer.SESSION) and not commit.value(Trailer.MODEL))


def _with_trailer(git: Git, tip: str, key: Trailer, value: str, noun: str) -> list[CommitRecord]:
    """Return the commits, without merges, whose trailer has this value, or the only value with this prefix."""
    wanted = one_line(value, VALUE_LENGTH)
    commits = [item for item in log(git, tip, trailers={key: wanted}) if len(item.parents) == 1] if wanted else []
    names = ((name, name) for commit in commits for name in commit.values(key))
    name = find_named(wanted, names, noun, f"'gitmem {'sessions' if key is Trailer.SESSION else 'log'}' lists them.")
    return [record(commit) for commit in commits if name in commit.values(key)]


def undone_commits(git: Git, revision: str) -> dict[str, str]:
    """Return the undone commits of a revision or range, each with the commit that undid it last."""
    fields = ("%H", f"%(trailers:key={Trailer.OP},valueonly)", f"%(trailers:key={Trailer.UNDOES},valueonly)", "%b")
    greps = (f"--grep={Trailer.UNDOES}: ", "--grep=This reverts commit ", f"--format={'%x00'.join(fields)}")
    output = git.run("log", "-z", "--topo-order", "--fixed-strings", *greps, "--end-of-options", revision, "--")
    texts = [field.decode("utf-8", "replace") for field in output.split(b"\0")[:-1]]
    named = {}
    for oid, op, undoes, body in zip(*(texts[start :: len(fields)] for start in range(len(fields))), strict=True):
        named[oid] = undoes.split() if op.strip() else _REVERTED.findall(body)
    short = sorted({name for names in named.values() for name in names if _SHORT.fullmatch(name)})
    short = [name for name in short if not is_object_id(name)]  # of `revert.reference`; resolved by one process
    with Objects(git) if short else contextlib.nullcontext() as objects:
        infos = objects.infos([f"{name}^{{commit}}" for name in short]) if objects else []
    full = {name: info.oid for name, info in zip(short, infos, strict=True) if info is not None}
    undone: dict[str, str] = {}
    for oid, names in named.items():  # children before their parents
        for name in names if oid not in undone else ():
            undone.setdefault(full.get(name, name), oid)
    return undone


def commits_with(repository: Repository, trailers: Mapping[str, str], *, undone: bool) -> list[Commit]:
    """Return the commits of the branch with all these trailers, newest first: those not undone, or those `undone`."""
    tip = repository.resolve(repository.branch())
    commits = log(repository.git, tip, trailers=trailers)
    oids = undone_commits(repository.git, tip) if commits else {}
    return [commit for commit in commits if (commit.oid in oids) is undone]

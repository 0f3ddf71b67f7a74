"""Undo a commit, or all commits of a session, by one new commit (spec G3).

History is not rewritten, so an undo can be undone and needs no confirmation. `gitmem.history.undo_plan` plans the
changes of files; this module finds the commits and adds the new one. A `git revert` by a person counts as an undo.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.archives.plans import Limits, needs_rotation
from gitmem.document.ids import ARCHIVE, MEMORY, find_named, is_id, summary_path
from gitmem.document.message import VALUE_LENGTH, Message, Op, Trailer, one_line
from gitmem.errors import GitmemError, NotFoundError
from gitmem.git.log import Commit, log, was_at
from gitmem.git.objects import read_objects
from gitmem.git.process import Git
from gitmem.git.rewrite import commit_changes
from gitmem.history.past_days import drop_days
from gitmem.history.records import CommitRecord, last_version, parse_date, record, resolve
from gitmem.history.undo_plan import (
    FileChange,
    UndoConflictError,
    ids_in,
    introduced,
    plan_undo,
    rotated,
    undone_commits,
)
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value

SHORT = 10  # characters of an object id that people are shown
_LISTED = 5  # items in a message
_RECENT = 64  # commits to search first for one to undo
_FILE_MODES = {b"000000", b"100644", b"100755"}
_HEX = re.compile(r"[0-9a-f]+")
# What a person does. Facts and groups are also learned from sessions, which their commits then name.
_BY_PERSON = {Op.SAVE, Op.ROTATE, Op.MIGRATE, Op.CLEAR, Op.CONFIG, Op.ADOPT, Op.RETAIN, Op.REVIEW}
_BY_BOTH = {Op.FACT, Op.CONCEPT, Op.SUMMARIZE}


class Undone(Value):
    """The result of an undo, or of a dry run.

    `commit` is the new commit, None if none was needed, `undone` are the commits it undoes, newest first, and `files`
    the paths it changes. `already` are commits undone earlier, each with the commit that did it, if known. `notices`
    are messages for the user.
    """

    commit: str | None
    undone: tuple[CommitRecord, ...]
    already: tuple[tuple[CommitRecord, str | None], ...]
    files: tuple[str, ...]
    notices: tuple[str, ...] = ()


class _DryRunError(Exception):
    """Ends the transaction of a dry run."""

    def __init__(self, planned: Undone) -> None:
        super().__init__()
        self.planned = planned


def undo(store: Store, *, revision: str | None = None, session: str | None = None, dry_run: bool = False) -> Undone:
    """Undo one commit, or all commits of a session, by one new commit; idempotent (spec G3).

    `revision` is a git revision, an entry's id, `^` with an unambiguous prefix of one, or a session as `session` is:
    its id or an unambiguous prefix. Without either, undo what a person did last that was not undone.

    Raises:
        NotFoundError: there is no such commit, entry or session, or the prefix is ambiguous.
        GitmemError: the commit is the first one or a merge, a later rotation builds on it, or its lines have changed
            since; nothing was done.

    """
    chosen = _choose(store, revision, session)

    def plan(transaction: Transaction) -> Undone:
        planned = _UndoPlanner(store, transaction, chosen).plan(session)
        if dry_run:
            raise _DryRunError(planned)
        return planned

    try:
        outcome = transact(store, plan, purpose="undo")
    except _DryRunError as stopped:
        return stopped.planned
    done = outcome.value
    commit = outcome.commits[-1] if done.files else None
    if commit:
        drop_days(store.private)
    return done._replace(commit=commit, notices=(*outcome.notices, *done.notices))


def _choose(store: Store, revision: str | None, session: str | None) -> list[CommitRecord]:
    """Return the commits to undo, newest first; called once, so that all attempts undo the same ones."""
    repository = store.repository
    tip = repository.resolve(repository.branch())
    if session is not None:
        return _with_trailer(repository.git, tip, Trailer.SESSION, session, "session")
    if revision is None:
        return [_last(repository.git, tip)]
    if revision.startswith("^") or (is_id(revision) and not _HEX.fullmatch(revision)):
        return _with_trailer(repository.git, tip, Trailer.ENTRY, revision.removeprefix("^"), "saved entry")
    try:
        return [_single(store, tip, revision)]
    except NotFoundError:
        if log(repository.git, tip, trailers={Trailer.SESSION: one_line(revision, VALUE_LENGTH)}, limit=1):
            return _with_trailer(repository.git, tip, Trailer.SESSION, revision, "session")
        raise


def _single(store: Store, tip: str, revision: str) -> CommitRecord:
    if _is_date(store, revision):
        raise NotFoundError(
            f"{revision!r} is a date, not a commit.", f"'gitmem log --until {revision!r}' lists what can be undone."
        )
    oid = resolve(store, revision)
    if not store.repository.is_ancestor(oid, tip):
        raise NotFoundError(f"{revision!r} is not part of this memory's history.", "'gitmem log' lists what is.")
    found = record(log(store.repository.git, oid, limit=1)[0])
    if not found.parents:
        raise GitmemError(f"{oid[:SHORT]} is the first commit of the store and cannot be undone.")
    if found.op == Op.PURGE:
        raise GitmemError(
            f"{oid[:SHORT]} is a purge and cannot be undone: the purged text is in no commit any more.",
            "Its record has to stay, so that other machines follow.",
        )
    if len(found.parents) > 1:
        raise _merge_error(store, tip, found)
    return found


def _merge_error(store: Store, tip: str, merge: CommitRecord) -> GitmemError:
    """Return the error that says how to get back from a merge, as of a wrong remote."""
    here = was_at(store.repository.git)
    ours, theirs = sorted(merge.parents[:2], key=lambda parent: parent not in here)
    back = f"git rebase --onto {ours[:SHORT]} {merge.commit[:SHORT]}"  # with the commits since
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


def _last(git: Git, tip: str) -> CommitRecord:
    undone = undone_commits(git, tip)
    for limit in (_RECENT, None):
        for commit in log(git, tip, limit=limit):
            if _is_persons(commit) and len(commit.parents) == 1 and commit.oid not in undone:
                return record(commit)
    raise NotFoundError(
        "There is nothing to undo: no save or other act of a person is left that was not undone already.",
        "'gitmem log' lists all commits; 'gitmem undo COMMIT' and 'gitmem undo --session ID' undo any of them.",
    )


def _is_persons(commit: Commit) -> bool:
    """Return whether a person made a commit, and not gitmem behind a session."""
    op = commit.value(Trailer.OP)
    return op in _BY_PERSON or (
        op in _BY_BOTH and not commit.value(Trailer.SESSION) and not commit.value(Trailer.MODEL)
    )


def _with_trailer(git: Git, tip: str, key: Trailer, value: str, noun: str) -> list[CommitRecord]:
    """Return the commits with a trailer of this value, or of the one value that has it as a prefix, without merges."""
    wanted = one_line(value, VALUE_LENGTH)
    commits = [item for item in log(git, tip, trailers={key: wanted}) if len(item.parents) == 1] if wanted else []
    names = ((name, name) for commit in commits for name in commit.values(key))
    name = find_named(wanted, names, noun, "'gitmem log' lists them.")
    return [record(commit) for commit in commits if name in commit.values(key)]


class _UndoPlanner:
    """Plans an undo on the tip and the files of one transaction."""

    def __init__(self, store: Store, transaction: Transaction, chosen: Sequence[CommitRecord]) -> None:
        self._store = store
        self._transaction = transaction
        self._chosen = chosen
        self._git = store.repository.git
        # If the branch has moved since the transaction read it, the commit fails and a new attempt begins.
        self._tip = store.repository.resolve(store.repository.branch())
        since = f"{chosen[0].commit}..{self._tip}" if len(chosen) == 1 else self._tip
        self._undone = undone_commits(self._git, since)
        self._changes = _changes(self._git, [item.commit for item in chosen])

    def plan(self, session: str | None) -> Undone:
        """Add the commit to the transaction, if one is needed, and return the result."""
        brought = {item.commit: introduced(self._changes[item.commit]) for item in self._chosen}
        holders = self._holders(set().union(*brought.values()))
        held = ids_in(self._transaction.read(path) for path in holders)
        todo = [item for item in self._chosen if item.commit not in self._undone or brought[item.commit] & held]
        self._refuse_buried(todo)
        planned = self._planned(todo, holders)
        trailers = ((Trailer.OP.value, Op.UNDO.value), *((Trailer.UNDOES.value, item.commit) for item in todo))
        files: tuple[str, ...] = ()
        if self._transaction.commit(Message(_subject(todo, session), trailers), planned):
            files = tuple(self._transaction.drafts[-1].changes)
        else:
            todo = []
        already = tuple((item, self._undone.get(item.commit)) for item in self._chosen if item not in todo)
        return Undone(None, tuple(todo), already, files, self._outgrown(files, planned))

    def _planned(self, todo: Sequence[CommitRecord], holders: Collection[str]) -> dict[str, bytes | None]:
        """Return the new content of each affected file."""
        paths = {MEMORY, *holders, *(change.path for item in todo for change in self._changes[item.commit])}
        archives = [path for item in todo if (path := rotated(self._changes[item.commit]))]
        paths.update(map(summary_path, archives))
        files = {path: self._transaction.read(path) for path in sorted(paths)}
        for path in archives:
            # Retention may have deleted it (spec R13).
            files[path] = files[path] or last_version(self._store.repository, path, self._tip)
        for item in todo:
            try:
                files |= plan_undo(self._changes[item.commit], files)
            except UndoConflictError as error:
                raise self._conflict(item, error.path) from None
        return files

    def _holders(self, ids: Collection[str]) -> list[str]:
        """Return the files of the work tree that hold one of these entries."""
        if not ids:
            return []
        options = ("--files-with-matches", "-z", "--full-name", "--text", "--fixed-strings", "-f", "-")
        patterns = "".join(f"^{identifier}\n" for identifier in ids).encode()
        output = self._git.run("grep", *options, stdin=patterns, ok=(0, 1), timeout=300)
        paths = [os.fsdecode(path) for path in output.split(b"\0")[:-1]]
        return [path for path in paths if not ids_in([self._transaction.read(path)]).isdisjoint(ids)]

    def _refuse_buried(self, todo: Sequence[CommitRecord]) -> None:
        """Refuse to undo a rotation that a later one builds on."""
        taken = {item.commit for item in todo}
        for item in todo:
            if not _moves_memory(self._changes[item.commit]):
                continue
            later = log(self._git, f"{item.commit}..{self._tip}", trailers={Trailer.OP: Op.ROTATE})
            live = [commit for commit in later if commit.oid not in self._undone and commit.oid not in taken]
            if live:
                raise GitmemError(
                    f"memory.md was rotated again after {_name(item)}, by {_name(record(live[0]))}.",
                    f"Undo that first: 'gitmem undo {live[0].oid[:SHORT]}'.",
                )

    def _conflict(self, item: CommitRecord, path: str) -> GitmemError:
        later = log(self._git, f"{item.commit}..{self._tip}", paths=[path], limit=_LISTED)
        by = ", ".join(_name(record(commit)) for commit in later) or "an uncommitted edit by hand"
        return GitmemError(
            f"{_name(item)} cannot be undone: the lines it changed in {path} were changed since, by {by}.",
            "Nothing was done. Undo the later ones first, or change the file by hand.",
        )

    def _outgrown(self, files: Iterable[str], planned: Mapping[str, bytes | None]) -> tuple[str, ...]:
        config = self._store.config.rotation
        size = len(planned[MEMORY] or b"") if MEMORY in files else 0
        if not config.enabled or not needs_rotation(size, Limits(config.threshold_tokens, config.carryover_tokens)):
            return ()
        notice = "memory.md is above its threshold again, so the next save rotates it. "
        return (notice + "To prevent that, raise rotation.threshold_tokens.",)


def _changes(git: Git, oids: Sequence[str]) -> dict[str, list[FileChange]]:
    """Return the changes of each commit, by its id; a rename is a deletion and an addition."""
    found = commit_changes(git, [(oid,) for oid in oids])
    for oid, changes in found.items():
        for change in changes:
            if not {change.old_mode, change.mode} <= _FILE_MODES:
                raise GitmemError(
                    f"{oid[:SHORT]} changed {os.fsdecode(change.path)}, which is a link or a submodule; "
                    "gitmem undoes neither.",
                    f"'git revert {oid[:SHORT]}' in the store does.",
                )
    wanted = list({oid for changes in found.values() for one in changes for oid in (one.old, one.new) if oid})
    content = dict(zip(wanted, read_objects(git, wanted), strict=True))
    return {
        oid: [
            FileChange(os.fsdecode(one.path), content.get(one.old), content.get(one.new)) for one in found.get(oid, ())
        ]
        for oid in oids
    }


def _moves_memory(changes: Collection[FileChange]) -> bool:
    """Return whether a commit rotates or undoes a rotation: it adds or deletes an archive and changes `memory.md`."""
    archives = [change for change in changes if change.path.startswith(f"{ARCHIVE}/")]
    moved = any(change.before is None or change.after is None for change in archives)
    return moved and any(change.path == MEMORY for change in changes)


def _subject(todo: Sequence[CommitRecord], session: str | None) -> str:
    if len(todo) != 1:
        return (
            f"Undo session {todo[0].session} ({len(todo)} commits)" if todo and session else f"Undo {len(todo)} commits"
        )
    subject = todo[0].subject
    if todo[0].op == Op.UNDO:
        for verb, inverse in (("Undo ", "Redo "), ("Redo ", "Undo ")):
            if subject.startswith(verb):
                return inverse + subject.removeprefix(verb)
    return f'Undo "{subject}"'


def _name(item: CommitRecord) -> str:
    return f'{item.commit[:SHORT]} "{item.subject}"'

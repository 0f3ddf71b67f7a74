"""Undo a commit, or all commits of a session, by one new commit.

History is not rewritten, so an undo can be undone and needs no confirmation. A `git revert` by a user counts as one.

An undo is a three-way merge: the commit is the base, its parent and the present state are the sides. So entries are
found by their ids, and fields, sections and lines by themselves. Where a merge of two machines keeps two versions, an
undo guesses nothing: `UndoConflictError` names the file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.document.document import Document
from gitmem.document.entry import LINKS, entry_ids, find_entries, find_section, remove_entries
from gitmem.document.ids import ARCHIVE, BUGS, MEMORY, SUMMARIES, is_fact_id, summary_path
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import GitmemError
from gitmem.git.log import log
from gitmem.git.objects import read_objects
from gitmem.git.process import Git
from gitmem.git.rewrite import commit_changes
from gitmem.history.origin import SHORT, chosen_commits, files_naming, undone_commits
from gitmem.history.past_days import drop_days
from gitmem.history.records import CommitRecord, last_version, record
from gitmem.merge.documents import MergeStatus, merge
from gitmem.model.fact import PATH, is_fact_path, parse_fact
from gitmem.model.pattern import parse_pattern, render_pattern, unseen
from gitmem.model.rotation import Limits, needs_rotation
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value

_LISTED = 5  # items in a message
_FILE_MODES = {b"000000", b"100644", b"100755"}
_BLANK = " \t\r\n"
_BLANK_LINE = re.compile(r"[ \t]*\r?\n")


class UndoConflictError(Exception):
    """The lines that a commit changed in the file at `path` have changed again since."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class FileChange(Value):
    """What a commit did to one file; None where there is no such file."""

    path: str
    before: bytes | None
    after: bytes | None


def ids_in(texts: Iterable[bytes | None]) -> set[str]:
    """Return the ids of all entries in these files."""
    return {found for text in texts if text for found in entry_ids(Document.parse(text).body)}


def introduced(changes: Collection[FileChange]) -> set[str]:
    """Return the ids of the entries a commit brought into the store: of a fact's line, if it brought the fact.

    What is said again has a line on another day; that one alone goes where it was said.
    """
    made = {match["id"] for change in changes if change.before is None and (match := PATH.fullmatch(change.path))}
    new = ids_in(change.after for change in changes) - ids_in(change.before for change in changes)
    return {identifier for identifier in new if not is_fact_id(identifier) or identifier in made}


def rotated(changes: Collection[FileChange]) -> str | None:
    """Return the path of the archive if these changes are a rotation: all of `memory.md` became an archive."""
    memory = next((change for change in changes if change.path == MEMORY), None)
    if memory is None or not memory.before:
        return None
    archives = (c for c in changes if c.path.startswith(f"{ARCHIVE}/") and c.before is None)
    return next((archive.path for archive in archives if archive.after == memory.before), None)


def plan_undo(changes: Sequence[FileChange], current: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the files in `current` as they are after a commit is undone.

    `current` holds `memory.md`, every file of `changes`, and every other file to which the commit's entries have moved,
    as by a rotation. To undo a rotation, it holds the archive as it last was, and its summary. Raises UndoConflictError
    if lines the commit changed have changed since.
    """
    new = introduced(changes)
    lost = ids_in(change.after for change in changes) - ids_in(current.values())
    result = dict(current)
    archive = rotated(changes)
    for change in changes:
        if archive and change.path in (archive, MEMORY):
            continue
        path = _place(change, current)
        content = _undone(change, result[path])
        if content is not None and change.after is None:  # a removed file comes back, without entries removed since
            content = _without(content, lost)
        result[path] = content
    if archive:
        result[archive] = result[summary_path(archive)] = None
        result[MEMORY] = _unrotated(changes, current, archive)
    return {path: None if content is None else _without(content, new) for path, content in result.items()}


def carry_over(path: str, base: bytes | None, changed: bytes | None, onto: bytes | None) -> bytes | None:
    """Return `onto`, the file at `path`, with the changes from `base` to `changed`.

    Raises UndoConflictError if both changed the same words, or a file is gone that the other one changed.
    """
    if onto == base:
        return changed
    if changed in (base, onto):
        return onto
    derived = path.startswith(f"{SUMMARIES}/") or _field_differs(base, changed, onto)
    end = b"\r\n" if onto and b"\r\n" in onto else b"\n"  # a blank line at each end: an empty section may be the last
    versions = (None if data is None else data + end for data in (base, onto, changed))
    merged = merge(path, *versions, with_facts=False)  # a fact's line that has two wordings is a conflict, too
    took_a_side = merged.status is MergeStatus.TAKEN or (base is None and _has_prose(changed) and _has_prose(onto))
    if derived or took_a_side or merged.status is MergeStatus.REVIEW:
        raise UndoConflictError(path)
    if merged.data and onto and merged.data.split() == onto.split():  # only blank lines differ
        return onto
    return merged.data and merged.data.removesuffix(end)


def _field_differs(*versions: bytes | None) -> bool:
    """Return whether a field of the header, other than a list, a table or `updated`, differs in all three versions."""
    base, changed, onto = (Document.parse(data).metadata if data else {} for data in versions)
    return all(versions) and any(
        key != "updated"
        and not isinstance(now, list | dict)
        and now != changed.get(key)
        and base.get(key) not in (now, changed.get(key))
        for key, now in onto.items()
    )


def _has_prose(data: bytes | None) -> bool:
    """Return whether a document holds more than headings and entries."""
    body = Document.parse(data or b"").body
    rest = remove_entries(body, entry_ids(body)).split("\n")
    return any(not line.startswith("#") for line in rest if line.strip(_BLANK))


def _place(change: FileChange, current: Mapping[str, bytes | None]) -> str:
    """Return the path to change: `memory.md` if the archive with the change was moved back there."""
    archived = change.path.startswith(f"{ARCHIVE}/") and change.before is not None and change.after is not None
    return MEMORY if archived and current[change.path] is None else change.path


def _unrotated(changes: Sequence[FileChange], current: Mapping[str, bytes | None], archive: str) -> bytes | None:
    """Return the archive with the changes of `memory.md` since the rotation, so that no later save is lost."""
    kept = next(change.after for change in changes if change.path == MEMORY)
    whole, now = current[archive], current[MEMORY]
    if whole is None or kept is None or now is None:
        return now if whole is None else whole
    return carry_over(MEMORY, kept, now, whole)


def _undone(change: FileChange, current: bytes | None) -> bytes | None:
    """Return the new content of one file of a commit."""
    before, after = change.before, change.after
    if current in (before, after):
        return before
    if _is_fact_gone(change, current):
        return None
    if before is None and after and current and _unlinked(after) == _unlinked(current):
        return None  # gitmem added links to a file that the commit made
    if after and current and change.path.startswith(f"{BUGS}/") and (learned := _unlearned(before, after, current)):
        return learned[0]
    return carry_over(change.path, after, before, current)


def _unlinked(data: bytes) -> bytes:
    """Return a document without its section of links, and the blank lines at its end."""
    document = Document.parse(data)
    body, links = document.body, find_section(document.body, LINKS)
    rest = body[: links.start] + body[links.end :] if links else body
    return document.with_body(rest.rstrip(_BLANK)).render()


def _unlearned(before: bytes | None, after: bytes, current: bytes) -> tuple[bytes | None] | None:
    """Return a bug pattern without what a commit taught; None if the commit did anything else to it."""
    was, made, now = (parse_pattern(data) if data else None for data in (before, after, current))
    if made is None or now is None or (was and {*was.seen} - {*made.seen}):
        return None
    seen = {*made.seen}.difference(was.seen if was else ())
    episodes = {*made.episodes}.difference(was.episodes if was else ())
    left = unseen(now, seen, episodes)
    with contextlib.suppress(ValueError):  # a header that cannot be edited in place
        return (render_pattern(left) if left else None,)
    return None


def _is_fact_gone(change: FileChange, current: bytes | None) -> bool:
    """Return whether a fact is to be removed, or was already.

    A fact that the commit made is removed if it still has its first text and status; sources may have been added.
    """
    if not is_fact_path(change.path) or change.after is None:
        return False
    if current is None or change.before is not None:
        return current is None
    then, now = parse_fact(change.after, change.path), parse_fact(current, change.path)
    return then is not None and now is not None and (then.text, then.status) == (now.text, now.status)


def _without(data: bytes, ids: Collection[str]) -> bytes:
    """Return a log without entries, and without one of the blank lines around each."""
    log = Document.parse(data)
    body = log.body
    gone = [found for found in find_entries(body) if found.entry.id in ids] if ids else []
    for found in reversed(gone):
        head, tail = body[: found.start], body[found.end :]
        last = head.rfind("\n", 0, -1) + 1
        line = _BLANK_LINE.match(tail)
        if head[last:].strip(_BLANK):
            body = head + tail
        elif not tail:
            body = head[:last]
        else:
            body = head + (tail[line.end() :] if line else tail)
    return log.with_body(body).render() if gone else data


class Undone(Value):
    """The result of an undo, or of a dry run.

    `commit` is the new commit, None if none was needed, `undone` are the commits it undoes, newest first, and `files`
    the paths it changes. `already` are commits undone earlier, each with the commit that undid it, if known. `notices`
    are for the user.
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
    """Undo one commit, or all commits of a session, by one new commit; idempotent.

    `revision` is a git revision, an entry's id, `^` with an unambiguous prefix of one, or a session as `session` is:
    its id or an unambiguous prefix. Without either, undo what a user did last that was not undone.

    Raises:
        NotFoundError: there is no such commit, entry or session, or the prefix is ambiguous.
        GitmemError: the commit is the first one or a merge, a later rotation builds on it, or its lines have changed
            since; nothing was done.
    """
    chosen = chosen_commits(store, revision, session)

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
        message = op_message(Op.UNDO, _subject(todo, session), *((Trailer.UNDOES, item.commit) for item in todo))
        files: tuple[str, ...] = ()
        if self._transaction.commit(message, planned):
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
            # Retention may have deleted it.
            files[path] = files[path] or last_version(self._store.repository, path, self._tip)
        for item in todo:
            try:
                files |= plan_undo(self._changes[item.commit], files)
            except UndoConflictError as error:
                raise self._conflict(item, error.path) from None
        return files

    def _holders(self, ids: Collection[str]) -> list[str]:
        """Return the files of the work tree that hold one of these entries."""
        paths = files_naming(self._store, ids)
        return [path for path in paths if not ids_in([self._transaction.read(path)]).isdisjoint(ids)]

    def _refuse_buried(self, todo: Sequence[CommitRecord]) -> None:
        """Refuse to undo a rotation that a later one builds on."""
        taken = {item.commit for item in todo}
        for item in todo:
            if not _moves_memory(self._changes[item.commit]):
                continue
            later = log(self._git, f"{item.commit}..{self._tip}", trailers={Trailer.OP: Op.ROTATE})
            live = [
                commit
                for commit in later
                if commit.oid not in self._undone
                and commit.oid not in taken
                and self._store.repository.is_ancestor(item.commit, commit.oid)  # not another machine's at that time
            ]
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
        of = f"session {todo[0].session} ({len(todo)} commits)" if todo and session else f"{len(todo)} commits"
        return f"Undo {of}"
    subject = todo[0].subject
    if todo[0].op == Op.UNDO:
        for verb, inverse in (("Undo ", "Redo "), ("Redo ", "Undo ")):
            if subject.startswith(verb):
                return inverse + subject.removeprefix(verb)
    return f'Undo "{subject}"'


def _name(item: CommitRecord) -> str:
    return f'{item.commit[:SHORT]} "{item.subject}"'

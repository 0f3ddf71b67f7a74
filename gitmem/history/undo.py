"""Undo a commit, or all commits of a session, by one new commit.

History is not rewritten, so an undo can be undone and needs no confirmation. A `git revert` by a user counts as one.

An undo is a three-way merge: the commit is the base, its parent and the present state are the sides. So entries are
found by their ids, and fields, sections and lines by themselves. Where a merge of two machines keeps two versions, an
undo guesses nothing: `UndoConflictError` names the file. Derived files keep the lines that changed since. When a whole
session is undone, so do the other files, and a notice names them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gitmem.document.document import Document
from gitmem.document.entry import LINKS, find_section
from gitmem.document.ids import ARCHIVE, MEMORY, summary_path
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import GitmemError
from gitmem.git.log import log
from gitmem.git.objects import read_objects
from gitmem.git.process import Git
from gitmem.git.rewrite import CommitChange, commit_changes
from gitmem.history.origin import SHORT, chosen_commits, files_naming, undone_commits
from gitmem.history.past_days import drop_days
from gitmem.history.plan_undo import (
    FileChange,
    UndoConflictError,
    ids_in,
    introduced,
    is_derived,
    plan_undo,
    rotated,
    without_entries,
)
from gitmem.history.records import CommitRecord, last_version, record
from gitmem.model.concept import lines_of, parse_concept, render_changed
from gitmem.model.episode import Episode, episode_path, parse_episode, render_episode
from gitmem.model.fact import CONFIRMED, PATH, parse_changeable, render_fact
from gitmem.model.pattern import parse_pattern, render_pattern, unseen
from gitmem.model.request import classify
from gitmem.model.rotation import needs_rotation
from gitmem.store.store import Store
from gitmem.store.transact import preview, transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value

Changes = dict[str, bytes | None]


def without_exchanges(path: str, data: bytes, gone: Collection[str]) -> Changes:
    """Return a file's changes that remove exchanges from it, and the file itself if no other exchange is left in it."""
    kind = _KINDS.get(path.partition("/")[0])
    return kind(path, data, gone) if kind else {}


def _episode(path: str, data: bytes, gone: Collection[str]) -> Changes:
    episode = parse_episode(data, path)
    left = tuple(exchange for exchange in episode.exchanges if exchange not in gone) if episode else ()
    if episode is None or left == episode.exchanges:
        return {}
    if not left:
        return {path: None}
    links = tuple(line for line in episode.links if line.rpartition(" ")[2] not in gone)
    titles = [title for line in links if (title := line.partition("[")[2].rpartition("](")[0])]
    task = titles[0].partition(" \u2192 ")[0] if titles else episode.task
    shortened = Episode(  # no other part records which exchange it comes from
        **{name: getattr(episode, name) for name in ("id", "session", "host", "created", "ended", "scope")},
        type=classify(task),
        task=task,
        outcome=episode.outcome if episode.exchanges[-1] in left else None,
        exchanges=left,
        links=links,
        problem=task,
        solution=titles[-1].partition(" \u2192 ")[2] if titles else "",
    )
    return {path: None, episode_path(shortened): render_episode(shortened)}


def _concept(path: str, data: bytes, gone: Collection[str]) -> Changes:
    concept = parse_concept(data, path)
    left = tuple(exchange for exchange in concept.exchanges if exchange not in gone) if concept else ()
    if concept is None or left == concept.exchanges:
        return {}
    if not left:
        return {path: None}
    text = " ".join(line for key, line in lines_of(Document.parse(data).body) if key not in gone).casefold()
    keywords = tuple(word for word in concept.keywords if word.casefold() in text) or concept.keywords
    return {path: render_changed(data, concept._replace(exchanges=left, keywords=keywords), (), without=gone)}


def _pattern(path: str, data: bytes, gone: Collection[str]) -> Changes:
    pattern = parse_pattern(data, path)
    left = unseen(pattern, gone) if pattern else None
    return {path: render_pattern(left) if left else None} if pattern and left != pattern else {}


def _fact(path: str, data: bytes, gone: Collection[str]) -> Changes:
    fact = parse_changeable(data, path)
    left = tuple(source for source in fact.sources if source not in gone) if fact else ()
    if fact is None or left == fact.sources:
        return {}
    is_learned = fact.origin.get("exchange") in gone and "tool" not in fact.origin and fact.confidence != CONFIRMED
    return {path: None if is_learned and not left else render_fact(fact._replace(sources=left))}


_KINDS: dict[str, Callable[[str, bytes, Collection[str]], Changes]] = {
    "episodes": _episode,
    "concepts": _concept,
    "patterns": _pattern,
    "facts": _fact,
}


def without_links(data: bytes, gone: Collection[str]) -> bytes:
    """Return a document without its links to these files, and without the section if it is then empty."""
    document = Document.parse(data)
    body, section = document.body, find_section(document.body, LINKS)
    if section is None:
        return data
    lines = body[section.body : section.end].splitlines(keepends=True)
    remaining = [line for line in lines if line.rpartition("../")[2].rstrip().removesuffix(")") not in gone]
    before, after = body[: section.body] + "".join(remaining), body[section.end :]
    if not "".join(remaining).strip():
        before = body[: section.start].rstrip() + document.newline * (2 if after else 1)
    return data if remaining == lines else document.with_body(before + after).render()


_LISTED = 5  # items in a message
_FILE_MODES = {b"000000", b"100644", b"100755"}


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


def undo(store: Store, *, revision: str | None = None, session: str | None = None, dry_run: bool = False) -> Undone:
    """Undo one commit, or all commits of a session, by one new commit; idempotent.

    `revision` is a git revision, an entry's id, `^` with an unambiguous prefix of one, or a session's id or unambiguous
    prefix, as `session` is. Without either, undo the user's last act that was not undone.

    Raises:
        NotFoundError: there is no such commit, entry or session, or the prefix is ambiguous.
        GitmemError: the commit is the first one or a merge, a later rotation builds on it, or its lines have changed
            since; nothing was done.
    """
    chosen = chosen_commits(store, revision, session)
    session = session or (revision if chosen[0].session == revision else None)

    def plan(transaction: Transaction) -> Undone:
        return _UndoPlanner(store, transaction, chosen).plan(session)

    if dry_run:
        return preview(store, plan, purpose="undo")
    outcome = transact(store, plan, purpose="undo")
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
        self._staying: dict[str, CommitRecord] = {}  # files with lines that the user, or a later session, changed since

    def plan(self, session: str | None) -> Undone:
        """Add the commit to the transaction, if one is needed, and return the result."""
        brought = {item.commit: introduced(self._changes[item.commit]) for item in self._chosen}
        holders = self._holders(set().union(*brought.values()))
        present = ids_in(self._transaction.read(path) for path in holders)
        todo = [item for item in self._chosen if item.commit not in self._undone or brought[item.commit] & present]
        self._refuse_buried(todo)
        planned = self._planned(todo, holders)
        message = op_message(Op.UNDO, _subject(todo, session), *((Trailer.UNDOES, item.commit) for item in todo))
        files: tuple[str, ...] = ()
        if self._transaction.commit(message, planned):
            files = tuple(self._transaction.drafts[-1].changes)
        else:
            for path, item in self._staying.items():
                raise self._conflict(item, path)
            todo = []
        already = tuple((item, self._undone.get(item.commit)) for item in self._chosen if item not in todo)
        lines = "stays: its lines of this session"
        stays = (f"{path} {self._since(item, path, lines)}." for path, item in self._staying.items())
        return Undone(None, tuple(todo), already, files, (*stays, *self._outgrown(files, planned)))

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
            changes, staying = self._changes[item.commit], list[str]()
            try:
                planned = plan_undo(changes, files, staying)
            except UndoConflictError as error:  # of a rotation
                raise self._conflict(item, error.path) from None
            said = [path for path in staying if not is_derived(path)]
            if len(todo) == 1 and (said or len(staying) == len(changes)):
                raise self._conflict(item, (said or staying)[0])
            self._staying.update((path, item) for path in said)
            files |= planned
        derived = self._derived({key for item in todo for key in introduced(self._changes[item.commit])}, files)
        return files | {path: data for path, data in derived.items() if path not in self._staying}

    def _derived(self, gone: Collection[str], files: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
        """Return the changes that remove what was derived only from undone exchanges, and all references to it."""
        changes: dict[str, bytes | None] = {}
        for path in files_naming(self._store, gone, mark=""):
            data = files[path] if path in files else self._transaction.read(path)
            changes |= without_exchanges(path, data, gone) if data else {}
        removed = [path for path, data in changes.items() if data is None]
        facts = {match["id"] for path in removed if (match := PATH.fullmatch(path))}
        sessions = [path for path in files if path.startswith("sessions/")]
        for path in {*self._holders(facts), *sessions}:
            data = files[path] if path in files else self._transaction.read(path)
            changes |= {path: without_links(without_entries(data, facts), removed)} if data else {}
        return changes

    def _holders(self, ids: Collection[str]) -> list[str]:
        """Return the files of the work tree that contain one of these entries."""
        paths = files_naming(self._store, ids)
        return [path for path in paths if not ids_in([self._transaction.read(path)]).isdisjoint(ids)]

    def _refuse_buried(self, todo: Sequence[CommitRecord]) -> None:
        """Refuse to undo a rotation that a later one builds on."""
        undone = {item.commit for item in todo}
        for item in todo:
            if not _moves_memory(self._changes[item.commit]):
                continue
            rotations = log(self._git, f"{item.commit}..{self._tip}", trailers={Trailer.OP: Op.ROTATE})
            later = [commit for commit in rotations if not (commit.oid in self._undone or commit.oid in undone)]
            # Not those made in parallel.
            live = [commit for commit in later if self._store.repository.is_ancestor(item.commit, commit.oid)]
            if live:
                raise GitmemError(
                    f"memory.md was rotated again after {_name(item)}, by {_name(record(live[0]))}.",
                    f"Undo that first: 'gitmem undo {live[0].oid[:SHORT]}'.",
                )

    def _conflict(self, item: CommitRecord, path: str) -> GitmemError:
        return GitmemError(
            self._since(item, path, f"{_name(item)} cannot be undone: the lines it changed in {path}") + ".",
            "Nothing was done. Undo the later ones first, or change the file by hand.",
        )

    def _since(self, item: CommitRecord, path: str, lines: str) -> str:
        """Return a sentence that ends in what changed lines of a commit since."""
        later = map(record, log(self._git, f"{item.commit}..{self._tip}", paths=[path]))
        others = [commit for commit in later if commit not in self._chosen][:_LISTED]
        by = ", ".join(map(_name, others)) or "an uncommitted edit by hand"
        return f"{lines} were changed since, by {by}"

    def _outgrown(self, files: Iterable[str], planned: Mapping[str, bytes | None]) -> tuple[str, ...]:
        config = self._store.config.rotation
        size = len(planned[MEMORY] or b"") if MEMORY in files else 0
        if not needs_rotation(size, config):
            return ()
        notice = "memory.md is above its threshold again, so the next save rotates it. "
        return (notice + "To prevent that, raise rotation.threshold_tokens.",)


def _changes(git: Git, oids: Sequence[str]) -> dict[str, list[FileChange]]:
    """Return the changes of each commit, by its id; a rename is a deletion and an addition."""
    by_commit = commit_changes(git, [(oid,) for oid in oids])
    for oid, changes in by_commit.items():
        for change in changes:
            if not {change.old_mode, change.mode} <= _FILE_MODES:
                raise GitmemError(
                    f"{oid[:SHORT]} changed {os.fsdecode(change.path)}, which is a link or a submodule; "
                    "gitmem undoes neither.",
                    f"'git revert {oid[:SHORT]}' in the store does.",
                )
    blobs = (oid for changes in by_commit.values() for change in changes for oid in (change.old, change.new))
    wanted = list({*filter(None, blobs)})
    content = dict(zip(wanted, read_objects(git, wanted), strict=True))

    def file_change(change: CommitChange) -> FileChange:
        return FileChange(os.fsdecode(change.path), content.get(change.old), content.get(change.new))

    return {oid: [*map(file_change, by_commit.get(oid, ()))] for oid in oids}


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

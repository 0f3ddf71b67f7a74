"""Find rules, preferences and decisions of the user that another author changed, for the user to review.

A record in the private folder has the waiting changes, and the commit up to which history was searched. A change
waits until the user answers it, or a later commit of theirs contains the fact as it is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitmem.document.document import Document
from gitmem.document.ids import MEMORY
from gitmem.document.message import Op, Trailer, one_line, op_message
from gitmem.errors import GitmemError, NotFoundError
from gitmem.history.authors import Authors
from gitmem.history.authorship import author_name
from gitmem.history.marks import OthersChange, read_changes, write_changes
from gitmem.model.fact import FOLDER, PATH, Fact, day_of, parse_fact, render_fact
from gitmem.model.similarity import WEIGHED
from gitmem.model.validity import ended
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.git.log import Commit
    from gitmem.git.objects import PathChange
    from gitmem.git.repository import TreeEntry
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction


_NAMED = ("scope", "pinned", "forbids", "until", "enforce")  # if changed, shown after the old words
# The fields of a fact that a review restores.
_SHOWN = ("kind", "text", "description", "keywords", "status", "superseded_by", "created", *_NAMED)
_MAX_COMMITS = 200  # of a fact since the last search that are examined
_MAX_SOURCES = 50  # commits that are searched for the edit that a repair commit applied
_TEXT = 200  # characters of a line that a merge added
_NAME = 80  # characters of an author's name
REMOVED = "removed"


def others_changes(store: Store, *, look: bool = True) -> dict[str, OthersChange]:
    """Return the waiting changes by fact id; without `look` only recorded ones, unless git moved the branch."""
    if not store.config.review.changes:
        return {}
    seen, waiting = read_changes(store)
    try:
        tip = store.repository.tip(store.repository.branch()) or ""
        if tip in {seen, ""} or not (look or tip != store.recorded_checkout()):
            return waiting
        if seen:  # the first search accepts the store as it is
            waiting = _looked(store, seen, tip, waiting)
    except GitmemError:  # as in the middle of a merge
        return waiting
    write_changes(store, tip, waiting)
    return waiting


def answer_change(store: Store, change: OthersChange, *, accept: bool) -> str | None:
    """Accept a change, or restore the fact (a removed one as retired), in one commit; return it."""
    from gitmem.store.transact import transact

    old = store.repository.blob(change.blob)

    def plan(transaction: Transaction) -> bool:
        data = transaction.read(change.path)
        before, now = parse_fact(old, change.path), parse_fact(data, change.path) if data else None
        if before is None or (now is None and data is not None):
            raise NotFoundError(f"{change.path} cannot be read as a fact.", "Edit the file.")
        if now is None:  # a commit is needed, or the user's other machines would ask, too
            content = render_fact(ended(before, transaction.now)) if accept else old
        elif accept:
            content = render_fact(now._replace(updated=transaction.now))
        else:
            same = {name: getattr(before, name) for name in _SHOWN}
            content = render_fact(now._replace(**same, updated=transaction.now))
        verb, took = ("Accept", "theirs") if accept else ("Refuse", "ours")
        about = ((Trailer.TOOK, took), (Trailer.FACT, change.id))
        message = op_message(Op.REVIEW, f"{verb} a change: {change.before}", *about)
        changes: dict[str, bytes | None] = {change.path: content}
        for file in _files_of(store, store.tip or "", change.id):  # keep one file per fact
            if file.path != change.path and content is not None:
                own = parse_fact(transaction.read(file.path) or b"", file.path)
                restored = render_fact(own._replace(updated=transaction.now)) if own else old
                changes |= {file.path: None} if accept else {change.path: None, file.path: restored}
        return transaction.commit(message, changes)

    outcome = transact(store, plan, purpose="review")
    if change.id in others_changes(store):
        seen, waiting = read_changes(store)  # the tip may have moved on since
        waiting.pop(change.id, None)
        write_changes(store, seen, waiting)
    return outcome.commit


def _looked(store: Store, seen: str, tip: str, waiting: dict[str, OthersChange]) -> dict[str, OthersChange]:
    """Return the changes that wait at the tip, given those `waiting` at the commit `seen`."""
    from gitmem.git.log import log

    repository, authors = store.repository, Authors(store)
    try:
        if not waiting and all(_is_users_own(store, commit) for commit in repository.since(seen, tip)):
            return {}
        changes = repository.changes(seen, tip)
    except GitmemError:  # a purge rewrote history
        return waiting
    remaining, names = dict(waiting), None
    files = [(change, match) for change in changes if (match := PATH.fullmatch(change.path))]
    added = {match["id"] for change, match in files if change.old is None}
    for change, match in files:
        if match["kind"] not in WEIGHED or (change.new is None and match["id"] in added):  # renamed
            continue
        if change.old is None and match["id"] not in waiting:  # another file of a fact replaces the first
            names = repository.names(seen, FOLDER) if names is None else names
            if f"/{match['id']}".encode() not in names or not (twins := _files_of(store, seen, match["id"])):
                continue
            change = change._replace(old=twins[0].oid)  # noqa: PLW2901
        commits = log(repository.git, f"{seen}..{tip}", paths=[change.path], limit=_MAX_COMMITS)
        remaining.pop(match["id"], None)
        if waits := _waits(store, authors, change, commits, waiting.get(match["id"])):
            remaining[match["id"]] = waits
    return remaining


def _is_users_own(store: Store, commit: Commit) -> bool:
    """Return whether a commit is the user's work alone; a repair may apply another author's edit."""
    return store.is_user(commit.author, commit.email, gitmem=False) and commit.value(Trailer.OP) != Op.REPAIR


def _files_of(store: Store, commit: str, identifier: str) -> list[TreeEntry]:
    """Return the files of a fact in a commit."""
    matches = ((file, PATH.fullmatch(file.path)) for file in store.repository.files(commit, FOLDER))
    return [file for file, match in matches if match and match["id"] == identifier]


def _waits(
    store: Store, authors: Authors, change: PathChange, commits: Sequence[Commit], known: OthersChange | None
) -> OthersChange | None:
    """Return the change of a fact that waits now, if any; `known` is the one that waited before."""
    blob = known.blob if known else change.old or ""
    versions = [f"{parent}:{change.path}" for commit in commits for parent in (commit.oid, *commit.parents[:1])]
    with store.repository.reading() as objects:
        before, now, *rest = _facts(change.path, objects.contents([blob, change.new or f"{change.path}:", *versions]))
    if before is None or _says(before) == _says(now):
        return None
    mine = known is not None or not authors.other_author(before.id)
    who: Commit | None = None
    users_commit = ""  # the commit in which the user changed it last
    for own, after, was in zip(commits, rest[::2], rest[1::2], strict=True):  # the newest first
        commit = _source(store, own, before.id, change.path) if own.value(Trailer.OP) == Op.REPAIR else own
        if store.is_user(commit.author, commit.email, gitmem=False):
            changed = _says(after) != _says(was)
            answered = commit.value(Trailer.OP) == Op.REVIEW and before.id in commit.values(Trailer.FACT)
            if answered or (_says(after) == _says(now) and changed):
                return None
            if changed and after and not users_commit:
                users_commit, before, mine = own.oid, after, True
        elif _says(after) != _says(was) and (who is None or len(who.parents) > 1):
            who = who if _is_made_of_its_parents(store, commit, change.path) else commit
    if who is None or not mine:
        return known
    if users_commit:
        with store.repository.reading() as objects:
            blob = next((info.oid for info in objects.infos([f"{users_commit}:{change.path}"]) if info), blob)
    act = REMOVED if now is None else "changed" if now.binds else now.status.value
    author = one_line(author_name(who.author, who.email, who.value(Trailer.MACHINE)), _NAME)
    about = before.id, change.path, act, author, who.authored.isoformat(), who.oid
    return OthersChange(*about, _words(before, now), blob)


def _is_made_of_its_parents(store: Store, commit: Commit, path: str) -> bool:
    """Return whether a commit is a merge whose version of the file equals gitmem's merge of its parents' versions."""
    from gitmem.merge.documents import merge
    from gitmem.store.merge_commits import merge_bases

    bases = merge_bases(store.repository.git, *commit.parents) if len(commit.parents) == 2 else []  # noqa: PLR2004
    if len(bases) != 1:
        return False
    with store.repository.reading() as objects:
        merged, *versions = objects.contents([f"{oid}:{path}" for oid in (commit.oid, *bases, *commit.parents)])
    return merge(path, versions[0], versions[1], versions[2]).data == merged


def _source(store: Store, repair: Commit, identifier: str, path: str) -> Commit:
    """Return the commit with the edit of a fact's line or file that a repair applied, else the repair itself."""
    from gitmem.git.log import log

    if not repair.parents:
        return repair
    now, before = (_line(store, commit, identifier) for commit in (repair.oid, repair.parents[0]))
    paths = [path] if now != before else [MEMORY]  # updated the line from the file, or the file from the line
    for commit in log(store.repository.git, f"{repair.oid}^", paths=paths, limit=_MAX_SOURCES):
        lines = {_line(store, oid, identifier) for oid in (commit.oid, *commit.parents[:1])}
        if paths == [path] or len(lines) > 1:
            return commit
    return repair


def _line(store: Store, commit: str, identifier: str) -> object:
    """Return a fact's line in `memory.md` of a commit, None if it has none."""
    from gitmem.model.line_edits import fact_entries

    with store.repository.reading() as objects:
        (data,) = objects.contents([f"{commit}:{MEMORY}"])
    return fact_entries(Document.parse(data or b"").body).get(identifier)


def _facts(path: str, contents: Iterable[bytes | None]) -> list[Fact | None]:
    return [parse_fact(data, path) if data else None for data in contents]


def _words(before: Fact, now: Fact | None) -> str:
    """Return a fact's old words: its first line, old values of other changed fields, and lines that a merge added."""
    changed = [name for name in _NAMED if now and getattr(before, name) != getattr(now, name)]
    fields = ((name, getattr(before, name)) for name in changed)
    parts = [f"{name}: {(', '.join(value) if isinstance(value, tuple) else value) or 'none'}" for name, value in fields]
    if now and (own := {before.description, *before.text.splitlines()}) < {now.description, *now.text.splitlines()}:
        parts += [f"now also: {one_line(line, _TEXT)}" for line in now.text.splitlines() if line and line not in own]
    return f"{before.description} ({'; '.join(parts)})" if parts else before.description


def _says(fact: Fact | None) -> object:
    """Return the parts of a fact that are shown or enforced: a change of any of them waits for the user."""
    if fact is None:
        return None
    shown = (fact.text, fact.description, fact.kind, fact.binds, fact.superseded_by, fact.scope, fact.pinned)
    return *shown, fact.forbids, fact.until, fact.enforce, day_of(fact.created)

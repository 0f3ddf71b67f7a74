"""Keep facts and their lines in `memory.md` the same, in one commit (docs/format.md, "Facts").

A commit that changes facts changes their lines, and an edit of a line by hand edits the fact. Only saves that touch
facts load this module. Tested through `tests/record/test_fact_edits.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from gitmem.document.document import BrokenHeaderError, Document
from gitmem.document.entry import CORE_DECISIONS, KNOWN_ISSUES, find_section
from gitmem.document.ids import MEMORY
from gitmem.document.message import one_line
from gitmem.errors import GitmemError, RefusedError
from gitmem.git.log import log
from gitmem.model.fact import FOLDER, MAX_DESCRIPTION, PATH, Fact, FactKind, parse_fact, render_fact
from gitmem.model.line_edits import LISTED, SECTIONS, fact_entries, facts_as_edited, line_edits, updated_body
from gitmem.model.rotation import counted_down
from gitmem.model.validity import reworded
from gitmem.platform.machine import datetime
from gitmem.store.store import Store
from gitmem.store.transaction import Transaction

Read = Callable[[str], bytes | None]
Names = Callable[[str], Iterable[str]]
_MOST_VERSIONS = 20  # of a broken fact that are searched for the last good one
COUNTED = ": `gitmem facts list`."  # ends a line that counts facts without a line


class FactsById:
    """The facts of one tree by id, read by `read` and `names`; those in `paths` are found without listing a folder."""

    def __init__(self, read: Read, names: Names, *, paths: Iterable[str] = ()) -> None:
        self._read, self._names = read, names
        self._near = _by_id(paths)
        self._paths: dict[str, str] | None = None
        self.facts: dict[str, Fact | None] = {}

    def get(self, identifier: str) -> Fact | None:
        """Return a fact with its text, None if there is none or its file cannot be read."""
        if identifier not in self.facts:
            path = self._path(identifier)
            data = None
            with contextlib.suppress(RefusedError, OSError):
                data = self._read(path) if path else None
            self.facts[identifier] = parse_fact(data, path) if data is not None else None
        return self.facts[identifier]

    def with_successors(self, identifiers: Iterable[str]) -> dict[str, Fact]:
        """Return those of these facts that exist, and their successors."""
        facts: dict[str, Fact] = {}
        wanted = list(identifiers)
        while wanted:
            fact = self.get(wanted.pop())
            if fact is not None and fact.id not in facts:
                facts[fact.id] = fact
                wanted += [fact.superseded_by] if fact.superseded_by else []
        return facts

    def _path(self, identifier: str) -> str:
        if identifier in self._near:
            return self._near[identifier]
        if self._paths is None:
            folders = [f"{FOLDER}/{kind.value}" for kind in FactKind]
            self._paths = _by_id(f"{folder}/{name}" for folder in folders for name in sorted(self._names(folder)))
        return self._paths.get(identifier, "")


def _by_id(paths: Iterable[str]) -> dict[str, str]:
    return {match["id"]: path for path in paths if (match := PATH.fullmatch(path))}


def with_memory_lines(transaction: Transaction, changes: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the changes of a commit, with its facts' lines in `memory.md` updated."""
    news = {path: data for path, data in changes.items() if path.startswith(f"{FOLDER}/")}
    memory = changes.get(MEMORY, transaction.read(MEMORY))
    if memory is None or all(_has_line(transaction, path, changes) for path in news):
        return dict(changes)
    olds = {path: transaction.read(path) for path in news}
    now = with_edits(memory, olds, news, FactsById(transaction.read, transaction.names), transaction.now)
    return {**changes, MEMORY: now} if now != memory or MEMORY in changes else dict(changes)


def apply_line_edits(transaction: Transaction) -> None:
    """Apply edits by hand of facts' lines to the facts, in the commit of the edits."""
    before, after = transaction.edit_of(MEMORY)
    if before is None or after is None:
        return
    document = Document.parse(after)
    edits = line_edits(fact_entries(Document.parse(before).body), document.body)
    lookup = FactsById(transaction.read, transaction.names)
    ids = dict.fromkeys((*edits.ended, *edits.reworded, *edits.revived))
    for fact in facts_as_edited(edits, lookup.get, transaction.now).values():
        try:
            _amend_fact(transaction, fact)
            lookup.facts[fact.id] = fact
        except BrokenHeaderError:  # its line stays as the user wrote it
            del ids[fact.id]
    facts = lookup.with_successors(ids)
    body = updated_body(edits.body, facts, document.newline)
    transaction.amend(MEMORY, lambda _: document.with_body(body).render())


def edited_facts(store: Store, commit: str, paths: Collection[str], facts: Iterable[Fact]) -> dict[str, Fact]:
    """Return by id the facts that edits by hand have changed since a commit; `paths` are the edited files."""
    now, changed = store.context.clock(), {}
    with store.repository.reading() as objects:
        contents = dict(zip(paths, objects.contents([f"{commit}:{path}" for path in paths]), strict=True))
    memory = contents.pop(MEMORY, None)
    for path, data in contents.items():
        if fact := _as_edited(data, store.read(path), path, now):
            changed[fact.id] = fact
    if memory:
        old, new = (Document.parse(data).body for data in (memory, store.read(MEMORY) or b""))
        edits = line_edits(fact_entries(old), new)
        if store.tip != commit:  # moved by another program: perhaps a rotation took the lines that are gone
            edits = edits._replace(ended=())
        changed |= facts_as_edited(edits, {fact.id: fact for fact in facts}.get, now)
    return changed


def _as_edited(old: bytes | None, new: bytes | None, path: str, now: datetime) -> Fact | None:
    """Return a fact whose words a user edited in its file, in the text, the description or both; None for another edit.

    If only the one was edited, the other follows.
    """
    before, after = (None if data is None else parse_fact(data, path) for data in (old, new))
    if before is None or after is None or (before.text, before.description) == (after.text, after.description):
        return None
    first, _, rest = after.text.partition("\n\n")
    text = after.text
    if text == before.text and one_line(first, MAX_DESCRIPTION) == before.description:
        text = "\n\n".join(filter(None, (after.description, rest)))
    fact = reworded(after, text, now)
    return fact if after.description == before.description else fact._replace(description=after.description)


def last_versions(store: Store, path: str) -> Iterator[Fact]:
    """Yield the valid versions among the last `_MOST_VERSIONS` commits of a fact's file, the newest first."""
    tip, repository = store.tip, store.repository
    with contextlib.suppress(GitmemError):
        for commit in log(repository.git, tip, paths=[path], limit=_MOST_VERSIONS) if tip else ():
            data = repository.read(commit.oid, path)
            if data is not None and (fact := parse_fact(data, path)) is not None:
                yield fact


def with_facts(transaction: Transaction, memory: bytes) -> dict[str, bytes | None]:
    """Return a change of `memory.md`, with the changes of the facts whose lines it changes."""
    before, after = (Document.parse(data).body for data in (transaction.read(MEMORY) or b"", memory))
    lookup = FactsById(transaction.read, transaction.names)
    facts = facts_as_edited(line_edits(fact_entries(before), after), lookup.get, transaction.now)
    return {MEMORY: memory, **{fact.path: render_fact(fact) for fact in facts.values()}}


def apply_file_edits(transaction: Transaction, paths: Iterable[str]) -> None:
    """Update the lines in `memory.md` after edits of facts' files by hand, in the edits' commit and later ones."""
    edits = {path: transaction.edit_of(path) for path in paths}
    for path, (old, new) in edits.items():
        if fact := _as_edited(old, new, path, transaction.now):
            with contextlib.suppress(BrokenHeaderError):
                _amend_fact(transaction, fact)
    transaction.read(MEMORY)
    olds, news = {path: old for path, (old, _) in edits.items()}, {path: transaction.edit_of(path)[1] for path in edits}
    lookup = FactsById(transaction.read, transaction.names)
    transaction.amend(MEMORY, lambda data: with_edits(data, olds, news, lookup, transaction.now))


def _amend_fact(transaction: Transaction, fact: Fact) -> None:
    """Change a fact in the commit of the edits by hand; a planned commit that changes it overrides that."""
    source, data = fact.source, render_fact(fact)
    transaction.amend(fact.path, lambda content: data if content == source else content)


def with_edits(
    memory: bytes, olds: Mapping[str, bytes | None], news: Mapping[str, bytes | None], lookup: FactsById, now: datetime
) -> bytes:
    """Return `memory.md` after changes of facts' files: new facts in force get a line; `lookup` has the others."""
    before, after = _facts(olds), _facts(news)
    lookup.facts |= after
    facts = lookup.with_successors(after)
    document = Document.parse(memory)
    removed = [key for key in before if after.get(key) is None]
    new = {}
    for identifier in after:
        fact, old = facts.get(identifier), before.get(identifier)
        if fact is not None and fact.kind in LISTED and not fact.adopted and not (old is not None and old.binds):
            when = fact.created if old is None else now
            new[identifier] = when.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M:%S")
    body = _with_counts(document.body, before, after)
    body = updated_body(body, facts, document.newline, new=new, removed=removed)
    return memory if body == document.body else document.with_body(body).render()


def _with_counts(body: str, before: Mapping[str, Fact | None], after: Mapping[str, Fact | None]) -> str:
    """Return the body whose lines count the facts without a line, after facts ended or got one."""
    if COUNTED not in body:
        return body
    facts = (old for old in before.values() if old and old.binds and not old.adopted and f"^{old.id}" not in body)
    ended = [old for old in facts if not ((new := after.get(old.id)) and new.binds)]
    for section in (CORE_DECISIONS, KNOWN_ISSUES):
        fewer = sum(SECTIONS.get(old.kind) == section for old in ended)
        place = find_section(body, section) if fewer else None
        body = counted_down(body, place.start, place.end, fewer) if place else body
    return body


def update_merged_memory(before: bytes | None, memory: bytes, lookup: FactsById, changed: Iterable[str]) -> bytes:
    """Return a merged `memory.md` with the lines of the merged facts; `before` is that of the merge base.

    If each side replaced its fact by the other's, the fact in force gets its old line back.
    """
    document = Document.parse(memory)
    old = fact_entries(Document.parse(before or b"").body)
    touched = {match["id"] for path in changed if (match := PATH.fullmatch(path))}
    here = fact_entries(document.body)
    facts = lookup.with_successors([*here, *touched])
    removed = [key for key in touched if key not in facts]
    back = {key: entry.time for key, entry in old.items() if key in touched and key in facts and key not in here}
    body = updated_body(document.body, facts, document.newline, new=back, removed=removed)
    return memory if body == document.body else document.with_body(body).render()


def _has_line(transaction: Transaction, path: str, changes: Mapping[str, bytes | None]) -> bool:
    """Return whether a file is a new fact whose line the same commit adds, without parsing it."""
    named = PATH.fullmatch(path)
    line = f" ^{named['id']}".encode() if named else b""
    return bool(line and line in (changes.get(MEMORY) or b"") and transaction.read(path) is None)


def _facts(files: Mapping[str, bytes | None]) -> dict[str, Fact | None]:
    """Return the facts in files, by id, in the type of `FactsById.facts`."""
    facts = (parse_fact(data, path) for path, data in files.items() if data is not None)
    return {fact.id: fact for fact in facts if fact is not None}

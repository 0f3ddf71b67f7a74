"""The book of facts: every write of facts in the commit of a turn, a save or a session (spec V4 to V6, P3).

A known fact, in these or other words, gains a source. A fact that contradicts one in force is kept beside it for review
(`gitmem review`, `gitmem facts confirm`) or for a model's verdict (`gitmem.facts.edit`). A fact that a person retired,
or whose file was removed, is not learned again. A save loads this only for types that become facts.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING

from gitmem.document.entry import MemoryType, find_entries
from gitmem.document.ids import MEMORY, is_timed, milliseconds_of, scopes_in, tail_of
from gitmem.document.message import Message, Op, Trailer, session_message
from gitmem.facts.compare import WEIGHED, candidates, rivals_of, says_the_same
from gitmem.facts.extract import (
    FoundFact,
    as_statement,
    fact_keywords,
    facts_of_prompt,
    find_facts,
    find_fixes,
    is_saved,
    repeated,
    saved_in,
)
from gitmem.facts.fact import Fact, FactKind, make_fact, parse_changeable, render_fact
from gitmem.facts.lines import marks_of, state_as_of_now
from gitmem.facts.validity import dispute, ended, in_force, revived, supersede, what_holds
from gitmem.project.code import checked_out, cite
from gitmem.project.state import project_code
from gitmem.sessions.entries import relative_files
from gitmem.sessions.read import boot_lines, redacted
from gitmem.sessions.turns import derived_id, is_restated
from gitmem.store.known_facts import known_facts
from gitmem.store.transact import transact
from gitmem.text.sentences import count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Literal

    from gitmem.document.entry import Entry, Save
    from gitmem.history.authors import People
    from gitmem.project.state import ProjectCode
    from gitmem.sessions.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction


Changes = dict[str, bytes | None]

KINDS = {
    MemoryType.DECISION: FactKind.DECISION,
    MemoryType.PREFERENCE: FactKind.PREFERENCE,
    MemoryType.RULE: FactKind.RULE,
    MemoryType.ISSUE: FactKind.ISSUE,
    MemoryType.PATTERN: FactKind.PATTERN,
}
LONGEST = 8_000  # characters; a longer text is a document, and is saved as an entry
MAX_SOURCES = 12
_SAVED = 0.9  # the confidence of what was saved as a decision and the like
_LIVE = timedelta(hours=6)  # a session that ended earlier was replayed, and speaks of the project as it was then
_TYPES = {kind.label: kind for kind in MemoryType}
_LEARNED = {**KINDS, MemoryType.LEARNING: FactKind.CORE_LOGIC, MemoryType.ERROR_FIX: FactKind.SOLUTION}


class FactBook:
    """The facts that one transaction adds and changes, over all of its commits."""

    def __init__(self, store: Store, transaction: Transaction) -> None:
        self._store, self._transaction = store, transaction
        self._known: dict[str, Fact] | None = None  # without texts
        self._changed: dict[str, Fact] = {}  # with texts
        self._people: People | None = None
        self._code: ProjectCode | Literal[False] | None = None  # not looked for yet; False: there is none
        self._at = ("", "")
        self.new: list[Fact] = []

    def keep_save(self, event: Save, text: str) -> tuple[str, Changes | None]:
        """Return the id of a save's entry and the changes of files that keep its fact.

        The changes are None if the save is committed already, and empty if it makes no fact.
        """
        made = fact_of(event, text)
        if made is None:
            return event.id, {}
        fact = self.known().get(made.id)
        if fact is not None and event.id in fact.sources:
            return made.id, None
        kept = self.keep(made, event.id, again=True)
        return (event.id, {}) if kept is None else (kept[0].id, kept[1])

    def keep_turn(self, turn: Turn, answer_before: str, boot: Collection[str]) -> Changes:
        """Return the file changes that save what a turn states, and resolve the issues that it mends.

        `turn` is redacted; `boot` are the lines of files that the agent loads itself. A fact that the agent saved in
        the turn gains its exchange, and goes before the person's words that it repeats.
        """
        by_agent = saved_in(self.known().values(), turn)
        changes = self._instead(turn, by_agent)
        files = relative_files(turn.files, (os.path.dirname(self._store.root), turn.cwd))
        for found in facts_of_prompt(turn, answer_before, files) if turn.prompt else ():
            if not is_restated(found.text, boot) and repeated(by_agent, found.text) is None:
                changes |= self.take(found, turn.session, again=True)
        return changes | self.resolve([turn])

    def _instead(self, turn: Turn, by_agent: Sequence[Fact]) -> Changes:
        """Return the changes that give a turn's exchange to the facts saved in it, which replace what they repeat."""
        exchange = turn.exchange_id
        facts = {one.id: one for one in map(self._read, by_agent) if one is not None}
        for fact in facts.values():
            origin = {"session": turn.session, "exchange": exchange, **fact.origin}
            facts[fact.id] = _with_source(fact._replace(origin=origin), exchange)
        for known in [*self.known().values()] if facts else ():
            said = known.origin.get("exchange") in {exchange, turn.session} and known.binds and not is_saved(known)
            instead = repeated(facts.values(), known.description) if said else None
            if instead is not None and self._read_into(facts, known.id):
                facts |= supersede(facts, known.id, instead.id, self._transaction.now)
        return self._changes([*facts.values()])

    def take(self, found: FoundFact, session: str, *, again: bool) -> Changes:
        """Return the file changes that keep a finding; where a known fact says the same, that gains its source.

        `again`: what a person says after it had ended holds again, unlike in an old session that is read later.
        """
        made = make_fact(
            found.kind,
            found.text,
            found.at.replace(microsecond=0),
            confidence=found.confidence,
            origin={
                key: value
                for key, value in (("session", session), ("exchange", found.source), ("by", found.by))
                if value
            },
            sources=(found.source,),
            keywords=fact_keywords(found.text),
            files=found.files,
            scope=found.scope,
        )
        same = self._same(made)
        if same is None:
            if not again and self._store.repository.ever_had(made.path):
                return {}  # removed by a person or an undo
            same = made
        elif tail_of(found.source) in map(tail_of, same.sources):
            return {}
        if same.id != made.id and not same.binds:
            return {}
        said_here = same._replace(scope=_wider(same, made))
        kept = self.keep(said_here, found.source, again=again and same.when < found.at)
        changes = kept[1] if kept else {}
        if kept and made.created < kept[0].created:
            changes |= self._changes([kept[0]._replace(created=made.created)])
        return changes

    def _same(self, made: Fact) -> Fact | None:
        """Return the known fact with the same id, or of a comparable kind that says the same."""
        if made.id in self.known():
            return self.known()[made.id]
        for fact in self.known().values():
            if _alike(fact.kind, made.kind.value) and says_the_same(fact.description, made.description):
                return fact
            by_agent = is_saved(fact) and fact.origin.get("exchange") == made.origin["exchange"]
            if by_agent and repeated([fact], made.description):
                return fact
        return None

    def resolve(self, turns: Sequence[Turn]) -> Changes:
        """Return the file changes that resolve the open issues mended in these turns."""
        issues = [fact for fact in self.known().values() if fact.kind == FactKind.ISSUE and fact.binds]
        fixes = [*find_fixes(turns)] if issues else []
        changed = []
        for known in issues:
            fix = next((fix for fix in fixes if fix.at > known.created and fix.mends(known.description)), None)
            fact = self._read(known) if fix else None
            if fix is not None and fact is not None:
                changed.append(ended(fact, fix.at, fix.text))
        return self._changes(changed)

    def replace(self, loser: str, winner: str, when: datetime, *, sure: bool) -> Changes:
        """Return the file changes by which one fact supersedes another, or where it is not sure, stands beside it."""
        facts: dict[str, Fact] = {}
        if not self._read_into(facts, loser, winner):
            return {}
        facts |= supersede(facts, loser, winner, when) if sure else dispute(facts, loser, winner)
        return self._changes([*facts.values()])

    def resolve_one(self, identifier: str, when: datetime, how: str) -> Changes:
        """Return the file changes that resolve an open issue."""
        fact = self._read(self.known()[identifier])
        return self._changes([ended(fact, when, how)]) if fact is not None and fact.binds else {}

    def confirm(self, identifier: str, source: str) -> Changes:
        """Return the file changes that add a source to a fact in force."""
        fact = self._read(self.known()[identifier])
        return self._changes([_with_source(fact, source)]) if fact is not None and fact.binds else {}

    def branch_of(self, folder: str) -> str:
        """Return the branch that is checked out in a folder of the project, "" for none."""
        code = project_code(folder, self._store.context.environ) if folder else None
        code = code or self._store.code()
        return checked_out(code)[0] if code else ""

    def learned_now(self, made: Fact) -> Fact:
        """Return a new fact with the branch and commit that are checked out, and the lines of code it speaks of."""
        if self._code is None:
            self._code = self._store.code() or False
            self._at = checked_out(self._code) if self._code else ("", "")
        branch, commit = self._at
        if not self._code or not commit or self._store.is_own or made.commit:
            return made
        return cite(self._code, made, branch, commit)

    def note_commit(self, commit: str, files: Collection[str]) -> Changes:
        """Return the file changes that record the commit of which facts speak whose files are all in it."""
        due = [fact for fact in self.known().values() if fact.files and not fact.commit]
        read = [self._read(fact) for fact in due if set(fact.files) <= set(files)]
        return self._changes([fact._replace(commit=commit) for fact in read if fact is not None and not fact.commit])

    def has_ended(self, identifier: str) -> bool:
        """Return whether a fact is known and does not hold."""
        status = what_holds(self.known().values()).get(identifier)
        return status is not None and not status.holds

    def as_of_now(self, state: Entry, exchange: str) -> Entry:
        """Return the State of a turn with marks on facts that do not hold."""
        return state_as_of_now(state, marks_of(self.known().values()), exchange)

    def keep(self, made: Fact, source: str, *, again: bool) -> tuple[Fact, Changes] | None:
        """Return a fact and the changes of files that keep it; None if it ended and is not to hold again.

        A fact that is there already gains the source. `again`: a person says it, so it holds again if it had ended.
        What contradicts it is kept beside it for review, unless it is the person's older word.
        """
        known = self.known().get(made.id)
        there = self._read(known or made)  # or made by an earlier commit of the transaction
        if known is not None and there is None:
            return None  # its file cannot be changed
        there = there and there._replace(scope=_wider(there, made))
        if there is not None and there.binds:
            fact = _with_source(there, source)
            return fact, self._changes([fact])
        if there is not None and not again:
            return None
        if there is None:
            age = self._store.context.clock() - made.created
            made = self.learned_now(made) if age < _LIVE else made
            self.new.append(made)
        fact = made if there is None else _with_source(revived(there, self._transaction.now), source)
        facts = {fact.id: fact}
        others = {other.id: other for other in in_force(self.known().values()) if other.id != fact.id}
        new = made if there is None else made._replace(created=self._transaction.now)
        rivals = rivals_of(new, candidates(new.description, others.values()), self._is_mine)
        pairs = [*((one.id, fact.id) for one in rivals.ended), *((fact.id, one.id) for one in rivals.ended_by)]
        for loser, winner in pairs:
            if self._read_into(facts, loser, winner):
                when = max(facts[loser].created, facts[winner].created) if there is None else self._transaction.now
                facts |= supersede(facts, loser, winner, when)
        disputed = [one.id for one in rivals.disputed]
        if there is not None and there.superseded_by in others and not pairs:
            disputed.append(there.superseded_by)  # said again, it does not yield unasked to the fact that replaced it
        for other in disputed:
            if self._read_into(facts, other):
                facts[other] = _beside(facts[other], fact.id)
                facts[fact.id] = _beside(facts[fact.id], other)
        return facts[fact.id], self._changes([*facts.values()])

    def _is_mine(self, fact: Fact) -> bool:
        if self._people is None:
            from gitmem.history.authors import People

            self._people = People(self._store)
        return not self._people.other(fact.id)

    def _read_into(self, facts: dict[str, Fact], *names: str) -> bool:
        """Add facts with their texts; False if the file of one cannot be changed."""
        for name in names:
            if name not in facts and (read := self._read(self.known()[name])) is not None:
                facts[name] = read
        return facts.keys() >= {*names}

    def known(self) -> dict[str, Fact]:
        """Return all facts by id, as the transaction leaves them."""
        if self._known is None:
            self._known = {fact.id: fact for fact in known_facts(self._store)}
        return self._known

    def _read(self, known: Fact) -> Fact | None:
        if known.id in self._changed:
            return self._changed[known.id]
        return parse_changeable(self._transaction.read(known.path), known.path)

    def _changes(self, facts: Sequence[Fact]) -> Changes:
        for fact in facts:
            self._changed[fact.id] = self.known()[fact.id] = fact._replace(file=fact.path)
        return {fact.path: render_fact(fact) for fact in facts}


def fact_of(event: Save, text: str) -> Fact | None:
    """Return the fact of a save, None for a type without facts; `text` is redacted and clean."""
    if event.type not in KINDS or len(text) > LONGEST:
        return None
    origin = {"tool": event.host, "session": event.session}
    tags = (tag for tag in event.tags if not scopes_in((tag,)))
    return make_fact(
        KINDS[event.type],
        text,
        event.at.replace(microsecond=0),
        confidence=_SAVED,
        origin={key: value for key, value in origin.items() if value},
        sources=(event.id,),
        keywords=tuple(dict.fromkeys((*(tag.casefold() for tag in tags), *fact_keywords(text)))),
        scope=scopes_in(event.tags),
    )


def _beside(fact: Fact, other: str) -> Fact:
    """Return a fact that contradicts another one, which it does not supersede, for a person to decide."""
    supersedes = tuple(name for name in fact.supersedes if name != other)
    return fact._replace(review=tuple(dict.fromkeys((*fact.review, other))), supersedes=supersedes)


def _alike(one: str, other: str) -> bool:
    """Return whether facts of two kinds can say the same: the kinds are equal, or both are `WEIGHED`."""
    kinds = [kind.value for kind in WEIGHED]
    return one == other or (one in kinds and other in kinds)


def _wider(one: Fact, other: Fact) -> tuple[str, ...]:
    """Return the parts of the project in which one of two facts that say the same is told."""
    return tuple(dict.fromkeys((*one.scope, *other.scope))) if one.scope and other.scope else ()


def _with_source(fact: Fact, source: str) -> Fact:
    if source in fact.sources:
        return fact
    sources = (*fact.sources, source)
    return fact._replace(sources=(sources[0], *sources[1:][1 - MAX_SOURCES :]))


def learn(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the facts that a session's turns state, and entries saved as decision and the like; returns the commit.

    A second call adds nothing.

    Raises:
        GitmemError: they could not be committed.

    """
    clean = [redacted(turn, store) for turn in turns]
    findings = find_facts(clean, (os.path.dirname(store.root),), boot_lines(store))
    return learn_findings(store, session, host, findings, turns=clean)


def learn_findings(
    store: Store, session: str, host: str, findings: Sequence[FoundFact], *, turns: Sequence[Turn] = (), model: str = ""
) -> str | None:
    """Commit findings, entries of `memory.md` that are no facts yet, and issues that these turns mend, in one commit.

    Returns the commit. `model` is the one that made the findings, if any.

    Raises:
        GitmemError: they could not be committed.

    """
    when = max((*(one.at for one in findings), *(turn.ended for turn in turns)), default=store.context.clock())
    code = project_code(os.path.dirname(store.root), store.context.environ)
    as_of = cache(partial(_code_as_of, store, code, when))  # git is asked once

    def plan(transaction: Transaction) -> bool:
        book = FactBook(store, transaction)
        changes: Changes = {}
        for finding in (*findings, *_saved(transaction, book)):
            changes |= book.take(finding, session, again=False)
        changes |= book.resolve(turns)
        if any(fact.files and not fact.commit for fact in book.known().values()):
            changes |= book.note_commit(*as_of())
        ids = [fact.id for fact in book.known().values() if fact.path in changes]
        subject = f"Update {count(len(ids), 'fact')}"
        if book.new:
            subject = f"{'Learn' if len(book.new) == 1 else f'Learn {len(book.new)} facts'}: {book.new[0].description}"
        message = fact_message(subject, ids, session, host).by(model)
        return bool(changes) and transaction.commit(message, changes, when=when)

    outcome = transact(store, plan, purpose="learn")
    known_facts(store)  # so that the next session's start finds them in the cache
    return outcome.commit


def _code_as_of(store: Store, code: ProjectCode | None, when: datetime) -> tuple[str, frozenset[str]]:
    """Return the project's commit at the end of a session and its files."""
    now = store.context.clock()
    when = when + timedelta(days=1) if now - when > _LIVE else now
    return code.as_of(min(when, now)) if code else ("", frozenset())


def _saved(transaction: Transaction, book: FactBook) -> list[FoundFact]:
    """Return the decisions, issues and so on of `memory.md` that are no fact's source yet."""
    data = transaction.read(MEMORY)
    known = {tail_of(source) for fact in book.known().values() for source in fact.sources} if data else set()
    findings = []
    for entry in (found.entry for found in find_entries((data or b"").decode("utf-8", "replace"))):
        # A line with the id of a fact is that fact's.
        if _TYPES.get(entry.label) in _LEARNED and is_timed(entry.id) and tail_of(entry.id) not in known:
            findings += _of_entry(entry)
    return findings


def _of_entry(entry: Entry) -> list[FoundFact]:
    """Return an entry of `memory.md` as a finding; none if capture took it from an answer."""
    kind = _TYPES[entry.label]
    words = " ".join(entry.text.casefold().split())
    at = moment_of(entry)
    if not words or tail_of(derived_id(at, kind.value, words)) == tail_of(entry.id):
        return []
    text = entry.text if "\n" in entry.text else as_statement(entry.text)
    return [FoundFact(_LEARNED[kind], text, _SAVED, at, entry.id)]


def moment_of(entry: Entry) -> datetime:
    """Return when an entry was made, in UTC: from its id, as its line may have another time zone."""
    return datetime.fromtimestamp(milliseconds_of(entry.id) / 1000, UTC).replace(microsecond=0)


def fact_message(subject: str, facts: Iterable[str], session: str = "", host: str = "") -> Message:
    """Return the message of a commit that changes facts."""
    return session_message(subject, Op.FACT, Trailer.FACT, facts, session=session, host=host)

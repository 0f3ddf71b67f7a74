"""What lasts: a decision, rule, preference, issue or pattern becomes a fact in the commit that saves its line.

Loaded only for these types, so that a note is saved without it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.model.entry.kinds import MemoryType
from gitmem.model.fact.acts import ended, revived
from gitmem.model.fact.chain import supersede
from gitmem.model.fact.compare import says_the_same
from gitmem.model.fact.fact import Fact, FactKind, fact_id, make_fact
from gitmem.model.fact.file import parse_changeable, render_fact
from gitmem.model.fact.find import fact_keywords, facts_of_prompt, find_fixes
from gitmem.model.fact.holds import in_force, what_holds
from gitmem.model.fact.rivals import rivals_of
from gitmem.model.fact.said.by_agent import is_saved, repeated, saved_in, saves
from gitmem.model.fact.views.lines import state_as_of_now
from gitmem.model.fact.views.marks import marks_of
from gitmem.model.ids import is_fact_id
from gitmem.model.session.entries import relative_files
from gitmem.model.session.noise import is_restated
from gitmem.store.headers.facts import known_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from gitmem.model.entry.entry import Entry
    from gitmem.model.entry.save import Save
    from gitmem.model.session.entries import Placed, Remembered
    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

KINDS = {
    MemoryType.DECISION: FactKind.DECISION,
    MemoryType.PREFERENCE: FactKind.PREFERENCE,
    MemoryType.RULE: FactKind.RULE,
    MemoryType.ISSUE: FactKind.ISSUE,
    MemoryType.PATTERN: FactKind.PATTERN,
}
LONGEST = 8_000  # characters; a longer text is a document, and is saved as an entry
MAX_SOURCES = 12
_BY_LABEL = {kind.label: fact for kind, fact in KINDS.items()}
_SAID = 0.6  # the confidence of statements in answers
_SAVED = 0.9  # the confidence of saves by hand


class Lasting:
    """The facts that one transaction adds and changes, over all of its commits."""

    def __init__(self, store: Store, transaction: Transaction) -> None:
        self._store, self._transaction = store, transaction
        self._known: dict[str, Fact] | None = None  # without texts
        self._by_agent: list[Fact] = []  # facts that the agent saved in the present turn

    def keep_save(self, event: Save, text: str) -> tuple[str, dict[str, bytes | None] | None]:
        """Return the id of a save's entry and the changes of files that keep its fact.

        The changes are None if the save is committed already, and empty if it makes no fact.
        """
        made = fact_of(event, text)
        if made is None:
            return event.id, {}
        known = self._facts().get(made.id)
        if known is not None and event.id in known.sources:
            return made.id, None
        kept = self.keep(made, event.id, again=True)
        return (event.id, {}) if kept is None else (kept[0].id, kept[1])

    def keep_saved(self, turn: Turn, remembered: Remembered) -> tuple[Remembered, dict[str, bytes | None]]:
        """Return a turn's entries without guesses at facts that the agent saved itself, and the changes of files.

        The facts that it saved gain the turn's exchange, and replace facts guessed before.
        """
        self._by_agent = saved_in(self._facts().values(), turn) if saves(turn) else []
        exchange = turn.exchange_id
        facts = {one.id: one for one in map(self._read, self._by_agent) if one is not None}
        if not facts:
            return remembered, {}
        for fact in facts.values():
            origin = {"session": turn.session, "exchange": exchange, **fact.origin}
            facts[fact.id] = _with_source(fact._replace(origin=origin), exchange)
        for known in [*self._facts().values()]:
            guessed = known.origin.get("exchange") in {exchange, turn.session} and known.binds and not is_saved(known)
            instead = repeated(facts.values(), known.description) if guessed else None
            if instead is not None and self._read_into(facts, known.id):
                facts |= supersede(facts, known.id, instead.id, self._transaction.now)
        left = remembered.only(lambda one: one.entry.label not in _BY_LABEL or not self._is_by_agent(one.entry.text))
        return left, self._changes([*facts.values()])

    def without_saved(self, placed: Iterable[Placed], session: str) -> tuple[Placed, ...]:
        """Return the lines of a session's answers without guesses at facts that its agent saved itself."""
        saved = [fact for fact in self._facts().values() if is_saved(fact) and fact.origin.get("session") == session]
        return tuple(one for one in placed if one.entry.label not in _BY_LABEL or not repeated(saved, one.entry.text))

    def _is_by_agent(self, text: str) -> bool:
        return repeated(self._by_agent, text) is not None

    def keep_said(self, placed: Iterable[Placed], session: str, source: str) -> dict[str, bytes | None]:
        """Return the file changes that save the facts of a turn's lines; facts that ended are left out."""
        changes: dict[str, bytes | None] = {}
        for identifier, one in {one.entry.id: one for one in placed}.items():
            kind = _BY_LABEL.get(one.entry.label)
            if kind is None or not is_fact_id(identifier):
                continue
            made = make_fact(
                kind,
                one.entry.text,
                one.at.replace(microsecond=0),
                confidence=_SAID,
                origin={"session": session, "exchange": source} if session else {"exchange": source},
                sources=(source,),
                keywords=fact_keywords(one.entry.text),
            )
            kept = self.keep(made, source, again=False)
            changes |= kept[1] if kept else {}
        return changes

    def keep_turn(self, turn: Turn, answer_before: str, boot: Collection[str]) -> dict[str, bytes | None]:
        """Return the file changes that save the person's statements in a turn, and resolve the issues it mends.

        `turn` is redacted; `boot` are the lines of files that the agent loads itself.
        """
        changes: dict[str, bytes | None] = {}
        files = relative_files(turn.files, (os.path.dirname(self._store.root), turn.cwd))
        origin = {"session": turn.session, "exchange": turn.exchange_id}
        for found in facts_of_prompt(turn, answer_before, files):
            if is_restated(found.text, boot) or self._is_by_agent(found.text) or self._is_said(found.kind, found.text):
                continue  # the end of the session adds the source to the fact that says the same
            made = make_fact(
                found.kind,
                found.text,
                found.at.replace(microsecond=0),
                confidence=found.confidence,
                origin={key: value for key, value in origin.items() if value},
                sources=(found.source,),
                keywords=fact_keywords(found.text),
                files=found.files,
            )
            kept = self.keep(made, found.source, again=self._ended_before(made.id, found.at))
            changes |= kept[1] if kept else {}
        return changes | self._resolved(turn)

    def _ended_before(self, identifier: str, at: datetime) -> bool:
        """Return whether a fact had ended when a person said it again, unlike in an old session that is read later."""
        ended_at = self._facts()[identifier].when if identifier in self._facts() else at
        return ended_at < at

    def _is_said(self, kind: FactKind, text: str) -> bool:
        """Return whether another known fact says the same in other words."""
        own_id = fact_id(kind, text)
        known = (fact for fact in self._facts().values() if fact.kind == kind and fact.id != own_id)
        return any(says_the_same(fact.description, text) for fact in known)

    def _resolved(self, turn: Turn) -> dict[str, bytes | None]:
        """Return the file changes that resolve the open issues mended in a turn."""
        issues = [fact for fact in self._facts().values() if fact.kind is FactKind.ISSUE and fact.binds]
        fixes = find_fixes([turn]) if issues else []
        changed = []
        for known in issues:
            fix = next((fix for fix in fixes if fix.at > known.created and fix.mends(known.description)), None)
            fact = self._read(known) if fix else None
            if fix is not None and fact is not None:
                changed.append(ended(fact, fix.at, fix.text))
        return self._changes(changed)

    def has_ended(self, identifier: str) -> bool:
        """Return whether a fact is known and does not hold."""
        status = what_holds(self._facts().values()).get(identifier)
        return status is not None and not status.holds

    def as_of_now(self, state: Entry, exchange: str) -> Entry:
        """Return the State of a turn with marks on facts that do not hold."""
        return state_as_of_now(state, marks_of(self._facts().values()), exchange)

    def keep(self, made: Fact, source: str, *, again: bool) -> tuple[Fact, dict[str, bytes | None]] | None:
        """Return a fact and the changes of files that keep it; None if it ended and is not to hold again.

        A fact that is there already gains the source. `again`: a person says it, so it holds again if it had ended.
        What contradicts it is kept beside it for review.
        """
        known = self._facts().get(made.id)
        there = self._read(known or made)  # or made by an earlier commit of the transaction
        if known is not None and there is None:
            return None  # its file cannot be changed
        if there is not None and there.binds:
            return there, self._changes([_with_source(there, source)])
        if there is not None and not again:
            return None
        fact = made if there is None else _with_source(revived(there, self._transaction.now), source)
        facts = {fact.id: fact}
        others = {other.id: other for other in in_force(self._facts().values()) if other.id != fact.id}
        rivals = rivals_of(made, others.values())
        pairs = [*((one.id, fact.id) for one in rivals.ended), *((fact.id, one.id) for one in rivals.ended_by)]
        for loser, winner in pairs:
            if self._read_into(facts, loser, winner):
                facts |= supersede(facts, loser, winner, self._transaction.now)
        disputed = [one.id for one in rivals.disputed]
        if there is not None and there.superseded_by in others and not pairs:
            disputed.append(
                there.superseded_by
            )  # a repeated statement does not yield unasked to the fact that replaced it
        for other in disputed:
            if self._read_into(facts, other):
                facts[other] = _beside(facts[other], fact.id)
                facts[fact.id] = _beside(facts[fact.id], other)
        return facts[fact.id], self._changes([*facts.values()])

    def _read_into(self, facts: dict[str, Fact], *names: str) -> bool:
        """Add facts with their texts; False if the file of one cannot be changed."""
        for name in names:
            if name not in facts and (read := self._read(self._facts()[name])) is not None:
                facts[name] = read
        return facts.keys() >= {*names}

    def _facts(self) -> dict[str, Fact]:
        if self._known is None:
            self._known = {fact.id: fact for fact in known_facts(self._store)}
        return self._known

    def _read(self, known: Fact) -> Fact | None:
        return parse_changeable(self._transaction.read(known.path), known.path)

    def _changes(self, facts: list[Fact]) -> dict[str, bytes | None]:
        for fact in facts:
            self._facts()[fact.id] = fact._replace(file=fact.path)
        return {fact.path: render_fact(fact) for fact in facts}


def with_fact_id(placed: Placed) -> Placed:
    """Return a turn's line of a lasting type with the id of its fact, any other as it is."""
    kind = _BY_LABEL.get(placed.entry.label)
    if kind is None or len(placed.entry.text) > LONGEST:
        return placed
    return placed._replace(entry=placed.entry._replace(id=fact_id(kind, placed.entry.text)))


def fact_of(event: Save, text: str) -> Fact | None:
    """Return the fact of a save, None for a type without facts; `text` is redacted and clean."""
    if event.type not in KINDS or len(text) > LONGEST:
        return None
    origin = {"tool": event.host, "session": event.session}
    return make_fact(
        KINDS[event.type],
        text,
        event.at.replace(microsecond=0),
        confidence=_SAVED,
        origin={key: value for key, value in origin.items() if value},
        sources=(event.id,),
        keywords=tuple(dict.fromkeys((*(tag.casefold() for tag in event.tags), *fact_keywords(text)))),
    )


def _beside(fact: Fact, other: str) -> Fact:
    """Return a fact that contradicts another one, for a person to decide."""
    supersedes = tuple(name for name in fact.supersedes if name != other)
    return fact._replace(review=tuple(dict.fromkeys((*fact.review, other))), supersedes=supersedes)


def _with_source(fact: Fact, source: str) -> Fact:
    if source in fact.sources:
        return fact
    sources = (*fact.sources, source)
    return fact._replace(sources=(sources[0], *sources[1:][1 - MAX_SOURCES :]))

"""The book of facts: all writes of facts in the commits of a turn, a save or a session.

A known fact gains a source. A fact that contradicts one in force is kept beside it for review (`gitmem review`,
`gitmem facts confirm`) or for a model's verdict (`gitmem.record.fact_edits`). A save loads this module only for types
that become facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from gitmem.document.entry import MemoryType, clean_text
from gitmem.document.event import Save
from gitmem.document.ids import scopes_in
from gitmem.document.message import Message, Op, Trailer, session_message
from gitmem.model.fact import Fact, FactKind, FactStatus, fact_keywords, make_fact, parse_changeable, render_fact
from gitmem.model.similarity import rivals_of, twin_of
from gitmem.model.validity import (
    Standing,
    dispute,
    ended,
    fact_statuses,
    in_force,
    revived,
    reworded,
    settle_both,
    supersede,
)
from gitmem.platform.machine import datetime, timedelta
from gitmem.project.citations import checked_out, cite
from gitmem.project.code import ProjectCode, project_code
from gitmem.redact.redact import redact
from gitmem.store.known_facts import known_facts
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
_MAX_SOURCES = 12
_BEFORE = timedelta(seconds=1)
_AT_ONCE = timedelta(minutes=1)
SAVED = 0.9  # the confidence of a saved fact
LIVE = timedelta(hours=6)  # a session that ended earlier was replayed, and is about the project as it was then


class FactBook:
    """The facts that one transaction adds and changes, over all of its commits."""

    def __init__(self, store: Store, transaction: Transaction) -> None:
        self.store, self.transaction = store, transaction
        self._known: dict[str, Fact] | None = None  # without texts
        self._changed: dict[str, Fact] = {}  # with texts
        self.new: list[Fact] = []

    def keep_save(self, event: Save, text: str) -> tuple[str, Changes | None]:
        """Return a save's id and the changes that keep its fact, {} if it has none, None if it was committed before."""
        made = fact_of(event, text)
        if made is None:
            return event.id, {}
        twin = twin_of(made, in_force(self.known().values()))
        made = self.read(twin) or made if twin and twin.id != made.id else made
        fact = self.known().get(made.id)
        if fact is not None and event.id in fact.sources:
            return made.id, None
        changes = self.keep(made, event.id, again=True)
        return (event.id, {}) if changes is None else (changes[0].id, changes[1])

    def replace(self, loser: str, winner: str, when: datetime, *, sure: bool) -> Changes:
        """Return the file changes that supersede a fact by another, or, if not `sure`, mark both for review."""
        facts: dict[str, Fact] = {}
        if not self.read_into(facts, loser, winner):
            return {}
        facts |= supersede(facts, loser, winner, when) if sure else dispute(facts, loser, winner)
        return self.changes([*facts.values()])

    def end_fact(self, identifier: str, when: datetime, how: str) -> Changes:
        """Return the file changes that resolve an open issue, or retire another fact in force."""
        fact = self.read(self.known()[identifier])
        return self.changes([ended(fact, when, how)]) if fact is not None and fact.binds else {}

    def settle(self, first: str, second: str) -> Changes:
        """Return the file changes that settle a pair of facts: both are in force and wait for no verdict."""
        facts: dict[str, Fact] = {}
        return (
            self.changes([*settle_both(facts, first, second).values()]) if self.read_into(facts, first, second) else {}
        )

    def confirm(self, identifier: str, source: str) -> Changes:
        """Return the file changes that add a source to a fact in force."""
        fact = self.read(self.known()[identifier])
        return self.changes([with_source(fact, source)]) if fact is not None and fact.binds else {}

    def branch_of(self, folder: str) -> str:
        """Return the branch checked out in a folder of the project, "" for none."""
        code = project_code(folder, self.store.context.environ) if folder else None
        code = code or self.store.code()
        return checked_out(code)[0] if code else ""

    @cached_property
    def _checked_out(self) -> tuple[ProjectCode | None, str, str]:
        code = self.store.code()
        return (code, *checked_out(code)) if code else (None, "", "")

    def with_citations(self, made: Fact) -> Fact:
        """Return a new fact with the checked-out branch and commit, and the lines of code it mentions."""
        if self.store.is_user_store or made.commit:
            return made
        code, branch, commit = self._checked_out
        return cite(code, made, branch, commit) if code and commit else made

    def keep(
        self, made: Fact, source: str, *, again: bool, compared: Collection[str] = ()
    ) -> tuple[Fact, Changes] | None:
        """Return a fact and the file changes that keep it; None if it ended and is not revived.

        An existing fact gains the source. `again`: a user states it, so it is in force again if it had ended.
        Facts that may contradict it are marked for review, except those that a model `compared` it with.
        """
        known = self.known().get(made.id)
        existing = self.read(known or made)  # maybe made by an earlier commit of the transaction
        if known is not None and existing is None:
            return None  # its file cannot be changed
        existing = existing and _said_again(existing, made, self.transaction.now)
        if existing is not None and existing.binds:
            fact = with_source(existing, source)
            return fact, self.changes([fact])
        if existing is not None and not again:
            return None

        if existing is None:
            age = self.store.context.clock() - made.created
            made = self.with_citations(made) if age < LIVE else made
            self.new.append(made)
        fact = made if existing is None else with_source(revived(existing, self.transaction.now), source)
        facts = {fact.id: fact}
        others = {known.id: known for known in in_force(self.known().values()) if known.id != fact.id}
        new = made if existing is None else made._replace(created=self.transaction.now)
        near = self._clamped(new, others.values())
        follows = {rival.id: rival.created for rival in near}
        apart = (rival for rival in near if rival.id not in compared)
        disputed = [rival.id for rival in rivals_of(new, apart)]
        if existing is not None and existing.superseded_by in others:
            disputed.append(existing.superseded_by)  # stated again, it contradicts the fact that replaced it
        for other in disputed:
            if self.read_into(facts, other):
                facts |= dispute(facts, fact.id, other)
                if follows[other] < facts[other].created:  # its clock was ahead: the order in history counts
                    facts[other] = facts[other]._replace(created=follows[other] - _BEFORE)
        return facts[fact.id], self.changes([*facts.values()])

    def _clamped(self, new: Fact, facts: Iterable[Fact]) -> list[Fact]:
        """Return the facts, with times after a new fact's lowered to its time if a clock was ahead.

        A fact committed when stated is later than all existing ones; for one stated earlier, as in an ended session,
        only times in the future are known to be wrong.
        """
        now = self.transaction.now
        latest = new.created if now - new.created < _AT_ONCE else max(now, new.created)
        known = [*facts]
        for fact in (fact for fact in known if fact.created > latest):
            self.transaction.notices.append(
                f"{fact.id} is dated {fact.created:%Y-%m-%d %H:%M}, after the present: a clock was ahead. "
                "What is saved now counts as the later word."
            )
        return [fact._replace(created=min(fact.created, latest)) for fact in known]

    def read_into(self, facts: dict[str, Fact], *names: str) -> bool:
        """Add facts with their texts; False if the file of one cannot be changed."""
        for name in names:
            if name not in facts and (read := self.read(self.known()[name])) is not None:
                facts[name] = read
        return facts.keys() >= {*names}

    def known(self) -> dict[str, Fact]:
        """Return all facts by id, as the transaction leaves them."""
        if self._known is None:
            self._known = {fact.id: fact for fact in known_facts(self.store)}
        return self._known

    def read(self, known: Fact) -> Fact | None:
        """Return a fact with its text, as the transaction leaves it; None if its file cannot be changed."""
        if known.id in self._changed:
            return self._changed[known.id]
        return parse_changeable(self.transaction.read(known.path), known.path)

    def changes(self, facts: Sequence[Fact]) -> Changes:
        """Return the file changes that keep facts as they are given."""
        for fact in facts:
            self._changed[fact.id] = self.known()[fact.id] = fact._replace(file=fact.path)
        return {fact.path: render_fact(fact) for fact in facts}


def existing_fact(store: Store, event: Save) -> Fact | None:
    """Return the undisputed fact in force with the words of a save, which need not be saved then."""
    made = fact_of(event, clean_text(redact(event.text, allow=store.config.redaction.allow).text))
    status = fact_statuses(facts := known_facts(store))
    undisputed = (fact for fact in facts if status[fact.id].standing is Standing.IN_FORCE)
    return twin_of(made, undisputed) if made else None


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
        confidence=SAVED,
        origin={key: value for key, value in origin.items() if value},
        sources=(event.id,),
        keywords=tuple(dict.fromkeys((*(tag.casefold() for tag in tags), *fact_keywords(text)))),
        scope=scopes_in(event.tags),
        forbids=event.forbids,
        enforce=event.enforce,
    )


def _said_again(existing: Fact, made: Fact, now: datetime) -> Fact:
    """Return an existing fact stated again, with the project parts of both, and words that a purge removed."""
    existing = existing._replace(scope=joined_scope(existing, made))
    return reworded(existing, made.text, now) if existing.status is FactStatus.PURGED else existing


def joined_scope(first: Fact, second: Fact) -> tuple[str, ...]:
    """Return the parts of the project of two facts that say the same."""
    return tuple(dict.fromkeys((*first.scope, *second.scope))) if first.scope and second.scope else ()


def with_source(fact: Fact, source: str) -> Fact:
    """Return a fact with one more source; of many, the first and the last ones are kept."""
    if source in fact.sources:
        return fact
    sources = (*fact.sources, source)
    return fact._replace(sources=(sources[0], *sources[1:][1 - _MAX_SOURCES :]))


def fact_message(subject: str, facts: Iterable[str], session: str = "", host: str = "") -> Message:
    """Return the message of a commit that changes facts."""
    return session_message(subject, Op.FACT, Trailer.FACT, facts, session=session, host=host)

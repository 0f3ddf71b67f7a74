"""Keep the claims of a model's answer about a session that passed, in one commit.

A claim never ends or replaces a fact that a user or an agent saved, or a user confirmed: instead, both stay in force
and wait for a verdict (`gitmem review`). A claim that a user retired is not kept again.
Tested through `tests/learn/test_judge.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import IntEnum

from gitmem.document.ids import short_session, tail_of
from gitmem.document.message import one_line
from gitmem.history.authors import Authors
from gitmem.learn.evidence import folded
from gitmem.learn.lessons import patterns_with, rendered
from gitmem.learn.question import AGENT, USER, EndReason, KnownMemory, PairDecision
from gitmem.learn.reply import Claim, Ending, Fix, Judged, Verdict
from gitmem.learn.results import JudgedSession, keep_results
from gitmem.learn.statements import as_written, files_named, repeated
from gitmem.model.entries import relative_files
from gitmem.model.episode import title_of
from gitmem.model.error_occurrence import find_occurrences
from gitmem.model.fact import CONFIRMED, MAX_DESCRIPTION, Fact, FactKind, FactStatus, fact_keywords, make_fact
from gitmem.model.pattern import ErrorOccurrence
from gitmem.model.similarity import MERGED, is_negated, is_same_fact, share, shared_with_error
from gitmem.model.turns import Turn
from gitmem.record.fact_book import Changes, FactBook, fact_message, joined_scope
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.numbers import numbers_of

_OF_USER, _OF_AGENT = 0.9, 0.8  # the confidence of a claim, by whom it quotes
_LEAST_OF_ERROR = 60  # characters of the error in a solution's text
_ENDED = {EndReason.DONE: "Done", EndReason.DROPPED: "Dropped", EndReason.REPLACED: "Replaced"}


class _Rank(IntEnum):
    """The authority of a fact: only one of at least the same rank may end it."""

    JUDGED = 0  # a model found it
    SAID = 1  # explicit words of the user
    SAVED = 2  # a user or an agent saved or confirmed it, or another author did


def keep(store: Store, session: JudgedSession, judged: Judged, known: KnownMemory) -> str | None:
    """Commit a model's judgement of a session; return the commit. A second call adds nothing."""

    def plan(transaction: Transaction) -> bool:
        keeper = _Keeper(store, transaction, session, known)
        changes: Changes = {}
        for claim in judged.facts:
            changes |= keeper.claim(claim)
        for ending in judged.endings:
            changes |= keeper.ending(ending)
        for verdict in judged.verdicts:
            changes |= keeper.verdict(verdict)
        changes |= keeper.fixes(judged.fixes)
        changes |= keep_results(store, transaction, session, judged.requests, known)
        facts = [fact.id for fact in keeper.book.known().values() if fact.path in changes]
        first = next(
            (claim.statement for claim in judged.facts), next((request.sentence for request in judged.requests), "")
        )
        subject = f"Judge session {short_session(session.id)}: {first or 'nothing that lasts'}"
        message = fact_message(subject, facts, session.id, session.host).by(session.model)
        return transaction.commit(message, changes, when=session.turns[-1].ended)

    outcome = transact(store, plan, purpose="judge")
    known_facts(store)  # so that the next session's start finds them in the cache
    return outcome.commit


class _Keeper:
    """Plans the file changes of one judged session."""

    def __init__(self, store: Store, transaction: Transaction, session: JudgedSession, known: KnownMemory) -> None:
        self.book = FactBook(store, transaction)
        self._store, self._transaction, self._session = store, transaction, session
        self._names, self._pairs = known.names(), known.waiting()
        self._compared = {fact.id for fact in known.facts}  # shown to the model, which would have reported their end
        self._authors = Authors(store)

    def _turn(self, request: int) -> Turn:
        return self._session.turns[request - 1]

    def _now(self, name: str) -> Fact | None:
        """Return the current version of a fact in the question, None if it is no longer in force."""
        fact = self.book.known().get(self._names[name].id) if name in self._names else None
        return fact if fact is not None and fact.binds else None

    def _rank(self, fact: Fact) -> _Rank:
        is_saved = bool(fact.origin.get("tool")) or fact.confidence == CONFIRMED
        if is_saved or (self._authors.other_author(fact.id) and "by" not in fact.origin):
            return _Rank.SAVED
        return _Rank.JUDGED if "by" in fact.origin else _Rank.SAID

    def _may_end(self, fact: Fact, who: str, turn: Turn) -> bool:
        """Return whether words of the user or agent in a turn may end a fact: not if it was changed since."""
        rests_on = _Rank.SAID if who == USER or fact.kind is FactKind.ISSUE else _Rank.JUDGED
        return self._rank(fact) <= rests_on and fact.when <= turn.ended

    def claim(self, claim: Claim) -> Changes:
        """Return the file changes that keep a claim, or confirm the known facts that say the same."""
        turn = self._turn(claim.request)
        again = [fact for fact in map(self._now, claim.known) if fact is not None]
        binding = [fact for fact in self.book.known().values() if fact.binds]
        saved = repeated((fact for fact in binding if self._rank(fact) is _Rank.SAVED), claim.statement)
        again += [saved] if saved is not None and saved not in again else []
        changes: Changes = {}
        if again and not (claim.replaces or claim.disputes):
            for fact in again:
                changes |= self.book.confirm(fact.id, turn.exchange_id)
            return changes
        gone = (fact for fact in self.book.known().values() if not fact.binds and fact.when > turn.ended)
        if repeated(gone, claim.statement) is not None:  # a fact that says the same was ended after the session
            return {}
        new, changes = self._made(claim, turn)
        if new is None:
            return changes
        for name in (*claim.replaces, *claim.disputes):
            old = self._now(name)
            if old is not None and old.id != new.id:
                is_sure = name in claim.replaces and self._may_end(old, claim.who, turn)
                changes |= self.book.replace(old.id, new.id, turn.ended, sure=is_sure)
        return changes

    def _made(self, claim: Claim, turn: Turn) -> tuple[Fact | None, Changes]:
        """Return the fact of a claim, None if it was removed or ended before, and the file changes that keep it."""
        text = f"{as_written(claim.statement)}\n\n**Why:** {as_written(claim.reason)}" if claim.reason else ""
        made = make_fact(
            claim.kind,
            text or as_written(claim.statement),
            turn.ended.replace(microsecond=0),
            confidence=_OF_USER if claim.who == USER else _OF_AGENT,
            origin=self._origin(turn, is_agents=claim.who == AGENT and claim.kind is FactKind.CORE_LOGIC),
            sources=(turn.exchange_id,),
            keywords=fact_keywords(claim.statement),
            files=files_named(claim.statement, relative_files(turn.files, (turn.cwd,))),
            scope=(turn.scope,) if turn.scope else (),
            until=claim.until,
            forbids=claim.forbids,
        )
        same = next((fact for fact in self.book.known().values() if is_same_fact(fact, made)), None)
        if same is None and self._store.repository.ever_had(made.path):
            return None, {}  # removed by a user or an undo
        if same is not None and tail_of(turn.exchange_id) in map(tail_of, same.sources):
            return (same if same.binds else None), {}
        is_back = same is not None and same.status is FactStatus.SUPERSEDED and bool(claim.replaces)
        if same is not None and not same.binds and same.id != made.id and not is_back:
            return None, {}
        fact = same._replace(scope=joined_scope(same, made)) if same is not None else made
        changes = self.book.keep(fact, turn.exchange_id, again=is_back, compared=self._compared)
        if changes:
            self._compared.add(changes[0].id)  # claims of one answer are not compared with each other
        return changes or (None, {})

    def _origin(self, turn: Turn, *, is_agents: bool) -> Mapping[str, str]:
        origin = {"session": self._session.id, "exchange": turn.exchange_id, "by": self._session.model}
        return origin | ({"word": "agent"} if is_agents else {})

    def ending(self, ending: Ending) -> Changes:
        """Return the file changes that end a known fact, or dispute it if the ending may not."""
        fact, turn = self._now(ending.known), self._turn(ending.request)
        if fact is None:
            return {}
        if self._may_end(fact, ending.who, turn):
            return self.book.end_fact(fact.id, turn.ended, ending.how)
        if fact.when > turn.ended:
            return {}
        is_issue = fact.kind is FactKind.ISSUE
        text = ending.how if is_issue and ending.how else f"{_ENDED[ending.why]}: {fact.description}"
        kind = FactKind.CORE_LOGIC if is_issue else fact.kind
        new, changes = self._made(Claim(kind, text, "", ending.request, ending.who), turn)
        if new is not None and new.id != fact.id:
            changes |= self.book.replace(fact.id, new.id, turn.ended, sure=False)
        return changes

    def verdict(self, verdict: Verdict) -> Changes:
        """Return the file changes that settle a pair, if it still waits and the verdict may end the losing fact."""
        pair = self._waiting(verdict.pair)
        if pair is None:
            return {}
        older, newer = pair
        when, ranks = self._session.turns[-1].ended, (self._rank(older), self._rank(newer))
        changes: Changes = {}
        if verdict.keep is PairDecision.BOTH:
            changes = self.book.settle(older.id, newer.id)
        elif verdict.keep is PairDecision.NEW and ranks[1] >= ranks[0]:
            changes = self.book.replace(older.id, newer.id, when, sure=True)
        elif verdict.keep is PairDecision.OLD and ranks[1] is _Rank.JUDGED:
            changes = self.book.replace(newer.id, older.id, when, sure=True)
        elif verdict.keep is PairDecision.MERGE and max(ranks) is _Rank.JUDGED:
            changes = self._merged(older, newer, verdict.statement)
        return changes

    def _waiting(self, name: str) -> tuple[Fact, Fact] | None:
        """Return a pair that still waits; None if it was settled or changed, or not all is the user's own."""
        older, newer = (self.book.known().get(fact.id) for fact in self._pairs[name])
        if older is None or newer is None or not (older.binds and newer.binds):
            return None
        waits = newer.id in older.review or older.id in newer.review
        is_old = max(older.when, newer.when) <= self._session.turns[-1].ended
        is_own = not any(self._authors.other_author(fact.id) for fact in (older, newer))
        return (older, newer) if waits and is_old and is_own else None

    def _merged(self, older: Fact, newer: Fact, statement: str) -> Changes:
        """Return the file changes that replace two facts by one merged from their words."""
        both = f"{older.description} {newer.description}"
        if share(statement, folded(both)) < MERGED or not numbers_of(statement) <= numbers_of(both):
            return {}
        if not is_negated(statement) and is_negated(older.description) and is_negated(newer.description):
            return {}
        last = len(self._session.turns)
        new, changes = self._made(Claim(newer.kind, statement, "", last, AGENT), self._turn(last))
        for fact in (older, newer) if new is not None else ():
            if new is not None and fact.id != new.id:
                changes |= self.book.replace(fact.id, new.id, self._turn(last).ended, sure=True)
        return changes

    def fixes(self, fixes: Sequence[Fix]) -> Changes:
        """Return the file changes that keep fixes, in the bug pattern of an error that occurred, else as a solution."""
        project = os.path.dirname(self._store.root)
        seen: list[ErrorOccurrence] = []
        changes: Changes = {}
        for fix in fixes:
            turn = self._turn(fix.request)
            shared = [
                (shared_with_error(fix.error, title_of(occurrence.error)), occurrence)
                for occurrence in find_occurrences([turn], project)
            ]
            most, near = max(shared, key=lambda pair: pair[0], default=(0, None))
            if near is not None and most:
                seen.append(near._replace(cases=(near.last._replace(fix=fix.fix, cause=fix.cause),)))
                continue
            # Sessions see 200 characters of a fact: shorten the error rather than the fix.
            room = max(MAX_DESCRIPTION - len(fix.fix) - len(": ."), _LEAST_OF_ERROR)
            text = f"{one_line(fix.error.rstrip('.'), room)}: {fix.fix}"
            _, more = self._made(Claim(FactKind.SOLUTION, text, fix.cause, fix.request, AGENT), turn)
            changes |= more
        return changes | rendered(patterns_with(self._store, self._transaction, seen)[0])

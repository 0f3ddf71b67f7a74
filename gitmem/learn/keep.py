"""Keep what passed of a model's answer about a session, in one commit: facts, mends, episodes, concepts, summary.

What a person or an agent saved goes before it: a claim that repeats or contradicts such a fact is left out, unless the
claim is in the person's own, later words. Tested through `tests/learn/test_judge.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gitmem.document.document import Document
from gitmem.document.entry import clean_text, find_section, without_entries
from gitmem.document.ids import short_session, tail_of
from gitmem.document.message import one_line
from gitmem.learn.concepts import has_own_name, known_concepts, merging, naming
from gitmem.learn.episodes import find_episode_file, was_cleared
from gitmem.learn.extract import FoundFact, files_named, repeated
from gitmem.learn.facts import take
from gitmem.learn.lessons import patterns_with, rendered
from gitmem.learn.question import CONFIRMS, PERSON, REPLACES, RESOLVES, KnownMemory
from gitmem.learn.reply import Claim, Judged, JudgedTask, Mend, Subject
from gitmem.learn.statements import as_statement, with_reason
from gitmem.model.compare import SAID, contradict, stems_of
from gitmem.model.entries import relative_files
from gitmem.model.episode import Episode, episode_id, episode_path, parse_episode, render_episode, title_of
from gitmem.model.error_occurrence import ErrorOccurrence, find_occurrences
from gitmem.model.fact import MAX_DESCRIPTION, Fact, FactKind
from gitmem.model.outcome import Outcome
from gitmem.model.turns import TaskType, Turn
from gitmem.record.exchanges import find_session_file
from gitmem.record.fact_book import Changes, FactBook, fact_message
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value

SUMMARY, OPEN = "Summary", "Open"  # the sections of a session's file
_LESS_SURE = 0.8  # the confidence of a claim that is not in the person's words
_LEAST_OF_ERROR = 60  # characters
_FEWEST_SHARED = 2  # words of an error and of the mend that a model tells


class JudgedSession(Value):
    """A judged session: its id, the label of its host, its redacted turns, and the model."""

    id: str
    host: str
    turns: tuple[Turn, ...]
    model: str


def keep(store: Store, session: JudgedSession, judged: Judged, known: KnownMemory) -> str | None:
    """Commit what a model judged of a session; returns the commit. A second call adds nothing.

    Raises GitmemError if it could not be committed.
    """

    def plan(transaction: Transaction) -> bool:
        book = FactBook(store, transaction)
        changes: Changes = {}
        for claim in judged.facts:
            changes |= _fact(book, session, claim, known)
        changes |= _mends(store, transaction, book, session, judged.mends)
        changes |= _episodes(store, transaction, session, judged.tasks)
        changes |= _concepts(store, transaction, session, judged.subjects, known)
        changes |= _summary(transaction, session, judged)
        facts = [fact.id for fact in book.known().values() if fact.path in changes]
        first = judged.facts[0].statement if judged.facts else judged.summary
        subject = f"Judge session {short_session(session.id)}: {first or 'nothing that lasts'}"
        message = fact_message(subject, facts, session.id, session.host).by(session.model)
        return transaction.commit(message, changes, when=session.turns[-1].ended)

    outcome = transact(store, plan, purpose="judge")
    known_facts(store)  # so that the next session's start finds them in the cache
    return outcome.commit


def _fact(book: FactBook, session: JudgedSession, claim: Claim, known: KnownMemory) -> Changes:
    """Return the file changes that keep a claim; none where what a person or an agent saved goes before it."""
    turn = session.turns[claim.request - 1]
    about = known.names().get(claim.known)
    changes: Changes = {}
    if about is not None and claim.relation == CONFIRMS:
        return book.confirm(about.id, turn.exchange_id)
    if about is not None and claim.relation == RESOLVES:
        changes = book.resolve_one(about.id, turn.ended, claim.statement) if about.created <= turn.ended else {}
        if claim.kind is FactKind.ISSUE:  # any other kind says what holds since
            return changes
    if any(_goes_before(fact, claim, turn) for fact in book.known().values()):
        return changes
    finding = _finding(session, turn, claim.kind, claim.statement, claim.reason, said=claim.who == PERSON)
    changes |= take(book, finding, session.id, again=False)
    new = next(
        (fact for fact in book.known().values() if fact.path in changes and turn.exchange_id in fact.sources), None
    )
    if new is not None and about is not None and claim.relation == REPLACES and about.id != new.id:
        may = "by" in about.origin or (claim.who == PERSON and about.confidence != 1.0)
        changes |= book.replace(about.id, new.id, turn.ended, sure=may and about.when <= turn.ended)
    return changes


def _goes_before(fact: Fact, claim: Claim, turn: Turn) -> bool:
    """Return whether a fact that no model judged says the same or the contrary, and the claim has to yield.

    A person who states something new speaks for it, unless the fact was changed afterwards.
    """
    if "by" in fact.origin and fact.binds:
        return False
    is_later = fact.when > turn.ended
    if not fact.binds:
        return is_later and repeated([fact], claim.statement) is not None
    if claim.who == PERSON and not is_later:
        return False
    return contradict(fact.description, claim.statement) and claim.relation != REPLACES


def _finding(session: JudgedSession, turn: Turn, kind: FactKind, text: str, why: str, *, said: bool) -> FoundFact:
    whole = with_reason(as_statement(text), as_statement(why) if why else "")
    files = files_named(whole, relative_files(turn.files, (turn.cwd,)))
    confidence = SAID if said else _LESS_SURE
    scope = (turn.scope,) if turn.scope else ()
    return FoundFact(kind, whole, confidence, turn.ended, turn.exchange_id, files, session.model, scope)


def _mends(
    store: Store, transaction: Transaction, book: FactBook, session: JudgedSession, mends: Sequence[Mend]
) -> Changes:
    """Return the file changes that keep mends: in the pattern of an error that was seen, else as a solution."""
    project = os.path.dirname(store.root)
    seen: list[ErrorOccurrence] = []
    changes: Changes = {}
    for mend in mends:
        turn = session.turns[mend.request - 1]
        words = stems_of(mend.error)
        sights = [one for one in find_occurrences([turn], project) if one.exchange == turn.exchange_id]
        near = max(sights, key=lambda one: len(words & stems_of(title_of(one.error))), default=None)
        named = stems_of(title_of(near.error)) if near is not None else frozenset()
        if near is not None and len(words & named) >= min(_FEWEST_SHARED, len(named)):
            seen.append(near._replace(mend=mend.mend, cause=mend.cause, tried=()))
            continue
        # A fact is told by its first 200 characters, of which the mend says more than the end of its error.
        error = one_line(mend.error.rstrip("."), max(MAX_DESCRIPTION - len(mend.mend) - len(": ."), _LEAST_OF_ERROR))
        found = _finding(session, turn, FactKind.SOLUTION, f"{error}: {mend.mend}", mend.cause, said=False)
        changes |= take(book, found, session.id, again=False)
    return changes | rendered(patterns_with(store, transaction, seen)[0])


def _episodes(store: Store, transaction: Transaction, session: JudgedSession, tasks: Sequence[JudgedTask]) -> Changes:
    """Return the file changes that put tasks into episodes: into the one that was made without a model, or a new one.

    An episode that a person changed, or cleared, stays.
    """
    changes: Changes = {}
    for task in tasks:
        turns = [session.turns[number - 1] for number in sorted(task.requests)]
        ids = [(episode_id(session.id, turn.exchange_id), turn.started) for turn in turns]
        path = next(filter(None, (find_episode_file(transaction, *one) for one in ids)), "")
        data = transaction.read(path) if path else None
        if data is None and was_cleared(store, *ids[0]):
            continue
        there = parse_episode(data, path) if data is not None else _episode(session, turns)
        if there is None or (data is not None and render_episode(there) != data):
            continue
        made = there._replace(
            task=task.task,
            problem="",
            solution=task.solution,
            gotchas=(task.tried,) if task.tried else there.gotchas,
            outcome=Outcome(task.outcome),
            by=session.model,
        )
        changes[path or episode_path(made)] = render_episode(made)
    return changes


def _episode(session: JudgedSession, turns: Sequence[Turn]) -> Episode:
    exchanges = tuple(turn.exchange_id for turn in turns)
    files = relative_files([file for turn in turns for file in turn.files], (turns[0].cwd,))
    return Episode(
        episode_id(session.id, exchanges[0]),
        session.id,
        session.host,
        turns[0].started,
        turns[-1].ended,
        TaskType.FEATURE,
        "",
        None,
        exchanges,
        files=tuple(dict.fromkeys(files)),
        steps=sum(turn.tools for turn in turns),
    )


def _concepts(
    store: Store, transaction: Transaction, session: JudgedSession, subjects: Sequence[Subject], known: KnownMemory
) -> Changes:
    """Return the file changes that name the concepts this session began, or merge them into known ones."""
    own = {tail_of(turn.exchange_id) for turn in session.turns}
    new = [one for one in known_concepts(store) if own.issuperset(map(tail_of, one.exchanges))]
    older = {f"C{number}": concept for number, concept in enumerate(known.concepts, 1)}
    changes: Changes = {}
    for subject in subjects:
        about = {tail_of(session.turns[number - 1].exchange_id) for number in subject.requests}
        concept = max(new, key=lambda one: len(about & {*map(tail_of, one.exchanges)}), default=None)
        if concept is None or not about & {*map(tail_of, concept.exchanges)}:
            continue
        new.remove(concept)
        target = older.get(subject.known)
        is_own = target is None or target.id == concept.id  # the session began it before it was judged
        if target is not None and not is_own and target.path not in changes:
            now = next((one for one in known_concepts(store) if one.id == target.id), target)
            changes |= merging(transaction, now, concept)
        elif is_own and subject.name and not has_own_name(concept):
            changes |= naming(transaction, concept, subject.name, session.model)
    return changes


def _summary(transaction: Transaction, session: JudgedSession, judged: Judged) -> Changes:
    """Return the change of the session's file: the model's sentences, and what is open; a person's words stay."""
    path = find_session_file(transaction, session.id, session.turns[0].started)
    data = transaction.read(path) if path else None
    if path is None or data is None:
        return {}
    document = Document.parse(data)
    if document.get("by") is None and find_section(document.body, SUMMARY) is not None:
        return {}
    newline = document.newline
    lines = [f"- {clean_text(line)}" for line in judged.open]
    body = document.body
    for title, text in ((SUMMARY, clean_text(judged.summary)), (OPEN, newline.join(lines))):
        body = _with_section(body, title, without_entries(text), newline)
    return {path: document.with_body(body).set("by", session.model).render()}


def _with_section(body: str, title: str, text: str, newline: str) -> str:
    """Return a body whose last sections include this one, in place of an older one; without text, without it."""
    there = find_section(body, title)
    if there is not None:
        body = body[: there.start] + body[there.end :]
    body = body.rstrip() + newline
    return f"{body}{newline}## {title}{newline}{newline}{text}{newline}" if text else body

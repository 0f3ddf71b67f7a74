"""Keep the result of each request in a model's words: exchanges, concepts and episodes of the session.

They replace what was made without a model: summaries and outcomes of the session's exchanges, also in `memory.md`; the
concepts of its exchanges; its episodes. What a user changed, named or cleared stays.
Tested through `tests/learn/test_judge.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from gitmem.document.document import Document
from gitmem.document.entry import find_by_digest, put_entry, replace_entry
from gitmem.document.ids import MEMORY, daily_path, file_name_of, session_tag, tail_of
from gitmem.document.message import Op, Trailer, one_line
from gitmem.git.log import log
from gitmem.learn.episodes import find_episode_file, was_cleared
from gitmem.learn.question import KnownMemory
from gitmem.learn.reply import RequestResult
from gitmem.model.concept import (
    FOLDER,
    OFFLINE,
    Concept,
    begun,
    concept_id,
    joined,
    line_of,
    render_changed,
    render_new,
)
from gitmem.model.entries import relative_files
from gitmem.model.episode import Episode, episode_id, episode_path, parse_episode, render_episode
from gitmem.model.exchange import (
    MAX_ASKED,
    SECTION,
    Exchange,
    exchanges_in,
    parse,
    refuted_outcome,
    render,
    render_fields,
    split_fields,
)
from gitmem.model.outcome import Outcome
from gitmem.model.request import TaskType
from gitmem.model.turns import Turn
from gitmem.model.words import human_text
from gitmem.platform.machine import local
from gitmem.record.exchanges import find_session_file
from gitmem.record.fact_book import Changes
from gitmem.store.learned import known_concepts
from gitmem.store.store import Store
from gitmem.store.transaction import Transaction
from gitmem.values import Value

_USERS_OPS = ("", Op.EDIT, Op.UNDO, Op.REVIEW)
_LONGEST_TASK = 200  # characters
_MOST_LINES = 6


class JudgedSession(Value):
    """A judged session: its id, the label of its host, its redacted turns, and the model."""

    id: str
    host: str
    turns: tuple[Turn, ...]
    model: str


class _Task(Value):
    """Consecutive requests on one topic."""

    topic: str
    results: tuple[RequestResult, ...]
    turns: tuple[Turn, ...]


def keep_results(
    store: Store, transaction: Transaction, session: JudgedSession, results: Sequence[RequestResult], known: KnownMemory
) -> Changes:
    """Return the file changes that keep the results of a session's requests."""
    if not results:
        return {}
    names = {name: concept.name for name, concept in known.topics().items()}
    results = [result._replace(topic=names.get(result.topic, result.topic)) for result in results]
    path = find_session_file(transaction, session.id, session.turns[0].started)
    changes: Changes = {}
    if path is not None:
        changes |= _exchanges(store, transaction, session, results, path)
        changes |= _concepts(store, transaction, session, results, (path, changes[path] or b""))
    return changes | _episodes(store, transaction, session, results) | _refuted(transaction, session, results)


def _exchanges(
    store: Store, transaction: Transaction, session: JudgedSession, results: Iterable[RequestResult], path: str
) -> Changes:
    """Return the changes of the session's file and `memory.md`: the exchanges in the model's words."""
    memory = transaction.read(MEMORY)
    document, recent = Document.parse(transaction.read(path) or b""), Document.parse(memory or b"")
    edited = _edited_exchanges(store, transaction, path)
    for result in results:
        turn = session.turns[result.request - 1]
        digest = tail_of(turn.exchange_id)
        places = [find_by_digest(body.body, digest) for body in (document, recent)]
        filed, logged = (parse(place.entry) if place else None for place in places)
        if digest in edited:
            continue
        reworded = _reworded(filed or logged, session, turn, result)
        if reworded is None:
            continue
        document = document.with_body(put_entry(document.body, SECTION, render(reworded), document.newline))
        words = (filed.summary, filed.details) if filed else None
        is_as_made = logged and (logged.raw or words in (None, (logged.summary, logged.details)))
        if places[1] and logged and is_as_made:
            entry = render(reworded._replace(time=logged.time, files=logged.files, failed=logged.failed))
            recent = recent.with_body(replace_entry(recent.body, places[1], entry, recent.newline))
    changes: Changes = {path: document.set("method", session.model).set("by", session.model).render()}
    return changes | ({MEMORY: recent.render()} if memory is not None else {})


def _reworded(exchange: Exchange | None, session: JudgedSession, turn: Turn, result: RequestResult) -> Exchange | None:
    """Return an exchange in the model's words; None for small talk."""
    if exchange is not None:
        asked = exchange.summary if exchange.raw else exchange.asked
        details = "" if result.outcome is Outcome.REFUTED else exchange.details  # stay in the daily log
        return exchange._replace(
            summary=result.sentence, asked=asked, details=details, outcome=result.outcome, raw=False
        )
    asked = one_line(human_text(turn.prompt), MAX_ASKED)
    if not asked or (result.outcome is Outcome.SUCCESS and not turn.tools):
        return None
    time = f"{local(turn.started):%Y-%m-%d %H:%M:%S}"
    return Exchange(turn.exchange_id, time, session_tag(session.id), result.sentence, asked, outcome=result.outcome)


def _refuted(transaction: Transaction, session: JudgedSession, results: Iterable[RequestResult]) -> Changes:
    """Return the changes of the daily logs that mark refuted exchanges as such, with the reason."""
    changes: Changes = {}
    for result in (result for result in results if result.outcome is Outcome.REFUTED):
        turn = session.turns[result.request - 1]
        path = daily_path(f"{local(turn.started):%Y-%m-%d}")
        data = changes.get(path) or transaction.read(path)
        document = Document.parse(data or b"")
        place = find_by_digest(document.body, tail_of(turn.exchange_id))
        if place is not None:
            fields = split_fields(place.entry.text)._replace(outcome=refuted_outcome(result.sentence))
            entry = place.entry._replace(text=render_fields(fields))
            changes[path] = document.with_body(replace_entry(document.body, place, entry, document.newline)).render()
    return changes


def _edited_exchanges(store: Store, transaction: Transaction, path: str) -> set[str]:
    """Return the digests of the exchanges that a user changed in a session's file."""
    edited: set[str] = set()
    before: dict[str, Exchange] = {}
    for is_users, data in _versions(store, transaction, path):
        after = {tail_of(exchange.id): exchange for exchange in exchanges_in(data)}
        edited |= {digest for digest in before if is_users and before[digest] != after.get(digest)}
        before = after
    return edited


def _versions(store: Store, transaction: Transaction, path: str) -> Iterator[tuple[bool, bytes]]:
    """Yield each version of a file, oldest first, as (whether a user made it, content)."""
    commits = log(store.repository.git, "HEAD", paths=(path,))
    last: bytes | None = None
    for commit in reversed(commits):
        last = store.repository.read(commit.oid, path)
        yield (commit.value(Trailer.OP) or "") in _USERS_OPS, last or b""
    now = transaction.read(path) or b""
    if now != last:
        yield True, now  # edited, and not committed yet


def _is_users(store: Store, transaction: Transaction, path: str) -> bool:
    """Return whether a user changed a file."""
    return any(is_users for is_users, _ in _versions(store, transaction, path))


def _tasks(session: JudgedSession, results: Iterable[RequestResult]) -> list[_Task]:
    """Group consecutive requests on one topic."""
    ordered = sorted(results, key=lambda result: result.request)
    tasks = []
    for topic, group in groupby(ordered, key=lambda result: result.topic.casefold()):
        same_topic = tuple(group)
        turns = tuple(session.turns[result.request - 1] for result in same_topic)
        tasks.append(_Task(same_topic[0].topic if topic else "", same_topic, turns))
    return tasks


def _concepts(
    store: Store,
    transaction: Transaction,
    session: JudgedSession,
    results: Iterable[RequestResult],
    file: tuple[str, bytes],
) -> Changes:
    """Return the changes that move the session's exchanges from concepts made without a model to their topics'."""
    path, data = file
    exchanges = {tail_of(exchange.id): exchange for exchange in exchanges_in(data)}
    concepts = {concept.id: concept for concept in known_concepts(store)}
    changes = _left(store, transaction, concepts, exchanges.keys())
    placed = {tail_of(name) for concept in concepts.values() for name in concept.exchanges}
    lines: dict[str, list[str]] = {}
    for task in _tasks(session, results):
        for turn in task.turns if task.topic else ():
            exchange = exchanges.get(tail_of(turn.exchange_id))
            if exchange is None or tail_of(exchange.id) in placed:
                continue
            exchange = exchange._replace(at=turn.ended)
            concept = _concept_of(task.topic, concepts, exchange)
            concepts[concept.id] = concept
            lines.setdefault(concept.id, []).append(line_of(exchange, path))
    for identifier, more in lines.items():
        concept = concepts[identifier]
        existing = changes.get(concept.path) or transaction.read(concept.path)
        made = render_new(concept, more) if existing is None else render_changed(existing, concept, more)
        made = Document.parse(made).set("method", session.model).render() if existing is None else made
        changes[concept.path] = made
    return changes


def _left(store: Store, transaction: Transaction, concepts: dict[str, Concept], digests: Collection[str]) -> Changes:
    """Return the changes that remove exchanges from concepts made without a model; updates `concepts`."""
    changes: Changes = {}
    for concept in [*concepts.values()]:
        removed = tuple(name for name in concept.exchanges if tail_of(name) in digests)
        data = transaction.read(concept.path) if removed else None
        is_offline = data is not None and Document.parse(data).get("method") == OFFLINE
        if data is None or not is_offline or _is_users(store, transaction, concept.path):
            continue
        remaining = concept._replace(exchanges=tuple(name for name in concept.exchanges if name not in removed))
        if remaining.exchanges:
            concepts[concept.id] = remaining
            changes[concept.path] = render_changed(data, remaining, (), removed)
        else:
            del concepts[concept.id]
            changes[concept.path] = None
    return changes


def _concept_of(topic: str, concepts: Mapping[str, Concept], exchange: Exchange) -> Concept:
    """Return the concept named like a topic, known or new, with one more exchange."""
    same = next((concept for concept in concepts.values() if concept.name.casefold() == topic.casefold()), None)
    if same is not None:
        return joined(same, exchange)._replace(name=same.name)
    made = begun(exchange)
    identifier = concept_id(f"{exchange.id}\0{topic}") if made.id in concepts else made.id
    return made._replace(id=identifier, name=topic, path=f"{FOLDER}/{file_name_of(identifier, topic)}")


def _episodes(
    store: Store, transaction: Transaction, session: JudgedSession, results: Iterable[RequestResult]
) -> Changes:
    """Return the changes that replace episodes made without a model by those of the session's tasks."""
    changes: Changes = {}
    for turn in session.turns:
        path = find_episode_file(transaction, episode_id(session.id, turn.exchange_id), turn.started)
        if path and not _is_users(store, transaction, path):
            changes[path] = None
    left = {path for path in changes if changes[path] is None}
    for task in _tasks(session, results):
        first = task.turns[0]
        identifier = episode_id(session.id, first.exchange_id)
        path = find_episode_file(transaction, identifier, first.started)
        if not any(turn.tools for turn in task.turns) or (path and path not in left):
            continue
        if not path and was_cleared(store, identifier, first.started):
            continue
        made = _episode(session, task, parse_episode(transaction.read(path) or b"", path) if path else None)
        changes[path or episode_path(made)] = render_episode(made)
    return changes


def _episode(session: JudgedSession, task: _Task, before: Episode | None) -> Episode:
    """Return the episode of a task; errors, times and the like are kept from the episode `before`."""
    turns = task.turns
    exchanges = tuple(turn.exchange_id for turn in turns)
    files = relative_files([file for turn in turns for file in turn.files], (turns[0].cwd,))
    *earlier, last = task.results
    troubles = (Outcome.FAILED, Outcome.REFUTED)
    made = before or Episode(
        episode_id(session.id, exchanges[0]),
        session.id,
        session.host,
        turns[0].started,
        turns[-1].ended,
        TaskType.FEATURE,
        "",
        None,
        exchanges,
    )
    return made._replace(
        ended=turns[-1].ended,
        task=one_line(human_text(turns[0].prompt), _LONGEST_TASK) or task.topic,
        problem="",
        solution=last.sentence if last.outcome not in troubles else "",
        gotchas=tuple(result.sentence for result in task.results if result.outcome in troubles),
        tips=tuple(result.sentence for result in earlier if result.outcome not in troubles)[:_MOST_LINES],
        decisions=(),
        outcome=last.outcome,
        exchanges=exchanges,
        files=tuple(dict.fromkeys(files)),
        steps=sum(turn.tools for turn in turns),
        by=session.model,
    )

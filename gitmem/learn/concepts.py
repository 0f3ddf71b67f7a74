"""Concepts: subjects that exchanges of many sessions share, one document each, with links to the exchanges.

Without a model, an exchange of a finished session joins the concept that shares most files and keywords with it, else
begins a new one if it names something. A concept keeps few files and keywords, so that a large one does not attract
every exchange. Concepts are read from a cache (`gitmem.store.known_facts`), without YAML. Merging and
splitting them moves their links to exchanges; none is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gitmem.document.document import Document
from gitmem.document.ids import file_name_of, find_named, tail_of
from gitmem.document.message import Message, Op, Trailer, session_message
from gitmem.errors import NotFoundError, RefusedError
from gitmem.model.concept import (
    FOLDER,
    Concept,
    begun,
    choose,
    concept_id,
    joined,
    line_of,
    lines_of,
    name_of,
    render_changed,
    render_new,
)
from gitmem.model.exchange import Exchange, exchanges_in
from gitmem.model.turns import Turn
from gitmem.record.exchanges import find_session_file, with_links
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_concepts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count


def group(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Group the exchanges of a finished session; returns the commit. A second call adds nothing."""
    if not turns:
        return None

    def plan(transaction: Transaction) -> bool:
        path = find_session_file(transaction, session, turns[0].started)
        data = transaction.read(path) if path else None
        if path is None or data is None:
            return False
        concepts = {concept.id: concept for concept in known_concepts(store)}
        times = {turn.exchange_id: turn.ended for turn in turns}
        exchanges = [exchange._replace(at=times.get(exchange.id)) for exchange in exchanges_in(data)]
        grouped = sort_in(concepts, exchanges, path)
        changes: dict[str, bytes | None] = {}
        for concept, lines in grouped:
            existing = transaction.read(concept.path)
            changed = render_new(concept, lines) if existing is None else render_changed(existing, concept, lines)
            changes[concept.path] = changed
        if not changes:
            return False
        facts = {fact.path: fact.description for fact in known_facts(store) if fact.session == session}
        changes |= with_links(transaction, path, facts)
        for fact in facts:
            changes |= with_links(transaction, fact, {path: turns[0].started.date().isoformat()})
        names = "; ".join(f"{concept.name}{' (new)' * (concept.id not in concepts)}" for concept, _ in grouped)
        subject = f"Add to {count(len(grouped), 'concept')}: {names}"
        message = _about(subject, [concept.id for concept, _ in grouped], session, host)
        return transaction.commit(message, changes, when=turns[-1].ended)

    outcome = transact(store, plan, purpose="concepts")
    known_concepts(store)
    return outcome.commit


def sort_in(known: Mapping[str, Concept], exchanges: Iterable[Exchange], link: str) -> list[tuple[Concept, list[str]]]:
    """Assign a session's exchanges to concepts; return each changed concept with the lines to add. Pure.

    `link` is the path of the session's file. An exchange stays in its concept; one that names nothing begins none.
    """
    concepts = dict(known)
    lines: dict[str, list[str]] = {}
    concept_of = {tail_of(exchange): concept.id for concept in known.values() for exchange in concept.exchanges}
    for exchange in exchanges:
        if tail_of(exchange.id) in concept_of:
            continue
        chosen = choose(exchange, concepts)
        if chosen is None and not name_of(exchange.keywords, exchange.files):
            continue
        concept = begun(exchange) if chosen is None else joined(chosen, exchange)
        concepts[concept.id] = concept
        concept_of[tail_of(exchange.id)] = concept.id
        lines.setdefault(concept.id, []).append(line_of(exchange, link))
    return [(concepts[identifier], more) for identifier, more in lines.items()]


def find_concept(store: Store, identifier: str) -> Concept:
    """Return the concept with an id, or an unambiguous prefix of its id or name.

    The id of a merged concept names the concept it was merged into. Raises NotFoundError if no concept matches, or more
    than one.
    """
    bare = identifier.strip().rpartition("/")[2].removesuffix(".md").casefold()
    concepts = {concept.id: concept for concept in known_concepts(store)}
    names = (
        (name, concept.id)
        for concept in concepts.values()
        for name in (concept.id, concept.name.casefold(), *concept.merged, concept.path.rpartition("/")[2].casefold())
    )
    return concepts[find_named(bare, names, "concept", "'gitmem concepts list' lists them with their ids.")]


def merge(store: Store, first: Concept, second: Concept) -> tuple[str, ...]:
    """Merge the second concept into the first, as a user decided, with all links; return the commits."""
    if first.id == second.id:
        return ()

    def plan(transaction: Transaction) -> None:
        data, other_data = transaction.read(first.path), transaction.read(second.path)
        if data is None or other_data is None:
            raise NotFoundError("One of the concepts is gone.")
        merged = first._replace(
            keywords=tuple(dict.fromkeys((*first.keywords, *second.keywords))),
            files=tuple(dict.fromkeys((*first.files, *second.files))),
            exchanges=tuple(sorted({*first.exchanges, *second.exchanges})),
            merged=tuple(dict.fromkeys((*first.merged, *second.merged, second.id))),
            updated=max(first.updated, second.updated),
            scope=tuple(sorted({*first.scope, *second.scope})),
        )
        more = [line for _, line in lines_of(Document.parse(other_data).body)]
        changes = {first.path: render_changed(data, merged, more), second.path: None}
        transaction.commit(_about(f"Merge concept {second.name} into {first.name}", [first.id, second.id]), changes)

    return transact(store, plan, purpose="concepts").commits


def split(store: Store, concept: Concept, exchanges: Sequence[str], name: str) -> tuple[str, ...]:
    """Move some exchanges of a concept, but not all, into a new one; all links are kept. Returns the commits."""
    chosen = sorted(
        {whole for whole in concept.exchanges for prefix in exchanges if prefix and whole.startswith(prefix)}
    )
    if not chosen:
        raise NotFoundError("The concept has none of these exchanges.", "'gitmem concepts show' lists them.")
    if len(chosen) == len(concept.exchanges):
        raise RefusedError("The concept would have no exchanges left.", "Name fewer exchanges.")

    def plan(transaction: Transaction) -> None:
        data = transaction.read(concept.path)
        if data is None:
            raise NotFoundError("The concept is gone.")
        lines = [line for identifier, line in lines_of(Document.parse(data).body) if identifier in chosen]
        identifier = concept_id(f"{concept.id}\0{chosen[0]}")
        path = f"{FOLDER}/{file_name_of(identifier, name)}"
        part = concept._replace(path=path, id=identifier, name=name, exchanges=tuple(chosen), merged=())
        rest = concept._replace(exchanges=tuple(exchange for exchange in concept.exchanges if exchange not in chosen))
        changes: dict[str, bytes | None] = {
            concept.path: render_changed(data, rest, (), chosen),
            part.path: render_new(part, lines),
        }
        transaction.commit(_about(f"Split {name} off concept {concept.name}", [concept.id, part.id]), changes)

    return transact(store, plan, purpose="concepts").commits


def _about(subject: str, concepts: Iterable[str], session: str = "", host: str = "") -> Message:
    return session_message(subject, Op.CONCEPT, Trailer.CONCEPT, concepts, session=session, host=host)

"""Concepts: subjects that exchanges of many sessions share, one document each, with links to the exchanges.

Without a model, an exchange of a finished session joins the concept that shares most files and keywords with it, else
begins a new one if it names something. A concept keeps few files and keywords, so that a large one does not attract
every exchange. Concepts are read from a cache (`gitmem.store.known_facts`), without YAML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gitmem.document.ids import find_named, tail_of
from gitmem.document.message import Op, Trailer, session_message
from gitmem.model.concept import Concept, begun, choose, joined, line_of, name_of, render_changed, render_new
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
        grouped = assign(concepts, exchanges, path)
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
        ids = [concept.id for concept, _ in grouped]
        message = session_message(subject, Op.CONCEPT, Trailer.CONCEPT, ids, session=session, host=host)
        return transaction.commit(message, changes, when=turns[-1].ended)

    outcome = transact(store, plan, purpose="concepts")
    known_concepts(store)
    return outcome.commit


def assign(known: Mapping[str, Concept], exchanges: Iterable[Exchange], link: str) -> list[tuple[Concept, list[str]]]:
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

    Raises NotFoundError if no concept matches, or more than one.
    """
    bare = identifier.strip().rpartition("/")[2].removesuffix(".md").casefold()
    concepts = {concept.id: concept for concept in known_concepts(store)}
    names = (
        (name, concept.id)
        for concept in concepts.values()
        for name in (concept.id, concept.name.casefold(), concept.path.rpartition("/")[2].casefold())
    )
    return concepts[find_named(bare, names, "concept", "'gitmem concepts list' lists them with their ids.")]

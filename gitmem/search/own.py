"""Find a person's own rules and preferences beside what a project remembers (docs/spec.md P7).

Tested through `tests/cli/commands/test_search.py`.
"""

from __future__ import annotations

from gitmem.search.engine import Answer, answer
from gitmem.store.store import own_store

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.search.order.hits import Hit
    from gitmem.store.store import Store

FOLDER = "~/.gitmem/"  # before the paths of these hits
_MOST = 3  # hits
_LABELS = ("Rule", "Preference")


def with_own(store: Store, query: str, found: Answer) -> Answer:
    """Return an answer with the best of the person's own rules and preferences after the project's hits."""
    own = own_store(store)
    if own is None:
        return found
    known = {hit.entry for hit in found.hits if hit.entry}
    hits = answer(own, query, vectors=not found.without_vectors).hits  # a late provider is waited for once
    hits = [hit for hit in hits if hit.label in _LABELS and hit.entry not in known and not hit.weak]
    mine = [hit._replace(path=f"{FOLDER}{hit.path}", own=True, others=()) for hit in hits[:_MOST]]
    mine = _yielding(store, own, mine) if mine else []
    return found._replace(hits=[*found.hits, *mine], total=found.total + len(mine))


def _yielding(store: Store, own: Store, hits: list[Hit]) -> list[Hit]:
    """Return own hits, each with the fact of the project that goes before it, as at a start."""
    from gitmem.model.fact.holds import in_force
    from gitmem.model.fact.rivals import winner_over
    from gitmem.store.headers.facts import known_facts

    project = in_force(known_facts(store))
    facts = {fact.id: fact for fact in known_facts(own)} if project else {}
    winners = ((hit, winner_over(facts[hit.entry], project) if hit.entry in facts else None) for hit in hits)
    return [hit if winner is None else hit._replace(others=(winner.id,)) for hit, winner in winners]

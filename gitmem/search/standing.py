"""Which hits are facts that no longer hold, and what took their place.

Tested through `tests/search/test_standing.py`.
"""

from __future__ import annotations

from gitmem.search.hits import is_fact

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.model.fact.holds import Status
    from gitmem.search.hits import Hit
    from gitmem.search.rank import Ranked
    from gitmem.store.store import Store


def standings(store: Store, hits: Sequence[Ranked]) -> Mapping[str, Status]:
    """Return the status of each fact of the store by its id; none where no hit is a fact."""
    if not any(is_fact(hit.units.memory(hit.index)) for hit in hits):
        return {}
    from gitmem.model.fact.holds import what_holds
    from gitmem.store.headers.facts import known_facts

    return what_holds(known_facts(store))


def holding(hits: list[Ranked], statuses: Mapping[str, Status]) -> list[Ranked]:
    """Return the hits that hold, or are no facts; all where none is."""
    if not statuses:
        return hits
    kept = [hit for hit in hits if (status := statuses.get(hit.units.memory(hit.index))) is None or status.holds]
    return kept or hits


def marked(hit: Hit, statuses: Mapping[str, Status]) -> Hit:
    """Return a hit with its status, where that is worth a word, and what took its place or contradicts it."""
    status = statuses.get(hit.entry)
    if status is None or (status.holds and not status.disputes):
        return hit
    others = status.disputes or (status.successor,)
    return hit._replace(status=status.standing.value, others=tuple(filter(None, others)))

"""Drop or mark hits that are facts which no longer hold, with the facts that took their place.

Tested through `tests/search/test_standing.py`.
"""

from __future__ import annotations

from gitmem.search.order.hits import is_fact
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.model.fact.holds import Status
    from gitmem.search.order.hits import Hit
    from gitmem.search.order.rank import Ranked
    from gitmem.store.store import Store


class Facts(Value):
    """The statuses of a store's facts and the sessions in which they were first learned, by id."""

    statuses: Mapping[str, Status] = {}  # never changed
    sessions: Mapping[str, str] = {}  # never changed


def standings(store: Store, hits: Sequence[Ranked]) -> Facts:
    """Return statuses and sessions of a store's facts; none if no hit is a fact."""
    if not any(is_fact(hit.units.memory(hit.index)) for hit in hits):
        return Facts()
    from gitmem.store.headers.facts import known_facts, standing_of

    facts = known_facts(store)
    return Facts(standing_of(facts), {fact.id: fact.origin.get("session", "") for fact in facts})


def holding(hits: list[Ranked], facts: Facts) -> list[Ranked]:
    """Return the hits that hold, or are no facts; all where none is."""
    if not facts.statuses:
        return hits
    known = facts.statuses
    kept = [hit for hit in hits if (status := known.get(hit.units.memory(hit.index))) is None or status.holds]
    return kept or hits


def marked(hit: Hit, facts: Facts) -> Hit:
    """Return a hit with the session of its fact, and with its status unless it holds undisputed."""
    if not hit.session and (session := facts.sessions.get(hit.entry)):
        hit = hit._replace(session=session)
    status = facts.statuses.get(hit.entry)
    if status is None or (status.holds and not status.disputes):
        return hit
    others = status.disputes or (status.successor,)
    return hit._replace(status=status.standing.value, others=tuple(filter(None, others)))

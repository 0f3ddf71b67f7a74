"""The person's rules and preferences from their own store, for the start of sessions in every project (spec R8, P7).

Tested through `tests/memory/start/test_own.py`.
"""

from __future__ import annotations

from gitmem.memory.start.facts import MAX_PARSED
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.holds import in_force
from gitmem.model.fact.views.marks import normalized
from gitmem.store.headers.cache import Bounds, never
from gitmem.store.headers.facts import fact_headers, fact_of
from gitmem.store.store import own_store

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitmem.model.fact.fact import Fact
    from gitmem.store.headers.cache import Late
    from gitmem.store.store import Store

TITLE = "Your own rules and preferences, in every project"
SHARE = 10  # percent of the budget
_KINDS = (FactKind.RULE, FactKind.PREFERENCE)
_MOST = 30  # facts


def own_lines(store: Store, project: Sequence[Fact], late: Late = never) -> tuple[str, ...]:
    """Return the lines of a person's own rules and preferences, the newest rules first.

    What `project` says too is left out. What contradicts a fact of the project yields to it, and its line says so.
    """
    own = None if late() else own_store(store)
    if own is None:
        return ()
    facts = in_force(map(fact_of, fact_headers(own, Bounds(MAX_PARSED, late))))
    chosen = [fact for fact in facts if fact.kind in _KINDS]
    chosen.sort(key=lambda fact: (fact.kind == FactKind.RULE, fact.when, fact.id), reverse=True)
    known = {normalized(fact.description) for fact in project}
    new = [fact for fact in chosen[:_MOST] if normalized(fact.description) not in known]
    return tuple(_line(fact, _winner(fact, project)) for fact in new)


def _winner(own: Fact, project: Iterable[Fact]) -> Fact | None:
    """Return the fact of the project that a person's own fact contradicts, None if there is none."""
    words = {*own.keywords}
    near = [fact for fact in project if not words.isdisjoint(fact.keywords)]
    if not near:
        return None
    from gitmem.model.fact.rivals import winner_over  # 10 ms, and most share no word

    return winner_over(own, near)


def _line(own: Fact, winner: Fact | None) -> str:
    if winner is None:
        return f"- {own.description} ({own.kind}, {own.when:%Y-%m-%d})"
    return f"- Not here: {own.description} This project's {winner.kind} goes before it: {winner.description}"

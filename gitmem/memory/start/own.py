"""The person's rules and preferences from their own store, for the start of sessions in every project (spec R8, P7).

Tested through `tests/memory/start/test_own.py`.
"""

from __future__ import annotations

from gitmem.memory.start.facts import MAX_PARSED
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.views.marks import marks_of, normalized
from gitmem.store.headers.cache import Bounds, never
from gitmem.store.headers.facts import fact_headers, fact_of
from gitmem.store.store import own_store

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitmem.model.fact.fact import Fact
    from gitmem.model.fact.views.marks import Marks
    from gitmem.store.headers.cache import Late
    from gitmem.store.store import Store

TITLE = "Your own rules and preferences, in every project"
SHARE = 10  # percent of the budget
_KINDS = (FactKind.RULE, FactKind.PREFERENCE)
_MOST = 30  # facts


def own_lines(store: Store, project: Sequence[Fact], late: Late = never) -> tuple[tuple[str, str], ...]:
    """Return the lines of a person's own rules and preferences with their ids, the newest rules first.

    What `project` says too is left out. What contradicts a fact of the project yields to it, and its line says so.
    """
    own = None if late() else own_store(store)
    if own is None:
        return ()
    marks = marks_of(map(fact_of, fact_headers(own, Bounds(MAX_PARSED, late))))
    before = {one: _before(one, marks) for one in marks.facts}
    older = {fact.id for facts in before.values() for fact in facts}
    chosen = [
        fact
        for fact in marks.facts.values()
        if fact.kind in _KINDS and not marks.has_ended(fact.id) and fact.id not in older
    ]
    chosen.sort(key=lambda fact: (fact.kind == FactKind.RULE, fact.when, fact.id), reverse=True)
    known = {normalized(fact.description) for fact in project}
    new = [fact for fact in chosen[:_MOST] if normalized(fact.description) not in known]
    return tuple((_line(fact, _winner(fact, project), before[fact.id]), fact.id) for fact in new)


def _before(identifier: str, marks: Marks) -> list[Fact]:
    """Return the older facts that contradict a fact and wait for a decision."""
    fact = marks.facts[identifier]
    others = [marks.facts[one] for one in marks.statuses[identifier].disputes]
    return [one for one in others if (one.when, one.id) < (fact.when, fact.id)]


def _winner(own: Fact, project: Iterable[Fact]) -> Fact | None:
    """Return the fact of the project that a person's own fact contradicts, None if there is none."""
    words = {*own.keywords}
    near = [fact for fact in project if not words.isdisjoint(fact.keywords)]
    if not near:
        return None
    from gitmem.model.fact.rivals import winner_over  # 10 ms, and most share no word

    return winner_over(own, near)


def _line(own: Fact, winner: Fact | None, before: Sequence[Fact]) -> str:
    if winner is None:
        said = " / ".join(one.description for one in before)
        more = f"; before: {said}; not decided yet, see `gitmem --user review`" if before else ""
        return f"- {own.description} ({own.kind}, {own.when:%Y-%m-%d}{more})"
    return f"- Not here: {own.description} This project's {winner.kind} goes before it: {winner.description}"

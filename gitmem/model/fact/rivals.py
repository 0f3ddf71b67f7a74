"""Which facts in force a new one ends, and which it contradicts (spec V6).

Tested through `tests/memory/facts/test_contradictions.py` and `tests/memory/tiers/test_rotate.py`.
"""

from __future__ import annotations

from gitmem.model.fact.compare import contradict, ends
from gitmem.model.fact.fact import Fact, FactKind
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The kinds whose facts can contradict each other.
WEIGHED = (FactKind.RULE, FactKind.PREFERENCE, FactKind.DECISION, FactKind.CORE_LOGIC)
MOST_DISPUTED = 3  # for one new fact; more are a series ("step 1 …", "step 2 …"), which nobody wants to review


class Rivals(Value):
    """Rivals of a new fact: facts it ends, facts that end it, and facts it contradicts, for a person to decide."""

    ended: tuple[Fact, ...] = ()
    ended_by: tuple[Fact, ...] = ()
    disputed: tuple[Fact, ...] = ()


def is_weighed(fact: Fact) -> bool:
    """Return whether a fact is of a kind that can contradict others."""
    return FactKind(fact.kind) in WEIGHED


def winner_over(own: Fact, project: Iterable[Fact]) -> Fact | None:
    """Return the fact of a project that goes before a contradicting fact of the person's own store, None if none."""
    rivals = rivals_of(own, project)
    return next(iter((*rivals.disputed, *rivals.ended, *rivals.ended_by)), None)


def rivals_of(new: Fact, facts: Iterable[Fact], is_mine: Callable[[Fact], bool] = lambda _: False) -> Rivals:
    """Return the rivals of a new fact among facts in force.

    A statement of change ends earlier statements, and of two rules of the person (`is_mine`) the newer ends the older;
    a new fact from a recorded session may be the older one. Of those that it contradicts otherwise the newest
    `MOST_DISPUTED` count.
    """
    others = [fact for fact in facts if is_weighed(new) and is_weighed(fact) and fact.id != new.id]
    ended: list[Fact] = []
    by: list[Fact] = []
    disputed: list[Fact] = []
    for one in others:
        is_older = one.created <= new.created
        if ends(new.description, one.description) if is_older else ends(one.description, new.description):
            (ended if is_older else by).append(one)
        elif contradict(one.description, new.description):
            is_ruled = _is_stated(new) and _is_stated(one) and is_mine(one) and is_mine(new)
            (disputed if not is_ruled else ended if is_older else by).append(one)
    newest = sorted(disputed, key=lambda fact: (fact.created, fact.id))[-MOST_DISPUTED:]
    return Rivals((), tuple(by)) if by else Rivals(tuple(ended), (), tuple(newest))


def _is_stated(fact: Fact) -> bool:
    """Return whether a person made a fact as a rule; a decision that was saved may be an agent's."""
    return fact.kind in (FactKind.RULE, FactKind.PREFERENCE) or (
        fact.kind == FactKind.DECISION and "tool" not in fact.origin and "exchange" in fact.origin
    )

"""Which facts in force a new one ends, and which it contradicts (spec V6).

Tested through `tests/memory/facts/test_contradictions.py` and `tests/memory/tiers/test_rotate.py`.
"""

from __future__ import annotations

from gitmem.model.fact.compare import contradict, ends
from gitmem.model.fact.fact import Fact, FactKind
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable

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


def rivals_of(new: Fact, facts: Iterable[Fact]) -> Rivals:
    """Return the rivals of a new fact among facts in force.

    A statement of change ends earlier statements; a new fact from a recorded session may be the older one. Of those
    that it contradicts the newest `MOST_DISPUTED` count.
    """
    others = [fact for fact in facts if is_weighed(new) and is_weighed(fact) and fact.id != new.id]
    ended = [one for one in others if one.created <= new.created and ends(new.description, one.description)]
    by = [one for one in others if one.created >= new.created and ends(one.description, new.description)]
    disputed = [one for one in others if one not in ended and contradict(one.description, new.description)]
    newest = sorted(disputed, key=lambda fact: (fact.created, fact.id))[-MOST_DISPUTED:]
    return Rivals((), tuple(by)) if by else Rivals(tuple(ended), (), tuple(newest))

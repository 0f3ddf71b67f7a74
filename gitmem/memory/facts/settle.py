"""Settle a contradiction between two facts as a person says: the newer holds, the older, or both (spec V6).

Tested through `tests/memory/facts/test_contradictions.py`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from gitmem.memory.facts.edit import change_facts, supersede_fact
from gitmem.memory.facts.judge import leave_to_people
from gitmem.model.fact.chain import part

if TYPE_CHECKING:
    from gitmem.store.review.pairs import Pair
    from gitmem.store.store import Store


BOTH_HOLD = "Both hold:"  # the subject of a commit begins with it


class Holds(StrEnum):
    """Which of two facts holds."""

    NEWER = "newer"
    OLDER = "older"
    BOTH = "both"


def settle(store: Store, pair: Pair, holds: Holds) -> tuple[str, ...]:
    """Supersede one fact of a pair, or keep both; return the commits.

    No model is asked about the pair again.
    """
    leave_to_people(store, pair.older, pair.newer)
    if holds is Holds.NEWER:
        return supersede_fact(store, pair.older, pair.newer)
    if holds is Holds.OLDER:
        return supersede_fact(store, pair.newer, pair.older)
    names = pair.older.id, pair.newer.id
    return change_facts(
        store,
        pair.newer,
        lambda facts: {**facts, **part(facts, *names)},
        f"{BOTH_HOLD} {pair.newer.description}",
        pair.older,
    )

"""Pairs of facts in force that contradict each other and wait for a person (spec V6).

Tested through `tests/cli/commands/test_review.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.model.fact.holds import what_holds
from gitmem.store.headers.facts import known_facts

if TYPE_CHECKING:
    from gitmem.model.fact.fact import Fact
    from gitmem.store.store import Store


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts that contradict each other."""

    newer: Fact
    older: Fact


def waiting_pairs(store: Store) -> list[Pair]:
    """Return the waiting pairs, each once, in the order of their newer facts."""
    facts = {fact.id: fact for fact in known_facts(store)}
    disputed = {one: status.disputes for one, status in what_holds(facts.values()).items() if status.disputes}
    pairs = []
    for one, others in disputed.items():
        for other in others:
            older, newer = sorted((facts[one], facts[other]), key=lambda fact: (fact.when, fact.id))
            if newer.id == one:
                pairs.append(Pair(newer, older))
    return sorted(pairs, key=lambda pair: (pair.newer.when, pair.newer.id, pair.older.when, pair.older.id))

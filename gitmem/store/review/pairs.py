"""Pairs of facts in force that contradict each other and wait for a person (spec V6).

Tested through `tests/cli/commands/test_review.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.git.history.commits import additions
from gitmem.model.fact.fact import FOLDER, Fact
from gitmem.model.fact.holds import what_holds
from gitmem.model.message import Trailer
from gitmem.store.headers.facts import known_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitmem.git.history.commits import Commit
    from gitmem.store.store import Store


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts that contradict each other."""

    newer: Fact
    older: Fact


@dataclass(frozen=True, slots=True)
class Author:
    """Who committed a fact first, and on which machine; "" if unknown."""

    name: str = ""
    machine: str = ""


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


def authors_of(store: Store, facts: Iterable[Fact]) -> Mapping[str, Author]:
    """Return the first author of each of these facts, by id; walks history once."""
    paths = {fact.path: fact.id for fact in facts}
    if not paths:
        return {}
    first: dict[str, Commit] = {}
    for addition in additions(store.repository.git, "HEAD", FOLDER):
        if addition.path in paths:
            first[paths[addition.path]] = addition.commit
    return {one: Author(commit.author, commit.value(Trailer.MACHINE) or "") for one, commit in first.items()}

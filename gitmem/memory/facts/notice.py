"""Notice contradictions of facts that no session here taught: by a sync, saved or adopted (spec V6).

`gitmem.memory.facts.learn` compares what it learns in its own commit. All other new facts are compared once, in the
background, on each machine. A pair of which a person said that both hold is left alone, whichever machine it was on.

Tested through `tests/memory/facts/test_contradictions.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.git.history.commits import log
from gitmem.memory.ask.ask import Settled
from gitmem.memory.facts.edit import change_facts, supersede_fact
from gitmem.memory.facts.settle import BOTH_HOLD
from gitmem.model.fact.candidates import candidates
from gitmem.model.fact.chain import dispute
from gitmem.model.fact.holds import in_force
from gitmem.model.fact.rivals import Rivals, is_weighed, rivals_of
from gitmem.model.message import Trailer
from gitmem.store.headers.facts import known_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.model.fact.fact import Fact
    from gitmem.store.store import Store

_FILE = "noticed"  # in the folder of caches: the facts that were compared
_AT_ONCE = 50  # new facts of one run


def notice(store: Store) -> None:
    """Compare new facts in force with all others; mark pairs for review, and carry out statements of change.

    Raises:
        GitmemError: a change could not be committed.

    """
    seen = Settled(store, _FILE)
    facts = _weighed(store)
    for new in [fact.id for fact in facts if fact.id not in seen][:_AT_ONCE]:
        fact = next((fact for fact in facts if fact.id == new), None)  # an earlier one may have ended it
        if fact is not None and _compare(store, fact, facts):
            facts = _weighed(store)
        seen.add(new)


def _weighed(store: Store) -> list[Fact]:
    return sorted(filter(is_weighed, in_force(known_facts(store))), key=lambda fact: (fact.created, fact.id))


def _compare(store: Store, new: Fact, facts: Sequence[Fact]) -> bool:
    """Compare a fact with all others; return whether it has rivals."""
    rivals = rivals_of(new, candidates(new.description, facts))
    for loser, winner in (*((one, new) for one in rivals.ended), *((new, one) for one in rivals.ended_by)):
        supersede_fact(store, loser, winner)
    for other in rivals.disputed:
        _mark(store, other, new)
    return rivals != Rivals()


def _mark(store: Store, one: Fact, other: Fact) -> None:
    """Mark two facts for review, unless they are or a person said that both hold."""
    if other.id in one.review or one.id in other.review:
        return
    for commit in log(store.repository.git, "HEAD", trailers={Trailer.FACT.value: one.id}):
        if commit.subject.startswith(BOTH_HOLD) and other.id in commit.values(Trailer.FACT.value):
            return
    newer = max(one, other, key=lambda fact: fact.when)
    change_facts(
        store,
        one,
        lambda facts: {**facts, **dispute(facts, one.id, other.id)},
        f"Contradiction: {newer.description}",
        other,
    )

"""Chains of superseded facts (spec V6): from the oldest to the active one, without a circle.

`supersede` makes no circle. Two machines that decided differently can, once a sync merges both decisions; then the fact
that was changed last is the active one, on every machine (`circle_ends`).
"""

from __future__ import annotations

TYPE_CHECKING = False  # see gitmem.values; a session that starts asks only for `circle_ends`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from gitmem.model.fact.fact import Fact


def circle_ends(after: Mapping[str, str], age: Callable[[str], object]) -> set[str]:
    """Return the active fact of each circle, in linear time.

    `after` maps a fact to its successor. The active member of a circle has the greatest `age` (a sortable value: when
    it was changed), then the greatest id.
    """
    ends: set[str] = set()
    walked: set[str] = set()
    for start in after:
        path: dict[str, int] = {}
        fact = start
        while fact in after and fact not in walked and fact not in path:
            path[fact] = len(path)
            fact = after[fact]
        if fact in path:
            circle = [member for member, place in path.items() if place >= path[fact]]
            ends.add(max(circle, key=lambda member: (age(member), member)))
        walked.update(path)
    return ends


def supersede(facts: Mapping[str, Fact], loser: str, winner: str, now: datetime) -> dict[str, Fact]:
    """Return the facts that change when one supersedes another, without making a circle.

    If the winner was superseded itself, the end of its chain takes its place. If that chain leads back to the loser,
    the old decision is reversed: the winner is active again.
    """
    from gitmem.model.fact.fact import FactStatus

    if loser == winner or loser not in facts or winner not in facts:
        return {}
    changed = dict(facts)
    chain = _chain(changed, winner)
    if loser in chain:
        before = changed[winner].superseded_by
        changed[winner] = _revived(changed[winner], now)
        if before in changed:
            kept = tuple(one for one in changed[before].supersedes if one != winner)
            changed[before] = changed[before]._replace(supersedes=kept, updated=now)
    else:
        winner = chain[-1]
        changed[winner] = _revived(changed[winner], now)
    supersedes = tuple(dict.fromkeys((*changed[winner].supersedes, loser)))
    changed[winner] = changed[winner]._replace(supersedes=supersedes, updated=now)
    changed[loser] = changed[loser]._replace(status=FactStatus.SUPERSEDED, superseded_by=winner, updated=now)
    for one, other in ((winner, loser), (loser, winner)):
        changed[one] = changed[one]._replace(review=tuple(name for name in changed[one].review if name != other))
    return {one: fact for one, fact in changed.items() if fact != facts[one]}


def dispute(facts: Mapping[str, Fact], one: str, other: str) -> dict[str, Fact]:
    """Return two facts that contradict each other, to be decided by a person."""
    return {
        fact: facts[fact]._replace(review=tuple(dict.fromkeys((*facts[fact].review, rival))))
        for fact, rival in ((one, other), (other, one))
    }


def part(facts: Mapping[str, Fact], one: str, other: str) -> dict[str, Fact]:
    """Return two facts that no longer wait for a decision between them: both hold."""
    return {
        fact: facts[fact]._replace(review=tuple(name for name in facts[fact].review if name != rival))
        for fact, rival in ((one, other), (other, one))
    }


def _chain(facts: Mapping[str, Fact], start: str) -> list[str]:
    """Return a fact and its successors in order; of a circle, each member once."""
    chain = {start: None}  # an ordered set
    successor = start
    while (successor := facts[successor].superseded_by) in facts and successor not in chain:
        chain[successor] = None
    return [*chain]


def _revived(fact: Fact, now: datetime) -> Fact:
    """Return a fact made active again."""
    from gitmem.model.fact.fact import FactKind, FactStatus

    if fact.binds and not fact.superseded_by:
        return fact
    status = FactStatus.OPEN if fact.kind is FactKind.ISSUE else FactStatus.ACTIVE
    return fact._replace(status=status, superseded_by="", updated=now)

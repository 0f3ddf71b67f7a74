"""Which fact took the place of which (spec V6): a chain from the oldest to the one that holds, without a circle.

One machine can make no circle (`supersede`). Two that decided otherwise can, each for itself, and a sync brings both
decisions together; then the fact that was changed last holds, on every machine (`circle_ends`).
"""

from __future__ import annotations

TYPE_CHECKING = False  # see gitmem.values; a session that starts asks only for `circle_ends`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from gitmem.model.fact.fact import Fact


def circle_ends(after: Mapping[str, str], age: Callable[[str], object]) -> set[str]:
    """Return the fact that holds of each circle, in one walk over all facts, however long their chains are.

    `after` says what took the place of a fact. Of a circle the member holds that has the greatest `age` (a sortable
    value: when it was changed), then the greatest id.
    """
    ends: set[str] = set()
    walked: set[str] = set()
    for start in after:
        path: dict[str, int] = {}
        one = start
        while one in after and one not in walked and one not in path:
            path[one] = len(path)
            one = after[one]
        if one in path:
            circle = [member for member, place in path.items() if place >= path[one]]
            ends.add(max(circle, key=lambda member: (age(member), member)))
        walked.update(path)
    return ends


def supersede(facts: Mapping[str, Fact], loser: str, winner: str, now: datetime) -> dict[str, Fact]:
    """Return the facts that change when one takes the place of another; the chain stays one without a circle.

    What the winner itself had been superseded by is followed first: of a chain only the end takes another's place. If
    that leads back to the loser, the old decision is turned round: the winner holds again.
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


def _chain(facts: Mapping[str, Fact], start: str) -> list[str]:
    """Return a fact and those that took its place, one after the other; of a circle, each member once."""
    chain = {start: None}  # in order, and quick to look into
    one = start
    while (one := facts[one].superseded_by) in facts and one not in chain:
        chain[one] = None
    return [*chain]


def _revived(fact: Fact, now: datetime) -> Fact:
    """Return a fact that holds."""
    from gitmem.model.fact.fact import FactKind, FactStatus

    if fact.binds and not fact.superseded_by:
        return fact
    status = FactStatus.OPEN if fact.kind is FactKind.ISSUE else FactStatus.ACTIVE
    return fact._replace(status=status, superseded_by="", updated=now)

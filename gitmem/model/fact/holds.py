"""Decide which facts hold now: for start text, search, recall, MCP, `show`, summaries and `memory.md` (format.md).

Only facts have a status, other memories do not. A session that starts loads this, so it stays light.
"""

from __future__ import annotations

from enum import StrEnum

from gitmem.model.fact.fact import BINDING, FactStatus
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gitmem.model.fact.fact import Fact


class Standing(StrEnum):
    """How a fact stands: `IN_FORCE` and `DISPUTED` hold, the others do not."""

    IN_FORCE = "in force"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    RESOLVED = "resolved"
    DISPUTED = "disputed"  # in force, with a contradiction that waits for a person


class Status(Value):
    """The status of a fact.

    `successor` is the id of the known fact at the end of the chain of its successors; `since` is when it ceased
    to hold, None while it holds; `disputes` are the ids of facts in force that contradict it.
    """

    standing: Standing
    successor: str = ""
    since: datetime | None = None
    disputes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Return whether the fact holds, disputed or not."""
        return self.standing in (Standing.IN_FORCE, Standing.DISPUTED)


_IN_FORCE = Status(Standing.IN_FORCE)
_ENDED = {
    FactStatus.SUPERSEDED: Standing.SUPERSEDED,
    FactStatus.RETIRED: Standing.RETIRED,
    FactStatus.RESOLVED: Standing.RESOLVED,
}


def what_holds(facts: Iterable[Fact]) -> dict[str, Status]:
    """Return the status of each fact by its id.

    Two machines can each have superseded a fact by another until they form a circle; the one changed last holds.
    """
    known = {fact.id: fact for fact in facts}
    after = {fact.id: fact.superseded_by for fact in known.values() if _gave_way(fact) and fact.superseded_by in known}
    ends: set[str] = set()
    if after:
        from gitmem.model.fact.chain import circle_ends

        ends = circle_ends(after, lambda one: known[one].when)
    holding = {fact.id for fact in known.values() if fact.status in BINDING or fact.id in ends}
    rivals: dict[str, dict[str, None]] = {}  # ordered sets; one of a pair may name the other, or both do
    for fact in known.values():
        for other in fact.review:
            if fact.id in holding and other in holding and other != fact.id:
                rivals.setdefault(fact.id, {})[other] = None
                rivals.setdefault(other, {})[fact.id] = None
    statuses: dict[str, Status] = {}
    for fact in known.values():
        if fact.id in holding:
            disputes = tuple(rivals.get(fact.id, ()))
            statuses[fact.id] = Status(Standing.DISPUTED, disputes=disputes) if disputes else _IN_FORCE
        else:
            statuses[fact.id] = Status(_ENDED[fact.status], _successor(fact.id, after, ends), fact.when)
    return statuses


def in_force(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that hold, in order, each once."""
    known = {fact.id: fact for fact in facts}
    statuses = what_holds(known.values())
    return [fact for fact in known.values() if statuses[fact.id].holds]


def _gave_way(fact: Fact) -> bool:
    return fact.status is FactStatus.SUPERSEDED


def _successor(fact: str, after: Mapping[str, str], ends: set[str]) -> str:
    """Return the end of a fact's chain, "" if nothing known took its place; a circle's end stops the walk."""
    found = after.get(fact, "")
    while found in after and found not in ends:
        found = after[found]
    return found

"""Drop facts that no longer hold from hits, or say how they and what tells them stand.

Tested through `tests/search/test_standing.py`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.fact.views.marks import Marks
    from gitmem.search.order.hits import Hit
    from gitmem.search.order.rank import Ranked


def holding(hits: list[Ranked], marks: Marks) -> list[Ranked]:
    """Return the hits that hold, or are no facts; all where none is."""
    kept = [hit for hit in hits if not marks.has_ended(hit.units.memory(hit.index))]
    return kept or hits


def marked(hit: Hit, marks: Marks) -> Hit:
    """Return a hit with its status unless it holds undisputed; a fact gets the session in which it was learned.

    `others` are the successor or rivals of a fact, of another memory what took the place of the facts it tells.
    """
    hit = hit._replace(marks=marks)
    fact = marks.facts.get(hit.entry)
    if fact is None:
        return _told(hit, marks)
    hit = hit._replace(session=hit.session or fact.session)
    status = marks.statuses[fact.id]
    if status.holds and marks.is_old_wording(fact.id, hit.text):
        return hit._replace(status="reworded", others=(fact.id,))
    if status.holds and not status.disputes:
        return hit
    return hit._replace(status=status.standing.value, others=status.disputes or _holding(marks, status.successor))


def _told(hit: Hit, marks: Marks) -> Hit:
    ended = marks.said_in(hit.entry, hit.text)
    if not ended:
        return hit
    statuses = {one: marks.statuses[one] for one in ended}
    words = dict.fromkeys("reworded" if one.holds else one.standing.value for one in statuses.values())
    others = dict.fromkeys(name if one.holds else one.successor for name, one in statuses.items())
    return hit._replace(status=f"tells what is {' and '.join(words)}", others=_holding(marks, *others))


def _holding(marks: Marks, *facts: str) -> tuple[str, ...]:
    return tuple(one for one in facts if one and not marks.has_ended(one))

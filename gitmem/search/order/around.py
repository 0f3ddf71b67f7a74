"""Add the exchanges just before and after good hits, which answer more than weak hits of other sessions.

Tested through `tests/search/test_recall.py`.
"""

from __future__ import annotations

from gitmem.model.session.exchange import LABEL
from gitmem.search.order.hits import facts_of
from gitmem.search.order.rank import NOTHING, Ranked

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# `python bench/usefulness.py`: .4 to .7 of the score and 3 to 10 hits give about the same.
_SHARE = 0.5  # of a hit's score
_MOST = 4  # hits of which neighbours are taken


def with_neighbours(hits: Sequence[Ranked], good: Sequence[bool]) -> list[Ranked]:
    """Return the hits and the exchanges of a session beside its good ones, by score.

    An exchange that is no hit itself has the handle of the hit in `beside`.
    """
    scores: dict[str, float] = {}
    added: dict[str, Ranked] = {}
    found = {memory for hit in hits if (memory := hit.units.memory(hit.index))}
    for hit, fine in list(zip(hits, good, strict=True))[:_MOST]:
        for neighbour in _neighbours(hit) if fine else ():
            memory = neighbour.units.memory(neighbour.index)
            if memory in found:
                scores[memory] = max(scores.get(memory, 0.0), neighbour.score)
            else:
                added.setdefault(memory, neighbour)
    lifted = [
        hit._replace(score=max(hit.score, scores.get(hit.units.memory(hit.index), 0.0))) if scores else hit
        for hit in hits
    ]
    return sorted([*lifted, *added.values()], key=lambda hit: -hit.score)


def _neighbours(hit: Ranked) -> Iterator[Ranked]:
    """Yield the exchanges of the same session before and after a hit in its file."""
    units = hit.units
    own = facts_of(units, units.unit(hit.index))
    if not (own.session and own.entry):
        return
    for index in (hit.index - 1, hit.index + 1):
        if 0 <= index < len(units) and units.memory(index):
            facts = facts_of(units, units.unit(index))
            if facts.session == own.session and facts.label == LABEL:
                part = units.parts(index).spans[0]
                yield Ranked(hit.score * _SHARE, units, index, NOTHING, hit.says, part, beside=own.entry)

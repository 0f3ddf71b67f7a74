"""The time that a query asks about: now, then or any; and the order of its hits by their dates.

Tested through `tests/search/test_engine.py`.
"""

from __future__ import annotations

import re
from enum import IntEnum

from gitmem.search.order.hits import facts_of

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.search.order.rank import Ranked

_NOW = re.compile(
    r"\b(?:current(?:ly)?|now(?:adays)?|still|latest|newest|today|these days|at present|so far|as of|replaced)\b"
    r"|지금|현재|요즘|최신|최근|아직|이제",
    re.IGNORECASE,
)
_THEN = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at first|used to|previous(?:ly)?|former(?:ly)?|earlier|back then|once"
    r"|in the beginning|before (?:we|the switch|that))\b|처음|원래|예전|이전에|당초|초기|옛날",
    re.IGNORECASE,
)
_ABOUT_AS_GOOD = 0.6  # of the best score
_SAME = 0.7  # of the weight of the words of the best hit, in a hit on the same subject
_MOST = 6  # hits that are put in order


class Era(IntEnum):
    """The time that a query asks about."""

    THEN = -1
    ANY = 0
    NOW = 1


def era_of(text: str) -> Era:
    """Return the time that a query asks about; both times, as in "now or originally", are any."""
    now, then = bool(_NOW.search(text)), bool(_THEN.search(text))
    return Era(now - then)


def in_order_of_time(hits: list[Ranked], era: Era) -> list[Ranked]:
    """Return the hits, the best first, with those on the best one's subject in the order of their dates.

    A hit is on its subject if its score is close and it shares most of the best one's words. The newest comes first for
    a question about now, the oldest for one about then. The scores stay in order.
    """
    if era is Era.ANY or not hits or not hits[0].says:
        return hits
    best = hits[0]
    whole = sum(best.says[term] for term in best.found.counts)
    alike = [
        place
        for place, hit in enumerate(hits[:_MOST])
        if hit.score >= best.score * _ABOUT_AS_GOOD
        and sum(best.says[term] for term in best.found.counts if term in hit.found.counts) >= whole * _SAME
    ]
    dated = {place: facts_of(hits[place].units, hits[place].units.unit(hits[place].index)).date for place in alike}
    places = [place for place in alike if dated[place]]
    ordered = sorted(places, key=lambda place: dated[place], reverse=era is Era.NOW)
    moved = {to: hits[origin]._replace(score=hits[to].score) for to, origin in zip(places, ordered, strict=True)}
    return [moved.get(place, hit) for place, hit in enumerate(hits)]

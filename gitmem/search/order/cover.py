"""Questions about several things: distinct hits that together have the query's words, in place of near copies.

The first hits keep their places, as among these it found no more of the sessions asked for, and lost some.

Tested through `tests/search/test_engine.py`.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.search.order.rank import Ranked

_SEVERAL = re.compile(
    r"\b(?:all|every|each|both|complete|entire|full|whole|everything|list|overall|across|various|several|sequence|evolved?)\b"
    r"|전부|모두|모든|전체|목록|각각|여러|들을? (?:알려|나열)",
    re.IGNORECASE,
)
_AGAIN = 0.6  # of the worth of a word that hits before have
_FIRST = 6  # hits that stay first even if they share words
_MOST = 30  # hits among which those are chosen


def asks_for_several(text: str) -> bool:
    """Return whether a query asks for a set of things."""
    return bool(_SEVERAL.search(text))


def covering(hits: list[Ranked], text: str) -> list[Ranked]:
    """Return the hits of a question about several things, each adding words that those before it lack."""
    if not asks_for_several(text) or not hits or not hits[0].says:
        return hits
    left, rest = hits[:_MOST], hits[_MOST:]
    chosen: list[Ranked] = []
    had: dict[int, int] = {}
    while left:
        best = left[0] if len(chosen) < _FIRST else max(left, key=lambda hit: hit.score * _news(hit, had))
        left.remove(best)
        chosen.append(best)
        for term in best.found.counts:
            had[term] = had.get(term, 0) + 1
    scores = sorted((hit.score for hit in chosen), reverse=True)
    return [*(hit._replace(score=score) for hit, score in zip(chosen, scores, strict=True)), *rest]


def _news(hit: Ranked, had: dict[int, int]) -> float:
    """Return the share of a hit's words, by weight, that is new; a word counts less each time it was there before."""
    if not hit.found.counts or not hit.says:
        return 1.0
    whole = sum(hit.says[term] for term in hit.found.counts)
    return sum(hit.says[term] * _AGAIN ** had.get(term, 0) for term in hit.found.counts) / whole if whole else 1.0

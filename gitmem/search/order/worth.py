"""Whether a hit says something of the query, or only shares a word with it.

Coverage is the share of a query's words in a memory, each word weighed by its inverse document frequency; a word that
stands for one of them counts for a little less. Where there are vectors, a memory far from the query is weak although
it has its words, and one near to it is good without them. Tested through `tests/search/test_engine.py`.
"""

from __future__ import annotations

from gitmem.search.order.rank import found_in
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.search.order.rank import Ranked
    from gitmem.search.query.query import Query

# Calibrated on questions with and without an answer in the store, and on questions about other stores (docs/search.md,
# "Weak hits"; `python bench/usefulness.py --vectors`). The nearest of the first six hits of 12 questions without an
# answer is at .54 at most, of 148 questions about another store at .39; FAR loses no question that has an answer.
LEAST_COVERAGE = 0.28
LEAST_NEAR = 0.55  # of a memory that vectors alone make a good hit
FAR = 0.1  # below it the words mean something else there
_STAND_IN = 0.8  # of a word that is in the memory by another word for it, or joined to its neighbour
_FIRST = 3  # hits of which one has to be good for any to be


class Word(Value):
    """A word of a query: its weight, and the share of each of its terms."""

    weight: float
    terms: tuple[tuple[int, float], ...]


class Worth(Value):
    """The share of a query's words that a hit has, the weight of these words, how many they are, whether it is weak."""

    share: float = 0.0
    weight: float = 0.0
    words: int = 0
    weak: bool = False


def worths(hits: Sequence[Ranked], query: Query) -> list[Worth]:
    """Return the worth of each hit, the best first; for a query without words none is weak."""
    if not query.terms:
        return [Worth()] * len(hits)
    words: list[Word] | None = None
    found = []
    for hit in hits:
        if words is None and hit.says:
            words = _words(query, hit.says)
        found.append(_worth(hit, words or ()))
    good = [_is_good(one.share, hit.near) for one, hit in zip(found, hits, strict=True)]
    some = any(good[:_FIRST])
    return [one._replace(weak=not (some and fine)) for one, fine in zip(found, good, strict=True)]


def _is_good(share: float, near: float) -> bool:
    return near >= LEAST_NEAR or (share >= LEAST_COVERAGE and not 0 <= near < FAR)


def _words(query: Query, says: Sequence[float]) -> list[Word]:
    groups: dict[int, list[tuple[int, float]]] = {}
    weights: dict[int, float] = {}
    for number, term in enumerate(query.terms):
        groups.setdefault(term.group, []).append((number, _STAND_IN if term.aside else term.weight))
        if not term.aside:
            weights[term.group] = max(weights.get(term.group, 0.0), says[number] / term.weight)
    return [Word(weight, tuple(groups[group])) for group, weight in weights.items()]


def _worth(hit: Ranked, words: Sequence[Word]) -> Worth:
    whole = sum(word.weight for word in words)
    counts = _counts(hit)
    there = [
        word.weight * max(value * min(counts.get(number, 0.0), 1.0) for number, value in word.terms) for word in words
    ]
    weight = sum(there)
    share = weight / whole if whole else float(bool(words))
    return Worth(share, weight, sum(1 for one in there if one))


def _counts(hit: Ranked) -> Mapping[int, float]:
    """Return the terms in a hit; of a long one those in its request and best part: scattered words tell nothing."""
    parts = hit.units.parts(hit.index)
    return found_in(hit.found, parts.lead, hit.part).counts if len(parts.spans) > 1 else hit.found.counts

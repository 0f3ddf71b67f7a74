"""Rank the sentences of a text by centrality, and by coverage with diminishing returns.

A word's weight is its frequency times its rarity. A sentence's centrality is the cosine of its words with the sum of
all: the degree in the graph of sentences that LexRank walks, whose stationary distribution it is but for damping
(Erkan and Radev 2004). Sentences are then taken greedily by what they add to the words covered, each word counting by
the root of how often it is covered, for the root of their length (Lin and Bilmes 2011): so one that repeats another
adds little. All of it is linear in the words.

Tested through `tests/offline/test_summary.py`.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter

from gitmem.text.keywords import keywords
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Share of the words of the shorter of two sentences that make one a repetition of the other.
SAME = 0.7
# Candidates: the most central sentences; an archive of 100 KB has some thousand.
MOST_SENTENCES = 3_000
_COST = 0.5  # a sentence costs its length to this power


class Sentence(Value):
    """A candidate: its text, the weight of its kind, and a day that it covers."""

    text: str
    worth: float
    covers: str = ""


def stems(text: str) -> frozenset[str]:
    """Return the keywords of a text."""
    return frozenset(stem for stem, _ in keywords(text))


def weights(documents: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return the weight of each word: its document frequency times its rarity."""
    counts = Counter(word for document in documents for word in document)
    # A word of a single document is a passing name; a word of all documents distinguishes none.
    return {word: count * math.log(1 + len(documents) / count) for word, count in counts.items()}


def centrality(words: frozenset[str], weight: Mapping[str, float]) -> float:
    """Return how close a sentence is to the topic of the whole text."""
    return sum(weight.get(word, 0.0) for word in words) / math.sqrt(len(words)) if words else 0.0


def choose(sentences: Sequence[Sentence], count: int, weight: Mapping[str, float], same: float = SAME) -> list[int]:
    """Return the indices of the `count` sentences that cover most, in order; none repeats another (`alike`)."""
    words = [stems(sentence.text) for sentence in sentences]
    left = [index for index in range(len(sentences)) if words[index]]
    if len(left) > MOST_SENTENCES:
        by_centrality = sorted(left, key=lambda i: -sentences[i].worth * centrality(words[i], weight))
        left = sorted(by_centrality[:MOST_SENTENCES])
    covered: Counter[str] = Counter()
    # A day not covered yet counts as one of the heaviest words.
    extra = sorted(weight.values(), reverse=True)[: 2 * count]
    day = sum(extra) / len(extra) if extra else 0.0

    def gain(index: int) -> float:
        sentence = sentences[index]
        added = sum(
            weight.get(word, 0.0) * (math.sqrt(covered[word] + 1) - math.sqrt(covered[word])) for word in words[index]
        )
        if sentence.covers:
            added += day * (math.sqrt(covered[sentence.covers] + 1) - math.sqrt(covered[sentence.covers]))
        return float(sentence.worth * added / len(sentence.text) ** _COST)

    chosen: list[int] = []
    # Gains only shrink: a sentence whose last known gain is below the best one need not be computed again.
    heap = [(-gain(index), index) for index in left]
    heapq.heapify(heap)
    while heap and len(chosen) < count:
        _, index = heapq.heappop(heap)
        now = -gain(index)
        if heap and now > heap[0][0]:
            heapq.heappush(heap, (now, index))
        elif not any(alike(words[index], words[other], same) for other in chosen):
            chosen.append(index)
            covered.update([*words[index], sentences[index].covers])
    return sorted(chosen)


def alike(one: frozenset[str], other: frozenset[str], same: float = SAME) -> bool:
    """Return whether two sentences repeat each other: that share of the shorter one's words is in both."""
    return len(one & other) >= same * max(min(len(one), len(other)), 1)

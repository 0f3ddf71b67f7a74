"""Which of many facts to compare with a new one: reading the claims of 10,000 takes two seconds."""

from __future__ import annotations

import math
import re
from collections import Counter
from heapq import nlargest

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.model.fact.fact import Fact

MOST = 500
_STEM = re.compile(r"\b(?:[가-힣]{2}|\w{1,4})")  # forms of a word, and a Korean word with its particles, begin alike


def candidates(text: str, facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that share words with a text, in order; of more than `MOST` those that share the rarest."""
    wanted = _stems(text)
    shared = [(fact, words) for fact in facts if (words := wanted & _stems(fact.description))]
    if len(shared) <= MOST:
        return [fact for fact, _ in shared]
    often = Counter(word for _, words in shared for word in words)
    weights = {word: math.log((1 + len(shared)) / number) for word, number in often.items()}
    best = {
        number
        for _, number in nlargest(
            MOST, ((sum(weights[word] for word in words), number) for number, (_, words) in enumerate(shared))
        )
    }
    return [fact for number, (fact, _) in enumerate(shared) if number in best]


def _stems(text: str) -> set[str]:
    return set(_STEM.findall(text.casefold()))

"""The lines of guidance: their use, sources and confidence."""

from __future__ import annotations

import re
from enum import StrEnum

from gitmem.model.learned.mend import from_other, without_risk
from gitmem.model.learned.pattern import LETTER
from gitmem.search.query.query import fold
from gitmem.store.history.authors import People
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.store.store import Store

_WORD = re.compile(r"\w+")
_FEWEST = 4  # words of a line that can be compared
_SAME = 0.7  # of the words of the shorter of two lines that say the same
_EXPERIENCE = ("e", "x")  # letters of the ids of episodes and exchanges
_KINDS = {
    "convention": r"\b(?:conventions?|style|format(?:ting)?|naming|lint\w*)\b|관례|규칙|스타일",
    "past_approach": r"\b(?:did we|have we|had we|last time|before|previously|earlier)\b|전에|지난번|예전",
    "how_to": r"^how\b|\bhow (?:do|to|can|should)\b|어떻게",
}


class Part(StrEnum):
    """The use of a line of guidance."""

    APPROACH = "approach"
    TRY = "try"
    AVOID = "avoid"
    CHALLENGE = "challenge"


class Line(Value):
    """A piece of advice, the ids of its sources, and its confidence, 0 to 1."""

    part: Part
    text: str
    sources: tuple[str, ...]
    confidence: float


def of_authors(store: Store, lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines with the name of an author who is not the person, and without that author's risky commands."""
    people = People(store)
    for line in lines:
        handle = line.sources[0]  # of a pattern the parts have authors of their own
        author = "" if handle.startswith(LETTER) else people.other(handle)
        if author and handle[0] in _EXPERIENCE:
            yield line._replace(text=from_other(line.text, author, handle))
        elif author:
            yield line._replace(text=f"{without_risk(line.text, handle)} (by {author})")
        else:
            yield line


def kind_of(task: str, error: str = "") -> str:
    """Return the kind of guidance that a task or an error asks for."""
    if error:
        return "similar_error"
    low = task.casefold()
    return next((kind for kind, words in _KINDS.items() if re.search(words, low)), "general")


def is_repeated(text: str, others: Iterable[str]) -> bool:
    """Return whether one of the other texts says nearly the same, or holds the whole of this one."""
    words = set(_WORD.findall(fold(text)))
    for other in others:
        own = set(_WORD.findall(fold(other)))
        shorter = min(len(words), len(own))
        if text == other or (shorter >= _FEWEST and len(words & own) >= _SAME * shorter):
            return True
    return False

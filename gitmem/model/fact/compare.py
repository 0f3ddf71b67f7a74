"""Whether two facts mean the same, or contradict each other (spec V6); judged by words, without a model.

Contradictions are shown to a person: one fact rejects what the other chose, two values of one thing, or one sentence
with and without a negation. Similar words alone are no contradiction.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitmem.text.keywords import keywords
from gitmem.text.sentences import mask_code
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

OVERLAP = 0.5  # share of the fewer keywords; facts with less in common are about different things
FEWEST_SHARED = 2
_SAME = 0.8  # share of all keywords that equal facts have in common
_LITERAL = re.compile(r"`([^`\n]{1,200})`|(?<![\w.])(\d+(?:\.\d+)*)(?![\w.])")
_NEGATION = re.compile(
    r"\b(?:never|not|no longer|without|avoid|stop|forbidden|cannot|against)\b"
    r"|n't\b|지\s?(?:않|말|마)|(?:^|\s)안\s|절대|금지|없이",
    re.IGNORECASE,
)
_SIDE = r"([^,;:.()]{1,60}?)"
_END = r"(?=\s*(?:[,;:.()]|$|\s(?:for|in|when|because|since|as|on|with|everywhere|to|and|so|from now)\s))"
_CHOOSE = r"\b(?:use|uses|using|prefer|choose|chose|pick|adopt|adopted|(?:go|going|went) with|stick (?:with|to))"
# Patterns with their groups (chosen, rejected; 0: none), the most specific first.
_CHOICES = tuple(
    (re.compile(form, re.IGNORECASE), groups)
    for form, groups in (
        (rf"{_CHOOSE} {_SIDE},? (?:instead of|not|rather than|over|and not) {_SIDE}{_END}", (1, 2)),
        (rf"\b(?:switch(?:ed)?|mov(?:e|ed)|migrat(?:e|ed)) from {_SIDE} to {_SIDE}{_END}", (2, 1)),
        (rf"\breplac(?:e|ed|ing) {_SIDE} (?:with|by) {_SIDE}{_END}", (2, 1)),
        (rf"\b(?:do not|don't|never|no longer|stop|avoid|not) (?:use|using|uses)? ?{_SIDE}{_END}", (0, 1)),
        (rf"{_CHOOSE} {_SIDE}{_END}", (1, 0)),
        (r"(\S{1,40})\s(?:말고|대신(?:에)?)\s(\S{1,40})", (2, 1)),
        (r"(\S{1,40}?)(?:을|를|만)\s(?:쓴다|씁니다|쓰자|사용한다|사용합니다|사용하기로|쓰기로|써)", (1, 0)),
        (r"(\S{1,40}?)(?:을|를|은|는)\s(?:쓰지|사용하지)\s(?:않|마|말)", (0, 1)),
    )
)
_IS = re.compile(
    r"^(?:the |my |our )?([^,;:.]{4,60}?) (?:is|are|lives? (?:in|at)|runs? on) ([^,;]{1,60}?)\.?$", re.IGNORECASE
)
_SHORT_VALUE = 4  # words


class _Choice(Value):
    """The stems of the chosen and of the rejected thing; either may be empty."""

    chosen: frozenset[str]
    rejected: frozenset[str]


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return |A∩B| / min(|A|, |B|), 0 if one is empty (spec V3)."""
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


@lru_cache(maxsize=4_096)
def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's keywords, case folded."""
    return frozenset(stem.casefold() for stem, _ in keywords(text))


def may_concern(one: str, other: str) -> bool:
    """Say whether two facts are about the same thing, so that they could contradict each other."""
    shared = stems_of(one) & stems_of(other)
    return len(shared) >= FEWEST_SHARED and overlap(stems_of(one), stems_of(other)) >= OVERLAP


def says_the_same(one: str, other: str) -> bool:
    """Say whether two facts mean the same: same keywords, literals, numbers and negation."""
    first, second = stems_of(one), stems_of(other)
    if not first or len(first & second) < _SAME * len(first | second):
        return False
    return _literals(one) == _literals(other) and is_negated(one) == is_negated(other) and not contradict(one, other)


def contradict(one: str, other: str) -> bool:
    """Say whether two facts contradict each other, judged by their words."""
    first, second = stems_of(one), stems_of(other)
    if not first & second:
        return False
    for left in _choices(one):
        for right in _choices(other):
            if _meet(left.chosen, right.rejected) or _meet(right.chosen, left.rejected):
                return True
    if is_negated(one) != is_negated(other) and first | second and len(first & second) >= _SAME * len(first | second):
        return len(first & second) >= FEWEST_SHARED
    return _other_value(one, other)


def is_negated(text: str) -> bool:
    """Say whether a fact is negated or forbids something."""
    return len(_NEGATION.findall(mask_code(text))) % 2 == 1


def _literals(text: str) -> frozenset[str]:
    return frozenset((code or number).casefold() for code, number in _LITERAL.findall(text))


@lru_cache(maxsize=4_096)
def _choices(text: str) -> tuple[_Choice, ...]:
    return tuple(_read_choices(text.split("\n\n", maxsplit=1)[0]))


def _read_choices(text: str) -> Iterator[_Choice]:
    """Yield the choice in a text, by the first pattern that matches."""
    for form, (chosen, rejected) in _CHOICES:
        found = form.search(text)
        if found:
            sides = [stems_of(found[group]) if group else frozenset() for group in (chosen, rejected)]
            if any(sides) and not _meet(*sides):  # nobody chooses what they reject
                yield _Choice(*sides)
                return


def _meet(chosen: frozenset[str], rejected: frozenset[str]) -> bool:
    """Say whether a chosen thing is the rejected one: all words of the shorter name."""
    return bool(chosen and rejected) and (chosen <= rejected or rejected <= chosen)


def _other_value(one: str, other: str) -> bool:
    """Say whether two facts give different values: "My editor is vim", "My editor is emacs"."""
    first, second = _IS.match(one), _IS.match(other)
    if first is None or second is None or is_negated(one) or is_negated(other):
        return False
    if any(len(found[2].split()) > _SHORT_VALUE for found in (first, second)):
        return False
    subjects = stems_of(first[1]), stems_of(second[1])
    values = [" ".join(found[2].casefold().rstrip(".").split()) for found in (first, second)]
    return bool(subjects[0]) and subjects[0] == subjects[1] and values[0] != values[1] and not _contained(*values)


def _contained(one: str, other: str) -> bool:
    return one in other or other in one

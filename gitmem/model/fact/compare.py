"""Whether two facts mean the same, or contradict each other (spec V6); judged by words, without a model.

They contradict each other if they give one subject two values, say and deny the same, or if one rejects or ends what
the other chose. Similar words alone are no contradiction. Figures: `bench/contradictions.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitmem.model.fact.claim.read import read_claim
from gitmem.text.keywords import keywords
from gitmem.text.sentences import mask_code

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.fact.claim.words import Claim

_RELATED = 1 / 3  # share of the fewer keywords; facts with less in common are about different things
_SAME = 0.8  # share of all keywords that equal facts have in common
_LITERAL = re.compile(r"`([^`\n]{1,200})`|(?<![\w.])(\d+(?:\.\d+)*)(?![\w.])")
_NEGATION = re.compile(
    r"\b(?:never|not|no longer|without|avoid|stop|forbidden|cannot|against)\b"
    r"|n't\b|지\s?(?:않|말|마)|(?:^|\s)안\s|절대|금지|없이",
    re.IGNORECASE,
)
_ALIKE = 0.75  # share of all words that two claims about one subject have in common
_SAME_VERB = 3  # letters that the forms of a verb share
_KEEPS = ("keep", "kept", "put", "stor", "sav", "plac", "go", "liv", "writ")  # verbs that say where a thing is
_TELLING = 2  # words of a subject
# Beginnings of stems that are opposites.
_OPPOSITES = (
    *(("manual", "automatic"), ("enabl", "disabl"), ("allow", "forbid"), ("requir", "optional"), ("public", "privat")),
    *(("short", "long"), ("small", "larg"), ("sync", "async"), ("수동", "자동"), ("짧", "길"), ("공개", "비공개")),
)
_NUMBER = re.compile(r"[0-9][0-9.]*")


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return |A∩B| / min(|A|, |B|), 0 if one is empty (spec V3)."""
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


@lru_cache(maxsize=4_096)
def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's keywords, case folded."""
    return frozenset(stem.casefold() for stem, _ in keywords(text))


def may_concern(one: str, other: str) -> bool:
    """Return whether two facts share so many keywords that they could contradict each other, as a model may judge."""
    return overlap(stems_of(one), stems_of(other)) >= _RELATED


def says_the_same(one: str, other: str) -> bool:
    """Return whether two facts mean the same: same keywords, literals, numbers and negation."""
    first, second = stems_of(one), stems_of(other)
    if not first or len(first & second) < _SAME * len(first | second):
        return False
    return _literals(one) == _literals(other) and is_negated(one) == is_negated(other) and not contradict(one, other)


def contradict(one: str, other: str) -> bool:
    """Return whether two facts contradict each other, judged by their words."""
    first, second = read_claim(one), read_claim(other)
    if first is None or second is None or one == other:
        return False
    return (
        _rejects(first, second)
        or _rejects(second, first)
        or _denies(first, second)
        or _is_opposite(first, second)
        or _has_other_value(first, second)
        or _has_other_number(first, second)
    )


def may_contradict(one: str, other: str) -> bool:
    """Return whether two facts that mean nearly the same, as by vectors, name different values in one place.

    A word that their subjects share is enough then: "Handle dates with moment", "Parse all dates with luxon".
    """
    first, second = read_claim(one), read_claim(other)
    if first is None or second is None or first.negated or second.negated or first.adds or second.adds:
        return False
    return any(
        place == other_place != "at"
        and not value & other_value
        and (first.words - value) & (second.words - other_value)
        for place, value in first.values
        for other_place, other_value in second.values
    )


def ends(newer: str, older: str) -> bool:
    """Return whether a fact is a statement of change ("replace X with Y") that ends an older fact's choice."""
    change, claim = read_claim(newer), read_claim(older)
    if change is None or claim is None or not change.ended or claim.negated:
        return False
    return any(
        change.ended <= chosen and change.subject <= (claim.words | chosen) - change.ended for _, chosen in claim.values
    )


def is_negated(text: str) -> bool:
    """Return whether a fact is negated or forbids something."""
    return len(_NEGATION.findall(mask_code(text))) % 2 == 1


def _literals(text: str) -> frozenset[str]:
    return frozenset((code or number).casefold() for code, number in _LITERAL.findall(text))


def _rejects(one: Claim, other: Claim) -> bool:
    """Return whether a claim rejects another one's value, for the same subject if both name one."""
    if other.negated:
        return False
    for rejected in one.rejected:
        for _, chosen in other.values:
            if not (chosen <= rejected or rejected <= chosen):
                continue
            own = frozenset().union(*(found for _, found in one.values))
            subjects = (one.subject or one.words) - rejected - own, other.words - chosen - rejected - own
            if not all(subjects) or subjects[0] & subjects[1]:
                return True
    return False


def _denies(one: Claim, other: Claim) -> bool:
    """Return whether one of two claims forbids the other's statement, or a part of it ("Use mocks for mail")."""
    if one.negated == other.negated:
        return False
    first, second = (claim.words.union(*(found for _, found in claim.values)) for claim in (one, other))
    forbidden, stated = (first, second) if one.negated else (second, first)
    is_part = len(forbidden) >= _TELLING and forbidden <= stated
    return (is_part or _is_alike(first, second)) and one.verb[:1] == other.verb[:1]


def _is_opposite(one: Claim, other: Claim) -> bool:
    """Return whether two claims say opposite things of one subject: "manually", "automatically"."""
    if one.negated != other.negated:
        return False
    for pair in _OPPOSITES:
        for first, second in (pair, pair[::-1]):
            left = frozenset(word for word in one.words if word.startswith(first))
            right = frozenset(word for word in other.words if word.startswith(second))
            if left and right and _is_alike(one.words - left, other.words - right):
                return True
    return False


def _has_other_value(one: Claim, other: Claim) -> bool:
    """Return whether two claims name different values, in the same place of the sentence, for one subject."""
    if one.negated or other.negated or one.adds or other.adds:
        return False
    for (place, first), head in zip(one.values, one.heads, strict=False):
        for (second_place, second), second_head in zip(other.values, other.heads, strict=False):
            subjects = one.words - first, other.words - second
            # "Use snake_case for JSON keys", "JSON keys are in camelCase": a subject of two words is telling enough.
            is_same_place = place == second_place or min(map(len, subjects)) >= _TELLING
            is_same_place = is_same_place and "at" not in (place, second_place)
            if not is_same_place or not first - second or not second - first:
                continue
            if all(subjects):
                if _is_alike(*subjects) and not (place == "place" and _is_other_act(one.verb, other.verb)):
                    return True
            elif not any(subjects) and (head == second_head or (one.verb and one.verb == other.verb)):
                return True
    return False


def _is_other_act(one: str, other: str) -> bool:
    """Return whether two verbs tell different acts: dates are shown in one zone and stored in another."""
    if not (one.isascii() and other.isascii() and one and other) or one[:_SAME_VERB] == other[:_SAME_VERB]:
        return False
    return not (one.startswith(_KEEPS) and other.startswith(_KEEPS))


def _has_other_number(one: Claim, other: Claim) -> bool:
    """Return whether two claims differ by their numbers alone."""
    if one.negated != other.negated or one.adds or other.adds:
        return False
    first, second = (claim.words.union(*(found for _, found in claim.values)) for claim in (one, other))
    numbers = [frozenset(filter(_NUMBER.match, words)) for words in (first, second)]
    if not all(numbers) or numbers[0] == numbers[1] or len(numbers[0]) != len(numbers[1]):
        return False
    return _is_alike(first - numbers[0], second - numbers[1])


def _is_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one and other) and len(one & other) >= _ALIKE * len(one | other)

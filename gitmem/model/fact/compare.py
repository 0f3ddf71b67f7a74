"""Whether two facts mean the same, or contradict each other (spec V6); judged by words, without a model.

They contradict each other if they give one subject two values, say and deny the same, or if one rejects or ends what
the other chose. Similar words alone are no contradiction. Figures: `bench/contradictions.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitmem.model.fact.claim.read import read_claim
from gitmem.model.fact.claim.words import content, numbers
from gitmem.model.fact.same import differ_in_value
from gitmem.text.keywords import keywords
from gitmem.text.sentences import mask_code

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.fact.claim.words import Claim

_RELATED = 1 / 3  # share of the fewer keywords; facts with less in common are about different things
_NEGATION = re.compile(
    r"\b(?:never|not|no longer|without|avoid|stop|forbidden|cannot|against)\b"
    r"|n't\b|지\s?(?:않|말|마)|(?:^|\s)안\s|절대|금지|없이",
    re.IGNORECASE,
)
_SAME_VERB = 3  # letters that the forms of a verb share
_KEEPS = ("keep", "kept", "put", "stor", "sav", "plac", "go", "liv", "writ")  # verbs that say where a thing is
_TELLING = 2  # words of a subject
# Beginnings of stems that are opposites.
_OPPOSITES = (
    *(("manual", "automatic"), ("enabl", "disabl"), ("allow", "forbid"), ("requir", "optional"), ("public", "privat")),
    *(("short", "long"), ("small", "larg"), ("sync", "async"), ("수동", "자동"), ("짧", "길"), ("공개", "비공개")),
)


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
    """Return whether two facts mean the same: the same words in another order, with the same negation."""
    words = frozenset(content(one))
    same = bool(words) and words == frozenset(content(other)) and is_negated(one) == is_negated(other)
    return same and not contradict(one, other)


def contradict(one: str, other: str) -> bool:
    """Return whether two facts contradict each other, judged by their words."""
    first, second = read_claim(one), read_claim(other)
    if first is None or second is None or one == other:
        return False
    return (
        _rejects(first, second)
        or _rejects(second, first)
        or (
            not _is_other_act(first.verb, second.verb)
            and (
                _denies(first, second)
                or _is_opposite(first, second)
                or _has_other_value(first, second)
                or (first.negated == second.negated and differ_in_value(one, other))
                or _has_other_number(first, second)
            )
        )
    )


def ends(newer: str, older: str) -> bool:
    """Return whether a fact is a statement of change ("replace X with Y") that ends an older fact's choice."""
    change, claim = read_claim(newer), read_claim(older)
    if change is None or claim is None or not change.ended or claim.negated:
        return False
    return any(change.ended <= told.value and change.subject <= claim.words - change.ended for told in claim.values)


def is_negated(text: str) -> bool:
    """Return whether a fact is negated or forbids something."""
    return len(_NEGATION.findall(mask_code(text))) % 2 == 1


def _rejects(one: Claim, other: Claim) -> bool:
    """Return whether a claim rejects another one's value, for the same subject if both name one."""
    if other.negated:
        return False
    for rejected in one.rejected:
        subjects = [told.subject for told in one.values] or [one.words]
        for told in other.values:
            if not (told.value <= rejected or rejected <= told.value):
                continue
            # One may speak of a part of the other's subject.
            if any(subject <= told.subject or told.subject <= subject for subject in subjects):
                return True
    return False


def _denies(one: Claim, other: Claim) -> bool:
    """Return whether one of two claims forbids the other's statement, or a part of it ("Use mocks for mail")."""
    if one.negated == other.negated:
        return False
    forbidden, stated = (one.words, other.words) if one.negated else (other.words, one.words)
    is_part = len(forbidden) >= _TELLING and forbidden <= stated
    return (is_part or _is_same(forbidden, stated)) and one.verb[:1] == other.verb[:1]


def _is_opposite(one: Claim, other: Claim) -> bool:
    """Return whether two claims say opposite things of one subject: "manually", "automatically"."""
    if one.negated != other.negated:
        return False
    for pair in _OPPOSITES:
        for first, second in (pair, pair[::-1]):
            left = frozenset(word for word in one.words if word.startswith(first))
            right = frozenset(word for word in other.words if word.startswith(second))
            if left and right and _is_same(one.words - left, other.words - right):
                return True
    return False


def _has_other_value(one: Claim, other: Claim) -> bool:
    """Return whether two claims name different values, in the same place of the sentence, for one subject."""
    if one.negated or other.negated or one.adds or other.adds:
        return False
    for first in one.values:
        for second in other.values:
            # "Use snake_case for JSON keys", "JSON keys are in camelCase": a subject of two words is telling enough.
            is_same_place = first.place == second.place or len(first.subject) >= _TELLING
            is_same_place = is_same_place and "at" not in (first.place, second.place)
            # "snake_case keys" and "camelCase keys"; but "with make test" and "with make e2e" have each their use.
            shared = first.value & second.value
            differ = not shared or (first.place in ("object", "often") and first.value != shared != second.value)
            if is_same_place and differ and _is_same(first.subject, second.subject):
                return True
    return False


def _is_other_act(one: str, other: str) -> bool:
    """Return whether two verbs tell different acts: dates are shown in one zone and stored in another."""
    if not (one.isascii() and other.isascii() and one and other) or one[:_SAME_VERB] == other[:_SAME_VERB]:
        return False
    return not (one.startswith(_KEEPS) and other.startswith(_KEEPS))


def _has_other_number(one: Claim, other: Claim) -> bool:
    """Return whether two claims differ by their numbers alone, and these do not name their subjects."""
    if one.negated != other.negated or one.adds or other.adds or one.numbered != other.numbered:
        return False
    first, second = numbers(one.words), numbers(other.words)
    differ = first != second and len(first) == len(second)
    return differ and _is_same(one.words - first, other.words - second)


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two subjects are one: each word of one is a word of the other."""
    return bool(one) and one == other

"""Whether statements speak of the same thing, and differ in value.

Whether two statements speak of the same thing and differ in its value (spec V6). Pure.

Two statements of one form are laid side by side. What differs must be one run of words, in a place where a value
stands: behind a word such as "use", "in" or "is", or with a particle such as 로. What differs elsewhere is the subject,
and two subjects never contradict each other.

Whether two facts mean the same, or contradict each other (spec V6); judged by words, without a model.

They contradict each other if they give one subject two values, say and deny the same, or if one rejects or ends what
the other chose. Similar words alone are no contradiction. Figures: `bench/contradictions.py`.

Which facts in force a new one ends, and which it contradicts (spec V6).

Tested through `tests/facts/test_contradictions.py` and `tests/archives/test_tiers_rotate.py`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from heapq import nlargest

from gitmem.facts.claims import content, light_words, number_of, numbers, read_claim
from gitmem.facts.fact import Fact, FactKind
from gitmem.facts.statements import cue_words
from gitmem.text.keywords import keywords
from gitmem.text.sentences import mask_code
from gitmem.text.stems import hangul_stem, stem
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitmem.facts.claims import Claim


_LONGEST = 400  # characters of a statement
_MOST_WORDS = 4  # of a value
_TOKEN = re.compile(r"`[^`\n]+`|[0-9]+(?:\.[0-9]+)*%?|[^\W\d]\w*(?:[-./+#]\w+)*[+#]*")
_CODE_WITH_PARTICLE = re.compile(r"(`[^`\n]+`|[A-Za-z0-9_.%+#/-]+)([가-힣]+)")
_CHOOSES = frozenset(("use", "uses", "using", "prefer", "prefers", "choose", "pick", "adopt"))
_BEFORE_A_VALUE = _CHOOSES | frozenset(
    ("in", "into", "on", "onto", "at", "to", "with", "by", "via", "through", "as", "from", "is", "are", "be", "than")
)
_BEFORE_A_SUBJECT = frozenset(
    ("for", "of", "before", "after", "when", "while", "if", "per", "between", "about", "during")
)
_IS = frozenset(("is", "are", "be"))
_BEFORE_A_NUMBER = frozenset(
    ("of", "within", "every", "after", "need", "needs", "below", "above", "under", "most", "least")
)
_PARTICLES = {
    "topic": ("에는", "에서는", "은", "는"),
    "value": ("으로", "로", "에게", "에", "까지", "으로만", "로만"),
    "object": ("을", "를", "만"),
    "owner": ("의",),
}
_CHOSEN = re.compile(r"^(?:쓰|쓴|써|씁|쓸|사용|선호|선택|좋아|택)")


class _Word(Value):
    """A word as it is compared, its particle's role, and whether it says something itself."""

    stem: str
    role: str = ""
    says: bool = True


def differ_in_value(one: str, other: str) -> bool:
    """Return whether two statements give one subject two values."""
    first, second = _read(one), _read(other)
    shared = min(len(first), len(second))
    begin = next((at for at in range(shared) if not _is_same(first[at], second[at])), shared)
    left = shared - begin
    end = next((at for at in range(left) if not _is_same(first[-1 - at], second[-1 - at])), left)
    values = first[begin : len(first) - end], second[begin : len(second) - end]
    around = (*first[:begin], *first[len(first) - end :])
    if not all(0 < len(value) <= _MOST_WORDS for value in values) or not any(word.says for word in around):
        return False
    stems = [{word.stem for word in value} for value in values]
    if stems[0] & stems[1] or (stems[0] | stems[1]) & (_BEFORE_A_VALUE | _BEFORE_A_SUBJECT):
        return False  # more than one place differs
    places = [
        _is_value(words[:begin], value, words[begin + len(value) :])
        for words, value in zip((first, second), values, strict=True)
    ]
    return all(places)


def _is_same(one: _Word, other: _Word) -> bool:
    return one.stem == other.stem and one.role == other.role


def _is_value(before: tuple[_Word, ...], value: tuple[_Word, ...], after: tuple[_Word, ...]) -> bool:
    """Return whether a run of words stands where a value does."""
    is_number = all(word.stem[0].isdigit() for word in value)
    if any("가" <= word.stem[0] <= "힣" or word.role for word in (*before, *value, *after)):
        return _is_korean_value(before, value, after, is_number=is_number)
    marker = before[-1].stem if before else ""
    if marker in _CHOOSES:
        return True
    if not any(word.says for word in before) or any(word.stem in _CHOOSES for word in before):
        return False  # "Use X in Y" says of Y what to use there
    if marker in _IS and len(value) == 1 and value[0].stem.endswith(("ed", "ing")):
        return False  # "is generated"
    return marker in _BEFORE_A_VALUE or (is_number and marker in _BEFORE_A_NUMBER)


def _is_korean_value(
    before: tuple[_Word, ...], value: tuple[_Word, ...], after: tuple[_Word, ...], *, is_number: bool
) -> bool:
    """Return whether a run of words has, or belongs to a noun that has, the particle of a value."""
    roles = [word.role for word in (value[-1], *after) if word.role and word.role != "owner"]
    role = roles[0] if roles else ""
    has_topic = any(word.role == "topic" for word in before)
    if role == "object" or roles[:2] == ["topic", "object"]:
        chosen = any(_CHOSEN.match(word.stem) for word in after)
        return (chosen and has_topic) or (is_number and role == "object")
    if not role:
        return is_number and has_topic
    return role == "value" and bool(before) and (value[-1].role == role or is_number)


@lru_cache(maxsize=4_096)
def _read(text: str) -> tuple[_Word, ...]:
    text = text.split("\n\n", maxsplit=1)[0][:_LONGEST]
    dropped = (cue_words() | light_words()) - _BEFORE_A_VALUE - _BEFORE_A_SUBJECT
    words = []
    for token in re.findall(r"\S+", text):
        parts = _CODE_WITH_PARTICLE.fullmatch(token.strip(".,;:!()"))
        if parts:
            words.append(_Word(number_of(parts[1].strip("`").casefold()), _role_of(parts[2])))
            continue
        for match in _TOKEN.finditer(token):
            word = match[0].strip("`").casefold()
            if word and word not in dropped:
                words.append(_word(word))
    return tuple(words)


def _word(word: str) -> _Word:
    number = number_of(word)
    if number != word or word[0].isdigit():
        return _Word(number)
    if "가" <= word[0] <= "힣":
        for role, particles in _PARTICLES.items():
            found = next((end for end in particles if word.endswith(end) and len(word) > len(end)), "")
            if found:
                return _Word(word.removesuffix(found), role)
        return _Word(hangul_stem(word))
    says = word not in _BEFORE_A_VALUE | _BEFORE_A_SUBJECT
    return _Word(word if not says or word.endswith(("ed", "ing")) else stem(word), says=says)


def _role_of(tail: str) -> str:
    return next((role for role, particles in _PARTICLES.items() if tail in particles), "")


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
    return (is_part or _compare_is_same(forbidden, stated)) and one.verb[:1] == other.verb[:1]


def _is_opposite(one: Claim, other: Claim) -> bool:
    """Return whether two claims say opposite things of one subject: "manually", "automatically"."""
    if one.negated != other.negated:
        return False
    for pair in _OPPOSITES:
        for first, second in (pair, pair[::-1]):
            left = frozenset(word for word in one.words if word.startswith(first))
            right = frozenset(word for word in other.words if word.startswith(second))
            if left and right and _compare_is_same(one.words - left, other.words - right):
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
            if is_same_place and differ and _compare_is_same(first.subject, second.subject):
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
    return differ and _compare_is_same(one.words - first, other.words - second)


def _compare_is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two subjects are one: each word of one is a word of the other."""
    return bool(one) and one == other


# The kinds whose facts can contradict each other.
WEIGHED = (FactKind.RULE, FactKind.PREFERENCE, FactKind.DECISION, FactKind.CORE_LOGIC)
MOST_DISPUTED = 3  # for one new fact; more are a series ("step 1 …", "step 2 …"), which nobody wants to review


class Rivals(Value):
    """Rivals of a new fact: facts it ends, facts that end it, and facts it contradicts, for a person to decide."""

    ended: tuple[Fact, ...] = ()
    ended_by: tuple[Fact, ...] = ()
    disputed: tuple[Fact, ...] = ()


def is_weighed(fact: Fact) -> bool:
    """Return whether a fact is of a kind that can contradict others."""
    return FactKind(fact.kind) in WEIGHED


def winner_over(own: Fact, project: Iterable[Fact]) -> Fact | None:
    """Return the fact of a project that goes before a contradicting fact of the person's own store, None if none."""
    rivals = rivals_of(own, project)
    return next(iter((*rivals.disputed, *rivals.ended, *rivals.ended_by)), None)


def rivals_of(new: Fact, facts: Iterable[Fact], is_mine: Callable[[Fact], bool] = lambda _: False) -> Rivals:
    """Return the rivals of a new fact among facts in force.

    A statement of change ends earlier statements, and of two rules of the person (`is_mine`) the newer ends the older;
    a new fact from a recorded session may be the older one. Of those that it contradicts otherwise the newest
    `MOST_DISPUTED` count.
    """
    others = [fact for fact in facts if is_weighed(new) and is_weighed(fact) and fact.id != new.id]
    ended: list[Fact] = []
    by: list[Fact] = []
    disputed: list[Fact] = []
    for one in others:
        is_older = one.created <= new.created
        if ends(new.description, one.description) if is_older else ends(one.description, new.description):
            (ended if is_older else by).append(one)
        elif contradict(one.description, new.description):
            is_ruled = _is_stated(new) and _is_stated(one) and is_mine(one) and is_mine(new)
            (disputed if not is_ruled else ended if is_older else by).append(one)
    newest = sorted(disputed, key=lambda fact: (fact.created, fact.id))[-MOST_DISPUTED:]
    return Rivals((), tuple(by)) if by else Rivals(tuple(ended), (), tuple(newest))


def _is_stated(fact: Fact) -> bool:
    """Return whether a person made a fact as a rule; a decision that was saved may be an agent's."""
    return fact.kind in (FactKind.RULE, FactKind.PREFERENCE) or (
        fact.kind == FactKind.DECISION and "tool" not in fact.origin and "exchange" in fact.origin
    )


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

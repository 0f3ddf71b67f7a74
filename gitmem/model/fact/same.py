"""Whether two statements speak of the same thing and differ in its value (spec V6). Pure.

Two statements of one form are laid side by side. What differs must be one run of words, in a place where a value
stands: behind a word such as "use", "in" or "is", or with a particle such as 로. What differs elsewhere is the subject,
and two subjects never contradict each other.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitmem.model.fact.claim.words import light_words, number_of
from gitmem.model.fact.statements import cue_words
from gitmem.text.stems import hangul_stem, stem
from gitmem.values import Value

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

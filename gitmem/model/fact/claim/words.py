"""The words of a claim: stems of content words, and numbers, without words that carry no meaning of their own."""

from __future__ import annotations

import re

from gitmem.text.stems import hangul_stem, stem
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_TOKEN = re.compile(
    r"[0-9]+(?:\.[0-9]+)*|[A-Za-zÀ-ɏЀ-ӿ_@#][\w@#+]*(?:[./-][\w@#+]+)*|/?(?:[\w.-]+/)+[\w.-]*|[가-힣]+|[ぁ-鿿]+"
)
_NUMBERS = "one two three four five six seven eight nine ten"
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_NUMBERS.split(), 1)}
_LIGHT = """
    a about again all already also always am an and any anything are as at be been being both but by can do does each
    either else ever every everything everywhere exactly for from generally had has have i in is it its just let may me
    more most must my need needs now of on only or our ours please same shall should so some still strictly such than
    that the their them then there these they this those to too us very was we were when which while will with you your
    use uses used using usage whole entire
    항상 반드시 언제나 매번 절대 절대로 앞으로 앞으로는 이제 이제는 더 이상 더이상 우리 우리는 모든 꼭 그냥 직접 것 수
    때 및 와 과
"""
_NO_MEANING = frozenset(_LIGHT.split())

_NUMBER_WORDS |= {"한": "1", "두": "2", "세": "3", "네": "4"}


class Told(Value):
    """A value that a statement names, as stems: {spaces} of "Use spaces for indentation", {indentation} its subject.

    `place` is where the sentence names it; "at" may have several values at once.
    """

    place: str
    value: frozenset[str]
    subject: frozenset[str]


class Claim(Value):
    """What a statement prescribes, as sets of stems.

    `words` are all stems but those of `verb` and of `rejected`, the things it decides against. `numbered` are numbers
    that belong to the name of its subject: {1} of "Node 1 listens on port 80". `ended` is what a statement of change
    ends, of `subject` if it names one. `adds` marks a statement that adds to another one: "in the client, too".
    """

    words: frozenset[str]
    values: tuple[Told, ...] = ()
    verb: str = ""
    negated: bool = False
    rejected: tuple[frozenset[str], ...] = ()
    ended: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    adds: bool = False


def told(
    phrases: Sequence[tuple[str, Iterable[str]]], places: Collection[str], rest: frozenset[str]
) -> tuple[Told, ...]:
    """Return the values of the phrases at these places; the subject of each is all other phrases and the rest."""
    found = [(place, frozenset(words)) for place, words in phrases]
    return tuple(
        Told(place, value, rest.union(*(other for at, (_, other) in enumerate(found) if at != own)))
        for own, (place, value) in enumerate(found)
        if value and place in places
    )


def numbers(words: Iterable[str]) -> frozenset[str]:
    """Return the numbers among stems."""
    return frozenset(word for word in words if word[0].isdigit() and word.replace(".", "").isdigit())


def light_words() -> frozenset[str]:
    """Return the words that carry no meaning of their own."""
    return _NO_MEANING


def number_of(word: str) -> str:
    """Return the digits of a number word, any other word as it is."""
    return _NUMBER_WORDS.get(word, word)


def content(text: str) -> tuple[str, ...]:
    """Return a text's content words and its numbers, in lower case and in order."""
    words = (match[0].strip("_./-#").casefold() for match in _TOKEN.finditer(text))
    return tuple(_NUMBER_WORDS.get(word, word) for word in words if word and word not in _NO_MEANING)


def stems(text: str) -> tuple[str, ...]:
    """Return the stems of a text's content words and its numbers, in order."""
    return tuple(hangul_stem(word) if "가" <= word[0] <= "힣" else stem(word) for word in content(text))

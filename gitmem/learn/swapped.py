"""Whether a statement joins words of its source otherwise than the source does; judged by words, without a model. Pure.

"Use MySQL over Postgres" turns "Postgres over MySQL" round; "errors go to stdout" crosses "errors go to stderr and
results to stdout"; "15 hours" has another unit than "15 minutes"; "unsigned" undoes "signed".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from gitmem.platform.machine import table
from gitmem.text.words import files_of, hangul_stem, matcher, stem, stop_words
from gitmem.values import Value

_WORDS = "contrary.tsv"
_PIECE = re.compile(r"[,;:!?()\n\u2013\u2014\u3002\uff0c]|\.(?=\s|$)|\s-\s|->|\u2192")
_SENTENCE = re.compile(r"[;!?\n\u3002]|\.(?=\s|$)")
_WORD = re.compile(r"\w+(?:[/.+#-]++\w+)*")
_JOINS = ("instead", "before")
_PLACES = ("on", "at", "into")  # join as "in" does
_UNDONE = re.compile(r"\b(?:un|non-?|in|im|ir|dis)([a-z]{5,})\b", re.IGNORECASE)


class _Split(Value):
    """A segment of a sentence in two: what it is about, and what it says of that, by the word that `joins` them."""

    left: frozenset[str]
    right: frozenset[str]
    joins: str = ""


def is_swapped(statement: str, source: str, known: str = "") -> bool:
    """Return whether a statement joins words otherwise than its source; `known` is what it takes the place of."""
    return (
        any(_turns_round(turn, statement, source) for turn in _forms("turn"))
        or _crosses(statement, source)
        or _has_other_unit(statement, f"{source}\n{known}")
        or _is_undone(statement, source)
    )


def _stems(text: str) -> frozenset[str]:
    """Return the stems of the words that are more than grammar, also of those that are in every report."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(stem(hangul_stem(word)) for word in words if word not in stop_words())


@cache
def _forms(kind: str) -> tuple[re.Pattern[str], ...]:
    rows = (row[1] for path in files_of(_WORDS) for row in table(path) if row[0] == kind)
    return tuple(re.compile(form, re.IGNORECASE) for form in rows)


def _turns_round(turn: re.Pattern[str], statement: str, source: str) -> bool:
    """Return whether what stands before a word as "over" stands behind it in the other text, and the reverse."""
    said, claimed = _sides(turn, source), _sides(turn, statement)
    if not said or not claimed:
        return False
    return bool((said.left - said.right) & (claimed.right - claimed.left)) and bool(
        (said.right - said.left) & (claimed.left - claimed.right)
    )


def _sides(turn: re.Pattern[str], text: str) -> _Split | None:
    """Return the stems before and behind a word; of "before A, B" B stands before it."""
    pieces = _PIECE.split(text)
    for place, piece in enumerate(pieces):
        match = turn.search(piece)
        if match is None:
            continue
        left, right = _stems(piece[: match.end()]), _stems(piece[match.end() :])
        if not left:
            left = frozenset(stem for other in (*pieces[:place], *pieces[place + 1 :]) for stem in _stems(other))
        return _Split(left, right)
    return None


def _crosses(statement: str, source: str) -> bool:
    """Return whether a clause says of one part of a sentence what the part beside it says of something else."""
    claimed = [_stems(_affirmed(segment)) for segment in _segments(statement)]
    for sentence in _SENTENCE.split(source):
        halves = [[*_splits(segment)] for segment in _segments(sentence)]
        for pair in pairwise(halves):
            for about, other in (pair, pair[::-1]):
                if any(_joins(clause, mine, its) for clause in claimed for mine in about for its in other):
                    return True
    return False


def _joins(clause: frozenset[str], mine: _Split, its: _Split) -> bool:
    """Return whether a clause says of the subject of one part what another part of the same form says of its own."""
    if mine.joins != its.joins:
        return False
    subject, own = mine.left - its.left - its.right, mine.right - its.left - its.right
    other, said = its.left - mine.left - mine.right, its.right - mine.left - mine.right
    return bool(own and other and clause & subject and clause & said and not clause & own and not other <= clause)


def _segments(text: str) -> Iterator[str]:
    """Yield the parts of a text, but those that begin with what joins them to another, as "instead"."""
    for piece in _PIECE.split(text):
        for clause in matcher(_WORDS, "clause").split(piece):
            segments = (segment.strip() for segment in matcher(_WORDS, "joint").split(clause))
            yield from (one for one in segments if not any(matcher(_WORDS, kind).match(one) for kind in _JOINS))


def _affirmed(segment: str) -> str:
    """Return what a segment affirms: nothing if it has a negation, and not what something stands instead of."""
    text = matcher(_WORDS, "exception").split(matcher(_WORDS, "instead").split(segment)[0])[0]
    return "" if matcher(_WORDS, "negation").search(text) or matcher(_WORDS, "before").search(text) else text


def _splits(segment: str) -> Iterator[_Split]:
    """Yield a segment in two halves, behind its first word that says something and at each preposition or particle."""
    words = segment.split()
    first = next((place for place, word in enumerate(words) if _stems(word)), len(words))
    text = " ".join(words)
    ends = [(len(" ".join(words[: first + 1])), "".join(words[first + 1 : first + 2]).casefold())]
    links = matcher(_WORDS, "link").finditer(text)
    ends += [(match.end(), "in" if match[0] in _PLACES else match[0].casefold()) for match in links]
    for end, joins in ends:
        left, right = _stems(text[:end]), _stems(text[end:])
        if left and right:
            yield _Split(left, right, joins)


def _has_other_unit(statement: str, source: str) -> bool:
    """Return whether a statement has units of which its source, which has others, has none."""
    said, claimed = (
        {place for place, unit in enumerate(_forms("unit")) if unit.search(text)} for text in (source, statement)
    )
    return bool(said and claimed) and not claimed & said


def _is_undone(statement: str, source: str) -> bool:
    """Return whether a statement has a word of its source with a prefix that denies it."""
    if any(matcher(_WORDS, "negation").search(text) for text in (statement, source)):
        return False
    said = _stems(source)
    return any(_stems(match[1]) & said and not _stems(match[0]) & said for match in _UNDONE.finditer(statement))

"""Whether a statement says the contrary of the words it is said to rest on; judged by words, without a model. Pure.

Each content word of a text is affirmed or denied by the clause it stands in: "Use A, not B" affirms A and denies B;
"never A without B" leaves A open and affirms B. A statement that denies what its source affirms, or the other way
round, is refused, as is one that has another number or the opposite of a word ("before", "after").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, partial

from gitmem.learn.swapped import is_swapped
from gitmem.model.similarity import stems_of
from gitmem.platform.machine import table
from gitmem.text.numbers import numbers_of
from gitmem.text.words import files_of, matcher
from gitmem.values import Value

_WORDS = "contrary.tsv"
_BREAK = re.compile(r"[,;:!?()\n\u2013\u2014\u3002\uff0c]|\.(?=\s|$)|\s-\s|->|\u2192")
_HANGUL = re.compile("[가-힣]")
_FOCUS = 2  # content words behind a negation, one of which is what it denies
_COVERED = 1 / 2  # of the words of a clause, to speak of it
_RESTATED = 2 / 3
_SEVERAL = 2  # negations in one clause, which leave open what it says


class _Clause(Value):
    """A clause: its stems, whether it affirms (1), denies (-1) or leaves them open (0), and what it denies first."""

    stems: frozenset[str]
    sign: int
    focus: frozenset[str] = frozenset()
    required: bool = False  # of "never A without B", B


def tells_contrary(sentence: str, said: str) -> bool:
    """Return whether a sentence about what was done says the whole of what a clause of the user denies.

    It may say what failed, or was left, so that nothing else of it can be the contrary.
    """
    affirmed = {stem for stem, sign in _signs(_clauses(sentence)).items() if sign > 0}
    denied = (clause.stems for clause in _clauses(said) if clause.sign < 0 and len(clause.stems) > 1)
    return any(stems <= affirmed for stems in denied)


def says_contrary(statement: str, source: str, *, is_issue: bool = False, known: str = "") -> bool:
    """Return whether a statement says the contrary of its source, the sentences that its quotation stands in.

    An issue may say that something is missing which its source only names, and the other way round. A value may have
    the unit of the `known` fact whose place it takes.
    """
    claims, said = [*_clauses(statement)], [*_clauses(source)]
    signs, signs_said = _signs(claims), _signs(said)
    flipped = {stem for stem in signs.keys() & signs_said.keys() if signs[stem] == -signs_said[stem] != 0}
    affirmed = {stem for stem in flipped if signs[stem] > 0}
    denied = flipped - affirmed
    if affirmed and denied:
        return True
    plain = {stem for stem in signs if signs[stem] > 0}
    if not is_issue and _undoes(claims, said, plain, is_plain=not _has("leaves", statement)):
        return True
    if any(clause.required and clause.stems & denied == clause.stems for clause in said):
        return True
    if denied and not is_issue and _denies(claims, said, denied, source):
        return True
    if _is_opposite(statement, source) or (not is_issue and _widens(statement, source)):
        return True
    return is_swapped(statement, source, known)


def without_replaced(statement: str, known: str) -> str:
    """Return a statement without the parts that only say that known facts are no longer in force.

    "100 rows instead of 25", "the author's initials and not the ticket number": the user who states the new value says
    nothing of the old one.
    """
    points = stems_of(known) | numbers_of(known)

    def is_old(text: str) -> bool:
        said = stems_of(matcher(_WORDS, "negation").sub(" ", text)) | numbers_of(text)
        return bool(said) and said <= points

    for match in [*matcher(_WORDS, "instead").finditer(statement)][::-1]:
        end = _BREAK.search(statement, match.end())
        stop = end.start() if end else len(statement)
        if is_old(statement[match.end() : stop]):
            statement = statement[: match.start()] + statement[stop:]
    for match in [*matcher(_WORDS, "before").finditer(statement)][::-1]:
        words = statement[: match.start()].split()
        if is_old(" ".join(words[-1:])):
            statement = f"{' '.join(words[:-1])} {statement[match.end() :]}"
    parts = matcher(_WORDS, "joint").split(statement)
    pieces = [piece for part in parts for piece in _BREAK.split(part)]
    old = [piece for piece in pieces[1:] if _has("negation", piece) and is_old(piece)]
    for piece in old:
        statement = statement.replace(piece, "")
    return statement


def _widens(statement: str, source: str) -> bool:
    """Return whether a statement says of another subject what a clause of its source says of one "only"."""
    head = next(iter(_first_content(statement.split(), 1)), "")
    if not head or _has("only", statement) or head in stems_of(source):
        return False
    plain = {stem for clause in _clauses(statement) for stem in clause.stems}
    limited = (stems_of(piece) for piece in _BREAK.split(source) if _has("alone", piece))
    return any(stems and len(stems & plain) >= _COVERED * len(stems) for stems in limited)


def _has(kind: str, text: str) -> bool:
    return matcher(_WORDS, kind).search(text) is not None


def _undoes(claims: list[_Clause], said: list[_Clause], affirmed: set[str], *, is_plain: bool) -> bool:
    """Return whether a statement affirms what a clause of its source denies."""
    is_plain = is_plain and all(clause.sign > 0 for clause in claims)
    for clause in (one for one in said if one.sign < 0):
        said_again = {stem for stem in clause.stems if any(map(partial(_is_form, stem), affirmed))}
        share = len(said_again) / len(clause.stems)
        if share == 1 or (is_plain and share >= _COVERED and clause.focus & said_again):
            return True
    return False


def _is_form(stem: str, other: str) -> bool:
    """Return whether two stems are of one word; a Korean verb's differ in the last syllable."""
    stem, other = stem.removesuffix("하"), other.removesuffix("하")
    is_korean = len(stem) == len(other) > 1 and _HANGUL.match(stem) is not None
    return stem == other or (is_korean and stem[:-1] == other[:-1])


def _denies(claims: list[_Clause], said: list[_Clause], denied: set[str], source: str) -> bool:
    """Return whether a statement denies what a clause of its source affirms, which says nothing against it."""
    if _has("only", source) or _has("leaves", source) or any(clause.sign <= 0 for clause in said):
        return False
    has_affirmed = any(clause.sign > 0 and clause.stems for clause in claims)
    for clause in (one for one in said if one.stems):
        shared = clause.stems & denied
        if len(shared) >= _RESTATED * len(clause.stems) and len(shared) > has_affirmed:
            return True
    return False


def _signs(clauses: Iterable[_Clause]) -> dict[str, int]:
    """Return the sign of each stem, 0 where clauses differ."""
    signs: dict[str, int] = {}
    for clause in clauses:
        for stem in clause.stems:
            signs[stem] = clause.sign if signs.get(stem, clause.sign) == clause.sign else 0
    return signs


def _clauses(text: str) -> Iterator[_Clause]:
    """Yield the clauses of a text that say something; a condition is open."""
    for piece in _BREAK.split(text):
        *conditions, rest = matcher(_WORDS, "condition").split(piece)
        rest, *more = matcher(_WORDS, "if").split(rest)
        for condition in (*conditions, *more):
            yield from _made([condition], 0)
        for clause in matcher(_WORDS, "clause").split(rest):
            yield from _joint(clause)


def _joint(text: str) -> Iterator[_Clause]:
    """Yield the clauses of a text in parts joined by "and"; "never A and B" may deny both."""
    before = 1
    for place, part in enumerate(matcher(_WORDS, "joint").split(text)):
        clauses = [*_parts(part)]
        if place and before < 0 and all(clause.sign > 0 for clause in clauses):
            clauses = [clause._replace(sign=0) for clause in clauses]
        before = min((clause.sign for clause in clauses), default=before)
        yield from clauses


def _parts(text: str) -> Iterator[_Clause]:
    """Yield a clause, in parts where it names an exception or what something stands instead of."""
    head = matcher(_WORDS, "before").search(text)
    if head:  # "A 말고 B": the words before it
        yield from _made(text[: head.start()].split()[-1:], -1)
        text = f"{' '.join(text[: head.start()].split()[:-1])} {text[head.end() :]}"
    text, *instead = matcher(_WORDS, "instead").split(text, maxsplit=1)
    yield from _made(instead, -1)
    text, *beside = matcher(_WORDS, "exception").split(text, maxsplit=1)
    negations = [*matcher(_WORDS, "negation").finditer(text)]
    sign = (1, -1)[len(negations)] if len(negations) < _SEVERAL else 0
    sign = 0 if _has("open", text) else sign
    if beside:
        yield from (clause._replace(required=sign < 0) for clause in _made([beside[0]], -sign))
        sign = max(sign, 0)  # "never A without B" leaves A open
    focus: frozenset[str] = frozenset()
    if negations and _HANGUL.search(negations[0][0]):  # stands behind what it denies
        focus = _first_content(reversed(text[: negations[0].start()].split()), 1)
        text = f"{text[: negations[0].start()]} {text[negations[0].end() :].partition(' ')[2]}"
    elif negations:
        focus = _first_content(text[negations[0].end() :].split(), _FOCUS)
    yield from _made([text], sign, focus)


def _first_content(words: Iterable[str], most: int) -> frozenset[str]:
    """Return the stems of the first words that say something."""
    named = [stems for word in words if (stems := stems_of(word) | numbers_of(word))]
    return frozenset(stem for stems in named[:most] for stem in stems)


def _made(texts: Iterable[str], sign: int, focus: frozenset[str] = frozenset()) -> Iterator[_Clause]:
    for stems in (stems_of(text) | numbers_of(text) for text in texts):
        if stems:
            yield _Clause(stems, sign, focus or stems)


def _is_opposite(statement: str, source: str) -> bool:
    """Return whether a statement has the opposite of a word of its source, neither of which is negated.

    Where both have both words, as in "before the deploy, never after", each has its clause.
    """
    is_plain = not (_has("negation", source) or _has("negation", statement))
    for pair in _opposites():
        said, claimed = ([bool(side.search(text)) for side in pair] for text in (source, statement))
        if is_plain and sorted(said) == sorted(claimed) == [False, True] and said != claimed:
            about, other = (
                _beside(pair[has.index(True)], text) for text, has in ((source, said), (statement, claimed))
            )
            if not (about and other) or about & other:
                return True
        if all(said) and all(claimed):
            meant, told = _sides(source, pair), _sides(statement, pair)
            if len(meant) == len(told) == 1 and meant != told:
                return True
    return False


def _beside(side: re.Pattern[str], text: str) -> frozenset[str]:
    """Return what a word as "before" is about: the stems behind it in its clause, before it in Korean."""
    match = side.search(text)
    if match is None:
        return frozenset()
    around = text[: match.start()] if _HANGUL.search(match[0]) else text[match.end() :]
    pieces = _BREAK.split(around)
    piece = pieces[-1] if _HANGUL.search(match[0]) else pieces[0]
    return stems_of(piece) | numbers_of(piece)


def _sides(text: str, pair: tuple[re.Pattern[str], ...]) -> set[bool]:
    """Return which of two opposites a text means: the one of a clause, or the other where that is negated."""
    pieces = [piece for piece in _BREAK.split(text) if not _has("exception", piece)]
    return {bool(place) != _has("negation", piece) for piece in pieces for place in (0, 1) if pair[place].search(piece)}


@cache
def _opposites() -> tuple[tuple[re.Pattern[str], ...], ...]:
    rows = (row[1] for path in files_of(_WORDS) for row in table(path) if row[0] == "opposite")
    return tuple(tuple(_word(side) for side in re.split(r"\|(?![^(]*\))", row)) for row in rows)


def _word(form: str) -> re.Pattern[str]:
    begin = "" if "가" <= form[0] <= "힣" else r"\b"
    return re.compile(f"{begin}(?:{form}){begin}", re.IGNORECASE)


def lacks_number(statement: str, text: str) -> bool:
    """Return whether a statement has a number that a text has nowhere, not even in a name."""
    return any(number not in text for number in numbers_of(statement) - numbers_of(text) - {"1"})

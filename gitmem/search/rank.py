"""Order hits: BM25 over units, with a share of their neighbours, first lines, and words in the order of the query.

    score = sum over terms of  weight * idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))

An entry of a conversation often shares its topic with its neighbours, so `tf` counts a share of their terms; the share
is smaller for entries of several lines. A hit is weak if its coverage is low: the share of the query's words
in it, weighed by inverse document frequency. With vectors, a memory far from the query is weak although it has its
words, and one near to it is good without them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import exp, log

from gitmem.search.cut import ENTRY
from gitmem.search.query import INSIDE, WHOLE, Needle, Query, Term
from gitmem.search.units import ID_MARK, Units
from gitmem.text.words import stem
from gitmem.values import Value

K1 = 0.9
B = 0.35
# The weight of a word that only shares a prefix with an English query word: `education` for `educated`.
PARTIAL = 0.5
_SHORTEST_PARTIAL = 4
_HEX = re.compile(r"[0-9a-f]{7,}(?!\w)")
WINDOW = (0.5, 0.25)  # weights of the terms in the next neighbours, and in those after them
WINDOW_LENGTH = 250  # characters of the units for which neighbours count most
FIRST = 0.25  # bonus for a term in the first of several lines: a title, a signature, a request
PAIR = 0.5  # bonus for two words in the query's order, as a share of the lighter one's weight
_APART = 24  # characters between the beginnings of such words, at most
_BETWEEN = 2  # words from one to the other in the query: one may be between them
SAID = 0.5  # factor for an agent's texts between its tool calls
MOST_COUNTED = 200  # places kept of one unit
_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Za-z][a-z]*")


class Found(Value):
    """The terms of a query in a unit: the weighted count of each, and their places as (position, term)."""

    counts: dict[int, float]
    places: list[tuple[int, int]]


NOTHING = Found({}, [])
UNKNOWN = -1.0  # nearness of a unit without a vector


class Ranked(Value):
    """A unit with its score, its terms, their weights, and the part of the unit that has this score.

    `also` are other views found of the same memory, with their indexes; `near` is its nearness by vectors, or UNKNOWN;
    `before` the handle of a newer memory on the same subject; `among` the estimated number of units ranked.
    """

    score: float
    units: Units
    index: int
    found: Found
    weights: Sequence[float]
    part: tuple[int, int] = (0, 0)
    also: tuple[tuple[Units, int], ...] = ()
    near: float = UNKNOWN
    before: str = ""
    among: float = 1.0


def needles_of(terms: Sequence[Term]) -> list[tuple[int, Needle]]:
    """Return all needles with the number of their term."""
    return [(number, needle) for number, term in enumerate(terms) for needle in term.needles]


def find_terms(units: Units, needles: Sequence[tuple[int, Needle]], *, loosely: bool = False) -> dict[int, Found]:
    """Return the terms in each unit of a file, by the unit's index; see `needles_of`. Ids contain no words.

    With `loosely` terms count inside words, too.
    """
    return find_in_files([units], needles, loosely=loosely)[0]


def find_in_files(
    files: Sequence[Units], needles: Sequence[tuple[int, Needle]], *, loosely: bool = False
) -> list[dict[int, Found]]:
    """Return the terms in each file like `find_terms`, in half the time for files of 20 KB."""
    low = "\0".join([units.low for units in files])
    starts = [*accumulate((len(units.low) + 1 for units in files), initial=0)]
    by_unit: list[dict[int, Found]] = [{} for _ in files]
    for number, needle in needles:
        positions = [match.start() for match in finder(needle.text)(low)]
        first = 0
        while first < len(positions):
            place = bisect_right(starts, positions[first]) - 1
            last = bisect_left(positions, starts[place + 1], first)
            begin = starts[place]
            within = [position - begin for position in positions[first:last]] if begin else positions[:last]
            _add(by_unit[place], number, files[place], _weighed(files[place], needle, within, loosely=loosely))
            first = last
    return by_unit


def _add(by_unit: dict[int, Found], number: int, units: Units, places: Iterable[tuple[int, float]]) -> None:
    """Add the places of a term to those found in the units of a file."""
    end = 0  # of the unit of the last position
    for position, weight in places:
        if position >= end:
            index, end = units.around(position)
            if index < 0:
                continue
            unit = by_unit.get(index)
            if unit is None:
                unit = by_unit[index] = Found._make(({}, []))  # of thousands
            counts, term_places = unit.counts, unit.places
        counts[number] = counts.get(number, 0.0) + weight
        if len(term_places) < MOST_COUNTED:
            term_places.append((position, number))


@lru_cache(maxsize=512)
def finder(text: str) -> Callable[[str], Iterator[re.Match[str]]]:
    """Return a function that finds all places of a text; beyond Latin-1 `re` takes half the time of `str.find`."""
    return re.compile(re.escape(text)).finditer


def _weighed(units: Units, needle: Needle, positions: Iterable[int], *, loosely: bool) -> Iterator[tuple[int, float]]:
    """Yield those positions of a needle's text that count, with the weights of the needle there."""
    text, is_links = units.text, units.is_links
    mode, full, key = needle.mode, needle.weight, needle.key
    size = len(needle.text)
    known: dict[str, float] = {}
    for position in positions:
        weight = full
        before = text[position - 1] if position else ""
        within = before.isalnum()
        if mode != INSIDE:
            if within and not starts_word(text, position):
                weight = 0.0
            elif mode == WHOLE:
                weight = weight if ends_word(text, position + size) else 0.0
            elif key:
                weight *= _likeness(text, position, needle, known)
        if weight or loosely:
            may_be_id = within or is_links or before == ID_MARK
            if not (may_be_id and units.in_id(position, size)):
                yield position, weight or PARTIAL


def _likeness(text: str, position: int, needle: Needle, known: dict[str, float]) -> float:
    """Return the likeness of the word at a position to the needle's word: 1 for another form of it."""
    end = position + len(needle.text)
    if text[end : end + 1].isalpha():
        match = _WORD.match(text, position)
        word = match[0] if match else ""
    elif text[end : end + 1].isdigit() and _HEX.match(text, position):
        return 0.0  # a part of a session's id or of a commit's
    else:
        word = text[position:end]
    likeness = known.get(word)
    if likeness is None:
        same = stem(word.lower()) == needle.key
        likeness = 1.0 if same else PARTIAL if len(needle.text) >= _SHORTEST_PARTIAL else 0.0
        known[word] = likeness
    return likeness


def starts_word(text: str, position: int) -> bool:
    """Return whether a word, or a part of an identifier, begins at a position."""
    if position == 0 or not text[position - 1].isalnum():
        return True
    before, first = text[position - 1], text[position]
    if not before.isascii() or not first.isascii():  # `한국API`: a change of script
        return (before >= "\u1100") != (first >= "\u1100")
    if before.isdigit() != first.isdigit():
        return True
    if not first.isupper():
        return False
    return before.islower() or text[position + 1 : position + 2].islower()


def ends_word(text: str, end: int) -> bool:
    """Return whether a word ends before a position."""
    return end >= len(text) or starts_word(text, end) or not text[end].isalnum()


def score_file(
    units: Units, by_unit: Mapping[int, Found], weights: Sequence[float], average: float
) -> dict[int, tuple[float, tuple[int, int]]]:
    """Return the score of each unit of a file, with the part that has it, by its index."""
    scores = {}
    for index, unit in by_unit.items():
        length = units.length(index)
        near = _near_by(units, by_unit, index, length)
        parts = units.parts(index)
        best = -1.0, parts.spans[0]
        for span in parts.spans:
            if len(parts.spans) == 1:
                here, size = unit, length
            else:
                here = found_in(unit, parts.lead, span)
                size = span[1] - span[0] + parts.lead - units.starts[index]
            value = _bm25(here.counts, near, weights, size / average)
            if parts.said[0] <= span[0] < parts.said[1]:
                value *= SAID
            if value > best[0]:
                best = value, span
        scores[index] = best
    return scores


def _near_by(units: Units, by_unit: Mapping[int, Found], index: int, length: int) -> dict[int, float]:
    """Return the counts of terms in the entries around an entry, by the share that counts for it."""
    near: dict[int, float] = {}
    if units.kind(index) != ENTRY:
        return near
    around = [
        (weight, unit)
        for distance, weight in enumerate(WINDOW, 1)
        for at in (index - distance, index + distance)
        if (unit := by_unit.get(at)) is not None
    ]
    share = neighbour_weight(length) / units.outline(index)[1] if around else 0.0
    for weight, unit in around:
        for term, count in unit.counts.items():
            near[term] = near.get(term, 0.0) + share * weight * count
    return near


def place_bonus(item: Ranked, terms: Sequence[Term]) -> float:
    """Return the bonus of a unit for words in its first line, or in the order of the query.

    Of a long unit, only the request and the best part count.
    """
    weights, parts = item.weights, item.units.parts(item.index)
    places = item.found.places if len(parts.spans) == 1 else found_in(item.found, parts.lead, item.part).places
    first_end, lines = item.units.outline(item.index)
    first = {term for position, term in places if position < first_end} if lines > 1 else set()
    pairs: dict[tuple[int, int], float] = {}
    places = sorted(places)
    for (one, before), (second, after) in pairwise(places):
        pair = terms[before].group, terms[after].group
        if 0 < pair[1] - pair[0] <= _BETWEEN and second - one <= _APART:
            pairs[pair] = max(pairs.get(pair, 0.0), min(weights[before], weights[after]))
    bonus = FIRST * sum(weights[term] for term in sorted(first)) + PAIR * sum(pairs.values())
    return bonus / ((K1 + 1) * sum(weights) or 1.0)


def _bm25(counts: Mapping[int, float], near: Mapping[int, float], weights: Sequence[float], length: float) -> float:
    """Return the score of a text by its terms and its neighbours'; `length` is in average lengths."""
    norm = K1 * (1 - B + B * length)
    total = 0.0
    for term in {*counts, *near}:
        count = counts.get(term, 0.0) + near.get(term, 0.0)
        total += weights[term] * count * (K1 + 1) / (count + norm)
    return total


def found_in(unit: Found, lead: int, span: tuple[int, int]) -> Found:
    """Return the matches in the head of a long unit (its request) and in one of its parts."""
    places = [(position, term) for position, term in unit.places if position < lead or span[0] <= position < span[1]]
    here, every = (Counter(term for _, term in listed) for listed in (places, unit.places))
    return Found({term: unit.counts[term] * number / every[term] for term, number in here.items()}, places)


def neighbour_weight(length: int) -> float:
    """Return the weight of a unit's neighbours by its length in characters: low for very short and long units."""
    return length / WINDOW_LENGTH if length < WINDOW_LENGTH else WINDOW_LENGTH / length


# Calibrated on questions with and without an answer in the store, and on questions about other stores (docs/search.md,
# "Weak hits"; `python bench/usefulness.py --vectors`). The nearest of the first six hits of 12 questions without an
# answer is at .54 at most, of 148 questions about another store at .39; FAR loses no question that has an answer.
LEAST_COVERAGE = 0.28
LEAST_NEAR = 0.55  # nearness of a memory that is a good hit by vectors alone
FAR = 0.1  # nearness below which a memory uses the words in another meaning
_STAND_IN = 0.8  # weight of a word that the memory has as a synonym
_SMOOTH = 0.5  # smoothing of a word's inverse frequency
_FIRST = 3  # hits; if none of these is good, all are weak


class Coverage(Value):
    """The share of a query's words in a hit, their number, and whether the hit is weak."""

    share: float = 0.0
    words: int = 0
    weak: bool = False


def coverages(hits: Sequence[Ranked], query: Query) -> list[Coverage]:
    """Return the coverage of each hit; the best hit is first, and for a query without words none is weak."""
    if not query.terms:
        return [Coverage()] * len(hits)
    words = _words(query, next((hit.weights for hit in hits if hit.weights), [0.0] * len(query.terms)))
    whole = sum(weight for weight, _ in words)
    shares, good = [], []
    for hit in hits:
        counts = _counts(hit)
        there = [weight * max(value * min(counts.get(at, 0.0), 1.0) for at, value in terms) for weight, terms in words]
        share = sum(there) / whole if whole else float(bool(words and hit.weights))
        good.append(hit.near >= LEAST_NEAR or (share >= LEAST_COVERAGE and not 0 <= hit.near < FAR))
        shares.append(Coverage(share, sum(1 for place in there if place)))
    some = any(good[:_FIRST])
    return [coverage._replace(weak=not (some and fine)) for coverage, fine in zip(shares, good, strict=True)]


def rarities(hits: Sequence[Ranked], query: Query, views: float) -> tuple[dict[int, float], float]:
    """Return the rarity of each term of a query, by its number, and the estimated number of memories.

    The rarity is the logarithm of all memories per memory with the term; a memory has `views` units on average.
    """
    hit = next((hit for hit in hits if hit.weights), None)
    if hit is None:
        return {}, 1.0
    rarity = {}
    for number, (term, weight) in enumerate(zip(query.terms, hit.weights, strict=True)):
        if not term.is_expansion:
            having = max((hit.among + 1) / exp(weight / term.weight) - _SMOOTH, 0.0) / views
            rarity[number] = log((hit.among / views + 1) / (having + _SMOOTH))
    return rarity, max(hit.among / views, 1.0)


def _words(query: Query, weights: Sequence[float]) -> list[tuple[float, list[tuple[int, float]]]]:
    """Return the weight of each word of a query, with its terms and the share of each."""
    groups: dict[int, list[tuple[int, float]]] = {}
    of_words: dict[int, float] = {}
    for number, term in enumerate(query.terms):
        groups.setdefault(term.group, []).append((number, _STAND_IN if term.is_expansion else term.weight))
        if not term.is_expansion:
            of_words[term.group] = max(of_words.get(term.group, 0.0), weights[number] / term.weight)
    return [(weight, groups[group]) for group, weight in of_words.items()]


def _counts(hit: Ranked) -> Mapping[int, float]:
    """Return the terms in a hit. In a long one only the request and best part count: scattered words mean nothing."""
    parts = hit.units.parts(hit.index)
    return found_in(hit.found, parts.lead, hit.part).counts if len(parts.spans) > 1 else hit.found.counts

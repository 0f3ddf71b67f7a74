"""The steps of a search from the units read to the order of hits, in one list (`RANKING`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby, islice
from math import log

from gitmem.document.entry import PURGED, is_purged
from gitmem.document.ids import do_all_meet, do_meet, is_fact_id, scopes_in
from gitmem.history.marks import marks_for
from gitmem.model.fact import FOLDER, parse_fact
from gitmem.model.lines import Marks, marks_of
from gitmem.model.request import is_question
from gitmem.model.validity import Standing
from gitmem.search.cut import HEADING, SECTION
from gitmem.search.files import LAYERS
from gitmem.search.filters import (
    MOST,
    Filters,
    allowed_text,
    best_views,
    excluded,
    newest_of_subject_first,
    without_links,
)
from gitmem.search.hits import bare_text, facts_of
from gitmem.search.query import Query, Term
from gitmem.search.rank import (
    K1,
    NOTHING,
    UNKNOWN,
    Found,
    Ranked,
    find_in_files,
    find_terms,
    needles_of,
    place_bonus,
    score_file,
)
from gitmem.search.sources import Pool
from gitmem.search.units import Units
from gitmem.store.store import Store
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from gitmem.search.near import Embedding

_MORE = 30  # hits beyond the limit that are read if a filter needs their text
_PLACED = 50  # units that get a bonus for the places of their words
_COMPARED = 10  # hits beyond the limit that are compared by their subject
_TURN = re.compile(r"- \[[^]\n]*\] \*\*Exchange\*\*")
_SAVED = re.compile(r"- \[[^]\n]*\] \*\*(?!Exchange|State)\w")
_ANSWERED = re.compile(
    r"\n  (?:\*\*(?:Answer|Said|Error|Files|Outcome):\*\*|(?:Done|한 일|Files|파일|Keywords|키워드|Outcome|결과): )| → "
)
_BESIDE = 0.5  # factor for a memory of another part of the project
_COMPOSED = ("summaries/", "weekly/", "monthly/", "concepts/")  # documents made of memories from several parts
_ANSWERS, _STATED = 0.3, 0.5  # shares of a question's score with which a fact, or a user's statement, precedes it
_TELLERS = ("weekly/", "monthly/")


class Scope(Value):
    """The options of `answer`."""

    limit: int
    deep: bool
    history: bool
    ended: bool
    at: str | None
    beside: str
    hurried: bool


class Asked:
    """The state shared by the ranking's steps: the query, and totals for `SearchAnswer`."""

    def __init__(self, store: Store, query: Query, filters: Filters, scope: Scope, pools: Sequence[Pool]) -> None:
        """Take a query and the pools read for it."""
        self.store, self.query, self.filters, self.scope = store, query, filters, scope
        self.similar: Embedding | None = None
        self.pools = pools
        # To count all hits, filters that need the text of a unit would have to read every unit.
        self.most = scope.limit + _MORE if scope.limit and needs_text(query, filters) else None
        self.marks = marks_of(())
        self.views = 1.0  # units of a memory, on average
        self.number = self.left_out = 0
        self.kept: list[Ranked] = []


def _by_words(_: list[Ranked], asked: Asked) -> list[Ranked]:
    """Score the units by the query's words, dropping sections on days or weeks that were read themselves.

    A file without a valid header is no fact and no view of the fact, which is known from its last good version.
    """
    ranked = [item for pool in asked.pools for item in rank(pool, asked.query)]
    ranked = [item for item in ranked if item.units.kind(item.index) != HEADING]  # a heading says nothing by itself
    facts = {item.units.path: item.units.text for item in ranked if item.units.path.startswith(f"{FOLDER}/")}
    contents = ((path, text.encode("utf-8", "surrogateescape")) for path, text in facts.items())
    broken = {path for path, data in contents if parse_fact(data, path) is None}
    ranked = [item for item in ranked if item.units.path not in broken]
    tokens = frozenset[str]().union(*(pool.covered for pool in asked.pools))
    return [item for item in ranked if not _repeats(item.units, item.index, tokens)] if tokens else ranked


def _by_place(ranked: list[Ranked], asked: Asked) -> list[Ranked]:
    """Raise the best units with words in their first line or in the order of the query."""
    ranked.sort(key=lambda item: -item.score)
    terms = asked.query.terms
    best = (item._replace(score=item.score + place_bonus(item, terms)) for item in ranked[:_PLACED])
    return [*best, *ranked[_PLACED:]] if terms else ranked


def _by_meaning(ranked: list[Ranked], asked: Asked) -> list[Ranked]:
    """Add the units that are near by vectors, if there are any."""
    if asked.pools and asked.similar and (near := asked.similar.wait()):
        from gitmem.search.near import fuse

        ranked = fuse(asked.store, ranked, near, asked.query, asked.filters)
    return sorted(ranked, key=_order if asked.query.terms else _newest)


def _one_hit_a_memory(ranked: list[Ranked], asked: Asked) -> list[Ranked]:
    """Join the views of a memory, and drop units that do not pass the filters."""
    matches = best_views(ranked)
    if needs_text(asked.query, asked.filters):
        matches = [*islice((item for item in matches if fits(item, asked.query, asked.filters)), asked.most)]
    asked.views = max(len(ranked) / max(len(matches), 1), 1.0)
    return matches


def _in_force(matches: list[Ranked], asked: Asked) -> list[Ranked]:
    """Drop ended facts, unless requested, and links to exchanges that are hits themselves."""
    scope = asked.scope
    shows_ended = scope.ended or scope.history or scope.at
    matches = matches if shows_ended else _without_purged(matches)
    ids = {item.units.memory(item.index) for item in matches}
    asked.marks = marks_for(asked.store, ids, hurried=scope.hurried)
    asked.kept = matches if shows_ended else without_ended(matches, asked.marks)
    asked.left_out = len(matches) - len(asked.kept)
    memories = without_links(asked.kept)
    asked.number = len(memories)
    return memories


def _newest_of_a_subject(memories: list[Ranked], asked: Asked) -> list[Ranked]:
    """Return the first units, the newest first among equal scores and among those on one subject."""
    limit, here = asked.scope.limit, asked.store.here
    if not asked.query.terms:
        return memories[: limit or None]
    first = memories[: limit + _MORE]
    if here:
        worths = (_BESIDE if is_beside(item, asked.marks, here) else 1.0 for item in first)
        first = [item._replace(score=item.score * worth) for item, worth in zip(first, worths, strict=True)]
    first.sort(key=lambda item: -item.score)
    first = [item for _, equals in groupby(first, lambda item: item.score) for item in _newest_first([*equals])]
    most = min(limit + _COMPARED, MOST) if limit else MOST
    words = tuple({needle.text for _, needle in needles_of(asked.query.terms)})
    return [*newest_of_subject_first(first, words, asked.marks, most, _asks), *memories[limit + _MORE :]]


def _answers_before_questions(memories: list[Ranked], asked: Asked) -> list[Ranked]:
    """Put facts in force before the first question; if it is a mere question, also saved and stated memories."""
    limit = asked.scope.limit or len(memories)
    if is_question(asked.query.words):
        memories = _facts_first(memories, asked.query.terms, limit)
    first, rest = memories[:limit], memories[limit:]
    at = next((place for place, item in enumerate(first) if _asks(item)), limit)
    fact, stated = (first[at].score * share for share in (_ANSWERS, _STATED)) if at < limit else (0.0, 0.0)
    only_asks = at < limit and _only_asks(first[at])
    answers = [
        item
        for item in memories[at + 1 : limit + _COMPARED]
        if (item.score >= fact and is_fact_id(item.units.memory(item.index)))
        or (only_asks and item.score >= stated and _states(item))
    ]
    if not answers:
        return first
    others = [item for item in (*first[at:], *rest[:_COMPARED]) if item not in answers]
    scores = sorted((item.score for item in (*first[at:], *answers)), reverse=True)
    moved = zip((*answers, *others), scores, strict=False)
    return [*first[:at], *(item._replace(score=score) for item, score in moved)][:limit]


# docs/figures.md ("Search") has the worth of each step.
RANKING: tuple[Callable[[list[Ranked], Asked], list[Ranked]], ...] = (
    _by_words,
    _by_place,
    _by_meaning,
    _one_hit_a_memory,
    _in_force,
    _newest_of_a_subject,
    _answers_before_questions,
)


def without_ended(hits: list[Ranked], marks: Marks) -> list[Ranked]:
    """Drop facts in force in no part of the project, unless no other hit is left, and files that are no facts."""
    hits = [hit for hit in hits if _is_of_fact(hit, marks)]
    memories = ((hit, hit.units.memory(hit.index)) for hit in hits)
    in_force = [
        hit for hit, fact in memories if not marks.has_ended(fact) or marks.statuses[fact].standing is Standing.BESIDE
    ]
    return in_force or hits


def _without_purged(hits: list[Ranked]) -> list[Ranked]:
    """Drop entries and exchanges whose words were all purged."""
    files = {id(units): PURGED in units.text for units in {id(hit.units): hit.units for hit in hits}.values()}
    return [hit for hit in hits if not files[id(hit.units)] or not _is_purged(hit)]


def _is_purged(hit: Ranked) -> bool:
    unit = hit.units.unit(hit.index)
    text = hit.units.text[unit.start : unit.end]
    end = _end_of_request(hit)
    return is_purged(bare_text(text if end < 0 else text[: end - unit.start]))


def _is_of_fact(hit: Ranked, marks: Marks) -> bool:
    """Return whether a hit in the facts' folder is a fact: neither a copy of a fact's file nor another file."""
    path, fact = hit.units.path, marks.facts.get(hit.units.named)
    return not path.startswith(f"{FOLDER}/") or (fact is not None and fact.path == path)


def is_beside(hit: Ranked, marks: Marks, here: str) -> bool:
    """Return whether a hit belongs to another part of the project than the one that the command works in."""
    status = marks.statuses.get(hit.units.memory(hit.index))
    if status is not None:
        return status.standing is Standing.BESIDE
    parts = scopes_in(facts_of(hit.units, hit.units.unit(hit.index)).tags)
    return not (do_all_meet(parts, here) if hit.units.path.startswith(_COMPOSED) else do_meet(parts, (here,)))


def _repeats(units: Units, index: int, periods: Collection[str]) -> bool:
    """Return whether a unit is a section of a weekly or monthly document on one of these days or weeks."""
    return units.path.startswith(_TELLERS) and units.kind(index) == SECTION and units.unit(index).heading in periods


def rank(pool: Pool, query: Query) -> list[Ranked]:
    """Return the units of a pool that match a query, with scores from 0 to about 1; without words all, with 0."""
    if not query.terms:
        return [Ranked(0.0, units, index, NOTHING, ()) for units in pool.read for index in range(len(units))]
    by_unit: list[dict[int, Found]] = []
    needles, lacking = needles_of(query.terms), zip(pool.read, pool.lacking, strict=False)
    files = [(units, [needle for needle in needles if needle[0] not in numbers]) for units, numbers in lacking]
    for loosely in (False, True):
        if files:
            by_unit = [find_terms(units, some, loosely=loosely) for units, some in files]
        else:
            by_unit = find_in_files(pool.read, needles, loosely=loosely)
        if any(by_unit):
            break
    weights, average, among = _weigh(pool, by_unit, query.terms)
    most = (K1 + 1) * sum(weights) or 1.0  # the highest score by BM25
    ranked = []
    for units, of_file in zip(pool.read, by_unit, strict=True):
        dropped = excluded(query, units)
        for index, (score, part) in score_file(units, of_file, weights, average).items():
            if index not in dropped:
                of_unit = (score / most, units, index, of_file[index], weights, part, (), UNKNOWN, "", among)
                ranked.append(Ranked._make(of_unit))  # of hundreds
    return ranked


def _facts_first(memories: list[Ranked], terms: Sequence[Term], limit: int) -> list[Ranked]:
    """Put facts before the others if they have all words of the question that the best hit has."""
    words = [{terms[number].group for number in item.found.counts} for item in memories[: limit + _COMPARED]]
    facts = [
        item
        for item, own in zip(memories, words, strict=False)
        if words[0] and words[0] <= own and is_fact_id(item.units.memory(item.index))
    ]
    if not facts:
        return memories
    order = [*facts, *(item for item in memories if item not in facts)]
    return [item._replace(score=memory.score) for item, memory in zip(order, memories, strict=True)]


def _asks(item: Ranked) -> bool:
    """Return whether an exchange is a question and its answer."""
    end = _end_of_request(item)
    return end >= 0 and _is_question(item, end)


def _only_asks(item: Ranked) -> bool:
    """Return whether an exchange has the query's words only in its question."""
    return all(position <= _end_of_request(item) for position, _ in item.found.places)


def _states(item: Ranked) -> bool:
    """Return whether a unit with words of the query was saved, or has them in a request that is no question."""
    end = _end_of_request(item)
    if end < 0:
        return _SAVED.match(item.units.text, item.units.unit(item.index).start) is not None
    return any(position < end for position, _ in item.found.places) and not _is_question(item, end)


def _end_of_request(item: Ranked) -> int:
    """Return where the request of an exchange ends in its file; -1 for another memory."""
    unit = item.units.unit(item.index)
    text = item.units.text[unit.start : unit.end]
    if not _TURN.match(text):
        return -1
    return unit.start + (reply.start() if (reply := _ANSWERED.search(text)) else len(text))


def _is_question(item: Ranked, end: int) -> bool:
    return is_question(bare_text(item.units.text[item.units.unit(item.index).start : end]))


def _weigh(
    pool: Pool, by_unit: Sequence[Mapping[int, Found]], terms: Sequence[Term]
) -> tuple[list[float], float, float]:
    """Return each term's weight times inverse document frequency, the average length of units, and their number.

    Only files with a term are cut into units; both are estimated from these for all files.
    """
    matching = [units for units, of_file in zip(pool.read, by_unit, strict=True) if of_file]
    units = sum(map(len, matching))
    characters = sum(unit.total for unit in matching)
    times = pool.times * sum(unit.size for unit in pool.read) / max(sum(unit.size for unit in matching), 1)
    having, counts = [0.0] * len(terms), [0.0] * len(terms)
    for unit in (unit for of_file in by_unit for unit in of_file.values()):
        for number, count in unit.counts.items():
            having[number] += 1
            counts[number] += count
    weights, total = [], max(units * times, 1.0)
    for term, containing, count, every in zip(terms, having, counts, pool.counts or counts, strict=True):
        # A unit may have a word several times.
        frequency = max(containing, every / (count or 1.0) * (containing or 1.0))
        weights.append(term.weight * log(1 + (max(total - frequency, 0.0) + 0.5) / (frequency + 0.5)))
    return weights, max(characters / units, 1.0) if units else 1.0, total


def fits(item: Ranked, query: Query, filters: Filters) -> bool:
    """Return whether a ranked unit passes the phrases and filters of a query."""
    if not needs_text(query, filters):
        return True
    unit = item.units.unit(item.index)
    return allowed_text(query, item.units, unit) and (not filters.by_unit or filters.allow(facts_of(item.units, unit)))


def _order(item: Ranked) -> tuple[float, int, str, int]:
    return -item.score, _layer(item), item.units.path, item.index


def _newest(item: Ranked) -> tuple[tuple[int, ...], int, str, int]:
    date = facts_of(item.units, item.units.unit(item.index)).date
    return tuple(-ord(character) for character in date), _layer(item), item.units.path, item.index


def _newest_first(equals: list[Ranked]) -> list[Ranked]:
    return sorted(equals, key=_newest) if len(equals) > 1 else equals


def _layer(item: Ranked) -> int:
    return LAYERS.index(item.units.layer)


def needs_text(query: Query, filters: Filters) -> bool:
    """Return whether filtering needs the text of units."""
    return bool(filters.by_unit or query.phrases or query.without_phrases)

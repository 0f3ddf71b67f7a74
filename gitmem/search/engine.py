"""A search from words to hits: facts that no longer hold are dropped, or shown with what holds now."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from math import log

from gitmem.document.ids import do_all_meet, do_meet, scopes_in
from gitmem.history.authors import People
from gitmem.history.marks import marks_for
from gitmem.model.fact import is_fact_path, parse_fact
from gitmem.model.lines import Marks
from gitmem.model.validity import Standing
from gitmem.search import sources
from gitmem.search.cut import ENTRY, HEADING, SECTION
from gitmem.search.files import LAYERS
from gitmem.search.filters import (
    MOST,
    Filters,
    allowed_text,
    best_views,
    excluded,
    literals_for,
    newest_of_subject_first,
    read_filters,
    without_links,
)
from gitmem.search.hits import Hit, facts_of, make_hit
from gitmem.search.query import Query, Term, parse_query
from gitmem.search.rank import K1, NOTHING, Found, Ranked, find_terms, needles_of, score_file, worths
from gitmem.search.sources import Pool
from gitmem.search.units import Units
from gitmem.store.store import Store
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from gitmem.search.near import Embedding


def holding(hits: list[Ranked], marks: Marks) -> list[Ranked]:
    """Drop facts that hold in no part of the project, unless no other hit is left, and files that are no facts."""
    hits = [hit for hit in hits if _is_of_fact(hit, marks)]
    memories = ((hit, hit.units.memory(hit.index)) for hit in hits)
    kept = [hit for hit, one in memories if not marks.has_ended(one) or marks.statuses[one].standing is Standing.BESIDE]
    return kept or hits


def _is_of_fact(hit: Ranked, marks: Marks) -> bool:
    """Return whether a hit among the facts is not of a copy of a fact's file, and not of one with a broken header."""
    path, fact = hit.units.path, marks.facts.get(hit.units.named)
    if fact is None or not is_fact_path(path):
        return True
    return fact.path == path and parse_fact(hit.units.text.encode("utf-8", "surrogateescape"), path) is not None


def _is_beside(hit: Ranked, marks: Marks, here: str) -> bool:
    """Return whether a hit is of another part of the project than the one that the command works in."""
    status = marks.statuses.get(hit.units.memory(hit.index))
    if status is not None:
        return status.standing is Standing.BESIDE
    parts = scopes_in(facts_of(hit.units, hit.units.unit(hit.index)).tags)
    return not (do_all_meet(parts, here) if hit.units.path.startswith(_COMPOSED) else do_meet(parts, (here,)))


def marked(hit: Hit, marks: Marks) -> Hit:
    """Return a hit with its status, if it does not hold or is in dispute; a fact gets the session that taught it.

    `others` are the successor or the rivals of a fact, and of another memory the successors of the facts it tells.
    """
    hit = hit._replace(marks=marks)
    fact = marks.facts.get(hit.entry)
    if fact is None:
        return _told(hit, marks)
    hit = hit._replace(session=hit.session or fact.session)
    status = marks.statuses[fact.id]
    if status.holds and marks.is_old_wording(fact.id, hit.text):
        return hit._replace(status="reworded", others=(fact.id,))
    if status.place and status.holds:
        return hit._replace(status=status.place.ground.value, others=status.disputes)
    if status.holds and not status.disputes:
        return hit
    return hit._replace(status=status.standing.value, others=status.disputes or _holding(marks, status.successor))


def _told(hit: Hit, marks: Marks) -> Hit:
    ended = marks.said_in(hit.entry, hit.text)
    if not ended:
        return hit
    statuses = {one: marks.statuses[one] for one in ended}
    words = dict.fromkeys(
        status.place.ground.value if status.place else "reworded" if status.holds else status.standing.value
        for status in statuses.values()
    )
    others = dict.fromkeys(name if status.holds else status.successor for name, status in statuses.items())
    return hit._replace(status=f"tells what is {' and '.join(words)}", others=_holding(marks, *others))


def _holding(marks: Marks, *facts: str) -> tuple[str, ...]:
    return tuple(one for one in facts if one and not marks.has_ended(one))


LIMIT = 10
_MORE = 30  # hits beyond the limit that are read where a filter needs their text
_COMPARED = 10  # hits beyond the limit that are compared by their subject
_BARE_HEADING = 0.5  # factor for a heading without text below it
_UNANSWERED = 0.5  # factor for a request without an answer
_TURN = re.compile(r"- \[[^]\n]*\] \*\*Exchange\*\*")
_REPLIED = re.compile(r"\n  (?:\*\*(?:Answer|Error|Files):|(?:Asked|Done|요청|한 일):)|\n- \[")
_BESIDE = 0.5  # factor for a memory of another part of the project
_COMPOSED = ("summaries/", "weekly/", "monthly/", "concepts/")  # what is made of memories of several parts
_LINKS = 0.5  # factor for a concept or an episode: they link to exchanges, which say more


class SearchAnswer(Value):
    """The hits of a search; `without_vectors` says why vectors that were wanted are left out, or is "".

    `total` counts the hits without the limit; if not `complete`, there may be more. `left_out` facts no longer hold.
    """

    hits: list[Hit]
    without_vectors: str
    total: int = 0
    complete: bool = True
    left_out: int = 0


def answer(
    store: Store,
    text: str,
    *,
    limit: int = LIMIT,
    deep: bool = False,
    history: bool = False,
    ended: bool = False,
    at: str | None = None,
    vectors: bool = True,
    beside: str = "",
    hurried: bool = False,
) -> SearchAnswer:
    """Return at most `limit` hits for a query (0: all), the best first.

    `deep` adds the raw transcripts, `history` lines that only old commits hold; `at` is the id of a commit whose files
    are searched instead of the working tree, without `vectors`. `beside` is a folder of which up to `limit` further
    hits follow the others. Facts that no longer hold are left out, unless nothing else is found, or `ended`, `history`
    or `at` is given. A `hurried` search may miss uncommitted edits by hand, and names no authors. Raises FilterError if
    a date in the query is invalid.
    """
    query = parse_query(text)
    filters = read_filters(store, query)
    similar = _begin_vectors(store, query) if vectors and at is None else None
    scope = _Scope(limit, deep, history, ended, at, beside, hurried)
    top, result = _search(store, query, filters, scope, similar)
    if not any(item.found.counts for item in top) and (decomposed := query.decomposed()) is not None:
        other_top, other = _search(store, decomposed, filters, scope, similar)
        result = other if other_top else result
    return result if hurried else result._replace(hits=with_authors(filters.people or People(store), result.hits))


def with_authors(people: People, hits: Iterable[Hit]) -> list[Hit]:
    """Return hits with their authors; each takes a millisecond in a store of 100,000 exchanges."""
    return [hit._replace(author=people.whose(hit.entry, hit.path)) for hit in hits]


class _Scope(Value):
    """The options of `answer`."""

    limit: int
    deep: bool
    history: bool
    ended: bool
    at: str | None
    beside: str
    hurried: bool


def _search(
    store: Store, query: Query, filters: Filters, scope: _Scope, similar: Embedding | None
) -> tuple[list[Ranked], SearchAnswer]:
    """Return the best units of a query, and the answer made of them."""
    pools = _pools(store, query, filters, scope)
    ranked = [item for pool in pools for item in rank(pool, query)]
    if pools and similar and (near := similar.wait()):
        from gitmem.search.near import fuse

        ranked = fuse(store, ranked, near, query, filters)
    told = frozenset[str]().union(*(pool.told for pool in pools))
    if told:
        ranked = [item for item in ranked if not _is_told_again(item.units, item.index, told)]
    ranked.sort(key=_order if query.terms else _newest)
    fitting = (item for item in best_views(ranked) if fits(item, query, filters))
    # To count all hits, filters that need the text of a unit would have to read every unit.
    most = scope.limit + _MORE if scope.limit and _needs_text(query, filters) else None
    matches = list(islice(fitting, most))
    marks = marks_for(store, {item.units.memory(item.index) for item in matches}, hurried=scope.hurried)
    kept = matches if scope.ended or scope.history or scope.at else holding(matches, marks)
    memories = without_links(kept)
    top = best(store, memories, query, scope, marks)
    top += _beside(top, kept, scope.beside)[: scope.limit] if scope.beside else []
    hits = [
        marked(make_hit(item)._replace(worth=worth, weak=worth.weak), marks)
        for item, worth in zip(top, worths(top, query), strict=True)
    ]
    if here := store.here:
        beside = (_is_beside(item, marks, here) for item in top)
        hits = [
            hit._replace(status=Standing.BESIDE.value) if is_so else hit
            for hit, is_so in zip(hits, beside, strict=True)
        ]
    complete = len(matches) != most and all(pool.complete for pool in pools)
    problem = similar.problem if similar else ""
    return top, SearchAnswer(hits, problem, len(memories), complete, len(matches) - len(kept))


def _pools(store: Store, query: Query, filters: Filters, scope: _Scope) -> list[Pool]:
    """Return the pools to rank; none for a query without words and filters."""
    literals = literals_of(query.terms) or (literals_for(filters) if filters.by_unit or filters.paths else [])
    if not literals:
        return []
    allow = filters.allow_path
    if scope.at:
        pools = [sources.revision(store, scope.at, literals, allow)]
    else:
        texts = _needs_text(query, filters) or query.without
        few = sources.HURRIED_FILES if scope.hurried else sources.MOST_FILES
        most, holds = (sources.MANY_FILES, _holds(query, filters)) if texts else (few, None)
        tree = sources.work_tree(*(store, query.terms, literals, allow), most=most, fits=holds, hurried=scope.hurried)
        pools = [tree]
    pools += [sources.transcripts(store, literals, allow)] if scope.deep else []
    pools += [sources.lost(store, literals, allow)] if scope.history else []
    return pools


def _begin_vectors(store: Store, query: Query) -> Embedding | None:
    """Start to embed a query; None where words alone are wanted."""
    search, embedding = store.config.search, store.config.embedding
    if not (query.terms and query.words and search.vector_percent):
        return None
    from gitmem.llm.providers import NONE, choose

    if choose(embedding, store.context.environ).provider == NONE:
        return None
    from gitmem.search.near import Embedding

    return Embedding(store, query.words)


def _holds(query: Query, filters: Filters) -> Callable[[Units], bool]:
    """Return whether a file has a unit that matches and passes the filters of a query."""
    needles = needles_of(query.terms)

    def holds(units: Units) -> bool:
        matching = find_terms(units, needles, loosely=True) if query.terms else range(len(units))
        dropped = excluded(query, units)
        left = (Ranked(0.0, units, index, NOTHING, ()) for index in matching if index not in dropped)
        return any(fits(item, query, filters) for item in left)

    return holds


def _needs_text(query: Query, filters: Filters) -> bool:
    return bool(filters.by_unit or query.phrases or query.without_phrases)


def best(store: Store, ranked: list[Ranked], query: Query, scope: _Scope, marks: Marks) -> list[Ranked]:
    """Return the first units; the newest comes first among equals, and among those of one subject."""
    limit = scope.limit
    if not query.terms:
        return ranked[: limit or None]
    first = ranked[: limit + _MORE]
    if here := store.here:
        first = [item._replace(score=item.score * _BESIDE) if _is_beside(item, marks, here) else item for item in first]
    first.sort(key=lambda item: (-item.score, *_newest(item)))
    most = min(limit + _COMPARED, MOST) if limit else MOST
    asked = tuple({needle.text for _, needle in needles_of(query.terms)})
    return [*newest_of_subject_first(first, asked, marks, most), *ranked[limit + _MORE :]][: limit or None]


def _beside(top: Sequence[Ranked], ranked: Sequence[Ranked], folder: str) -> list[Ranked]:
    """Return the units of a folder that are not among the first."""
    there = {(item.units.path, item.index) for item in top}
    return [
        item
        for item in ranked
        if item.units.path.startswith(f"{folder}/") and (item.units.path, item.index) not in there
    ]


_TELLERS = ("weekly/", "monthly/")


def _is_told_again(units: Units, index: int, periods: Collection[str]) -> bool:
    """Return whether a unit is a section of a weekly or monthly document on one of these days or weeks."""
    return units.path.startswith(_TELLERS) and units.kind(index) == SECTION and units.unit(index).heading in periods


def rank(pool: Pool, query: Query) -> list[Ranked]:
    """Return the units of a pool that match a query, with scores from 0 to about 1; without words all, with 0."""
    if not query.terms:
        return [Ranked(0.0, units, index, NOTHING, ()) for units in pool.read for index in range(len(units))]
    found: list[dict[int, Found]] = []
    needles = needles_of(query.terms)
    for loosely in (False, True):
        found = [find_terms(units, needles, loosely=loosely) for units in pool.read]
        if any(found):
            break
    weights, average = _weigh(pool, found, query.terms)
    most = (K1 + 1) * sum(weights) or 1.0  # the highest score by BM25
    ranked = []
    for units, of_file in zip(pool.read, found, strict=True):
        dropped = excluded(query, units)
        for index, (score, part) in score_file(units, of_file, weights, average).items():
            if index not in dropped:
                value = score / most * _factor(units, index)
                ranked.append(Ranked(value, units, index, of_file[index], weights, part))
    return ranked


def _factor(units: Units, index: int) -> float:
    """Return the factor for the score of a unit that tells less than its words suggest, else 1."""
    if units.kind(index) == HEADING:
        return _BARE_HEADING
    if units.is_links:
        return _LINKS
    unit = units.unit(index)
    said = units.text[unit.start : unit.end] if unit.kind == ENTRY else ""
    return _UNANSWERED if _TURN.match(said) and not _REPLIED.search(said) else 1.0


def _weigh(pool: Pool, found: Sequence[Mapping[int, Found]], terms: Sequence[Term]) -> tuple[list[float], float]:
    """Return the weight of each term times its inverse document frequency, and the average length of units.

    Only files with a term are cut into units; both are estimated from these for all files.
    """
    matching = [units for units, of_file in zip(pool.read, found, strict=True) if of_file]
    units = sum(map(len, matching))
    characters = sum(one.total for one in matching)
    times = pool.times * sum(one.size for one in pool.read) / max(sum(one.size for one in matching), 1)
    having, counts = [0.0] * len(terms), [0.0] * len(terms)
    for unit in (unit for of_file in found for unit in of_file.values()):
        for number, count in unit.counts.items():
            having[number] += 1
            counts[number] += count
    weights, total = [], max(units * times, 1.0)
    for term, one, count, every in zip(terms, having, counts, pool.counts or counts, strict=True):
        frequency = max(one, every / (count or 1.0) * (one or 1.0))  # a unit may have a word several times
        weights.append(term.weight * log(1 + (max(total - frequency, 0.0) + 0.5) / (frequency + 0.5)))
    return weights, max(characters / units, 1.0) if units else 1.0


def fits(item: Ranked, query: Query, filters: Filters) -> bool:
    """Return whether a ranked unit passes the phrases and filters of a query."""
    if not _needs_text(query, filters):
        return True
    unit = item.units.unit(item.index)
    return allowed_text(query, item.units, unit) and (not filters.by_unit or filters.allow(facts_of(item.units, unit)))


def literals_of(terms: Sequence[Term]) -> list[str]:
    """Return the texts of all needles; drop texts that contain another text."""
    shortest: list[str] = []
    for text in sorted({needle.text for term in terms for needle in term.needles}, key=lambda text: (len(text), text)):
        if not any(other in text for other in shortest):
            shortest.append(text)
    return shortest


def _order(item: Ranked) -> tuple[float, int, str, int]:
    return -item.score, _layer(item), item.units.path, item.index


def _newest(item: Ranked) -> tuple[tuple[int, ...], int, str, int]:
    date = facts_of(item.units, item.units.unit(item.index)).date
    return tuple(-ord(character) for character in date), _layer(item), item.units.path, item.index


def _layer(item: Ranked) -> int:
    return LAYERS.index(item.units.layer)

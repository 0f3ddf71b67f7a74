"""Search from a query to hits. Facts no longer in force are dropped, or shown with their successors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gitmem.history.authors import Authors
from gitmem.history.marks import sources_of
from gitmem.model.lines import DELETED, Marks
from gitmem.model.validity import Standing
from gitmem.search import sources
from gitmem.search.filters import Filters, excluded, literals_for, read_filters
from gitmem.search.hits import Hit, make_hit
from gitmem.search.query import Query, Term, parse_query
from gitmem.search.rank import NOTHING, Ranked, coverages, find_terms, needles_of, rarities
from gitmem.search.ranking import RANKING, Asked, Scope, fits, is_beside, needs_text, rank
from gitmem.search.sources import Pool
from gitmem.search.units import Units
from gitmem.store.store import Store
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from gitmem.search.near import Embedding


def marked(hit: Hit, marks: Marks) -> Hit:
    """Return a hit with its status if it is not in force or is disputed; a fact gets the session it was learned in.

    `others` are the successor or rivals of a fact; for another memory, the successors of the facts it states.
    """
    hit = hit._replace(marks=marks)
    fact = marks.facts.get(hit.entry)
    if fact is None:
        return _with_ended_statements(hit, marks)
    hit = hit._replace(session=hit.session or fact.session)
    status = marks.statuses[fact.id]
    if status.is_in_force and marks.is_old_wording(fact.id, hit.text):
        return hit._replace(status="reworded", others=(fact.id,))
    if status.place and status.is_in_force:
        return hit._replace(status=status.place.ground.value, others=status.disputes)
    if status.is_in_force and fact.has_two_versions:
        return hit._replace(status="one of two versions", others=status.disputes)
    if status.is_in_force and not status.disputes:
        return hit
    return hit._replace(status=status.standing.value, others=status.disputes or _in_force_of(marks, status.successor))


def _with_ended_statements(hit: Hit, marks: Marks) -> Hit:
    if hit.entry in marks.deleted:
        return hit._replace(status=DELETED)
    ended = marks.said_in(hit.entry, hit.text)
    if not ended:
        return hit
    statuses = {key: marks.statuses[key] for key in ended}
    words = dict.fromkeys(
        status.place.ground.value if status.place else "reworded" if status.is_in_force else status.standing.value
        for status in statuses.values()
    )
    others = dict.fromkeys(name if status.is_in_force else status.successor for name, status in statuses.items())
    return hit._replace(status=f"states what is {' and '.join(words)}", others=_in_force_of(marks, *others))


def _in_force_of(marks: Marks, *facts: str) -> tuple[str, ...]:
    return tuple(fact for fact in facts if fact and not marks.has_ended(fact))


LIMIT = 10


class SearchAnswer(Value):
    """The hits of a search; `without_vectors` is why requested vectors were not used, or "".

    `total` counts the hits without the limit; if not `complete`, there may be more. `left_out` counts ended facts.
    `rarities` are those of the query's words among the `memories` that were ranked (`gitmem.search.rank.rarities`).
    """

    hits: list[Hit]
    without_vectors: str
    total: int = 0
    complete: bool = True
    left_out: int = 0
    rarities: Mapping[int, float] = {}  # never changed
    memories: float = 1.0


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

    `deep` adds up to `limit` lines of the raw transcripts behind the hits, `history` lines that only old commits hold;
    `at` is the id of a commit whose files are searched instead of the working tree, without `vectors`. `beside` is a
    folder of which up to `limit` further hits follow the others. Facts no longer in force are left out, unless nothing
    else is found, or `ended`, `history` or `at` is given. A `hurried` search may miss uncommitted edits by hand, and
    names no authors. Raises FilterError if a date in the query is invalid.
    """
    query = parse_query(text)
    filters = read_filters(store, query)
    similar = _begin_vectors(store, query) if vectors and at is None else None
    scope = Scope(limit, deep, history, ended, at, beside, hurried)
    top, pools, result = _search(store, query, filters, scope, similar)
    if not any(item.found.counts for item in top) and (decomposed := query.decomposed()) is not None:
        again = _search(store, decomposed, filters, scope, similar)
        top, pools, result = again if again[0] else (top, pools, result)
    matched = {number for item in top for number in item.found.counts}
    parted = None if hurried else query.parted(matched)
    if parted is not None and (at or history or sources.has_any(store, pools[0], _new_texts(query, parted))):
        result = _search(store, parted, filters, scope, similar)[2]
    return result if hurried else result._replace(hits=with_authors(filters.people or Authors(store), result.hits))


def _new_texts(query: Query, parted: Query | None) -> Iterator[list[str]]:
    """Yield the texts that another form of a query looks for in addition, by term."""
    for term, part in zip(query.terms, parted.terms, strict=True) if parted else ():
        if term != part:
            yield [needle.text for needle in part.needles if needle not in term.needles]


def with_authors(people: Authors, hits: Iterable[Hit]) -> list[Hit]:
    """Return hits with their authors; a hit takes a millisecond in a store of 100,000 exchanges."""
    hits = [hit._replace(author=people.others(hit.entry, hit.path)) for hit in hits]
    rules = (hit.marks.facts.get(hit.entry) if hit.marks and hit.author else None for hit in hits)
    return [hit._replace(awaits=bool(rule and people.awaits(rule))) for hit, rule in zip(hits, rules, strict=True)]


def _search(
    store: Store, query: Query, filters: Filters, scope: Scope, similar: Embedding | None
) -> tuple[list[Ranked], Sequence[Pool], SearchAnswer]:
    """Return the best units for a query, their pools, and the answer made of them."""
    asked = Asked(store, query, filters, scope, _pools(store, query, filters, scope))
    asked.similar = similar
    top: list[Ranked] = []
    for step in RANKING:
        top = step(top, asked)
    top += _beside(top, asked.kept, scope.beside)[: scope.limit] if scope.beside else []
    top += _of_transcripts(asked)[: scope.limit or None] if scope.deep else []
    marks = asked.marks
    hits = [
        marked(make_hit(item, hurried=scope.hurried)._replace(coverage=coverage, weak=coverage.weak), marks)
        for item, coverage in zip(top, coverages(top, query), strict=True)
    ]
    if marks.sources:
        hits = [hit._replace(sources=tuple(sources_of(store, hit.path))) for hit in hits]
    if here := store.here:
        beside = {at for at, item in enumerate(top) if is_beside(item, marks, here)}
        hits = [hit._replace(status=Standing.BESIDE.value) if at in beside else hit for at, hit in enumerate(hits)]
    is_complete = asked.number + asked.left_out != asked.most and all(pool.complete for pool in asked.pools)
    problem = similar.problem if similar else ""
    rare = rarities(top, query, asked.views)
    return top, asked.pools, SearchAnswer(hits, problem, asked.number, is_complete, asked.left_out, *rare)


def _pools(store: Store, query: Query, filters: Filters, scope: Scope) -> list[Pool]:
    """Return the pools to rank; none for a query without words and filters."""
    literals = literals_of(query.terms) or (literals_for(filters) if filters.by_unit or filters.paths else [])
    if not literals:
        return []
    allow = filters.allow_path
    if scope.at:
        pools = [sources.revision(store, scope.at, literals, allow)]
    else:
        texts = needs_text(query, filters) or query.without
        few = sources.HURRIED_FILES if scope.hurried else sources.MOST_FILES
        most, has_hit = (sources.MANY_FILES, _has_hit(query, filters)) if texts else (few, None)
        apart = () if scope.hurried else _new_texts(query, query.parted(()))
        words = store, query.terms, literals, allow
        pools = [sources.work_tree(*words, most=most, fits=has_hit, hurried=scope.hurried, apart=[*apart])]
    pools += [sources.lost(store, literals, allow)] if scope.history else []
    return pools


def _of_transcripts(asked: Asked) -> list[Ranked]:
    """Return matching lines of raw transcripts, which follow the other hits in addition to the limit."""
    literals = literals_of(asked.query.terms)
    if not literals:
        return []
    pool = sources.transcripts(asked.store, literals, asked.filters.allow_path)
    fitting = [item for item in rank(pool, asked.query) if fits(item, asked.query, asked.filters)]
    asked.number += len(fitting)
    return sorted(fitting, key=lambda item: -item.score)


def _begin_vectors(store: Store, query: Query) -> Embedding | None:
    """Start to embed a query; None for a search by words alone."""
    if not (query.terms and query.words and store.config.search.vector_percent):
        return None
    from gitmem.llm.providers import NONE, choose

    if choose(store.config.embedding, store.context.environ).provider == NONE:
        return None
    from gitmem.search.near import Embedding

    return Embedding(store, query.words)


def _has_hit(query: Query, filters: Filters) -> Callable[[Units], bool]:
    """Return a test of whether a file has a unit that matches the query and passes its filters."""
    needles = needles_of(query.terms)

    def has_hit(units: Units) -> bool:
        matching = find_terms(units, needles, loosely=True) if query.terms else range(len(units))
        dropped = excluded(query, units)
        left = (Ranked(0.0, units, index, NOTHING, ()) for index in matching if index not in dropped)
        return any(fits(item, query, filters) for item in left)

    return has_hit


def _beside(top: Sequence[Ranked], ranked: Sequence[Ranked], folder: str) -> list[Ranked]:
    """Return the units of a folder that are not among the first."""
    present = {(item.units.path, item.index) for item in top}
    below = (item for item in ranked if item.units.path.startswith(f"{folder}/"))
    return [item for item in below if (item.units.path, item.index) not in present]


def literals_of(terms: Sequence[Term]) -> list[str]:
    """Return the texts of all needles; drop texts that contain another text."""
    shortest: list[str] = []
    for text in sorted({needle.text for term in terms for needle in term.needles}, key=lambda text: (len(text), text)):
        if not any(term in text for term in shortest):
            shortest.append(text)
    return shortest

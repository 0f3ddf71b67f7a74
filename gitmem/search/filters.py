"""Narrow the hits to those that pass the filters, each memory once, the newest memory of a subject first.

Filters are phrases and words that a hit must or must not have, path, type, tag, session, author and dates. A memory is
shown by its best view. Memories of different sessions are on one subject if they share many words besides the query's.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from gitmem.document.entry import STATE, MemoryType
from gitmem.document.ids import short_session
from gitmem.errors import ExitCode, GitmemError, NotFoundError
from gitmem.history.authors import Authors
from gitmem.model.exchange import ANSWER, ERROR, EXCHANGE, FILES, OUTCOME, SAID
from gitmem.model.fact import FactKind
from gitmem.model.lines import Marks
from gitmem.search.files import LAYERS, LOGS, MEMORY_LAYER
from gitmem.search.hits import Facts, bare_text, facts_of
from gitmem.search.query import Query, fold, parse_query
from gitmem.search.rank import Ranked, find_terms, needles_of
from gitmem.search.units import FRAME, Unit, Units
from gitmem.store.store import Store
from gitmem.text.words import stop_words
from gitmem.values import Value

_ME = "me"
_SECONDS = "%Y-%m-%d %H:%M:%S"


class FilterError(GitmemError, exit_code=ExitCode.USAGE):
    """A filter of a query has an invalid value."""


class Filters(Value):
    """The parsed filters of a query. Several of one name are alternatives; dates are local times as text."""

    paths: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    entries: frozenset[str] = frozenset()
    since: str = ""
    until: str = ""
    authors: tuple[str, ...] = ()
    people: Authors | None = None

    def allow_path(self, path: str) -> bool:
        """Return whether a file passes; its units may still fail `allow`."""
        if self.paths and not any(_path_fits(path, wanted) for wanted in self.paths):
            return False
        if not (self.since or self.until) or not path.startswith("daily/"):
            return True
        return self._is_between(path.rpartition("/")[2].removesuffix(".md"))

    def _is_between(self, date: str) -> bool:
        return date >= self.since[: len(date)] and (not self.until or date <= self.until[: len(date)])

    def allow(self, facts: Facts) -> bool:
        """Return whether a unit passes."""
        if self.types and not any(_words(label) in self.types for label in (facts.label, *facts.also)):
            return False
        if self.tags and not any(tag.casefold() in self.tags for tag in facts.tags):
            return False
        if self.sessions and facts.entry not in self.entries and not _of_session(facts, self.sessions):
            return False
        if self.people and not _is_by(self.authors, self.people, facts.entry):
            return False
        if not (self.since or self.until):
            return True
        return bool(facts.date) and self._is_between(facts.date)

    @property
    def by_unit(self) -> bool:
        """Whether a filter needs a unit, not just the path."""
        return bool(self.types or self.tags or self.sessions or self.since or self.until or self.authors)


def read_filters(store: Store, query: Query) -> Filters:
    """Parse the filters of a query. Raises FilterError if a date is invalid."""
    sessions = query.filter("session")
    authors = tuple(author.casefold() for author in query.filter("author"))
    return Filters(
        paths=tuple(path.casefold().strip("/") for path in query.filter("path")),
        types=tuple(_words(kind) for kind in query.filter("type")),
        tags=tuple(tag.removeprefix("#").casefold() for tag in query.filter("tag")),
        sessions=sessions,
        entries=_entries_of(store, sessions),
        since=_moment(store, query, "since"),
        until=_moment(store, query, "until"),
        authors=authors,
        people=Authors(store) if authors else None,
    )


def check_types(text: str) -> None:
    """Refuse a query without hits for a type that gitmem never writes; logs of older tools have their own types.

    Raises FilterError; the remedy names the most similar type.
    """
    from difflib import get_close_matches

    parts = (EXCHANGE, STATE, *(mark.strip("*:") for mark in (ANSWER, SAID, ERROR, FILES, OUTCOME)))
    known = dict.fromkeys(name.lower().replace("_", "-") for name in (*MemoryType, *FactKind, *parts))
    for name in parse_query(text).filter("type"):
        asked = name.lower().replace("_", "-").replace(" ", "-")
        if asked not in known:
            near = get_close_matches(asked, known, 1)
            hint = f"Did you mean type:{near[0]}? " if near else ""
            raise FilterError(f"There is no type {name!r}.", f"{hint}The types are {', '.join(known)}.")


def _is_by(authors: Sequence[str], people: Authors, identifier: str) -> bool:
    """Return whether a memory is by one of these authors, given as a part of a name or address, or "me"."""
    if (origin := people.origin(identifier)) is None:
        return False
    name = f"{origin.author} {origin.email}".casefold()
    return any(people.is_users(origin) if author == _ME else author in name for author in authors)


def allowed_text(query: Query, units: Units, unit: Unit) -> bool:
    """Return whether a unit contains all phrases of a query, and no excluded one."""
    text = " ".join(units.low[unit.start : unit.end].split())
    return all(phrase in text for phrase in query.phrases) and not any(map(text.__contains__, query.without_phrases))


def excluded(query: Query, units: Units) -> set[int]:
    """Return the units of a file that have an excluded word."""
    return set(find_terms(units, needles_of(query.without))) if query.without else set()


def literals_for(filters: Filters) -> list[str]:
    """Return the texts to scan for if a query has filters but no words."""
    if filters.tags:
        return [f"#{tag}" for tag in filters.tags]
    if filters.types:
        return [f"**{kind}" for kind in filters.types]
    return ["- ["]


def _path_fits(path: str, wanted: str) -> bool:
    folded = path.casefold()
    if any(character in wanted for character in "*?["):
        return fnmatchcase(folded, wanted) or fnmatchcase(folded, f"*/{wanted}")
    return wanted in folded


def _words(label: str) -> str:
    return label.replace("_", " ").replace("-", " ").casefold()


def _of_session(facts: Facts, sessions: Iterable[str]) -> bool:
    """Return whether one of the sessions is a prefix of a unit's session, or the other way round."""
    own = facts.session
    return bool(own) and any(own.startswith(session) or session.startswith(own) for session in sessions)


def _entries_of(store: Store, sessions: Sequence[str]) -> frozenset[str]:
    """Return the ids of the entries saved in these sessions, from the commits."""
    if not sessions:
        return frozenset()
    from gitmem.history.records import records

    entries: set[str] = set()
    for session in sessions:
        with contextlib.suppress(NotFoundError):
            entries.update(entry for record in records(store, session=session) for entry in record.entries)
    return frozenset(entries)


def _moment(store: Store, query: Query, name: str) -> str:
    moment = query.filter(name)
    if not moment:
        return ""
    from gitmem.history.records import FORMS, parse_date

    text = moment[-1]
    try:
        span = parse_date(text, store.context.clock())
    except ValueError as error:
        raise FilterError(f"{name}:{text}: {error}.", f"Dates are given like {FORMS}.") from None
    if span is None:
        remedy = f'Dates are given like {FORMS}; with blanks as {name}:"3 days ago".'
        raise FilterError(f"{name}:{text} is not a date.", remedy)
    return (span.first if name == "since" else span.last).strftime(_SECONDS)


def best_views(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return each memory once, by its fullest view (of equals the first layer's), at the rank of its first view."""
    views: dict[str, Ranked] = {}
    order: list[str | Ranked] = []
    for item in ranked:
        memory = item.units.memory(item.index)
        if not memory:
            order.append(item)
            continue
        seen = views.get(memory)
        if seen is None:
            order.append(memory)
            views[memory] = item
        else:
            better, worse = (item, seen) if _reads_better(item, seen) else (seen, item)
            also = (*seen.also, (worse.units, worse.index))
            views[memory] = better._replace(score=seen.score, also=also, near=max(item.near, seen.near))
    return [views[item] if isinstance(item, str) else item for item in order]


def without_links(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Drop concepts and episodes that link to an exchange among the hits, as the exchange names them."""
    places = {item.units.memory(item.index): place for place, item in enumerate(ranked) if not item.units.is_links}
    by_place = dict(enumerate(ranked))
    for place, item in enumerate(ranked):
        if exchanges := [places[link] for link in item.units.linked if link in places]:
            of = min(exchanges)
            del by_place[place]
            by_place[of] = by_place[of]._replace(also=(*by_place[of].also, (item.units, item.index)))
    return list(by_place.values())


def _reads_better(item: Ranked, better: Ranked) -> bool:
    """Return whether a view has clearly more text than another, or as much in an earlier layer or a present file.

    Between a log and memory.md, which may shorten an entry, any longer view wins. Of an episode's or concept's sections
    the best ranked stays, as a longer one says something else.
    """
    if item.units is better.units and item.units.is_links:
        return False
    more = item.units.length(item.index) - better.units.length(better.index)
    clearly = 0 if {item.units.layer, better.units.layer} == {MEMORY_LAYER, LOGS} else FRAME
    return more > clearly or (more >= -clearly and _place(item) < _place(better))


def _place(item: Ranked) -> tuple[int, bool]:
    return LAYERS.index(item.units.layer), bool(item.units.commit)


MOST = 30  # hits that are compared
_SHARED = 0.4, 0.15  # shares of the words of the shorter and longer hit in common, without the query's words
_LEAST_SHARED = 6  # words
_ABOUT_AS_GOOD = 0.5  # share of an older hit's score that a newer one needs to precede it
_WORD = re.compile(r"[^\W_](?:[\w.-]*\w)?")
_LABELS = frozenset({"answer", "asked", "done", "error", "files", "keywords", "outcome", "success"})  # of an exchange
_VIEWS = ("concepts/", "episodes/", "patterns/")  # folders with views of exchanges
_SYLLABLES = 2  # first syllables of a Korean word that are compared, without particles
_HANGUL = "가"


class _Compared(Value):
    """A hit's words, date, session and handle, and whether it is in force."""

    words: frozenset[str]
    date: str
    session: str
    handle: str
    is_in_force: bool


def newest_of_subject_first(
    hits: Sequence[Ranked], asked: tuple[str, ...], marks: Marks, most: int, asks: Callable[[Ranked], bool]
) -> list[Ranked]:
    """Return the hits, moving the newest of a subject before older ones among the first `most`.

    `asked` are the beginnings of the query's words. An older hit gets the handle of the newer in `before`, except a
    statement followed by a mere question (`asks`).
    """
    first = list(hits[:most])
    compared_hits = {at: compared for at, hit in enumerate(first) if (compared := _compared(hit, asked, marks))}
    order, left = list(range(len(first))), list(compared_hits)
    before: dict[int, str] = {}
    while left:
        best, *rest = left
        group = [best, *(at for at in rest if _on_one_subject(compared_hits[best], compared_hits[at]))]
        left = [at for at in rest if at not in group]
        least = first[best].score * _ABOUT_AS_GOOD
        good = [at for at in group if compared_hits[at].is_in_force and first[at].score >= least]
        newest = max(good, key=lambda at: (compared_hits[at].date, -at), default=best)
        older = [at for at in group if good and compared_hits[at].date < compared_hits[newest].date]
        is_question = bool(older) and asks(first[newest])
        before |= {at: compared_hits[newest].handle for at in older if not is_question or asks(first[at])}
        order.insert(order.index(best), order.pop(order.index(newest)))
    scores = sorted((hit.score for hit in first), reverse=True)
    moved = zip(order, scores, strict=True)
    return [*(first[at]._replace(score=score, before=before.get(at, "")) for at, score in moved), *hits[most:]]


def _compared(hit: Ranked, asked: tuple[str, ...], marks: Marks) -> _Compared | None:
    """Return a hit for comparison, without the words that are `asked` for; of a long one the request and the best part.

    None for a hit without date or handle, and for views of exchanges, which have their own dates.
    """
    units, unit = hit.units, hit.units.unit(hit.index)
    facts, lead = facts_of(units, unit), units.parts(hit.index).lead
    handle = facts.entry or units.named
    if not (facts.date and handle) or units.path.startswith(_VIEWS):
        return None
    fact = marks.facts.get(handle)
    text = units.text[unit.start : unit.end]
    if hit.part[0] > lead:
        text = f"{units.text[unit.start : lead]}\n{units.text[slice(*hit.part)]}"
    contained = {word for word in _WORD.findall(fold(bare_text(text))) if not word.startswith(asked)}
    words = frozenset(word[:_SYLLABLES] if word[0] >= _HANGUL else word for word in contained - stop_words() - _LABELS)
    session = short_session(facts.session or (fact.session if fact else ""))
    return _Compared(words, facts.date, session, handle, not marks.has_ended(handle))


def _on_one_subject(first: _Compared, second: _Compared) -> bool:
    """Return whether two hits of different sessions share many words."""
    if first.session == second.session and (first.session or first.date[:10] == second.date[:10]):
        return False
    shared = len(first.words & second.words)
    sizes = sorted((len(first.words), len(second.words)))
    return shared >= _LEAST_SHARED and all(shared >= share * size for share, size in zip(_SHARED, sizes, strict=True))

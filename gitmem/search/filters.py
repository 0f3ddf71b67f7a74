"""The filters of a query: phrases and words that a hit must or must not have, path, type, tag, session and dates."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from gitmem.errors import ExitCode, GitmemError, NotFoundError
from gitmem.history.authors import People
from gitmem.search.hits import Facts
from gitmem.search.query import Query
from gitmem.search.rank import find_terms, needles_of
from gitmem.search.units import Unit, Units
from gitmem.store.store import Store
from gitmem.values import Value

_ME = "me"
_SECONDS = "%Y-%m-%d %H:%M:%S"


class FilterError(GitmemError):
    """A filter of a query has an invalid value."""

    exit_code = ExitCode.USAGE


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
    people: People | None = None

    def allow_path(self, path: str) -> bool:
        """Return whether a file passes; its units may still fail `allow`."""
        if self.paths and not any(_path_fits(path, wanted) for wanted in self.paths):
            return False
        if not (self.since or self.until) or not path.startswith("daily/"):
            return True
        day = path.rpartition("/")[2].removesuffix(".md")
        return day >= self.since[: len(day)] and (not self.until or day <= self.until[: len(day)])

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
        date = facts.date
        return bool(date) and date >= self.since[: len(date)] and (not self.until or date <= self.until[: len(date)])

    @property
    def by_unit(self) -> bool:
        """Whether a filter needs more than the path."""
        return bool(self.types or self.tags or self.sessions or self.since or self.until or self.authors)


def read_filters(store: Store, query: Query) -> Filters:
    """Parse the filters of a query.

    Raises:
        FilterError: a date is invalid.

    """
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
        people=People(store) if authors else None,
    )


def _is_by(authors: Sequence[str], people: People, identifier: str) -> bool:
    """Return whether a memory is of one of these authors: a part of their name or address, or "me"."""
    if (origin := people.origin(identifier)) is None:
        return False
    name = f"{origin.author} {origin.email}".casefold()
    return any(people.is_own(origin) if author == _ME else author in name for author in authors)


def allowed_text(query: Query, units: Units, unit: Unit) -> bool:
    """Return whether a unit has all phrases of a query, and none of the excluded ones."""
    text = " ".join(units.low[unit.start : unit.end].split())
    return all(phrase in text for phrase in query.phrases) and not any(map(text.__contains__, query.without_phrases))


def excluded(query: Query, units: Units) -> set[int]:
    """Return the units of a file that have an excluded word."""
    return set(find_terms(units, needles_of(query.without))) if query.without else set()


def literals_for(filters: Filters) -> list[str]:
    """Return the texts to scan for where a query has filters and no words."""
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
    return bool(facts.session) and any(
        facts.session.startswith(session) or session.startswith(facts.session) for session in sessions
    )


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
    given = query.filter(name)
    if not given:
        return ""
    from gitmem.history.records import FORMS, parse_date

    text = given[-1]
    try:
        span = parse_date(text, store.context.clock())
    except ValueError as error:
        raise FilterError(f"{name}:{text}: {error}.", f"Dates are given like {FORMS}.") from None
    if span is None:
        raise FilterError(
            f"{name}:{text} is not a date.", f'Dates are given like {FORMS}; with blanks as {name}:"3 days ago".'
        )
    return (span.first if name == "since" else span.last).strftime(_SECONDS)

"""What narrows a search: phrases and words that must or must not stand in a hit, and what is known of it."""

from __future__ import annotations

from gitmem.errors import ExitCode, GitmemError
from gitmem.search.rank import find_terms
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitmem.search.hits import Facts
    from gitmem.search.query.query import Query
    from gitmem.search.units.units import Unit, Units
    from gitmem.store.store import Store

_SECONDS = "%Y-%m-%d %H:%M:%S"


class FilterError(GitmemError):
    """A filter of a query cannot be understood."""

    exit_code = ExitCode.USAGE


class Filters(Value):
    """The filters of a query, understood. Several of one name are alternatives; dates are local times as text."""

    paths: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    entries: frozenset[str] = frozenset()
    since: str = ""
    until: str = ""

    def allow_path(self, path: str) -> bool:
        """Say whether a file is one of those that are asked for."""
        if self.paths and not any(_path_fits(path, wanted) for wanted in self.paths):
            return False
        if not (self.since or self.until) or not path.startswith("daily/"):
            return True
        day = path.rpartition("/")[2].removesuffix(".md")
        return day >= self.since[: len(day)] and (not self.until or day <= self.until[: len(day)])

    def allow(self, facts: Facts) -> bool:
        """Say whether a unit is one of those that are asked for."""
        if self.types and _words(facts.label) not in self.types:
            return False
        if self.tags and not any(tag.casefold() in self.tags for tag in facts.tags):
            return False
        if self.sessions and facts.entry not in self.entries and not _of_session(facts, self.sessions):
            return False
        if not (self.since or self.until):
            return True
        date = facts.date
        return bool(date) and date >= self.since[: len(date)] and (not self.until or date <= self.until[: len(date)])

    @property
    def by_unit(self) -> bool:
        """Whether it takes more than the path to say what is asked for."""
        return bool(self.types or self.tags or self.sessions or self.since or self.until)


def read_filters(store: Store, query: Query) -> Filters:
    """Return what a query's filters mean.

    Raises:
        FilterError: a date is none; the message names it.

    """
    sessions = query.filter("session")
    return Filters(
        paths=tuple(path.casefold().strip("/") for path in query.filter("path")),
        types=tuple(_words(kind) for kind in query.filter("type")),
        tags=tuple(tag.removeprefix("#").casefold() for tag in query.filter("tag")),
        sessions=sessions,
        entries=_entries_of(store, sessions),
        since=_moment(store, query, "since"),
        until=_moment(store, query, "until"),
    )


def allowed_text(query: Query, units: Units, unit: Unit) -> bool:
    """Say whether a unit's text holds the phrases, and none of what it must be without."""
    if query.phrases or query.without_phrases:
        text = " ".join(units.low[unit.start : unit.end].split())
        if not all(phrase in text for phrase in query.phrases) or any(
            phrase in text for phrase in query.without_phrases
        ):
            return False
    return True


def unwanted(query: Query, units: Units) -> set[int]:
    """Return the units of a file in which a word stands that a hit must be without."""
    return set(find_terms(units, query.without)) if query.without else set()


def literals_for(filters: Filters) -> list[str]:
    """Return what stands in all that filters allow: what to look for where a query has no words."""
    if filters.tags:
        return [f"#{tag}" for tag in filters.tags]
    if filters.types:
        return [f"**{kind}" for kind in filters.types]
    return ["- ["]


def _path_fits(path: str, wanted: str) -> bool:
    folded = path.casefold()
    if any(character in wanted for character in "*?["):
        from fnmatch import fnmatchcase

        return fnmatchcase(folded, wanted) or fnmatchcase(folded, f"*/{wanted}")
    return wanted in folded


def _words(label: str) -> str:
    return label.replace("_", " ").replace("-", " ").casefold()


def _of_session(facts: Facts, sessions: Iterable[str]) -> bool:
    """Say whether what is known of an entry is the beginning of a session's id, or the other way round."""
    return bool(facts.session) and any(
        facts.session.startswith(session) or session.startswith(facts.session) for session in sessions
    )


def _entries_of(store: Store, sessions: Sequence[str]) -> frozenset[str]:
    """Return the entries that were saved in these sessions, as the commits say."""
    if not sessions:
        return frozenset()
    from gitmem.errors import NotFoundError
    from gitmem.store.history.records import records

    found: set[str] = set()
    for session in sessions:
        try:
            found.update(entry for record in records(store, session=session) for entry in record.entries)
        except NotFoundError:
            continue
    return frozenset(found)


def _moment(store: Store, query: Query, name: str) -> str:
    given = query.filter(name)
    if not given:
        return ""
    from gitmem.store.history.dates import FORMS, parse_date

    text = given[-1]
    try:
        span = parse_date(text, store.context.clock())
    except ValueError as error:
        raise FilterError(f"{name}:{text}: {error}.", f"Dates are given like {FORMS}.") from None
    if span is None:
        raise FilterError(
            f"{name}:{text} is no date.", f'Dates are given like {FORMS}; with blanks as {name}:"3 days ago".'
        )
    return (span.first if name == "since" else span.last).strftime(_SECONDS)

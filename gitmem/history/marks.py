"""Marks on facts that are no longer in force, are in dispute, or were changed by others (docs/format.md, "Facts")."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.document.entry import Entry, find_entries
from gitmem.document.ids import SHORT_LENGTH, do_meet, id_in, is_fact_id, is_id, summarized
from gitmem.document.message import one_line
from gitmem.errors import GitmemError
from gitmem.history.authors import Authors
from gitmem.model.fact import FOLDER, Fact, day_of
from gitmem.model.lines import Marks, marks_of, with_marks
from gitmem.model.validity import FactPlace, Ground
from gitmem.platform.safe_open import read_json, write_json
from gitmem.store.known_facts import facts_for, known_facts
from gitmem.store.locate import KNOWN_FOLDER
from gitmem.store.store import Store
from gitmem.values import Value

_CHANGED = "changed.json"  # what others changed


class OthersChange(Value):
    """A change of a fact by another author: who did what and when (ISO), and the fact's text and blob before."""

    id: str
    path: str
    act: str
    author: str
    date: str
    commit: str
    before: str
    blob: str

    def __str__(self) -> str:
        """Return who did what, for a line of text."""
        return f"{self.act} by {self.author} on {self.date[:10]}, before: {self.before}"


def read_changes(store: Store) -> tuple[str, dict[str, OthersChange]]:
    """Return the commit up to which changes were looked for, or "", and by fact the changes that wait."""
    try:
        fields = read_json(os.path.join(store.private, _CHANGED))
        waiting = {
            str(field["id"]): OthersChange(**{name: str(field[name]) for name in OthersChange._fields})
            for field in fields["waiting"]
        }
        return str(fields["seen"]), waiting
    except (ValueError, TypeError, KeyError):
        return "", {}


def write_changes(store: Store, tip: str, waiting: Mapping[str, OthersChange]) -> None:
    """Write the record, unless the store is read-only."""
    fields = {"v": 1, "seen": tip, "waiting": [change._asdict() for change in waiting.values()]}
    with contextlib.suppress(OSError):
        write_json(os.path.join(store.private, _CHANGED), fields)


_LONGEST = 80  # characters of a phase
# Cached facts, places and marks of the last calls of `place_marks`: a page needs those of all facts and of a start.
_last: list[tuple[list[Fact], dict[str, FactPlace], Marks]] = []


def known_marks(store: Store) -> Marks:
    """Return the marks of the facts of the work tree."""
    return with_changes(store, place_marks(store, known_facts(store)))


def marks_for(store: Store, shown: Collection[str], *, hurried: bool = False) -> Marks:
    """Return the marks of `known_marks` that any text and the facts `shown` need; see `facts_for`."""
    marks = with_changes(store, place_marks(store, facts_for(store, shown, hurried=hurried)))
    return marks._replace(deleted=deleted(store, {*shown} - marks.facts.keys()))


def with_changes(store: Store, marks: Marks) -> Marks:
    """Add to marks what others changed in the user's facts, and the authors of contradicting facts and successors."""
    waiting = read_changes(store)[1] if store.config.review.changes else {}
    people = Authors(store)
    beside = {key for status in marks.statuses.values() for key in (*status.disputes, status.successor) if key}
    authors = {key: by for key in beside if (by := people.others(key))}
    return marks._replace(changes={key: str(change) for key, change in waiting.items()}, authors=authors)


def deleted(store: Store, ids: Iterable[str]) -> frozenset[str]:
    """Return those of these ids that are of facts without a file: a user deleted it, or moved it to another store."""
    missing = frozenset(filter(is_fact_id, ids))
    with contextlib.suppress(GitmemError, OSError):
        folders = [f"{FOLDER}/{name}" for name in store.names(FOLDER)] if missing else ()
        return missing.difference(id_in(name)[:SHORT_LENGTH] for folder in folders for name in store.names(folder))
    return frozenset()


_IDS = re.compile(rf"\b[a-z][0-9a-z]{{{SHORT_LENGTH - 1}}}\b")


def marked(store: Store, text: str, name: str = "") -> str:
    """Return a text with the marks of the facts in it; `name` is its document's path, or its memory's id."""
    stem = id_in(name)
    marks = marks_for(store, {stem, *_IDS.findall(text)})
    return with_marks(text, marks, stem if is_id(stem) else "", sources_of(store, name) if marks.sources else ())


def sources_of(store: Store, path: str) -> Sequence[Entry]:
    """Return the entries from which an archive's summary was made; `path` may end with a line number."""
    archive = summarized(path.partition(":")[0])
    data = store.read(archive) if archive else None
    return [entry.entry for entry in find_entries(data.decode("utf-8", "replace"))] if data else ()


def place_marks(store: Store, facts: Sequence[Fact]) -> Marks:
    """Return the marks of these facts, with the place in the project's history where those in force apply."""
    places = _places(store, facts)
    for known, there, marks in _last:
        if known == facts and there == places:  # quick, as `fact_of` returns the same objects
            return marks
    made = marks_of(facts, places)
    _last[:] = [(list(facts), places, made), *_last[:1]]
    return made


def _places(store: Store, facts: Sequence[Fact]) -> dict[str, FactPlace]:
    placed = [fact for fact in facts if fact.binds and (fact.commit or fact.branch or fact.lines)]
    code = store.code() if placed else None
    places: dict[str, FactPlace] = {}
    if code is not None:
        from gitmem.project.places import places_of

        people = Authors(store)
        in_code = places_of(code, placed, os.path.join(store.private, KNOWN_FOLDER, "places.json"), store.git_timeout)
        for key, place in in_code.items():
            places[key] = place if place.ground is Ground.STALE else place._replace(author=people.other_author(key))
    for fact in (fact for fact in facts if fact.binds):
        if fact.scope and not do_meet(fact.scope, (store.here,)):
            places[fact.id] = FactPlace(Ground.BESIDE, fact.branch, fact.commit, fact.scope)
        if fact.until:
            end = "over since" if fact.is_over(day_of(store.context.clock())) else "until"
            condition = f"{end} {one_line(fact.until, _LONGEST)}, as said on {day_of(fact.when)}"
            places[fact.id] = places.get(fact.id, FactPlace(Ground.PASSING))._replace(until=condition)
    return places

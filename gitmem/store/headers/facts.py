"""The facts of a store's work tree, without their texts: read from a cache (`gitmem.store.headers.cache`), not by YAML.

Tested through `tests/memory/facts/test_learn.py`.
"""

from __future__ import annotations

from functools import lru_cache

from gitmem.machine.moment import datetime
from gitmem.model.fact.fact import BINDING, FOLDER, Fact, FactKind, FactStatus
from gitmem.model.ids import SHORT_LENGTH, is_id
from gitmem.store.headers.cache import Header, cached_headers, read_headers
from gitmem.store.headers.changes import read_changes
from gitmem.store.headers.edits import as_edited

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gitmem.model.fact.holds import Status
    from gitmem.model.fact.views.marks import Marks
    from gitmem.store.headers.cache import Bounds
    from gitmem.store.store import Store

_MOST_KEPT = 50_000  # facts that a process does not parse again; reading more in turn would drop each before its use
_NO_REVIEW = ",[]]"  # how the values of a fact without contradictions end, as `review` is the last of them
_last: list[tuple[list[Fact], Marks]] = []  # the facts that were asked about last, and their marks


def known_facts(store: Store) -> list[Fact]:
    """Return the facts of the work tree, sorted by path, without their texts.

    Edits by hand count; a fact that one changes has its text (`gitmem.store.headers.edits`).
    """
    return facts_of(store, fact_headers(store))


def facts_of(store: Store, headers: Sequence[Header]) -> list[Fact]:
    """Return the facts of these headers, in order, as `known_facts` does."""
    return as_edited(store, headers, [fact_of(header) for header in headers])


def disputing_facts(store: Store, bounds: Bounds) -> list[Fact]:
    """Return, within `bounds`, the facts that name a contradiction, those they name, and those that do not bind.

    `what_holds` says of these what it says of them among all facts.
    """
    headers = fact_headers(store, bounds)
    named = {one for header in headers if not header.line.endswith(_NO_REVIEW) for one in fact_of(header).review}
    wanted = [
        header
        for header in headers
        if not header.line.endswith(_NO_REVIEW)
        or header.key[0] not in BINDING
        or header.path.rpartition("/")[2].partition("-")[0] in named
    ]
    return facts_of(store, wanted)


def known_marks(store: Store) -> Marks:
    """Return the marks of the facts of the work tree."""
    return _with_changes(store, _marks(known_facts(store)))


def marks_for(store: Store, shown: Collection[str]) -> Marks:
    """Return marks that say of texts about to be shown, and of the memories `shown`, what `known_marks` does.

    Facts in force that nothing contradicts and that still have their first words need no mark: of 10,000 only the
    others are parsed, those shown, and those that take the place of one.
    """
    from gitmem.model.fact.views.marks import normalized

    headers = cached_headers(store, FOLDER, lambda line: not _is_plain(line) or _id_in(line) in shown)
    if headers is None or any(_id_in(one.path) in shown and not one.is_current(store.root) for one in headers):
        return known_marks(store)
    facts = [fact_of(header) for header in headers]
    linked = {other for fact in facts for other in (fact.superseded_by, *fact.review) if other}
    ended = {normalized(fact.description) for fact in facts if fact.status not in BINDING}
    if linked or ended:  # a successor, or the same words in another fact
        more = cached_headers(
            store,
            FOLDER,
            lambda line: _is_plain(line) and (_id_in(line) in linked or (bool(ended) and _words_in(line) in ended)),
        )
        headers += [one for one in more or () if one not in headers]
    return _with_changes(store, _marks(facts_of(store, headers)))


def _with_changes(store: Store, marks: Marks) -> Marks:
    """Return marks that also say what others changed of the person's facts."""
    waiting = read_changes(store)[1] if store.config.review.changes else {}
    return marks._replace(changes={one: str(change) for one, change in waiting.items()}) if waiting else marks


def _is_plain(line: str) -> bool:
    """Return whether a fact is in force by its line in the cache, as it was made, and beside no other."""
    return line.endswith(',[],"",[]]') and ',"","active",' in line


def _id_in(path: str) -> str:
    """Return the id in a path of a fact, from which a line in the cache begins, too."""
    start = path.find("/", len(FOLDER) + 1) + 1
    return path[start : start + SHORT_LENGTH]


def _words_in(line: str) -> str:
    """Return the description in a line of the cache as `normalized` gives it, if nothing in it is escaped."""
    from gitmem.model.fact.views.marks import normalized

    return normalized(line.split('","', 5)[4])


def standing_of(facts: Sequence[Fact]) -> Mapping[str, Status]:
    """Return the status of each fact by its id, as `what_holds` says; of the same facts it is worked out once."""
    return _marks(facts).statuses


def marked(store: Store, text: str, name: str = "") -> str:
    """Return a text of the store with a mark on each fact it tells that does not hold, or is in dispute.

    `name` is the path of its document, or the id of a memory (`gitmem.model.fact.views.marks.with_marks`).
    """
    from gitmem.model.fact.views.marks import with_marks

    stem = name.rpartition("/")[2].partition("-")[0]
    return with_marks(text, known_marks(store), stem if is_id(stem) else "")


def _marks(facts: Sequence[Fact]) -> Marks:
    from gitmem.model.fact.views.marks import marks_of

    for known, marks in _last:
        if known == facts:  # quick, as `fact_of` returns the same objects
            return marks
    made = marks_of(facts)
    _last[:] = [(list(facts), made)]
    return made


def fact_headers(store: Store, bounds: Bounds | None = None, *, trusting: bool = False) -> list[Header]:
    """Return the headers of the work tree's facts; the key is status, kind and time of the last change.

    See `gitmem.store.headers.cache.read_headers`.
    """
    return read_headers(store, FOLDER, _header, bounds, trusting=trusting)


@lru_cache(maxsize=_MOST_KEPT)
def fact_of(header: Header) -> Fact:
    """Return the fact of a header, without its text."""
    identifier, kind, created, name, description, updated, status, *more = header.load()
    changed = datetime.fromisoformat(updated) if updated else None
    fields = [identifier, _KINDS[kind], "", datetime.fromisoformat(created), name, description, changed]
    fields += [_STATUSES[status], *more, header.path, b""]
    return Fact(*fields)


_KINDS, _STATUSES = {kind.value: kind for kind in FactKind}, {status.value: status for status in FactStatus}
_CACHED = [name for name in Fact._fields if name not in {"text", "file", "source"}]


def _header(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    from gitmem.model.fact.file import parse_fact

    fact = parse_fact(data, path)
    if fact is None:
        return None
    fields = fact._asdict()
    fields["description"] = fact.description or fact.text.split("\n\n")[0][:200].replace("\n", " ")
    fields |= {"created": fact.created.isoformat(), "updated": fact.updated.isoformat() if fact.updated else ""}
    return (fact.status, fact.kind, fact.when.isoformat()), [fields[name] for name in _CACHED]

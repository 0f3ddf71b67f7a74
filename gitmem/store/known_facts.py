"""The facts of the work tree, and the marks on what does not hold as it says.

Edits by hand that no commit has yet, and changes by others that wait for the person, are applied to what is read
(docs/format.md, "Facts").
"""

from __future__ import annotations

import contextlib
import os
import re
from functools import lru_cache

from gitmem.document.ids import MEMORY, SHORT_LENGTH, do_meet, id_in, is_id
from gitmem.errors import GitmemError
from gitmem.facts.fact import BINDING, FOLDER, Fact, FactKind, FactStatus
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import read_json, write_json
from gitmem.store.headers import KNOWN_FOLDER, Bounds, Header, cached_lines, headers_in, read_headers
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitmem.facts.lines import Marks
    from gitmem.facts.validity import FactPlace, Status
    from gitmem.store.store import Store


_FILE = "changed.json"


class OthersChange(Value):
    """A change of a fact by another author: what it did, who, when (ISO), and the fact's file before as a blob."""

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
    """Return the commit up to which changes were looked for, "" if none was, and the changes that wait by fact."""
    try:
        fields = read_json(os.path.join(store.private, _FILE))
        waiting = {
            str(field["id"]): OthersChange(**{name: str(field[name]) for name in OthersChange._fields})
            for field in fields["waiting"]
        }
        return str(fields["seen"]), waiting
    except (ValueError, TypeError, KeyError):
        return "", {}


def write_changes(store: Store, tip: str, waiting: Mapping[str, OthersChange]) -> None:
    """Write the record; a store may be read-only."""
    fields = {"v": 1, "seen": tip, "waiting": [change._asdict() for change in waiting.values()]}
    with contextlib.suppress(OSError):
        write_json(os.path.join(store.private, _FILE), fields)


def as_edited(store: Store, headers: Iterable[Header], facts: list[Fact]) -> list[Fact]:
    """Return the facts of these headers with the edits of a person since the work tree was brought to a commit.

    An edited fact has its text, too.
    """
    try:
        since = os.stat(os.path.join(store.private, "checkout")).st_mtime_ns
        line_edited = os.lstat(os.path.join(store.root, MEMORY)).st_mtime_ns > since
        paths = [header.path for header in headers if header.line > f"{since}\t~"]  # a line begins with the time
        held = store.marked() if line_edited or paths else None
        changed = _edited(store, held, line_edited, paths, {fact.id: fact for fact in facts}) if held else {}
    except (GitmemError, OSError):
        return facts
    return [changed.get(fact.id, fact) for fact in facts] if changed else facts


def _edited(store: Store, held: str, line_edited: bool, paths: list[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    from gitmem.document.document import Document
    from gitmem.facts.fact import parse_fact
    from gitmem.facts.lines import fact_entries, facts_as_edited, line_edits
    from gitmem.facts.validity import reworded

    now = store.context.clock()
    with store.repository.reading() as objects:
        memory, *contents = objects.contents([f"{held}:{path}" for path in (MEMORY, *paths)])
    changed = {}
    for path, data in zip(paths, contents, strict=True):
        before, after = (parse_fact(one, path) if one else None for one in (data, store.read(path)))
        if before and after and before.text != after.text and before.description == after.description:
            changed[after.id] = reworded(after, after.text, now)
    if line_edited and memory:
        old, new = (Document.parse(data).body for data in (memory, store.read(MEMORY) or b""))
        edits = line_edits(fact_entries(old), new)
        if store.tip != held:  # moved by another program: perhaps a rotation took the lines that are gone
            edits = edits._replace(ended=())
        changed |= facts_as_edited(edits, facts.get, now)
    return changed


_MOST_KEPT = 50_000  # facts that a process does not parse again; reading more in turn would drop each before its use
# The facts that were asked about last, their places, and their marks.
_last: list[tuple[list[Fact], dict[str, FactPlace], Marks]] = []


def known_facts(store: Store) -> list[Fact]:
    """Return the facts of the work tree, sorted by path, without their texts.

    Edits by hand count; a fact that one changes has its text.
    """
    return facts_of(store, fact_headers(store))


def facts_of(store: Store, headers: Sequence[Header]) -> list[Fact]:
    """Return the facts of these headers, in order, as `known_facts` does."""
    return as_edited(store, headers, [fact_of(header) for header in headers])


def known_marks(store: Store) -> Marks:
    """Return the marks of the facts of the work tree."""
    return _with_changes(store, place_marks(store, known_facts(store)))


def marks_for(store: Store, shown: Collection[str], *, hurried: bool = False) -> Marks:
    """Return marks that say of any text, and of the facts `shown`, what `known_marks` says; see `facts_for`."""
    return _with_changes(store, place_marks(store, facts_for(store, shown, hurried=hurried)))


def facts_for(
    store: Store, shown: Collection[str], *, hurried: bool = False, bounds: Bounds | None = None
) -> list[Fact]:
    """Return the facts that say of any text, and of the facts `shown`, what all facts say.

    A fact in force that nothing contradicts, that still has its first words and is of the whole project needs no mark:
    of 10,000 only the others are parsed, those shown, and those that take the place of one. If it is `hurried`, those
    of a branch, a commit or a part of the project are left out as well. `bounds` limits the parsing of files that no
    cache knows.
    """
    lines = cached_lines(store, FOLDER)
    headers = headers_in(_not_plain(lines or (), shown, _PLAIN + _PLACED * hurried))
    if lines is None or any(_id_in(header.path) in shown and not header.is_current(store.root) for header in headers):
        return facts_of(store, fact_headers(store, bounds))
    facts = [fact_of(header) for header in headers]
    linked = {other for fact in facts for other in (fact.superseded_by, *fact.review) if other}
    ended = {_digest(fact.description) for fact in facts if fact.status not in BINDING}
    if linked or ended:  # a successor, or the same words in another fact
        plain = (line for line in lines if line[_STATE] in _PLAIN + _PLACED)
        more = headers_in(one for one in plain if one[_WORDS] in ended or (linked and _id_in(one) in linked))
        headers += [header for header in more if header not in headers]
    return facts_of(store, headers)


def facts_at(store: Store, fits: Callable[[str], bool]) -> list[Fact]:
    """Return the facts whose paths fit, as `known_facts` does."""
    lines = cached_lines(store, FOLDER)
    headers = headers_in(one for one in lines or () if fits(one.partition("\t")[0]))
    if lines is None or not all(header.is_current(store.root) for header in headers):
        headers = [header for header in fact_headers(store) if fits(header.path)]
    return facts_of(store, headers)


def _with_changes(store: Store, marks: Marks) -> Marks:
    """Return marks that also say what others changed of the person's facts."""
    waiting = read_changes(store)[1] if store.config.review.changes else {}
    return marks._replace(changes={one: str(change) for one, change in waiting.items()}) if waiting else marks


# The line of a fact in the cache ends with its state and the digest of its words: `u0123abcd"]`.
_STATE, _WORDS = -11, slice(-10, -2)
# Its states: as it was made, beside no other, and of the whole project; the same of a branch, a commit or a part of the
# project; one that names a contradiction; any other.
_PLAIN, _PLACED, _DISPUTED, _OTHER = "upro"


def _state(fact: Fact) -> str:
    if fact.review:
        return _DISPUTED
    if fact.updated or fact.status is not FactStatus.ACTIVE or fact.supersedes or fact.superseded_by:
        return _OTHER
    return _PLACED if fact.branch or fact.commit or fact.lines or fact.scope else _PLAIN


def _digest(description: str) -> str:
    """Return eight digits that are the same for the same words; seldom for others, which costs some time."""
    from zlib import crc32

    from gitmem.facts.lines import normalized

    return f"{crc32(normalized(description).encode('utf-8', 'replace')):08x}"


def _not_plain(lines: Iterable[str], shown: Collection[str], plain: str) -> list[str]:
    """Return the lines of facts that are `shown`, or whose state is not among the `plain`.

    One expression for all, without a call for each: of 10,000 lines nearly none is returned.
    """
    from_kind, size = len(FOLDER) + 1, SHORT_LENGTH
    return [
        line
        for line in lines
        if line[_STATE] not in plain or line[(start := line.find("/", from_kind) + 1) : start + size] in shown
    ]


def _id_in(path: str) -> str:
    """Return the id in a path of a fact, from which a line in the cache begins, too."""
    start = path.find("/", len(FOLDER) + 1) + 1
    return path[start : start + SHORT_LENGTH]


def standing_of(store: Store, facts: Sequence[Fact]) -> Mapping[str, Status]:
    """Return the status of each fact by its id, as `what_holds` says; of the same facts it is worked out once."""
    return place_marks(store, facts).statuses


_IDS = re.compile(rf"\b[a-z][0-9a-z]{{{SHORT_LENGTH - 1}}}\b")


def marked(store: Store, text: str, name: str = "") -> str:
    """Return a text of the store with a mark on each fact it tells that does not hold, or is in dispute.

    `name` is the path of its document, or the id of a memory (`gitmem.facts.lines.with_marks`).
    """
    from gitmem.facts.lines import with_marks

    stem = id_in(name)
    return with_marks(text, marks_for(store, {stem, *_IDS.findall(text)}), stem if is_id(stem) else "")


def place_marks(store: Store, facts: Sequence[Fact]) -> Marks:
    """Return the marks of these facts: of those that stand, also where in the project's history they do.

    This is the one place where branch and staleness become marks; all that tell facts go through it.
    """
    from gitmem.facts.lines import marks_of

    places = _places(store, facts)
    for known, there, marks in _last:
        if known == facts and there == places:  # quick, as `fact_of` returns the same objects
            return marks
    made = marks_of(facts, places)
    _last[:] = [(list(facts), places, made)]
    return made


def _places(store: Store, facts: Sequence[Fact]) -> dict[str, FactPlace]:
    from gitmem.facts.validity import FactPlace, Ground

    scoped = [fact for fact in facts if fact.scope and fact.binds]
    here = (store.here,) if scoped else ()
    beside = [fact for fact in scoped if not do_meet(fact.scope, here)]
    there = {fact.id: FactPlace(Ground.BESIDE, fact.branch, fact.commit, fact.scope) for fact in beside}
    return _places_in_code(store, facts) | there


def _places_in_code(store: Store, facts: Sequence[Fact]) -> dict[str, FactPlace]:
    placed = [fact for fact in facts if (fact.commit or fact.branch or fact.lines) and fact.binds]
    code = store.code() if placed else None
    if code is None:
        return {}
    from gitmem.facts.validity import Ground
    from gitmem.history.authors import People
    from gitmem.project.code import places_of

    found = places_of(code, placed, os.path.join(store.private, KNOWN_FOLDER, "places.json"), store.patience)
    people = People(store)
    return {
        one: place if place.ground is Ground.STALE else place._replace(author=people.other(one))
        for one, place in found.items()
    }


def fact_headers(store: Store, bounds: Bounds | None = None, *, trusting: bool = False) -> list[Header]:
    """Return the headers of the work tree's facts; the key is status, kind and time of the last change.

    See `gitmem.store.headers.read_headers`.
    """
    return read_headers(store, FOLDER, _header, bounds, trusting=trusting)


@lru_cache(maxsize=_MOST_KEPT)
def fact_of(header: Header) -> Fact:
    """Return the fact of a header, without its text."""
    identifier, kind, created, name, description, updated, status, *more, _ = header.load()
    changed = datetime.fromisoformat(updated) if updated else None
    fields = [identifier, _KINDS[kind], "", datetime.fromisoformat(created), name, description, changed]
    fields += [_STATUSES[status], *more, header.path, b""]
    return Fact(*fields)


_KINDS, _STATUSES = {kind.value: kind for kind in FactKind}, {status.value: status for status in FactStatus}
_CACHED = [name for name in Fact._fields if name not in {"text", "file", "source"}]


def _header(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    from gitmem.facts.fact import parse_fact

    fact = parse_fact(data, path)
    if fact is None:
        return None
    fields = fact._asdict()
    fields["description"] = fact.description or fact.text.split("\n\n")[0][:200].replace("\n", " ")
    end = _state(fact) + _digest(fields["description"])
    fields |= {"created": fact.created.isoformat(), "updated": fact.updated.isoformat() if fact.updated else ""}
    key = (fact.status, fact.kind, fact.when.isoformat(), "pinned" * fact.pinned)
    return key, [*(fields[name] for name in _CACHED), end]

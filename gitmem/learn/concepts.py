"""Concepts (spec V3): subjects that exchanges of many sessions share, one document each, with links to the exchanges.

Without a model an exchange of a finished session joins the concept it has most files and keywords in common with, else
it makes a new one if it names something. What a concept is known by stays small, so that one that has grown does not
draw everything to itself. Concepts are read from a cache (`gitmem.store.known_facts`), without YAML. Merging and
splitting them moves their links to exchanges; none is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gitmem.document.document import Document
from gitmem.document.ids import file_name_of, find_named, is_id, scopes_in, tail_of
from gitmem.document.message import Message, Op, Trailer, link, one_line, session_message
from gitmem.document.plain_header import flow
from gitmem.errors import NotFoundError, RefusedError
from gitmem.model.compare import overlap, stems_of
from gitmem.model.concept import FOLDER, KIND, Concept, parse_concept
from gitmem.model.exchange import Exchange, exchanges_in
from gitmem.model.fact import hashed_id
from gitmem.model.turns import Turn
from gitmem.platform.machine import UTC, datetime
from gitmem.record.exchanges import find_session_file, with_links
from gitmem.store.known_concepts import known_concepts
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count

SECTION = "Exchanges"
OFFLINE = "offline"
MAX_KEYWORDS, MAX_FILES = 10, 12
JOINS = 0.4  # affinity from which an exchange joins a concept
_FEWEST = 2  # files and keywords in common
_NAMED_AFTER = 8  # exchanges from which the name stays
_NAMES = 3  # files and names in a name
_LONGEST_NAME = 60  # characters
_NAME = re.compile(r"[._/-]\w|\w[A-Z]|[0-9]")  # in a keyword that names something: `max_age`, `useTheme`, `utf8`
_LISTS = ("keywords", "files", "scope", "exchanges", "merged")  # of a header, in order


def concept_id(first: str) -> str:
    """Return the id of the concept that starts with an exchange; the same on every machine."""
    return hashed_id("k", KIND, first)


def affinity(exchange: Exchange | Concept, concept: Concept) -> float:
    """Return how much an exchange, or another concept, and a concept have in common, from 0 to 1 (spec V3).

    Half of it is the overlap of their files, half that of their keywords, each |A∩B| / min(|A|, |B|) without regard to
    case and 0 where one is empty; where neither has files, keywords are all there is.
    """
    words = overlap(_stems(exchange.keywords), _stems(concept.keywords))
    if not exchange.files and not concept.files:
        return words
    return (overlap(_folded(exchange.files), _folded(concept.files)) + words) / 2


def choose(exchange: Exchange, concepts: Mapping[str, Concept]) -> Concept | None:
    """Return the concept that has most in common with an exchange, the newest of equals; None for a new one."""
    best, score = None, (JOINS, "")
    for concept in concepts.values():
        files = _folded(exchange.files) & _folded(concept.files)
        shared = len(files) + len(_stems(exchange.keywords) & _stems(concept.keywords))
        found = affinity(exchange, concept), concept.updated
        if shared >= _FEWEST and found > score:
            best, score = concept, found
    return best


def name_of(keywords: Sequence[str], files: Sequence[str]) -> str:
    """Return a name for a concept: its first file and the names among its keywords, "" for a subject without either.

    Words such as "timeouts, pushed, future" name nothing.
    """
    file = files[0].rpartition("/")[2] if files else ""
    names = [word for word in keywords if _NAME.search(word) and word.casefold() not in file.casefold()]
    said = ", ".join(names[: _NAMES - bool(file)])
    return f"{file}: {said}" if file and said else file or said


def begun(exchange: Exchange) -> Concept:
    """Return a new concept with one exchange."""
    identifier = concept_id(exchange.id)
    name = name_of(exchange.keywords, exchange.files) or one_line(exchange.summary, _LONGEST_NAME)
    when = _when(exchange)
    words, files = tuple(exchange.keywords[:MAX_KEYWORDS]), tuple(exchange.files[:MAX_FILES])
    path = f"{FOLDER}/{file_name_of(identifier, name)}"
    return Concept(path, identifier, name, when, when, words, files, (exchange.id,), (), scopes_in(exchange.tags))


def joined(concept: Concept, exchange: Exchange) -> Concept:
    """Return a concept with one more exchange, whose files and keywords move to the front; a young one is renamed."""
    after = concept._replace(
        keywords=_moved(concept.keywords, exchange.keywords, MAX_KEYWORDS),
        files=_moved(concept.files, exchange.files, MAX_FILES),
        exchanges=tuple(sorted({*concept.exchanges, exchange.id})),
        updated=max(concept.updated, _when(exchange)),
        scope=tuple(sorted({*concept.scope, *scopes_in(exchange.tags)})),
    )
    return after if has_own_name(concept) else after._replace(name=name_of(after.keywords, after.files) or after.name)


def has_own_name(concept: Concept) -> bool:
    """Return whether a concept's name is fixed: it has grown, or a person or a model named it."""
    return len(concept.exchanges) >= _NAMED_AFTER or concept.name != name_of(concept.keywords, concept.files)


def line_of(exchange: Exchange, path: str) -> str:
    """Return the line of an exchange in a concept's list; `path` is its session's file in the store."""
    return f"- {exchange.time[:10]} {link(exchange.summary, f'../{path}')} {exchange.id}"


def render_new(concept: Concept, lines: Sequence[str]) -> bytes:
    """Return the file of a new concept."""
    head = ["---", f"id: {concept.id}", f"kind: {KIND}", f"name: {flow(concept.name)}", f"created: {concept.created}"]
    head += [f"updated: {concept.updated}", f"method: {OFFLINE}"]
    head += [f"{key}: {flow(list(values))}" for key in _LISTS if (values := getattr(concept, key))]
    return "\n".join([*head, "---", f"# {concept.name}", "", f"## {SECTION}", "", *lines, ""]).encode(
        "utf-8", "replace"
    )


def render_changed(data: bytes, concept: Concept, lines: Sequence[str], without: Iterable[str] = ()) -> bytes:
    """Return a concept's file with another header, lines added and some exchanges removed; all else stays."""
    document = Document.parse(data)
    before = parse_concept(data, concept.path)
    for key in ("name", "updated", *_LISTS):
        value = getattr(concept, key)
        if before is None or value != getattr(before, key):
            value = datetime.fromisoformat(value) if key == "updated" else value
            document = document.set(key, list(value) if isinstance(value, tuple) else value)
    gone = tuple(f" {one}" for one in without)
    kept = [line for line in document.body.rstrip().split("\n") if not (gone and line.rstrip().endswith(gone))]
    known = {line.rstrip().rpartition(" ")[2] for line in kept}
    kept += [line for line in lines if line.rpartition(" ")[2] not in known]
    if before is not None and before.name != concept.name:
        kept = [f"# {concept.name}" if line.rstrip() == f"# {before.name}" else line for line in kept]
    return document.with_body(document.newline.join([*(line.rstrip("\r") for line in kept), ""])).render()


def lines_of(body: str) -> list[tuple[str, str]]:
    """Return the lines of a concept's exchanges, each with its id."""
    lines = [line.rstrip() for line in body.split("\n") if line.startswith("- ")]
    return [(identifier, line) for line in lines if is_id(identifier := line.rpartition(" ")[2])]


def link_of(line: str) -> str:
    """Return the path in the store that the line of an exchange links to, "" if it has no link."""
    return line.rpartition("](../")[2].rpartition(") ")[0]


def _moved(known: Sequence[str], new: Sequence[str], most: int) -> tuple[str, ...]:
    """Return names without regard to case: first those that came again, then new ones, then the rest."""
    again = {one.casefold() for one in new}
    front = {one.casefold(): one for one in known if one.casefold() in again}
    merged = {**front, **{one.casefold(): front.get(one.casefold(), one) for one in new}}
    rest = [one for one in known if one.casefold() not in merged]
    return tuple([*merged.values(), *rest][:most])


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for word in words for stem in (stems_of(word) or {word.casefold()}))


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, names))


def _when(exchange: Exchange) -> str:
    """Return the time of an exchange in UTC; a time without a zone counts as UTC."""
    at = exchange.at or datetime.fromisoformat(exchange.time).replace(tzinfo=UTC)
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def group(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Group the exchanges of a finished session; returns the commit. A second call adds nothing.

    Raises GitmemError if it could not be committed.
    """
    if not turns:
        return None

    def plan(transaction: Transaction) -> bool:
        path = find_session_file(transaction, session, turns[0].started)
        data = transaction.read(path) if path else None
        if path is None or data is None:
            return False
        concepts = {concept.id: concept for concept in known_concepts(store)}
        times = {turn.exchange_id: turn.ended for turn in turns}
        exchanges = [exchange._replace(at=times.get(exchange.id)) for exchange in exchanges_in(data)]
        grouped = sort_in(concepts, exchanges, path)
        changes: dict[str, bytes | None] = {}
        for concept, lines in grouped:
            there = transaction.read(concept.path)
            changed = render_new(concept, lines) if there is None else render_changed(there, concept, lines)
            changes[concept.path] = changed
        if not changes:
            return False
        facts = {one.path: one.description for one in known_facts(store) if one.session == session}
        changes |= with_links(transaction, path, facts)
        for fact in facts:
            changes |= with_links(transaction, fact, {path: turns[0].started.date().isoformat()})
        new = sum(concept.id not in concepts for concept, _ in grouped)
        made = f", {new} new" if new else ""
        names = "; ".join(concept.name for concept, _ in grouped)
        subject = f"Group into {count(len(grouped), 'concept')}{made}: {names}"
        message = _about(subject, [concept.id for concept, _ in grouped], session, host)
        return transaction.commit(message, changes, when=turns[-1].ended)

    outcome = transact(store, plan, purpose="concepts")
    known_concepts(store)
    return outcome.commit


def sort_in(known: Mapping[str, Concept], exchanges: Iterable[Exchange], link: str) -> list[tuple[Concept, list[str]]]:
    """Return the concepts that change when the exchanges of a session are sorted into them, with lines to add; pure.

    `link` is the path of the session's file. Exchanges that are in a concept stay there; one that names nothing begins
    none.
    """
    concepts = dict(known)
    lines: dict[str, list[str]] = {}
    concept_of = {tail_of(exchange): concept.id for concept in known.values() for exchange in concept.exchanges}
    for exchange in exchanges:
        if tail_of(exchange.id) in concept_of:
            continue
        chosen = choose(exchange, concepts)
        if chosen is None and not name_of(exchange.keywords, exchange.files):
            continue
        concept = begun(exchange) if chosen is None else joined(chosen, exchange)
        concepts[concept.id] = concept
        concept_of[tail_of(exchange.id)] = concept.id
        lines.setdefault(concept.id, []).append(line_of(exchange, link))
    return [(concepts[identifier], more) for identifier, more in lines.items()]


def find_concept(store: Store, identifier: str) -> Concept:
    """Return the concept with an id, or an unambiguous prefix of its id or name.

    The id of a merged concept names the concept it was merged into. Raises NotFoundError if no concept matches, or more
    than one.
    """
    bare = identifier.strip().rpartition("/")[2].removesuffix(".md").casefold()
    concepts = {concept.id: concept for concept in known_concepts(store)}
    names = (
        (name, concept.id)
        for concept in concepts.values()
        for name in (concept.id, concept.name.casefold(), *concept.merged, concept.path.rpartition("/")[2].casefold())
    )
    return concepts[find_named(bare, names, "concept", "'gitmem concepts list' lists them with their ids.")]


def merge(store: Store, one: Concept, other: Concept) -> tuple[str, ...]:
    """Merge the second concept into the first, as a person decided; all links are kept.

    Returns the commits.
    """
    if one.id == other.id:
        return ()

    def plan(transaction: Transaction) -> None:
        changes = merging(transaction, one, other)
        if not changes:
            raise NotFoundError("One of the concepts is gone.")
        transaction.commit(_about(f"Merge concept {other.name} into {one.name}", [one.id, other.id]), changes)

    return transact(store, plan, purpose="concepts").commits


def merging(transaction: Transaction, one: Concept, other: Concept) -> dict[str, bytes | None]:
    """Return the file changes that merge the second concept into the first; none if one of them is gone."""
    data, other_data = transaction.read(one.path), transaction.read(other.path)
    if data is None or other_data is None:
        return {}
    merged = one._replace(
        keywords=tuple(dict.fromkeys((*one.keywords, *other.keywords))),
        files=tuple(dict.fromkeys((*one.files, *other.files))),
        exchanges=tuple(sorted({*one.exchanges, *other.exchanges})),
        merged=tuple(dict.fromkeys((*one.merged, *other.merged, other.id))),
        updated=max(one.updated, other.updated),
        scope=tuple(sorted({*one.scope, *other.scope})),
    )
    more = [line for _, line in lines_of(Document.parse(other_data).body)]
    return {one.path: render_changed(data, merged, more), other.path: None}


def split(store: Store, concept: Concept, exchanges: Sequence[str], name: str) -> tuple[str, ...]:
    """Move some exchanges of a concept into a new one; all links are kept. Returns the commits.

    Raises NotFoundError if the concept has no such exchange, RefusedError if the concept would be empty.
    """
    chosen = sorted(
        {whole for whole in concept.exchanges for prefix in exchanges if prefix and whole.startswith(prefix)}
    )
    if not chosen:
        raise NotFoundError("The concept has none of these exchanges.", "'gitmem concepts show' lists them.")
    if len(chosen) == len(concept.exchanges):
        raise RefusedError("The concept would have no exchanges left.", "Name fewer exchanges.")

    def plan(transaction: Transaction) -> None:
        data = transaction.read(concept.path)
        if data is None:
            raise NotFoundError("The concept is gone.")
        lines = [line for identifier, line in lines_of(Document.parse(data).body) if identifier in chosen]
        identifier = concept_id(f"{concept.id}\0{chosen[0]}")
        path = f"{FOLDER}/{file_name_of(identifier, name)}"
        part = concept._replace(path=path, id=identifier, name=name, exchanges=tuple(chosen), merged=())
        rest = concept._replace(exchanges=tuple(one for one in concept.exchanges if one not in chosen))
        changes: dict[str, bytes | None] = {
            concept.path: render_changed(data, rest, (), chosen),
            part.path: render_new(part, lines),
        }
        transaction.commit(_about(f"Split {name} off concept {concept.name}", [concept.id, part.id]), changes)

    return transact(store, plan, purpose="concepts").commits


def naming(transaction: Transaction, concept: Concept, name: str, by: str) -> dict[str, bytes | None]:
    """Return the file change that gives a concept the name a model chose; its id and file stay.

    There is none where it was removed, or renamed by a person meanwhile.
    """
    data = transaction.read(concept.path)
    there = parse_concept(data, concept.path) if data is not None else None
    if data is None or there is None or there.name != concept.name:
        return {}
    changed = Document.parse(render_changed(data, concept._replace(name=name), ()))
    return {concept.path: changed.set("method", by).render()}


def _about(subject: str, concepts: Iterable[str], session: str = "", host: str = "") -> Message:
    return session_message(subject, Op.CONCEPT, Trailer.CONCEPT, concepts, session=session, host=host)

"""Concepts (spec V3): subjects that exchanges of many sessions share, one document each, with links to the exchanges.

Without a model an exchange of a finished session joins the concept it has most files and keywords in common with, else
it makes a new one. What a concept is known by stays small, so that one that has grown does not draw everything to
itself. Concepts are read from a cache (`gitmem.store.known_facts`), without YAML. Merging and splitting them moves
their links to exchanges; none is lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from gitmem.document.document import Document, as_texts, flow
from gitmem.document.ids import agreed_id, file_name_of, find_named, is_id, scopes_in, tail_of
from gitmem.document.message import Message, Op, Trailer, link, one_line, session_message
from gitmem.errors import NotFoundError, RefusedError
from gitmem.model.compare import overlap, stems_of
from gitmem.model.exchange import Exchange, exchanges_in
from gitmem.model.fact import hashed_id
from gitmem.model.turns import Turn
from gitmem.platform.machine import UTC, datetime
from gitmem.record.exchanges import find_session_file, with_links
from gitmem.store.known_facts import known_facts, read_headers
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count
from gitmem.values import Value

FOLDER = "concepts"
KIND = "concept"
SECTION = "Exchanges"
OFFLINE = "offline"
MAX_KEYWORDS, MAX_FILES = 10, 12
JOINS = 0.4  # affinity from which an exchange joins a concept
_FEWEST = 2  # files and keywords in common
_GOES_ON = 0.3  # bonus for the concept of the exchange before in the same session
_SAYS_LITTLE = 0.25  # affinity below which an exchange without files joins the concept of the one before
_SOON = 3_600  # seconds between the two, at most
_NAMED_AFTER = 8  # exchanges from which the name stays
_WORDS_OF_A_NAME = 3
_LISTS = ("keywords", "files", "scope", "exchanges", "merged")  # of a header, in order


class Concept(Value):
    """The header of a concept's document; `exchanges` are ids, sorted."""

    path: str
    id: str
    name: str
    created: str
    updated: str
    keywords: tuple[str, ...]
    files: tuple[str, ...]
    exchanges: tuple[str, ...]
    merged: tuple[str, ...]
    scope: tuple[str, ...] = ()  # the parts of the project that its exchanges are of


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


def choose(exchange: Exchange, concepts: Mapping[str, Concept], before: str = "") -> Concept | None:
    """Return the concept that an exchange joins, None for a new one.

    `before` is the concept of the exchange before it in its session, and most often the right one: an exchange
    without files and with little in common with any concept ("commit it", "give me the list again") joins it.
    """
    last, soon = concepts.get(before), False
    with contextlib.suppress(ValueError, TypeError):  # a person wrote another date into the header
        since = datetime.fromisoformat(last.updated) if last else None
        soon = since is not None and (datetime.fromisoformat(_when(exchange)) - since).total_seconds() < _SOON
    best, score = None, 0.0
    for concept in concepts.values():
        common = affinity(exchange, concept)
        if concept is last:
            common += _GOES_ON if soon else _GOES_ON / 2
        else:
            files = _folded(exchange.files) & _folded(concept.files)
            if len(files) + len(_stems(exchange.keywords) & _stems(concept.keywords)) < _FEWEST:
                continue
        if (common, concept.updated) > (score, best.updated if best else ""):
            best, score = concept, common
    if score >= JOINS:
        return best
    return last if soon and not exchange.files and score < _SAYS_LITTLE + _GOES_ON else None


def name_of(keywords: Sequence[str], files: Sequence[str], fallback: str) -> str:
    """Return a name for a concept: a file and the first words that it has not, else the summary of an exchange."""
    file = files[0].rpartition("/")[2] if files else ""
    words = [one for one in keywords if len(one) > 1 and one.rpartition("/")[2].casefold() not in file.casefold()]
    said = ", ".join(words[: _WORDS_OF_A_NAME - bool(file)])
    if file and said:
        return f"{file}: {said}"
    return said if len(words) > 1 else one_line(fallback.partition(" → ")[0], 60)


def begun(exchange: Exchange) -> Concept:
    """Return a new concept with one exchange."""
    identifier = concept_id(exchange.id)
    name = name_of(exchange.keywords, exchange.files, exchange.summary)
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
    return after if has_own_name(concept) else after._replace(name=name_of(after.keywords, after.files, after.name))


def has_own_name(concept: Concept) -> bool:
    """Return whether a concept's name is fixed: it has grown, or a person or a model named it."""
    return len(concept.exchanges) >= _NAMED_AFTER or concept.name != name_of(
        concept.keywords, concept.files, concept.name
    )


def line_of(exchange: Exchange, path: str) -> str:
    """Return the line of an exchange in a concept's list; `path` is its session's file in the store."""
    return f"- {exchange.time[:10]} {link(exchange.summary, f'../{path}')} {exchange.id}"


def parse_concept(data: bytes, path: str) -> Concept | None:
    """Return the concept of a document, None if it is none."""
    given = Document.parse(data).metadata
    if given.get("kind") != KIND or not agreed_id(given.get("id"), path):
        return None
    return Concept(
        path,
        str(given["id"]),
        str(given.get("name") or given["id"]),
        _moment(given.get("created")),
        _moment(given.get("updated")) or _moment(given.get("created")),
        as_texts(given.get("keywords")),
        as_texts(given.get("files")),
        tuple(sorted(as_texts(given.get("exchanges")))),
        as_texts(given.get("merged")),
        as_texts(given.get("scope")),
    )


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


def _moment(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value or "")


def known_concepts(store: Store) -> list[Concept]:
    """Return the concepts of the work tree, sorted by path."""

    def read(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
        concept = parse_concept(data, path)
        return None if concept is None else (((concept.exchanges or ("",))[-1],), [*concept._asdict().values()])

    return [Concept(*header.load()) for header in read_headers(store, FOLDER, read)]


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

    `link` is the path of the session's file. Exchanges that are in a concept stay there.
    """
    concepts = dict(known)
    lines: dict[str, list[str]] = {}
    concept_of = {tail_of(exchange): concept.id for concept in known.values() for exchange in concept.exchanges}
    previous = ""
    for exchange in exchanges:
        if tail_of(exchange.id) not in concept_of:
            chosen = choose(exchange, concepts, previous)
            concept = begun(exchange) if chosen is None else joined(chosen, exchange)
            concepts[concept.id] = concept
            concept_of[tail_of(exchange.id)] = concept.id
            lines.setdefault(concept.id, []).append(line_of(exchange, link))
        previous = concept_of[tail_of(exchange.id)]
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

"""Concepts (spec V3): subjects that exchanges of many sessions share, one document each, with links to the exchanges.

Without a model an exchange joins the concept it has most files and keywords in common with, else it makes a new one.
What a concept is known by stays small, so that one that has grown does not draw everything to itself.
"""

from __future__ import annotations

import hashlib

from gitmem.document.document import Document, as_texts, flow
from gitmem.document.ids import ALPHABET, file_name_of, is_id, scopes_in
from gitmem.document.message import link, one_line
from gitmem.facts.compare import overlap, stems_of
from gitmem.platform.clock import UTC, datetime
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitmem.sessions.exchange import Exchange


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
_DIGITS = 10


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
    number = int.from_bytes(hashlib.sha256(f"{KIND}\0{first}".encode()).digest()[:8], "big")
    return "k" + "".join(ALPHABET[(number >> 5 * place) & 31] for place in reversed(range(_DIGITS)))


def concept_path(identifier: str, name: str) -> str:
    """Return the file of a new concept."""
    return f"{FOLDER}/{file_name_of(identifier, name)}"


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
    last = concepts.get(before)
    soon = last is not None and _seconds(last.updated, _when(exchange)) < _SOON
    best, score = None, 0.0
    for concept in concepts.values():
        common = affinity(exchange, concept)
        if concept is last:
            common += _GOES_ON if soon else _GOES_ON / 2
        elif _shared(exchange, concept) < _FEWEST:
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
    path = concept_path(identifier, name)
    words, files = tuple(exchange.keywords[:MAX_KEYWORDS]), tuple(exchange.files[:MAX_FILES])
    return Concept(path, identifier, name, when, when, words, files, (exchange.id,), (), scopes_in(exchange.tags))


def joined(concept: Concept, exchange: Exchange) -> Concept:
    """Return a concept with one more exchange; its files and keywords move to the front."""
    return concept._replace(
        keywords=_moved(concept.keywords, exchange.keywords, MAX_KEYWORDS),
        files=_moved(concept.files, exchange.files, MAX_FILES),
        exchanges=tuple(sorted({*concept.exchanges, exchange.id})),
        updated=max(concept.updated, _when(exchange)),
        scope=tuple(sorted({*concept.scope, *scopes_in(exchange.tags)})),
    )


def renamed(before: Concept, after: Concept) -> Concept:
    """Return a young concept renamed by its present words, unless a person named it."""
    if has_own_name(before):
        return after
    return after._replace(name=name_of(after.keywords, after.files, after.name))


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
    if given.get("kind") != KIND or not given.get("id"):
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
    for key in ("keywords", "files", "scope", "exchanges", "merged"):
        if values := list(getattr(concept, key)):
            head.append(f"{key}: {flow(values)}")
    return "\n".join([*head, "---", f"# {concept.name}", "", f"## {SECTION}", "", *lines, ""]).encode(
        "utf-8", "replace"
    )


def render_changed(data: bytes, concept: Concept, lines: Sequence[str], without: Iterable[str] = ()) -> bytes:
    """Return a concept's file with another header, lines added and some exchanges removed; all else stays."""
    document = Document.parse(data)
    before = parse_concept(data, concept.path)
    for key in ("name", "updated", "keywords", "files", "scope", "exchanges", "merged"):
        value = getattr(concept, key)
        if before is None or value != getattr(before, key):
            document = document.set(key, list(value) if isinstance(value, tuple) else _written(key, value))
    gone = tuple(f" {one}" for one in without)
    kept = [line for line in document.body.rstrip().split("\n") if not (gone and line.rstrip().endswith(gone))]
    known = {line.rstrip().rpartition(" ")[2] for line in kept}
    kept += [line for line in lines if line.rpartition(" ")[2] not in known]
    if before is not None and before.name != concept.name:
        kept = [f"# {concept.name}" if line.rstrip() == f"# {before.name}" else line for line in kept]
    return document.with_body(document.newline.join([*(line.rstrip("\r") for line in kept), ""])).render()


def lines_of(body: str) -> list[tuple[str, str]]:
    """Return the lines of a concept's exchanges, each with its id."""
    found = []
    for line in body.split("\n"):
        bare = line.rstrip()
        identifier = bare.rpartition(" ")[2]
        if bare.startswith("- ") and is_id(identifier):
            found.append((identifier, bare))
    return found


def link_of(line: str) -> str:
    """Return the path in the store that the line of an exchange links to, "" if it has no link."""
    return line.rpartition("](../")[2].rpartition(") ")[0]


def _written(key: str, value: str) -> object:
    return datetime.fromisoformat(value) if key == "updated" else value


def _moved(known: Sequence[str], new: Sequence[str], most: int) -> tuple[str, ...]:
    """Return names without regard to case: first those that came again, then new ones, then the rest."""
    again = {one.casefold() for one in new}
    front = {one.casefold(): one for one in known if one.casefold() in again}
    merged = {**front, **{one.casefold(): front.get(one.casefold(), one) for one in new}}
    rest = [one for one in known if one.casefold() not in merged]
    return tuple([*merged.values(), *rest][:most])


def _shared(exchange: Exchange, concept: Concept) -> int:
    files = _folded(exchange.files) & _folded(concept.files)
    return len(files) + len(_stems(exchange.keywords) & _stems(concept.keywords))


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for word in words for stem in (stems_of(word) or {word.casefold()}))


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)


def _when(exchange: Exchange) -> str:
    """Return the time of an exchange in UTC; a time without a zone counts as UTC."""
    at = exchange.at or datetime.fromisoformat(exchange.time).replace(tzinfo=UTC)
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def _seconds(before: str, after: str) -> float:
    try:
        return (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds()
    except (ValueError, TypeError):  # a person wrote another date into the header
        return float("inf")


def _moment(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if value else ""

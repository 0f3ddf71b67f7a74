"""A concept as a value, and how its file is read (docs/format.md, "Concepts"). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gitmem.document.document import Document, as_texts
from gitmem.document.ids import agreed_id, file_name_of, is_id, scopes_in
from gitmem.document.message import link, one_line
from gitmem.document.plain_header import flow
from gitmem.model.exchange import Exchange
from gitmem.model.fact import hashed_id
from gitmem.model.similarity import JOINS, likeness_of_work, stems_of
from gitmem.platform.machine import UTC, datetime
from gitmem.values import Value

SECTION = "Exchanges"
OFFLINE = "offline"
MAX_KEYWORDS, MAX_FILES = 10, 12
_FEWEST = 2  # files and keywords in common with an exchange that joins
_NAMED_AFTER = 8  # exchanges from which the name stays
_NAMES = 3  # files and names in a name
_LONGEST_NAME = 60  # characters
_NAME = re.compile(r"[._/-]\w|\w[A-Z]|[0-9]")  # in a keyword that names something: `max_age`, `useTheme`, `utf8`
_LISTS = ("keywords", "files", "scope", "exchanges")  # of a header, in order


def concept_id(first: str) -> str:
    """Return the id of the concept that starts with an exchange; the same on every machine."""
    return hashed_id("k", KIND, first)


def affinity(exchange: Exchange | Concept, concept: Concept) -> float:
    """Return how much an exchange, or another concept, and a concept have in common, from 0 to 1.

    It is the mean of the overlap of their files and that of their keywords, each |A∩B| / min(|A|, |B|), ignoring case,
    and 0 if one is empty. If neither has files, it is the overlap of keywords.
    """
    files = _folded(exchange.files), _folded(concept.files)
    return likeness_of_work(files, (_stems(exchange.keywords), _stems(concept.keywords)))


def choose(exchange: Exchange, concepts: Mapping[str, Concept]) -> Concept | None:
    """Return the concept with the greatest affinity to an exchange, the newest of equals; None for a new concept."""
    best, score = None, (JOINS, "")
    for concept in concepts.values():
        files = _folded(exchange.files) & _folded(concept.files)
        shared = len(files) + len(_stems(exchange.keywords) & _stems(concept.keywords))
        rank = affinity(exchange, concept), concept.updated
        if shared >= _FEWEST and rank > score:
            best, score = concept, rank
    return best


def name_of(keywords: Sequence[str], files: Sequence[str]) -> str:
    """Return a concept's name from its first file and the names among its keywords, or "" if it has neither.

    Words such as "timeouts, pushed, future" name nothing.
    """
    file = files[0].rpartition("/")[2] if files else ""
    names = [word for word in keywords if _NAME.search(word) and word.casefold() not in file.casefold()]
    joined_names = ", ".join(names[: _NAMES - bool(file)])
    return f"{file}: {joined_names}" if file and joined_names else file or joined_names


def begun(exchange: Exchange) -> Concept:
    """Return a new concept with one exchange."""
    identifier = concept_id(exchange.id)
    name = name_of(exchange.keywords, exchange.files) or one_line(exchange.summary, _LONGEST_NAME)
    when = _when(exchange)
    words, files = tuple(exchange.keywords[:MAX_KEYWORDS]), tuple(exchange.files[:MAX_FILES])
    path = f"{FOLDER}/{file_name_of(identifier, name)}"
    return Concept(path, identifier, name, when, when, words, files, (exchange.id,), scopes_in(exchange.tags))


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
    """Return whether a concept's name is fixed: it has grown, or a user or a model named it."""
    return len(concept.exchanges) >= _NAMED_AFTER or concept.name != name_of(concept.keywords, concept.files)


def line_of(exchange: Exchange, path: str) -> str:
    """Return the line of an exchange in a concept's list; `path` is its session's file in the store."""
    return f"- {exchange.time[:10]} {link(exchange.summary, f'../{path}')} {exchange.id}"


def render_new(concept: Concept, lines: Sequence[str]) -> bytes:
    """Return the file of a new concept."""
    head = ["---", f"id: {concept.id}", f"kind: {KIND}", f"name: {flow(concept.name)}", f"created: {concept.created}"]
    head += [f"updated: {concept.updated}", f"method: {OFFLINE}"]
    head += [f"{key}: {flow(list(values))}" for key in _LISTS if (values := getattr(concept, key))]
    body = [f"# {concept.name}", "", f"## {SECTION}", "", *lines, ""]
    return "\n".join([*head, "---", *body]).encode("utf-8", "replace")


def render_changed(data: bytes, concept: Concept, lines: Sequence[str], without: Iterable[str] = ()) -> bytes:
    """Return a concept's file with a new header, lines added and some exchanges removed; all else stays."""
    document = Document.parse(data)
    before = parse_concept(data, concept.path)
    for key in ("name", "updated", *_LISTS):
        value = getattr(concept, key)
        if before is None or value != getattr(before, key):
            value = datetime.fromisoformat(value) if key == "updated" else value
            document = document.set(key, list(value) if isinstance(value, tuple) else value)
    gone = tuple(f" {exchange}" for exchange in without)
    remaining = [line for line in document.body.rstrip().split("\n") if not (gone and line.rstrip().endswith(gone))]
    known = {line.rstrip().rpartition(" ")[2] for line in remaining}
    remaining += [line for line in lines if line.rpartition(" ")[2] not in known]
    if before is not None and before.name != concept.name:
        remaining = [f"# {concept.name}" if line.rstrip() == f"# {before.name}" else line for line in remaining]
    return document.with_body(document.newline.join([*(line.rstrip("\r") for line in remaining), ""])).render()


def lines_of(body: str) -> list[tuple[str, str]]:
    """Return the lines of a concept's exchanges, each with its id."""
    lines = [line.rstrip() for line in body.split("\n") if line.startswith("- ")]
    return [(identifier, line) for line in lines if is_id(identifier := line.rpartition(" ")[2])]


def link_of(line: str) -> str:
    """Return the path in the store that the line of an exchange links to, "" if it has no link."""
    return line.rpartition("](../")[2].rpartition(") ")[0]


def _moved(known: Sequence[str], new: Sequence[str], most: int) -> tuple[str, ...]:
    """Merge names, ignoring case: first known ones that came again, then new ones, then the rest."""
    again = {name.casefold() for name in new}
    front = {name.casefold(): name for name in known if name.casefold() in again}
    merged = {**front, **{name.casefold(): front.get(name.casefold(), name) for name in new}}
    rest = [name for name in known if name.casefold() not in merged]
    return tuple([*merged.values(), *rest][:most])


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for word in words for stem in (stems_of(word) or {word.casefold()}))


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, names))


def _when(exchange: Exchange) -> str:
    """Return the time of an exchange in UTC; a time without a zone counts as UTC."""
    at = exchange.at or datetime.fromisoformat(exchange.time).replace(tzinfo=UTC)
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")


FOLDER = "concepts"
KIND = "concept"


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
    scope: tuple[str, ...] = ()  # the parts of the project that its exchanges are of


def parse_concept(data: bytes, path: str) -> Concept | None:
    """Return the concept of a document, None if it is none."""
    header = Document.parse(data).metadata
    if header.get("kind") != KIND or not agreed_id(header.get("id"), path):
        return None
    created, name = _moment(header.get("created")), str(header.get("name") or header["id"])
    lists = {key: as_texts(header.get(key)) for key in _LISTS}
    lists["exchanges"] = tuple(sorted(lists["exchanges"]))
    return Concept(path, str(header["id"]), name, created, _moment(header.get("updated")) or created, **lists)


def _moment(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value or "")

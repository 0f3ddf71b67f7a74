"""A permanent fact, and its file: the format of the host's own memory files with more fields.

The fields of the host (Claude Code) are `name`, `description` and `metadata.type`; the body states the fact in a user's
words. A change is made in the bytes read, so that what a user wrote into the file (other fields, comments, their order)
stays (docs/format.md, "Facts"). A session's start reads hundreds of facts from a cache, so this module imports neither
YAML nor `dataclasses`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial

from gitmem.document.document import BrokenHeaderError, Document, as_moment, as_text, as_texts
from gitmem.document.entry import clean_text, is_purged
from gitmem.document.ids import ALPHABET, FACTS, agreed_id, digest, file_name_of, is_fact_id, slug
from gitmem.document.message import one_line
from gitmem.document.plain_header import flow, plain_value
from gitmem.platform.machine import UTC, datetime
from gitmem.text.words import keywords
from gitmem.values import Any, TypeVar, Value

T = TypeVar("T", bound=StrEnum)


FOLDER = FACTS
CONFIRMED = 1.0  # the confidence of a fact that a user confirmed
MAX_DESCRIPTION = 200  # characters, on one line
_NAME_LENGTH = 60
_MAX_KEYWORDS = 8
_DIGEST = 10  # characters of an id after its letter
PATH = re.compile(rf"{FOLDER}/(?P<kind>[a-z-]+)/(?P<id>[a-z][{ALPHABET}]{{{_DIGEST}}})(?:-[^/]*)?\.md")
_BLANKS = re.compile(r"\s+")
_END_MARKS = " .!?。！？…"  # noqa: RUF001  # ignored when fact ids are computed


class FactKind(StrEnum):
    """The kind of a fact, also the first letter of its id."""

    DECISION = "decision"
    PREFERENCE = "preference"
    RULE = "rule"
    SOLUTION = "solution"
    CORE_LOGIC = "core-logic"
    PATTERN = "pattern"
    ISSUE = "issue"

    @property
    def letter(self) -> str:
        """Return the first letter of ids of this kind: `d`, `p`, `i` as in older tools; `f` for a preference."""
        return "f" if self is FactKind.PREFERENCE else self.value[0]

    @property
    def word(self) -> str:
        """Return what a user calls the kind: the type of the save that made it."""
        return {"solution": "error_fix", "core-logic": "learning"}.get(self.value, self.value)

    @property
    def host_type(self) -> str:
        """Return the host's `metadata.type`: user, feedback, project or reference."""
        return {"preference": "user", "rule": "feedback", "solution": "reference"}.get(self.value, "project")


class FactStatus(StrEnum):
    """The status of a fact: `active` and `open` ones bind."""

    ACTIVE = "active"
    OPEN = "open"
    RESOLVED = "resolved"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    PURGED = "purged"  # its words are gone; never stored in a file


BINDING = (FactStatus.ACTIVE, FactStatus.OPEN)
UNDATED = datetime.fromtimestamp(0, UTC)  # creation time of a fact whose file has none
WHY = "**Why:**"  # begins the paragraph with a fact's reason


class Fact(Value):
    """A fact. `text` is its body, `description` its first line; an unknown field is "", empty or None.

    `confidence` is from 0 to 1. `origin` is where it was first learned: `tool`, `id` (its name there), `session`,
    `exchange`, `commit`, `by` (the model that found it), and `word` (`agent` if it quotes the agent).
    `sources` are all entries, exchanges and sessions that state it. `files` are the project's files it is about, as of
    `commit` on `branch`; `lines` are digests of the lines in them that it mentions (`gitmem.project.places`); `scope`
    are the parts of the project it applies to; empty: all. `until` is the date, phase or event that ends it; `forbids`
    are literals that the user forbade to write or run, `enforce` is `ask` or `deny` if the agent is to ask or refuse.
    `review` are the ids of facts that contradict it, until a user decides; `pinned` ones are shown at every start.
    `file` is the path it was read from, `source` its content; both are empty for a new fact, `source` and `text` for
    one from the cache of headers.
    """

    id: str
    kind: FactKind
    text: str
    created: datetime
    name: str = ""
    description: str = ""
    updated: datetime | None = None
    status: FactStatus = FactStatus.ACTIVE
    confidence: float | None = None
    origin: Mapping[str, str] = {}  # never changed
    sources: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    commit: str = ""
    branch: str = ""
    lines: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    pinned: bool = False
    until: str = ""
    forbids: tuple[str, ...] = ()
    enforce: str = ""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    review: tuple[str, ...] = ()
    file: str = ""
    source: bytes = b""

    @property
    def path(self) -> str:
        """Return the path it was read from, or of its new file."""
        if self.file:
            return self.file
        return f"{FOLDER}/{self.kind.value}/{file_name_of(self.id, self.description or self.text)}"

    @property
    def binds(self) -> bool:
        """Return whether sessions are shown the fact as in force."""
        return self.status in BINDING

    @property
    def has_two_versions(self) -> bool:
        """Return whether a merge left two texts in its file: `review` then names a section, not a fact."""
        return not all(map(is_fact_id, self.review))

    @property
    def is_reworded(self) -> bool:
        """Return whether its text was changed since its name was made of it."""
        is_changed = bool(self.updated and self.name and not self.adopted)
        return is_changed and self.name != _named(self.kind, self.description)

    @property
    def when(self) -> datetime:
        """Return when it was last stated or changed."""
        return self.updated or self.created

    @property
    def found_by(self) -> str:
        """Return the model that found it, "" if none did, or a user confirmed or pinned it."""
        return "" if self.pinned or self.confidence == CONFIRMED else self.origin.get("by", "")

    def is_over(self, today: str) -> bool:
        """Return whether its `until` is a day that has passed; False for a phase or a branch."""
        return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", self.until) is not None and self.until < today

    @property
    def session(self) -> str:
        """Return the session it was first learned in."""
        return self.origin.get("session", "")

    @property
    def adopted(self) -> str:
        """Return the agent's memory file that it mirrors, as MACHINE/FILE, or ""."""
        machine, name = self.origin.get("machine"), self.origin.get("id")
        return f"{machine}/{name}" if machine and name else ""


def day_of(moment: datetime) -> str:
    """Return the day of a fact, as it is shown."""
    return "undated" if moment == UNDATED else f"{moment:%Y-%m-%d}"


def make_fact(kind: FactKind, text: str, created: datetime, **more: Any) -> Fact:
    """Return a new fact, with an id from its whole text, name and description from the first paragraph."""
    text = clean_text(text)
    description = one_line(str(more.pop("description", "")) or text.split("\n\n")[0], MAX_DESCRIPTION)
    name = _named(kind, description)
    status = FactStatus.OPEN if kind is FactKind.ISSUE else FactStatus.ACTIVE
    fact = Fact(fact_id(kind, text), kind, text, created, name, description, status=status)
    return fact._replace(**more)


def _named(kind: FactKind, description: str) -> str:
    return slug(description, length=_NAME_LENGTH) or kind.value


def fact_id(kind: FactKind, text: str) -> str:
    """Return a fact's id: its kind's letter, and a digest of its text without case, blanks and full stop."""
    import unicodedata  # not needed by the start of a session

    words = unicodedata.normalize("NFC", _BLANKS.sub(" ", text).strip().rstrip(_END_MARKS).casefold())
    return hashed_id(kind.letter, kind.value, words.encode("utf-8", "replace").decode())


def hashed_id(letter: str, *content: str) -> str:
    """Return the id of a fact or a concept by its letter and content."""
    number = int.from_bytes(digest(*content)[:8], "big")
    return letter + "".join(ALPHABET[(number >> 5 * place) & 31] for place in reversed(range(_DIGEST)))


def fact_keywords(text: str) -> tuple[str, ...]:
    """Return the keywords of a fact, each stem once, in order."""
    shown: dict[str, str] = {}
    for stem, word in keywords(text):
        shown.setdefault(stem, word.strip("._/-").casefold())
    return tuple(filter(None, dict.fromkeys(shown.values())))[:_MAX_KEYWORDS]


def is_fact_path(path: str) -> bool:
    """Return whether a path is the path of a fact."""
    return PATH.fullmatch(path) is not None


# Links that a session's end adds after the text (`gitmem.record.exchanges.with_links`).
_FENCE, _FENCES = re.compile(r"^---", re.MULTILINE), 8  # how many `---` of a body are looked at
_LINKS = re.compile(r"(?<!\s)\s*\n[ \t]*## Links[ \t\r]*\n\s*(?:- session: \[[^\]\n]*\]\([^)\n]*\)\s*)+\Z")


def _member(kind: type[T], value: object) -> T | None:
    return next((member for member in kind if member.value == value), None)


def _share(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


# The keys of the header in order, and how each is read.
_HEADER: Mapping[str, Callable[[object], Any]] = {
    **dict.fromkeys(("name", "description", "id"), as_text),
    "kind": partial(_member, FactKind),
    "status": partial(_member, FactStatus),
    "created": as_moment,
    "updated": as_moment,
    "confidence": _share,
    "origin": lambda value: {key: as_text(item) for key, item in value.items()} if isinstance(value, dict) else {},
    "sources": as_texts,
    "keywords": as_texts,
    "files": as_texts,
    "commit": as_text,
    "branch": as_text,
    "lines": as_texts,
    "scope": as_texts,
    "supersedes": as_texts,
    "superseded_by": as_text,
    "until": as_text,
    "forbids": as_texts,
    "enforce": as_text,
    "review": as_texts,
    "pinned": lambda value: value is True,
}
UNSEARCHED = frozenset(_HEADER) - {"keywords"}


def parse_fact(data: bytes, path: str = "") -> Fact | None:
    """Return the fact of a file, None without a fact's header, an id and kind (also from the path), or with two ids."""
    document, named = Document.parse(data), PATH.fullmatch(path)
    header = document.metadata  # empty if the header is missing, broken, or follows another tool's
    if _HEADER.keys().isdisjoint(header):
        return None
    fields = {key: read(header.get(key)) for key, read in _HEADER.items()}
    if named:
        header_id = named["id"] if header.get("id") in {None, ""} else header["id"]
        fields |= {"id": header_id, "kind": fields["kind"] or _member(FactKind, named["kind"])}
    fields["id"] = agreed_id(fields["id"], path)
    if fields["kind"] is None or not fields["id"] or _has_header(document.body, str(fields["id"])):
        return None
    fields["created"] = fields["created"] or UNDATED
    is_issue = fields["kind"] is FactKind.ISSUE
    fields["status"] = fields["status"] or (FactStatus.OPEN if is_issue else FactStatus.ACTIVE)
    text = clean_text(without_links(document.body))
    if is_purged(text.split("\n\n", maxsplit=1)[0]):
        fields["status"] = FactStatus.PURGED
    return Fact(text=text, file=path, source=data, **fields)


def _has_header(body: str, identifier: str) -> bool:
    """Return whether a body has another header of the same fact: two versions of a file were joined."""
    places = [match.start() for match in _FENCE.finditer(body)] if "---" in body else []
    headers = (Document.parse(body[place:].encode("utf-8", "surrogateescape")).metadata for place in places[:_FENCES])
    return any(header.get("id") == identifier for header in headers)


def without_links(body: str) -> str:
    """Return the body of a fact's file without the links that a session's end added."""
    return _LINKS.sub("", body)


def parse_changeable(data: bytes | None, path: str) -> Fact | None:
    """Return the fact of a file whose header can be changed, None for any other file."""
    fact = parse_fact(data, path) if data is not None else None
    return fact if fact is not None and Document.parse(fact.source).problem is None else None


def render_fact(fact: Fact) -> bytes:
    """Render a fact's file, rewriting only changed fields of an existing one. Raises BrokenHeaderError."""
    if not fact.source:
        return ("\n".join(["---", *_header(fact), "---", fact.text]).rstrip("\n") + "\n").encode("utf-8", "replace")
    document = Document.parse(fact.source)
    if document.problem is not None:
        raise BrokenHeaderError(document.problem)
    before = parse_fact(fact.source)
    for key in _HEADER:
        value = getattr(fact, key)
        if before is None or value != getattr(before, key):
            is_empty = value in ("", (), None) or value is False
            document = document.remove(key) if is_empty else document.set(key, plain_value(value))
    if before is None or fact.text != before.text:
        newline, links = document.newline, _LINKS.search(document.body)
        ends = [fact.text.replace("\n", newline), *(["", links[0].strip()] if links else []), ""]
        document = document.with_body(newline.join(ends))
    return document.render()


def _header(fact: Fact) -> list[str]:
    """Return the lines of a new fact's header in order, without empty fields."""
    lines = []
    for key in _HEADER:
        value = getattr(fact, key)
        if value not in (None, "", (), {}) and value is not False:
            is_time = isinstance(value, datetime)
            lines.append(f"{key}: {value.isoformat(timespec='seconds') if is_time else flow(plain_value(value))}")
    # Nested as the host writes it.
    return [*lines[:2], "metadata:", f"  type: {fact.kind.host_type}", *lines[2:]]

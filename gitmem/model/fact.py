"""A permanent fact (spec V4 to V7, P3): one file, in the shape of the host's own memory files, and what ours adds.

The host's (Claude Code's) are `name`, `description` and `metadata.type`; the body is what the fact says, in a person's
words. What a person wrote into a file (other fields, comments, their order) stays when a fact is changed: a change is
made in the document it was read from (docs/format.md, "Facts").
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, TypeVar

from gitmem.model.document import BrokenHeaderError, Document
from gitmem.model.ids import ALPHABET
from gitmem.model.message import one_line
from gitmem.model.paths import slug
from gitmem.model.yamlvalue import flow, plain_value

T = TypeVar("T", bound=StrEnum)

FOLDER = "facts"
MAX_DESCRIPTION = 200  # characters, on one line
_NAME_LENGTH = 60
_DIGEST = 10  # characters of an id after its letter
_PATH = re.compile(rf"{FOLDER}/(?P<kind>[a-z-]+)/(?P<id>[a-z][{ALPHABET}]{{{_DIGEST}}})(?:-[^/]*)?\.md")
_BLANKS = re.compile(r"\s+")
_END_MARKS = " .!?。！？…"  # noqa: RUF001  # said with or without, a sentence is the same


class FactKind(StrEnum):
    """What a fact is; the first letter of its id says so too (spec P3, V4)."""

    DECISION = "decision"
    PREFERENCE = "preference"
    RULE = "rule"
    SOLUTION = "solution"
    CORE_LOGIC = "core-logic"
    PATTERN = "pattern"
    ISSUE = "issue"

    @property
    def letter(self) -> str:
        """The letter that ids of this kind begin with: `d`, `p`, `i` as in the seed; a preference's is `f`."""
        return {"preference": "f", "core-logic": "c"}.get(self.value, self.value[0])

    @property
    def host_type(self) -> str:
        """The host's own word for it, its `metadata.type`: user, feedback, project or reference."""
        return {"preference": "user", "rule": "feedback", "solution": "reference"}.get(self.value, "project")


class FactStatus(StrEnum):
    """Whether a fact binds: `active` and `open` ones do."""

    ACTIVE = "active"
    OPEN = "open"
    RESOLVED = "resolved"
    SUPERSEDED = "superseded"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact. `text` is its body; `description` says it on one line; what is not known is "", empty or None.

    `confidence` is from 0 to 1. `origin` says where it was first learned: `tool`, `id` (what it was called there),
    `session`, `exchange`, `commit`; `sources` are all entries, exchanges and sessions that say it. `files` and `commit`
    are what of the project's code it speaks of, and as of which commit. `review` are the ids of facts that contradict
    it, of which a person is to say which holds (spec V6). `document` is the file it was read from.
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
    origin: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    commit: str = ""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    review: tuple[str, ...] = ()
    document: Document | None = field(default=None, compare=False, repr=False)

    @property
    def path(self) -> str:
        """The file of a fact that has none yet."""
        words = slug(self.description or self.text)
        return f"{FOLDER}/{self.kind.value}/{self.id}{f'-{words}' if words else ''}.md"

    @property
    def binds(self) -> bool:
        """Whether a session should be told it as something that holds."""
        return self.status in (FactStatus.ACTIVE, FactStatus.OPEN)


def make_fact(kind: FactKind, text: str, created: datetime, **more: Any) -> Fact:
    """Return a new fact: its id is of its whole text, its name and its description of the first paragraph."""
    text = _text(text)
    description = one_line(str(more.pop("description", "")) or text.split("\n\n")[0], MAX_DESCRIPTION)
    name = slug(description, length=_NAME_LENGTH) or kind.value
    status = FactStatus.OPEN if kind is FactKind.ISSUE else FactStatus.ACTIVE
    given = Fact(fact_id(kind, text), kind, text, created, name, description, status=status)
    return replace(given, **more)


def fact_id(kind: FactKind, text: str) -> str:
    """Return the id of a fact: the letter of its kind, and a digest of what it says.

    Two machines that learn the same thing make the same file of it, whatever its case, blanks and full stop.
    """
    words = unicodedata.normalize("NFC", _BLANKS.sub(" ", text).strip().rstrip(_END_MARKS).casefold())
    digest = hashlib.sha256(f"{kind.value}\0{words}".encode("utf-8", "replace")).digest()
    number = int.from_bytes(digest[:8], "big")
    return kind.letter + "".join(ALPHABET[(number >> 5 * place) & 31] for place in reversed(range(_DIGEST)))


def is_fact_path(path: str) -> bool:
    """Say whether a path is that of a fact."""
    return _PATH.fullmatch(path) is not None


def parse_fact(data: bytes, path: str = "") -> Fact | None:
    """Return the fact of a file, read tolerantly; None where it has no id and no kind, not even in its name.

    A file of the host's own has neither: `path` may give them, and `metadata.type` stands for the kind then.
    """
    document = Document.parse(data)
    given = document.metadata
    named = _PATH.fullmatch(path)
    kind = _member(FactKind, given.get("kind")) or (_member(FactKind, named["kind"]) if named else None)
    identifier = _scalar(given.get("id")) or (named["id"] if named else "")
    if kind is None or not identifier:
        return None
    confidence = given.get("confidence")
    origin = given.get("origin")
    default = FactStatus.OPEN if kind is FactKind.ISSUE else FactStatus.ACTIVE
    return Fact(
        id=identifier,
        kind=kind,
        text=_text(document.body),
        created=_moment(given.get("created")) or datetime.fromtimestamp(0, UTC),
        name=_scalar(given.get("name")),
        description=_scalar(given.get("description")),
        updated=_moment(given.get("updated")),
        status=_member(FactStatus, given.get("status")) or default,
        confidence=_share(confidence),
        origin={key: _scalar(value) for key, value in origin.items()} if isinstance(origin, dict) else {},
        sources=_list(given.get("sources")),
        keywords=_list(given.get("keywords")),
        files=_list(given.get("files")),
        commit=_scalar(given.get("commit")),
        supersedes=_list(given.get("supersedes")),
        superseded_by=_scalar(given.get("superseded_by")),
        review=_list(given.get("review")),
        document=document,
    )


def render_fact(fact: Fact) -> bytes:
    """Return a fact's file: a new one, or the one it was read from with what has changed, and nothing else.

    Raises:
        BrokenHeaderError: the header of that file cannot be read, so nothing can be changed in it.

    """
    if fact.document is None:
        return ("\n".join(["---", *_header(fact), "---", fact.text]).rstrip("\n") + "\n").encode("utf-8", "replace")
    document = fact.document
    if document.problem is not None:
        raise BrokenHeaderError(document.problem)
    before = parse_fact(document.render())
    for key in _written(fact, before):
        value = getattr(fact, key)
        document = document.remove(key) if value in ("", (), None) else document.set(key, plain_value(value))
    if before is None or fact.text != before.text:
        newline = document.newline
        document = document.with_body(fact.text.replace("\n", newline) + newline)
    return document.render()


def _written(fact: Fact, before: Fact | None) -> list[str]:
    """Return the fields that differ from what the document says."""
    names = [one.name for one in fields(Fact) if one.name not in ("document", "text")]
    return [name for name in names if before is None or getattr(fact, name) != getattr(before, name)]


def _header(fact: Fact) -> list[str]:
    """Return the lines of a new fact's header in order, as far as they have something to say."""
    given: dict[str, object] = {
        "name": fact.name,
        "description": fact.description,
        "id": fact.id,
        "kind": fact.kind.value,
        "status": fact.status.value,
        "created": fact.created,
        "updated": fact.updated,
        "confidence": fact.confidence,
        "origin": dict(fact.origin),
        "sources": fact.sources,
        "keywords": fact.keywords,
        "files": fact.files,
        "commit": fact.commit,
        "supersedes": fact.supersedes,
        "superseded_by": fact.superseded_by,
        "review": fact.review,
    }
    lines = [f"{key}: {_flow(value)}" for key, value in given.items() if value not in (None, "", (), {})]
    # Where the host has it, and as it writes it.
    return [*lines[:2], "metadata:", f"  type: {fact.kind.host_type}", *lines[2:]]


def _flow(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else flow(plain_value(value))


def _text(body: str) -> str:
    """Return a body as a fact holds it."""
    from gitmem.model.entry import clean_text

    return clean_text(body)


def _scalar(given: object) -> str:
    return "" if given is None or isinstance(given, list | dict) else str(given)


def _list(given: object) -> tuple[str, ...]:
    items = given if isinstance(given, list) else [given]
    return tuple(filter(None, map(_scalar, items)))


def _member(kind: type[T], given: object) -> T | None:
    return next((one for one in kind if one.value == given), None)


def _share(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return float(given) if 0 <= given <= 1 else None


def _moment(given: object) -> datetime | None:
    """Return a date of a header as a moment; YAML reads one as `date`, `datetime` or text."""
    try:
        if isinstance(given, datetime):
            found = given
        elif isinstance(given, date):
            found = datetime.combine(given, datetime.min.time())
        else:
            found = datetime.fromisoformat(str(given))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)

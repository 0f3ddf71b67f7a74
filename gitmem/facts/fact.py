"""A permanent fact (spec V4 to V7, P3) as a value; `gitmem.facts.file` reads and writes its file.

A session's start reads hundreds of facts from a cache, so this module brings neither YAML nor `dataclasses`.
"""

from __future__ import annotations

import re
from enum import StrEnum

from gitmem.document.ids import ALPHABET, FACTS, file_name_of, slug
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any


FOLDER = FACTS
MAX_DESCRIPTION = 200  # characters, on one line
_NAME_LENGTH = 60
_DIGEST = 10  # characters of an id after its letter
PATH = re.compile(rf"{FOLDER}/(?P<kind>[a-z-]+)/(?P<id>[a-z][{ALPHABET}]{{{_DIGEST}}})(?:-[^/]*)?\.md")
_BLANKS = re.compile(r"\s+")
_END_MARKS = " .!?。！？…"  # noqa: RUF001  # said with or without, a sentence is the same


class FactKind(StrEnum):
    """The kind of a fact, also the first letter of its id (spec P3, V4)."""

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
        return {"preference": "f", "core-logic": "c"}.get(self.value, self.value[0])

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


BINDING = (FactStatus.ACTIVE, FactStatus.OPEN)


class Fact(Value):
    """A fact. `text` is its body, `description` its first line; an unknown field is "", empty or None.

    `confidence` is from 0 to 1. `origin` says where it was first learned: `tool`, `id` (its name there),
    `session`, `exchange`, `commit`, and `by`, the model that judged it.
    `sources` are all entries, exchanges and sessions with it. `files` are the
    project's files it is about, as of `commit` on `branch`; `lines` are digests of the lines in them that it speaks of
    (`gitmem.project.code`); `scope` are the parts of the project it is of, none: all of it.
    `review` are the ids of facts that contradict it, to be decided by a person (spec V6); `pinned` ones are told at
    every start. `file` is the path it was read from, `source` its content; both are empty for a new fact, `source` and
    `text` for one out of the cache of headers.
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
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    review: tuple[str, ...] = ()
    file: str = ""
    source: bytes = b""

    @property
    def path(self) -> str:
        """Return the path it was read from, else the path of a new file."""
        if self.file:
            return self.file
        return f"{FOLDER}/{self.kind.value}/{file_name_of(self.id, self.description or self.text)}"

    @property
    def binds(self) -> bool:
        """Return whether sessions are told the fact as valid."""
        return self.status in BINDING

    @property
    def is_reworded(self) -> bool:
        """Return whether its words are not those of its name, which it got when it was made."""
        return bool(
            self.updated and self.name and not self.adopted and self.name != _named(self.kind, self.description)
        )

    @property
    def when(self) -> datetime:
        """Return when it was last stated or changed."""
        return self.updated or self.created

    @property
    def session(self) -> str:
        """Return the session it was first learned in."""
        return self.origin.get("session", "")

    @property
    def adopted(self) -> str:
        """Return the file of an agent's own memory that it mirrors, as MACHINE/FILE; "" if none."""
        machine, name = self.origin.get("machine"), self.origin.get("id")
        return f"{machine}/{name}" if machine and name else ""


def make_fact(kind: FactKind, text: str, created: datetime, **more: Any) -> Fact:
    """Return a new fact: its id is of its whole text, its name and its description of the first paragraph."""
    from gitmem.document.message import one_line  # a start and a search make no facts

    text = clean(text)
    description = one_line(str(more.pop("description", "")) or text.split("\n\n")[0], MAX_DESCRIPTION)
    name = _named(kind, description)
    status = FactStatus.OPEN if kind is FactKind.ISSUE else FactStatus.ACTIVE
    fact = Fact(fact_id(kind, text), kind, text, created, name, description, status=status)
    return fact._replace(**more)


def _named(kind: FactKind, description: str) -> str:
    return slug(description, length=_NAME_LENGTH) or kind.value


def fact_id(kind: FactKind, text: str) -> str:
    """Return the id of a fact: the letter of its kind, and a digest of its text.

    Case, blanks and the full stop do not count, so that two machines make the same file of one fact.
    """
    import hashlib  # not needed by the start of a session
    import unicodedata

    words = unicodedata.normalize("NFC", _BLANKS.sub(" ", text).strip().rstrip(_END_MARKS).casefold())
    digest = hashlib.sha256(f"{kind.value}\0{words}".encode("utf-8", "replace")).digest()
    number = int.from_bytes(digest[:8], "big")
    return kind.letter + "".join(ALPHABET[(number >> 5 * place) & 31] for place in reversed(range(_DIGEST)))


def is_fact_path(path: str) -> bool:
    """Return whether a path is the path of a fact."""
    return PATH.fullmatch(path) is not None


def clean(body: str) -> str:
    """Return a text cleaned for a fact's body."""
    from gitmem.document.entry import clean_text

    return clean_text(body)

"""The file of a fact: the format of the host's own memory files, with fields of gitmem's own.

The host's (Claude Code's) are `name`, `description` and `metadata.type`; the body is what the fact says, in a person's
words. What a person wrote into a file (other fields, comments, their order) stays when a fact is changed: a change is
made in the bytes it was read from (docs/format.md, "Facts").
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TypeVar

from gitmem.document.document import BrokenHeaderError, Document
from gitmem.document.plain import as_moment, as_text, as_texts, flow, plain_value
from gitmem.facts.fact import PATH, Fact, FactKind, FactStatus, clean

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from enum import StrEnum

    T = TypeVar("T", bound=StrEnum)


# What a session's end adds behind the text (`gitmem.sessions.exchanges.with_links`).
_LINKS = re.compile(r"\n\s*## Links\s*\n(?:- session: \[[^\]\n]*\]\([^)\n]*\)\s*)+\Z")
_ORDER = (
    *("name", "description", "id", "kind", "status", "created", "updated", "confidence", "origin", "sources"),
    *("keywords", "files", "commit", "branch", "lines", "scope", "supersedes", "superseded_by", "review", "pinned"),
)


def parse_fact(data: bytes, path: str = "") -> Fact | None:
    """Return the fact of a file, read tolerantly; None where it has no id and no kind, not even in its name.

    A file of the host's own has neither: `path` may give them, and `metadata.type` stands for the kind then.
    """
    document = Document.parse(data)
    given = document.metadata
    named = PATH.fullmatch(path)
    kind = _member(FactKind, given.get("kind")) or (_member(FactKind, named["kind"]) if named else None)
    identifier = as_text(given.get("id")) or (named["id"] if named else "")
    if kind is None or not identifier:
        return None
    confidence = given.get("confidence")
    origin = given.get("origin")
    default = FactStatus.OPEN if kind is FactKind.ISSUE else FactStatus.ACTIVE
    return Fact(
        id=identifier,
        kind=kind,
        text=clean(without_links(document.body)),
        created=as_moment(given.get("created")) or datetime.fromtimestamp(0, UTC),
        name=as_text(given.get("name")),
        description=as_text(given.get("description")),
        updated=as_moment(given.get("updated")),
        status=_member(FactStatus, given.get("status")) or default,
        confidence=_share(confidence),
        origin={key: as_text(value) for key, value in origin.items()} if isinstance(origin, dict) else {},
        sources=as_texts(given.get("sources")),
        keywords=as_texts(given.get("keywords")),
        files=as_texts(given.get("files")),
        commit=as_text(given.get("commit")),
        branch=as_text(given.get("branch")),
        lines=as_texts(given.get("lines")),
        scope=as_texts(given.get("scope")),
        supersedes=as_texts(given.get("supersedes")),
        superseded_by=as_text(given.get("superseded_by")),
        review=as_texts(given.get("review")),
        pinned=given.get("pinned") is True,
        file=path,
        source=data,
    )


def without_links(body: str) -> str:
    """Return the body of a fact's file without the links that a session's end added."""
    return _LINKS.sub("", body)


def parse_changeable(data: bytes | None, path: str) -> Fact | None:
    """Return the fact of a file whose header can be changed, None for any other file."""
    fact = parse_fact(data, path) if data is not None else None
    return fact if fact is not None and Document.parse(fact.source).problem is None else None


def render_fact(fact: Fact) -> bytes:
    """Return a fact's file: a new one, or the one it was read from with only the changed fields rewritten.

    Raises:
        BrokenHeaderError: the header of that file cannot be read, so nothing can be changed in it.

    """
    if not fact.source:
        return ("\n".join(["---", *_header(fact), "---", fact.text]).rstrip("\n") + "\n").encode("utf-8", "replace")
    document = Document.parse(fact.source)
    if document.problem is not None:
        raise BrokenHeaderError(document.problem)
    before = parse_fact(fact.source)
    for key in (key for key in _ORDER if before is None or getattr(fact, key) != getattr(before, key)):
        value = getattr(fact, key)
        document = (
            document.remove(key) if value in ("", (), None) or value is False else document.set(key, plain_value(value))
        )
    if before is None or fact.text != before.text:
        newline, links = document.newline, _LINKS.search(document.body)
        ends = [fact.text.replace("\n", newline), *(["", links[0].strip()] if links else []), ""]
        document = document.with_body(newline.join(ends))
    return document.render()


def _header(fact: Fact) -> list[str]:
    """Return the lines of a new fact's header in order, without empty fields."""
    given = ((key, getattr(fact, key)) for key in _ORDER)
    lines = [f"{key}: {_flow(value)}" for key, value in given if value not in (None, "", (), {}) and value is not False]
    # In the host's place and form.
    return [*lines[:2], "metadata:", f"  type: {fact.kind.host_type}", *lines[2:]]


def _flow(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else flow(plain_value(value))


def _member(kind: type[T], given: object) -> T | None:
    return next((one for one in kind if one.value == given), None)


def _share(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return float(given) if 0 <= given <= 1 else None

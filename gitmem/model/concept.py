"""A concept as a value, and how its file is read (docs/format.md, "Concepts"). Pure."""

from __future__ import annotations

from gitmem.document.document import Document, as_texts
from gitmem.document.ids import agreed_id
from gitmem.platform.machine import datetime
from gitmem.values import Value

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
    merged: tuple[str, ...]
    scope: tuple[str, ...] = ()  # the parts of the project that its exchanges are of


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


def _moment(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value or "")

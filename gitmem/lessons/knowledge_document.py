"""The document of one kind of project knowledge, `patterns/project/<kind>.md` (docs/format.md, "Learned patterns")."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from gitmem.document.document import Document
from gitmem.document.plain import as_texts, flow, plain_value
from gitmem.values import Value

FOLDER = "patterns/project"
KIND = "knowledge"
MAX_LINES = 40
_MAX_SOURCES = 40


class KnowledgeKind(StrEnum):
    """The subject of a document; the value is its file's name."""

    STRUCTURE = "structure"
    STACK = "stack"
    COMMANDS = "commands"
    HOTSPOTS = "hotspots"
    CHANGES = "changes"

    @property
    def path(self) -> str:
        """The file of this kind."""
        return f"{FOLDER}/{self.value}.md"


class Knowledge(Value):
    """The knowledge of one kind: its lines, its source files and exchanges, and its confidence."""

    kind: KnowledgeKind
    lines: tuple[str, ...]
    files: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    confidence: float = 1.0
    commit: str = ""
    updated: datetime | None = None


def parse_knowledge(data: bytes) -> Knowledge | None:
    """Return the knowledge of a document, None if it holds none."""
    document = Document.parse(data)
    given = document.metadata
    about = str(given.get("about", ""))
    if given.get("kind") != KIND or about not in set(KnowledgeKind):
        return None
    confidence, updated = given.get("confidence"), given.get("updated") or given.get("created")
    return Knowledge(
        kind=KnowledgeKind(about),
        lines=tuple(line[2:].rstrip() for line in _own(document.body).splitlines() if line.startswith("- ")),
        files=as_texts(given.get("files")),
        sources=as_texts(given.get("sources")),
        confidence=float(confidence) if isinstance(confidence, int | float) else 1.0,
        commit=str(given.get("commit") or ""),
        updated=updated if isinstance(updated, datetime) else None,
    )


def render_knowledge(known: Knowledge, before: bytes | None, now: datetime) -> bytes | None:
    """Return the new document, None if the old one has the same lines; a person's own sections stay.

    Raises:
        ValueError: the header of the old document cannot be changed in place.

    """
    lines = known.lines[:MAX_LINES]
    body = "\n".join([f"# {known.kind.value.capitalize()}", "", *(f"- {line}" for line in lines), ""])
    fields: dict[str, object] = {
        "files": plain_value(known.files[:_MAX_SOURCES]),
        "sources": plain_value(known.sources[-_MAX_SOURCES:]),
        "confidence": round(known.confidence, 2),
        "commit": known.commit,
    }
    stamp = now.astimezone(UTC).replace(microsecond=0)
    if before is None:
        head = {"id": f"knowledge-{known.kind.value}", "kind": KIND, "about": known.kind.value, "created": stamp}
        rows = [f"{key}: {flow(plain_value(value))}" for key, value in {**head, **fields}.items() if value]
        return "\n".join(["---", *rows, "---", body]).encode("utf-8", "replace")
    old = parse_knowledge(before)
    if old is not None and old.lines == lines:
        return None
    document = Document.parse(before)
    for key, value in (*fields.items(), ("updated", stamp)):
        if value:
            document = document.set(key, value)
    theirs = document.body[len(_own(document.body)) :]
    return document.with_body(body + theirs).render()


def _own(body: str) -> str:
    """Return the part of a body that gitmem writes: up to the first section of a person's own."""
    return body.partition("\n## ")[0] if "\n## " in body else body

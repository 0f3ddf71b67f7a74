"""The rolling memory of older tools, and the notes a person put beside it (spec R10, P2).

Tested through `tests/legacy/test_migrate.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitmem.legacy.plan import (
    ArchiveItem,
    FileItem,
    MemoryItem,
    MigrationItem,
    SourceFile,
    SourceKind,
    item_key,
    moment_in,
    stamp_of,
)
from gitmem.legacy.split import last_day, split_memory
from gitmem.model.document.document import Document
from gitmem.model.entry.entry import Entry, clean_text, without_ids
from gitmem.model.entry.kinds import CORE_DECISIONS, CURRENT_STATE, KNOWN_ISSUES, RECENT_CONTEXT, MemoryType
from gitmem.model.entry.log import find_section
from gitmem.model.ids import make_id
from gitmem.model.paths import slug

if TYPE_CHECKING:
    from collections.abc import Collection

    from gitmem.model.tiers.limits import Limits

# The plugin's template says more in its headings: "## Core Decisions (for ever)".
_KNOWN = re.compile(
    rf"^## ({CORE_DECISIONS}|{CURRENT_STATE}|{RECENT_CONTEXT}|{KNOWN_ISSUES})[ \t]*[(\uff08][^\r\n]*$",
    re.MULTILINE | re.IGNORECASE,
)
_ITEM = re.compile(r"^[-*] (?P<text>[^\n]*(?:\n[ \t]+\S[^\n]*)*)\n?", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\[[^\]]*\]")


def plan_memory(kind: SourceKind, file: SourceFile, limits: Limits) -> list[MigrationItem]:
    """Return a rolling memory, after its parts where it is over the threshold (spec R10)."""
    today = file.modified.strftime("%Y-%m-%d")
    parts = split_memory(file.data, limits, today)
    zone = file.modified.tzinfo
    archives = []
    day = ""
    for number, part in enumerate(parts):
        day = max(day, part.day)  # names in order of the file, also of one that begins with its newest day
        when = moment_in(day, zone) or file.modified
        if day == today:  # its end may be in the future
            when = file.modified
        key = item_key(kind, file.path, "part", str(number), part.data)
        archives.append(ArchiveItem(file.path, when, key, stamp_of(when), part.data))
    key = item_key(kind, file.path, file.data)
    last = moment_in(last_day(file.data), zone)
    when = min(last, file.modified) if last else file.modified
    if len(archives) == 1:
        return [MemoryItem(file.path, when, key, file.data, archives[0])]
    return [*archives, MemoryItem(file.path, when, key, file.data, None)]


def note(kind: SourceKind, file: SourceFile) -> FileItem:
    """Return a person's own notes on a project, as they are."""
    name = slug(file.path.removesuffix(".md")) or "notes"
    key = item_key(kind, file.path, file.data)
    return FileItem(file.path, file.modified, key, f"knowledge/{name}.md", file.data, file.path)


def body_of(item: MemoryItem) -> str:
    """Return the text of a rolling memory with the headings gitmem knows (spec P2)."""
    return _KNOWN.sub(r"## \1", Document.parse(item.data).body)


def is_plain(item: MemoryItem) -> bool:
    """Return whether a rolling memory can become `memory.md` as it is: one part, without a header."""
    return item.whole is not None and not Document.parse(item.data).opening


def kept_entries(item: MemoryItem) -> list[tuple[str, Entry]]:
    """Return the decisions and issues of a rolling memory as entries, each with its section (spec P2)."""
    body = body_of(item)
    found: list[tuple[str, Entry]] = []
    for kind in (MemoryType.DECISION, MemoryType.ISSUE):
        place = find_section(body, kind.section)
        text = body[place.body : place.end].replace("\r\n", "\n") if place else ""
        for match in _ITEM.finditer(text):
            said = _said(match)
            if said and not _PLACEHOLDER.fullmatch(said):
                digest = bytes.fromhex(item_key(SourceKind.ROTATION, kind.value, said))
                identifier = make_id(int(item.when.timestamp() * 1000) + len(found), digest)  # in order of the file
                entry = Entry(identifier, item.when.strftime("%Y-%m-%d %H:%M:%S"), kind.label, said)
                found.append((kind.section, entry))
    return found


def without_said(body: str, facts: Collection[str]) -> str:
    """Return a body without its decisions and issues whose words are those of facts, which have lines of their own."""
    for kind in (MemoryType.ISSUE, MemoryType.DECISION):
        place = find_section(body, kind.section)
        if place:
            text = _ITEM.sub(lambda match: "" if _said(match) in facts else match[0], body[place.body : place.end])
            body = body[: place.body] + text + body[place.end :]
    return body


def _said(item: re.Match[str]) -> str:
    return clean_text(without_ids(re.sub(r"\n[ \t]+", "\n", item["text"])))

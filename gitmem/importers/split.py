"""Split an older memory.md into archives under the threshold (spec R10), and read memories with rotated archives.

A memory is cut at `## YYYY-MM-DD` headings; where there is none, at any `## `. Sections are grouped while they stay
under the threshold; a larger one is split by lines, a larger line by characters. The parts joined are the original,
byte for byte. `.claude/memory/` and `.crabshell/memory/` also hold archives with a summary in JSON, `facts.json`, a
person's notes on the project, and normalised transcripts.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date

from gitmem.archives.plans import Limits, needs_rotation
from gitmem.document.document import Document
from gitmem.document.entry import (
    CORE_DECISIONS,
    CURRENT_STATE,
    KNOWN_ISSUES,
    RECENT_CONTEXT,
    Entry,
    MemoryType,
    clean_text,
    find_section,
    without_ids,
)
from gitmem.document.ids import make_id, slug
from gitmem.importers.plan import (
    ArchiveItem,
    FileItem,
    Found,
    Left,
    MemoryItem,
    MigrationItem,
    SourceFile,
    SourceKind,
    TranscriptItem,
    fields_of,
    instant,
    item_key,
    moment_in,
    stamp_of,
    text_of,
)
from gitmem.sessions.transcript import MAX_LINE, objects
from gitmem.text.stems import BYTES_PER_TOKEN
from gitmem.values import Value

_DATED = re.compile(rb"^## +\[?([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])", re.MULTILINE)
_HEADING = re.compile(rb"^## ", re.MULTILINE)
_MOST_CONTINUED = 3  # bytes of a character after its first


class DatedPart(Value):
    """A part of a memory and its last day, `YYYY-MM-DD`."""

    day: str
    data: bytes


def split_memory(data: bytes, limits: Limits, day: str) -> tuple[DatedPart, ...]:
    """Return a memory in parts, each under the threshold; `day` is the day of parts that name none."""
    if not needs_rotation(len(data), limits):
        return (DatedPart(day, data),) if data else ()
    room = max((limits.threshold - 1) * BYTES_PER_TOKEN, 1)
    parts, start, end, last = [], 0, 0, ""
    for named, section in _sections(data, day):
        for number, size in enumerate(_sizes(section, room)):
            if end > start and (end + size - start > room or (len(section) > room and not number)):
                parts.append(DatedPart(last, data[start:end]))
                start, last = end, ""
            last, end = max(last, named), end + size  # a part has the last day of what is in it
    return (*parts, DatedPart(last, data[start:]))


def _sections(data: bytes, day: str) -> list[tuple[str, bytes]]:
    """Return the sections, each with its day and heading; text before the first heading belongs to the first."""
    found = _days(data) or [(match.start(), day) for match in _HEADING.finditer(data)] or [(0, day)]
    starts = [0, *(start for start, _ in found[1:]), len(data)]
    return [(named, data[start:end]) for (_, named), start, end in zip(found, starts, starts[1:], strict=False)]


def _sizes(section: bytes, room: int) -> Iterator[int]:
    """Yield the sizes of a section's pieces: all of it, or where it is too large its lines, cut between characters."""
    for line in [section] if len(section) <= room else section.splitlines(keepends=True):
        start = 0
        while len(line) - start > room:
            end = start + room
            while end > max(start + room - _MOST_CONTINUED, start + 1) and line[end] & 0xC0 == 0x80:  # noqa: PLR2004
                end -= 1
            yield end - start
            start = end
        yield len(line) - start


def _days(data: bytes) -> list[tuple[int, str]]:
    """Return the places of headings that are days, and the days."""
    found = []
    for match in _DATED.finditer(data):
        with contextlib.suppress(ValueError):
            found.append((match.start(), date.fromisoformat(match[1].decode()).isoformat()))
    return found


def in_time_order(body: str) -> str:
    """Return a body with its newest day last; as it is unless its first day is its newest."""
    days = [day for _, day in _days(body.encode("utf-8", "surrogateescape"))]
    return reverse_days(body) if days and days[0] > days[-1] else body


def reverse_days(body: str) -> str:
    """Return a body with the sections of its days in the opposite order, in the same places."""
    parts = re.split(r"(?m)^(?=## )", body)
    places = [number for number, part in enumerate(parts) if _DATED.match(part.encode("utf-8", "surrogateescape"))]
    turned = {place: parts[other] for place, other in zip(places, reversed(places), strict=True)}
    return "".join(turned.get(number, part) for number, part in enumerate(parts))


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
    last = moment_in(max((day for _, day in _days(file.data)), default=""), zone)
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


_ROLES = ("user", "assistant", "summary")


def plan_transcript(kind: SourceKind, file: SourceFile, name: str) -> Found:
    """Return a normalised transcript (`ts`, `role`, `text` a line) as the branch l1 has one."""
    last = moment_in(name, file.modified.tzinfo) or file.modified
    lines, unread, started = [], 0, None
    for line in file.data.decode("utf-8-sig", "replace").split("\n"):
        if not line.strip():
            continue
        found = next(objects(line), None) if len(line) <= MAX_LINE else None
        if found is None:
            unread += 1
            continue
        last = instant(_first(found, "at", "ts", "timestamp"), UTC) or last
        started = started or last
        lines.append(
            json.dumps({"at": last.isoformat(timespec="milliseconds"), **_speech_of(found)}, ensure_ascii=False)
        )
    left = [Left(file.path, f"{unread} of its lines are no JSON")] if unread else []
    if not lines or started is None:
        return [], left or [Left(file.path, "it is empty")]
    key = item_key(kind, file.path, file.data)
    return [TranscriptItem(file.path, started, key, name, tuple(lines))], left


def _speech_of(given: Mapping[str, object]) -> dict[str, object]:
    """Return the speaker and the text of a line of a transcript; of an unknown line, all of it."""
    message = fields_of(given.get("message"))
    role = _first(given, "role", "type") or text_of(message.get("role"))
    content = given.get("text") or given.get("content") or message.get("content")
    if isinstance(content, list):
        content = "\n".join(filter(None, (text_of(fields_of(one).get("text")) or text_of(one) for one in content)))
    text = clean_text(text_of(content))
    if text and role in _ROLES:
        return {"role": role, "text": text}
    rest = {key: value for key, value in given.items() if key not in ("at", "ts", "timestamp")}
    return {"role": "summary", "text": json.dumps(rest, ensure_ascii=False)}


def _first(given: Mapping[str, object], *names: str) -> str:
    return next(filter(None, (text_of(given.get(name)) for name in names)), "")

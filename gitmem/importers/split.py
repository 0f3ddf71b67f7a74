"""Split an older memory.md into archives under the threshold (spec R10), and read memories with rotated archives.

A memory is cut at `## YYYY-MM-DD` headings; where there is none, at any `## `. Sections are grouped while they stay
under the threshold; a larger one is split by lines, a larger line by characters. The parts joined are the original,
byte for byte. `.claude/memory/` and `.crabshell/memory/` also hold archives with a summary in JSON, `facts.json`, a
person's notes on the project, and normalised transcripts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime

from gitmem.archives.plans import Limits, needs_rotation
from gitmem.archives.summary import Summary, from_json, render_document
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
from gitmem.document.ids import SUMMARIES, archive_path, make_id, slug
from gitmem.importers.facts import NAME as FACTS
from gitmem.importers.facts import plan_facts
from gitmem.importers.plan import (
    ArchiveItem,
    FileItem,
    Found,
    Left,
    MemoryItem,
    MigrationItem,
    MigrationPlan,
    SourceFile,
    SourceKind,
    TranscriptItem,
    fields_of,
    instant,
    item_key,
    moment_in,
    plan_files,
    read_json,
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
    pieces = (piece for section in _sections(data, day) for piece in _fitting(section, room))
    return tuple(_grouped(pieces, room))


def _sections(data: bytes, day: str) -> list[DatedPart]:
    """Return the sections, each with its heading; text before the first heading belongs to the first."""
    found = [(match.start(), match[1].decode()) for match in _DATED.finditer(data) if _is_day(match[1])]
    found = found or [(match.start(), day) for match in _HEADING.finditer(data)]
    if not found:
        return [DatedPart(day, data)]
    starts = [0, *(start for start, _ in found[1:]), len(data)]
    return [
        DatedPart(named, data[start:end]) for (_, named), start, end in zip(found, starts, starts[1:], strict=False)
    ]


def last_day(data: bytes) -> str:
    """Return the latest day in a memory's headings, "" if none."""
    return max((match[1].decode() for match in _DATED.finditer(data) if _is_day(match[1])), default="")


def in_time_order(body: str) -> str:
    """Return a body with its newest day last; as it is unless its first day is its newest."""
    days = [match[1] for match in _DATED.finditer(body.encode("utf-8", "surrogateescape")) if _is_day(match[1])]
    return reverse_days(body) if days and days[0] > days[-1] else body


def reverse_days(body: str) -> str:
    """Return a body with the sections of its days in the opposite order, in the same places."""
    parts = re.split(r"(?m)^(?=## )", body)
    places = [number for number, part in enumerate(parts) if _DATED.match(part.encode("utf-8", "surrogateescape"))]
    turned = {place: parts[other] for place, other in zip(places, reversed(places), strict=True)}
    return "".join(turned.get(number, part) for number, part in enumerate(parts))


def _is_day(text: bytes) -> bool:
    try:
        date.fromisoformat(text.decode())
    except ValueError:
        return False
    return True


def _fitting(section: DatedPart, room: int) -> Iterator[DatedPart]:
    """Yield a section, split by lines into pieces that fit if too large."""
    if len(section.data) <= room:
        yield section
        return
    lines = (
        DatedPart(section.day, piece) for line in section.data.splitlines(keepends=True) for piece in _cut(line, room)
    )
    yield from _grouped(lines, room)


def _cut(line: bytes, room: int) -> Iterator[bytes]:
    """Yield a line in pieces that fit, split between characters."""
    start = 0
    while len(line) - start > room:
        end = start + room
        while end > max(start + room - _MOST_CONTINUED, start + 1) and line[end] & 0xC0 == 0x80:  # noqa: PLR2004
            end -= 1
        yield line[start:end]
        start = end
    yield line[start:]


def _grouped(pieces: Iterable[DatedPart], room: int) -> Iterator[DatedPart]:
    """Yield pieces joined as long as they fit; a part has the last day of its pieces."""
    held: list[bytes] = []
    day, size = "", 0
    for piece in pieces:
        if held and size + len(piece.data) > room:
            yield DatedPart(day, b"".join(held))
            day, held, size = "", [], 0
        day, size = max(day, piece.day), size + len(piece.data)
        held.append(piece.data)
    if held:
        yield DatedPart(day, b"".join(held))


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


SUMMARIZER = "memory-summarizer"  # the agent of the older tool
_MEMORIES = ("memory.md", "logbook.md")
_ARCHIVE = re.compile(r"(?:memory|logbook)[_.-].*\.md")
_SUMMARY = ".summary.json"
_SESSION = re.compile(r"sessions/([^/]+?)(?:\.l1)?\.jsonl")
_NOTES = ("project.md", "architecture.md", "conventions.md")
_INDEX = "memory-index.json"
_DERIVED = {_INDEX: "gitmem derives it from history ('gitmem index')", ".rotation.lock": "it is a lock"}
_ROLES = ("user", "assistant", "summary")


def plan_rotation_layout(files: Iterable[SourceFile], limits: Limits) -> MigrationPlan:
    """Return the plan for a memory with rotated archives."""
    by_path = {file.path: file for file in files}
    return plan_files(by_path.values(), lambda file: _planned(file, by_path, limits))


def _planned(  # noqa: PLR0911
    file: SourceFile, by_path: Mapping[str, SourceFile], limits: Limits
) -> Found:
    if file.path == FACTS:
        return plan_facts(SourceKind.ROTATION, file)
    if file.path.endswith(_SUMMARY):
        return _lone_summary(file, by_path)
    if not file.data.strip():
        return [], [Left(file.path, "it is empty")]
    if file.path in _MEMORIES:
        return plan_memory(SourceKind.ROTATION, file, limits), []
    if _ARCHIVE.fullmatch(file.path):
        return [_archive(file, by_path)], []
    if session := _SESSION.fullmatch(file.path):
        return plan_transcript(SourceKind.ROTATION, file, session[1])
    if file.path in _NOTES:
        return [note(SourceKind.ROTATION, file)], []
    return [], [Left(file.path, _DERIVED.get(file.path, "it is nothing gitmem knows"))]


def _archive(file: SourceFile, by_path: Mapping[str, SourceFile]) -> ArchiveItem:
    when = moment_in(file.path, file.modified.tzinfo) or _rotated_at(file, by_path) or file.modified
    stamp = stamp_of(when)
    beside = by_path.get(file.path.removesuffix(".md") + _SUMMARY)
    summary = _summary(beside, archive_path(stamp)) if beside else None
    key = item_key(SourceKind.ROTATION, file.path, file.data)
    return ArchiveItem(file.path, when, key, stamp, file.data, summary)


def _rotated_at(file: SourceFile, by_path: Mapping[str, SourceFile]) -> datetime | None:
    """Return the time in the index for an archive without a date in its name."""
    try:
        index = fields_of(read_json(by_path[_INDEX].data))
    except (KeyError, ValueError):
        return None
    listed = index.get("rotatedFiles")
    for one in listed if isinstance(listed, list) else ():
        if text_of(fields_of(one).get("file")) == file.path:
            return instant(text_of(fields_of(one).get("rotatedAt")), UTC)
    return None


def _lone_summary(file: SourceFile, by_path: Mapping[str, SourceFile]) -> Found:
    """Return the summary of an archive that is gone."""
    archive = file.path.removesuffix(_SUMMARY) + ".md"
    when = moment_in(file.path, file.modified.tzinfo) or file.modified
    path = archive_path(stamp_of(when))
    summary = _summary(file, path)
    if summary is None:
        try:
            read_json(file.data)
            why = "it says nothing of an archive"
        except ValueError as error:
            why = str(error)
        return [], [Left(file.path, f"it is no summary: {why}; gitmem makes one of the archive itself")]
    if archive in by_path:
        return [], []
    name = path.rpartition("/")[2].removesuffix(".md")
    key = item_key(SourceKind.ROTATION, file.path, file.data)
    target = f"{SUMMARIES}/{name}.summary.md"
    return [FileItem(file.path, when, key, target, render_document(summary, when), f"summary of {archive}")], []


def _summary(file: SourceFile, archive: str) -> Summary | None:
    """Return the summary in a JSON file (spec R5), None if unreadable."""
    try:
        given = fields_of(read_json(file.data))
    except ValueError:
        return None
    summary = from_json(given, archive, SUMMARIZER)
    return summary if summary.overall_summary or summary.themes or summary.key_decisions or summary.issues else None


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

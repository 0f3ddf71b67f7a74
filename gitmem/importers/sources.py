"""Plans for the migration of older tools' memories: a list of items, each with its own date.

Contents and modification times are passed in. The formats are those of files the tools themselves wrote
(docs/memory.md, "Memories of older tools").

A memory.md over the threshold becomes archives: it is cut at `## YYYY-MM-DD` headings; where there is none, at any
`## `. Sections are grouped while they stay under the threshold; a larger one is split by lines, a larger line by
characters. The parts joined are the original, byte for byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, tzinfo
from enum import StrEnum

from gitmem.archive.summary import Summary
from gitmem.config.values import RotationConfig
from gitmem.document.entry import TIMELINE, Entry, MemoryType
from gitmem.model.rotation import needs_rotation
from gitmem.text.words import BYTES_PER_TOKEN
from gitmem.values import Value

MAX_ITEMS = 20_000  # of one source; a project's memory has fewer
STAMP = "%Y%m%d_%H%M%S"  # of a moment in the name of an archive
_DIGEST = 16  # characters of an item's key
_CLOCK = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})(?:[_T -]?([0-9]{2}):?([0-9]{2})(?::?([0-9]{2}))?)?")
_YEARS = range(1970, 9999)  # years valid in every time zone of Python
_DATED = re.compile(rb"^## +\[?([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])", re.MULTILINE)
_HEADING = re.compile(rb"^## ", re.MULTILINE)
_MOST_CONTINUED = 3  # bytes of a UTF-8 character after its first


class SourceKind(StrEnum):
    """The tool that made a memory."""

    ROTATION = "rotation"
    KEEPER = "memory-keeper"
    JIKIME = "jikime"
    CLAUDE_MEM = "claude-mem"
    BASIC = "basic-memory"


class SourceFile(Value):
    """A file of a source: relative path with `/`, bytes, modification time in the machine's time zone."""

    path: str
    data: bytes
    modified: datetime


class MigrationItem(Value):
    """An item to migrate: its source file, its date, and a unique key.

    The same item of the same file always has the same key, so that it is migrated once.
    """

    source: str
    when: datetime
    key: str


class ArchiveItem(MigrationItem):
    """An archive, which gets its name from `when`; `summary` is the older tool's."""

    data: bytes
    summary: Summary | None = None


class MemoryItem(MigrationItem):
    """A rolling memory; `whole` is all of it as an archive, None if its parts become archives."""

    data: bytes
    whole: ArchiveItem | None


class FileItem(MigrationItem):
    """A document at `path`; `subject` is for its commit."""

    data: bytes
    path: str
    subject: str


class LogItem(MigrationItem):
    """A day's log: entries with their sections, in order, and the other text in it."""

    day: str
    entries: tuple[tuple[str, Entry], ...]
    prose: str = ""


class TranscriptItem(MigrationItem):
    """A raw transcript: lines in the form of the branch l1 (docs/format.md, "Tree")."""

    session: str
    lines: tuple[str, ...]


class Left(Value):
    """A file, or a part of it, that is not migrated, and why."""

    source: str
    why: str


class MigrationPlan(Value):
    """The plan for a source: items in order of their dates, and parts left out."""

    items: tuple[MigrationItem, ...]
    left: tuple[Left, ...]


Found = Iterator[MigrationItem | Left]


def make_plan(planned: Iterable[MigrationItem | Left]) -> MigrationPlan:
    """Return a plan with its items by date, parts of one file in their order, each key once.

    A rolling memory comes last: it takes in the lines of the facts.
    """
    once: dict[str, MigrationItem] = {}
    left = []
    for planned_item in planned:
        if isinstance(planned_item, Left):
            left.append(planned_item)
        else:
            once.setdefault(planned_item.key, planned_item)
    ordered = sorted(once.values(), key=lambda item: (isinstance(item, MemoryItem), item.when, item.source))
    if len(ordered) > MAX_ITEMS:
        left.append(Left("", f"it holds more than {MAX_ITEMS:,} things; only the newest were taken"))
    return MigrationPlan(tuple(ordered[-MAX_ITEMS:]), tuple(left))


def item_key(kind: SourceKind, source: str, *parts: str | bytes) -> str:
    """Return the key of an item: a digest of the tool, the file's path and the item itself."""
    digest = hashlib.sha256()
    for part in (kind.value, source, *parts):
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:_DIGEST]


def spoken(at: datetime, role: str, text: str) -> str:
    """Return a line of a transcript in the form of the branch l1."""
    line = {"at": at.isoformat(timespec="milliseconds"), "role": role, "text": text}
    return json.dumps(line, ensure_ascii=False)


def read_json(data: bytes) -> object:
    """Return the value in a JSON file. Raises ValueError with a short reason if it is not JSON."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def text_of(value: object) -> str:
    """Return a scalar of JSON as text; "" for other values."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return "" if value is None or isinstance(value, list | dict | bool) else str(value)


def texts_of(value: object) -> tuple[str, ...]:
    """Return the texts of a list of JSON."""
    return tuple(filter(None, map(text_of, value))) if isinstance(value, list) else ()


def fields_of(value: object) -> Mapping[str, object]:
    """Return an object of JSON; an empty one for other values."""
    return value if isinstance(value, dict) else {}


def first_text(fields: Mapping[str, object], *names: str) -> str:
    """Return the first non-empty text among these members of an object, or ""."""
    return next(filter(None, (text_of(fields.get(name)) for name in names)), "")


def moment_in(text: str, zone: tzinfo | None) -> datetime | None:
    """Return the first date in a text as a moment of a time zone, None where there is none.

    Accepts `2026-01-13`, `20260113_112700`, `2026-01-13_1011` and RFC 3339; a day without a time means its last
    second, when the day was summarised.
    """
    for match in _CLOCK.finditer(text):
        with contextlib.suppress(ValueError):
            day = date(int(match[1]), int(match[2]), int(match[3]))
            clock = time(int(match[4]), int(match[5]), int(match[6] or 0)) if match[4] else time(23, 59, 59)
            if day.year in _YEARS:
                return datetime.combine(day, clock, zone)
    return None


def instant(text: str, zone: tzinfo | None) -> datetime | None:
    """Return the moment in a text in RFC 3339, with its own offset if it has one; else as `moment_in`."""
    with contextlib.suppress(ValueError):
        if len(text) > len("2026-01-13"):
            time = datetime.fromisoformat(text)
            return (time if time.tzinfo else time.replace(tzinfo=zone)) if time.year in _YEARS else None
    return moment_in(text, zone)


def split_memory(data: bytes, limits: RotationConfig, day: str) -> list[tuple[str, bytes]]:
    """Return a memory in parts under the threshold, each with its last day; `day` is the default."""
    if not needs_rotation(len(data), limits):
        return [(day, data)] if data else []
    room = max((limits.threshold - 1) * BYTES_PER_TOKEN, 1)
    parts: list[tuple[str, bytes]] = []
    part, last = bytearray(), ""
    for named, section in _sections(data, day):
        for number, piece in enumerate(_pieces(section, room)):
            if part and (len(part) + len(piece) > room or (len(section) > room and not number)):
                parts.append((last, bytes(part)))
                part, last = bytearray(), ""
            part += piece
            last = max(last, named)
    return [*parts, (last, bytes(part))]


def _sections(data: bytes, day: str) -> Iterator[tuple[str, bytes]]:
    """Yield the sections with their headings, each with its day; text before the first heading belongs to the first."""
    days = days_in(data) or [(match.start(), day) for match in _HEADING.finditer(data)] or [(0, day)]
    ends = [*(start for start, _ in days[1:]), len(data)]
    start = 0
    for (_, named), end in zip(days, ends, strict=True):
        yield named, data[start:end]
        start = end


def _pieces(section: bytes, room: int) -> Iterator[bytes]:
    """Yield a section; if it is too large its lines, split between characters."""
    for line in [section] if len(section) <= room else section.splitlines(keepends=True):
        start = 0
        while len(line) - start > room:
            end = start + room
            while end > max(start + room - _MOST_CONTINUED, start + 1) and line[end] & 0xC0 == 0x80:  # noqa: PLR2004
                end -= 1
            yield line[start:end]
            start = end
        yield line[start:]


def days_in(data: bytes) -> list[tuple[int, str]]:
    """Return position and day of each heading that is a day."""
    days = []
    for match in _DATED.finditer(data):
        with contextlib.suppress(ValueError):
            days.append((match.start(), date.fromisoformat(match[1].decode()).isoformat()))
    return days


def begins_with_newest(body: str) -> bool:
    """Return whether the first day in a body is the newest, and the last is not."""
    days = [day for _, day in days_in(body.encode("utf-8", "surrogateescape"))]
    return bool(days) and days[0] > days[-1]


def reverse_days(body: str) -> str:
    """Return a body with the sections of its days in reverse order."""
    parts = re.split(r"(?m)^(?=## )", body)
    places = [number for number, part in enumerate(parts) if _DATED.match(part.encode("utf-8", "surrogateescape"))]
    turned = {place: parts[source] for place, source in zip(places, reversed(places), strict=True)}
    return "".join(turned.get(number, part) for number, part in enumerate(parts))


_LOG_TITLES = (*(kind.label for kind in MemoryType), "Session Summary")
_LOG_HEADING = re.compile(rf"## (?P<title>{'|'.join(_LOG_TITLES)})\s*")
_LOG_ITEM = re.compile(
    r"- \[(?P<time>(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])\] \*\*(?P<label>[^*\n]{1,60})\*\*: ?(?P<text>.*)"
)


def log_items(text: str, prose: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the items of a log of Jikime's as (section, time, label, text); other text goes to `prose`.

    An item of a section has the time of the last one before it, or the day's beginning.
    """
    section, time = "", "00:00:00"
    current: tuple[str, str, str] | None = None
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        heading, timed = _LOG_HEADING.fullmatch(line), _LOG_ITEM.fullmatch(line)
        in_section = bool(section) and line.startswith("- ")
        if not (heading or timed or in_section):
            if current:
                lines.append(line)
            elif line.strip() and not re.fullmatch(r"# [0-9-]{10}\s*", line):
                prose.append(line)
            continue
        if current:
            yield (*current, "\n".join(lines))
        current, lines = None, []
        if heading:
            section = heading["title"]
        elif timed:
            section, time = "", timed["time"]
            current, lines = (TIMELINE, time, timed["label"].strip()), [timed["text"]]
        else:
            current, lines = (section, time, section), [line[2:]]
    if current:
        yield (*current, "\n".join(lines))

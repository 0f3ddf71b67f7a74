"""Plans for the migration of older tools' memories (spec R10, V7): a list of items, each with its own date.

Contents and modification times are passed in. The formats are those of files the tools themselves wrote
(docs/format.md, Memories of older tools).

A memory.md over the threshold becomes archives: it is cut at `## YYYY-MM-DD` headings; where there is none, at any
`## `. Sections are grouped while they stay under the threshold; a larger one is split by lines, a larger line by
characters. The parts joined are the original, byte for byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, tzinfo
from enum import StrEnum

from gitmem.archives.plans import Limits, needs_rotation
from gitmem.archives.summary import Summary
from gitmem.document.entry import (
    Entry,
    clean_text,
)
from gitmem.facts.fact import Fact, FactKind, FactStatus, make_fact, render_fact
from gitmem.text.stems import BYTES_PER_TOKEN
from gitmem.values import Value

MAX_ITEMS = 20_000  # of one source; a project's memory has fewer
_DIGEST = 16  # characters of an item's key
_CLOCK = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})(?:[_T -]?([0-9]{2}):?([0-9]{2})(?::?([0-9]{2}))?)?")


class SourceKind(StrEnum):
    """The tool that made a memory."""

    ROTATION = "rotation"
    KEEPER = "memory-keeper"
    JIKIME = "jikime"
    CLAUDE_MEM = "claude-mem"
    BASIC = "basic-memory"


class SourceFile(Value):
    """A file of a source: its path in it, with `/`; its bytes; its modification time in the machine's time zone."""

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
    """An archive, to be named after `stamp` (`YYYYMMDD_HHMMSS`); `summary` is an older tool's summary of it."""

    stamp: str
    data: bytes
    summary: Summary | None = None


class MemoryItem(MigrationItem):
    """A rolling memory; `whole` is all of it as an archive, None where its parts are archives of their own (R10)."""

    data: bytes
    whole: ArchiveItem | None


class FileItem(MigrationItem):
    """A document under a name of its own; `subject` is for its commit."""

    path: str
    data: bytes
    subject: str


class LogItem(MigrationItem):
    """A day's log: entries with their sections, in order, and the other text in it."""

    day: str
    entries: tuple[tuple[str, Entry], ...]
    prose: str = ""


class TranscriptItem(MigrationItem):
    """A raw transcript: lines as the branch l1 has them (docs/format.md, "Tree")."""

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


# The plan for one file: items, and parts left out.
Found = tuple[Sequence["MigrationItem"], Sequence["Left"]]


def plan_files(files: Iterable[SourceFile], read: Callable[[SourceFile], Found]) -> MigrationPlan:
    """Return the plans of files, each read on its own."""
    items: list[MigrationItem] = []
    left: list[Left] = []
    for file in files:
        found, not_taken = read(file)
        items += found
        left += not_taken
    return make_plan(items, left)


def make_plan(items: list[MigrationItem], left: list[Left]) -> MigrationPlan:
    """Return a plan with its items by date, parts of one file in their order, each key once.

    A rolling memory comes last: it takes in the lines of the facts.
    """
    once: dict[str, MigrationItem] = {}
    for item in items:
        once.setdefault(item.key, item)
    ordered = sorted(once.values(), key=lambda item: (isinstance(item, MemoryItem), item.when, item.source))
    if len(ordered) > MAX_ITEMS:
        left = [*left, Left("", f"it holds more than {MAX_ITEMS:,} things; only the newest were taken")]
        ordered = ordered[-MAX_ITEMS:]
    return MigrationPlan(tuple(ordered), tuple(left))


def item_key(kind: SourceKind, source: str, *parts: str | bytes) -> str:
    """Return the key of an item: a digest of the tool, the file's path and the item itself."""
    digest = hashlib.sha256()
    for part in (kind.value, source, *parts):
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:_DIGEST]


def read_json(data: bytes) -> object:
    """Return the value in a JSON file.

    Raises:
        ValueError: it is not JSON; the message says why in a few words.

    """
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def text_of(given: object) -> str:
    """Return a scalar of JSON as text; "" for other values."""
    if isinstance(given, str):
        return given.encode("utf-8", "replace").decode()
    return "" if given is None or isinstance(given, list | dict | bool) else str(given)


def texts_of(given: object) -> tuple[str, ...]:
    """Return the texts of a list of JSON."""
    return tuple(filter(None, map(text_of, given))) if isinstance(given, list) else ()


def fields_of(given: object) -> Mapping[str, object]:
    """Return an object of JSON; an empty one for other values."""
    return given if isinstance(given, dict) else {}


_YEARS = range(1970, 9999)  # whose moments every zone of Python has


def moment_in(text: str, zone: tzinfo | None) -> datetime | None:
    """Return the first date in a text as a moment of a time zone, None where there is none.

    Read are `2026-01-13`, `20260113_112700`, `2026-01-13_1011` and RFC 3339; a day without a time is its last second,
    when the day was summarised.
    """
    for match in _CLOCK.finditer(text):
        try:
            day = date(int(match[1]), int(match[2]), int(match[3]))
            clock = time(int(match[4]), int(match[5]), int(match[6] or 0)) if match[4] else time(23, 59, 59)
        except ValueError:
            continue
        if day.year in _YEARS:
            return datetime.combine(day, clock, zone)
    return None


def instant(text: str, zone: tzinfo | None) -> datetime | None:
    """Return the moment in a text in RFC 3339, with its own offset if it has one; else as `moment_in`."""
    if len(text) <= len("2026-01-13"):
        return moment_in(text, zone)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return moment_in(text, zone)
    if found.year not in _YEARS:
        return None
    return found if found.tzinfo else found.replace(tzinfo=zone)


def stamp_of(moment: datetime) -> str:
    """Return the stamp of a moment in names of archives."""
    return moment.strftime("%Y%m%d_%H%M%S")


FACTS = "facts.json"
_LISTS = {
    "decisions": FactKind.DECISION,
    "patterns": FactKind.PATTERN,
    "issues": FactKind.ISSUE,
    "rules": FactKind.RULE,
    "solutions": FactKind.SOLUTION,
    "coreLogic": FactKind.CORE_LOGIC,
}
_DERIVED = ("keywordsIndex", "keywords_index", "index", "concepts")
_SAID = ("content", "description", "summary", "text", "decision", "pattern", "issue", "rule")
_DATES = ("date", "created", "createdAt", "timestamp", "ts", "session")
_MOST_KEYWORDS = 20


def plan_facts(kind: SourceKind, file: SourceFile) -> Found:
    """Return the facts of a `facts.json` in both its shapes as items, and the parts that are left (spec V7).

    The old shape has `decisions`, `patterns` and `issues`, the new one `rules`, `solutions` and `coreLogic`; a file may
    have lists of both. The index of keywords beside them is derived and not read.
    """
    try:
        given = fields_of(read_json(file.data))
    except ValueError as error:
        return [], [Left(file.path, str(error))]
    items: list[MigrationItem] = []
    left: list[Left] = []
    for name, listed in given.items():
        if name in _LISTS and isinstance(listed, list):
            for number, one in enumerate(listed, 1):
                fact = _fact(kind, file, _LISTS[name], fields_of(one) or {"content": one})
                if fact is None:
                    left.append(Left(file.path, f"number {number} of its {name} says nothing"))
                else:
                    # The key is a digest of the text: equal facts of two files are one, a changed fact is new.
                    key, subject = item_key(kind, file.path, fact.id), f"fact: {fact.description}"
                    items.append(FileItem(file.path, fact.created, key, fact.path, render_fact(fact), subject))
        elif name in _DERIVED or listed in ([], {}, None):
            continue
        elif isinstance(listed, list | dict):
            left.append(Left(file.path, f"{name[:40]!r} is no list of facts that gitmem knows"))
    if not items and not left:
        left.append(Left(file.path, "it holds no facts"))
    return items, left


def _fact(kind: SourceKind, file: SourceFile, what: FactKind, given: Mapping[str, object]) -> Fact | None:
    text = clean_text(next(filter(None, (text_of(given.get(name)) for name in _SAID)), ""))
    if not text:
        return None
    origin = {"tool": kind.value, "id": text_of(given.get("id")), "session": text_of(given.get("session"))}
    origin["exchange"] = text_of(given.get("exchange")) or text_of(given.get("exchangeId"))
    created = next(filter(None, (instant(text_of(given.get(name)), file.modified.tzinfo) for name in _DATES)), None)
    sure = given.get("confidence")
    is_sure = isinstance(sure, int | float) and not isinstance(sure, bool) and 0 <= sure <= 1
    fact = make_fact(
        what,
        text,
        created or file.modified,
        origin={key: value for key, value in origin.items() if value},
        confidence=float(str(sure)) if is_sure else None,
        keywords=texts_of(given.get("keywords"))[:_MOST_KEYWORDS],
        files=texts_of(given.get("files")),
        sources=tuple(filter(None, (origin["session"],))),
    )
    resolution = clean_text(text_of(given.get("resolution")))
    if what is FactKind.ISSUE and (resolution or text_of(given.get("status")).casefold() == "resolved"):
        fact = fact._replace(status=FactStatus.RESOLVED)
    return fact._replace(text="\n\n".join([text, *_further(given, resolution)]))


def _further(given: Mapping[str, object], resolution: str) -> Iterator[str]:
    """Yield additional fields of a fact as paragraphs."""
    for label, text in (
        ("Why", clean_text(text_of(given.get("reason")))),
        ("How", clean_text(text_of(given.get("details")) or text_of(given.get("solution")))),
        ("Resolved", resolution),
    ):
        if text:
            yield f"**{label}:** {text}"


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

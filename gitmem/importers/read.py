"""Find and read memories of older tools: gitmem's seeds, jikime, memory-keeper (spec R10). Nothing is written there.

The files are not trusted: no link is followed below the folder a person named, and files that are not regular, too
large or too many are listed and skipped. Jikime (`.jikime/memory/`) writes text as it comes: an item of a log goes on
until the next one begins, and blank lines and headings in it are its own, but for those the tool itself makes.
memory-keeper has a rolling memory, `facts.json`, and sessions in tiers: a summary and the raw text, weeks, months.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, date, datetime, tzinfo
from itertools import islice

from gitmem.archives.consolidation import period_document
from gitmem.archives.plans import Limits, week_of
from gitmem.document.document import flow
from gitmem.document.entry import TIMELINE, Entry, MemoryType, clean_text
from gitmem.document.ids import make_id, monthly_path, session_path, slug, weekly_path
from gitmem.errors import RefusedError
from gitmem.importers.facts import NAME as FACTS
from gitmem.importers.facts import plan_facts
from gitmem.importers.plan import (
    FileItem,
    Found,
    Left,
    LogItem,
    SourceFile,
    SourceKind,
    TranscriptItem,
    item_key,
    moment_in,
    stamp_of,
)
from gitmem.importers.rivals import DATABASE, is_basic_memory
from gitmem.importers.split import note, plan_memory, plan_transcript
from gitmem.platform.safe_open import enter
from gitmem.values import Value

MAX_FILE = 32 * 1024 * 1024  # bytes; a transcript has some, all else far fewer
MAX_FILES = 20_000
_LOOKED = 2_000  # files among which a note tells whose a folder is
MAX_TOTAL = 512 * 1024 * 1024
MAX_DEPTH = 4  # folders; `sessions/archive/` is the deepest that any tool makes
# Where the tools keep a project's memory: below it, or below the home, in a folder named after it or in one for all.
_PLACES = (
    (SourceKind.ROTATION, ".claude/memory"),
    (SourceKind.ROTATION, ".crabshell/memory"),
    (SourceKind.JIKIME, ".jikime/memory"),
    (SourceKind.KEEPER, "~/.claude/memory-keeper/projects/NAME"),
    (SourceKind.CLAUDE_MEM, "~/.claude-mem"),
)
_DATABASES = (".db", ".db-wal", ".db-shm", ".sqlite", ".sqlite3")


class Source(Value):
    """A folder with the memory of another tool; of one for all projects, the project's name there."""

    kind: SourceKind
    folder: str
    project: str = ""


class Read(Value):
    """The files of a source and the parts that were skipped."""

    files: tuple[SourceFile, ...]
    left: tuple[Left, ...]


def find_sources(project: str, home: str) -> list[Source]:
    """Return the memories of older tools that belong to a project; of a folder for all projects, its own part."""
    name, found = os.path.basename(project), []
    for kind, place in _PLACES:
        top = home if place.startswith("~") else project
        folder = os.path.join(top, *place.removeprefix("~/").replace("NAME", name).split("/"))
        of_all = kind is SourceKind.CLAUDE_MEM
        if os.path.exists(os.path.join(folder, DATABASE * of_all)) and not os.path.islink(folder):
            found.append(Source(kind, folder, name * of_all))
    return found


def places_of(kind: SourceKind | None) -> list[str]:
    """Return where the memory of a tool, or of any, is looked for."""
    return [place for one, place in _PLACES if kind in (None, one)]


def kind_of(folder: str) -> SourceKind | None:
    """Return the tool of a folder's memory, known by its path or its files; None if there is none."""
    parts = os.path.normpath(folder).replace("\\", "/").split("/")
    names = set(_names(folder))
    tools = {SourceKind.JIKIME: ".jikime" in parts, SourceKind.KEEPER: "memory-keeper" in parts}
    for kind, named in (tools | {SourceKind.CLAUDE_MEM: DATABASE in names}).items():
        if named:
            return kind
    if names & {"MEMORY.md", "track_buffer.jsonl"} and "memory.md" not in names:
        return SourceKind.JIKIME
    if "index.json" in names and "memory-index.json" not in names:
        return SourceKind.KEEPER
    known = names & {"memory.md", "logbook.md", "facts.json", "memory-index.json"}
    if known or any(name.startswith("memory_") for name in names):
        return SourceKind.ROTATION
    below = islice(_walk(folder, "", 0, []), _LOOKED)
    return SourceKind.BASIC if is_basic_memory(folder, below) else None


def read_source(folder: str, zone: tzinfo | None) -> Read:
    """Return the files of a folder, with times in this zone."""
    files: list[SourceFile] = []
    left: list[Left] = []
    total = 0
    root = os.path.realpath(folder)
    for name in _walk(root, "", 0, left):
        if len(files) >= MAX_FILES or total >= MAX_TOTAL:
            left.append(Left(name, "there are more files than gitmem takes from one source"))
            break
        found = _read(root, name, zone)
        if isinstance(found, SourceFile):
            files.append(found)
            total += len(found.data)
        else:
            left.append(found)
    return Read(tuple(files), tuple(left))


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _walk(folder: str, prefix: str, depth: int, left: list[Left]) -> Iterator[str]:
    """Yield the names of the files below a folder, in order; list skipped ones with the reason."""
    for name in _names(folder):
        path, shown = os.path.join(folder, name), f"{prefix}{name}"
        if os.path.islink(path):
            left.append(Left(shown, "it is a symbolic link, which gitmem does not follow"))
        elif not os.path.isdir(path):
            yield shown
        elif depth >= MAX_DEPTH or name == ".git":
            left.append(Left(f"{shown}/", "it is nothing gitmem knows"))
        else:
            yield from _walk(path, f"{shown}/", depth + 1, left)


def _read(root: str, name: str, zone: tzinfo | None) -> SourceFile | Left:
    if name.endswith(_DATABASES):
        return Left(name, "it is a database; the logs beside it say what is in it")
    try:
        *folders, last = name.split("/")
        with enter(root, folders) as folder, open(folder.open(last), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                return Left(name, "it is no plain file")
            if about.st_size > MAX_FILE:
                return Left(name, f"it has {about.st_size:,} bytes, more than gitmem takes from one file")
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        return Left(name, f"it cannot be read: {error.strerror or error}")
    except RefusedError:
        return Left(name, "it is in a folder that became a symbolic link")
    modified = datetime.fromtimestamp(max(about.st_mtime, 0), UTC).astimezone(zone).replace(microsecond=0)
    return SourceFile(name, data[:MAX_FILE], modified)


_DAY = re.compile(r"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))\.md")
_SESSION_SUMMARY = "Session Summary"
_TITLES = (*(kind.label for kind in MemoryType), _SESSION_SUMMARY)
_HEADING = re.compile(rf"## (?P<title>{'|'.join(_TITLES)})\s*")
_TIMED = re.compile(
    r"- \[(?P<time>(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])\] \*\*(?P<label>[^*\n]{1,60})\*\*: ?(?P<text>.*)"
)
_ITEM = re.compile(r"- (?P<text>.*)")


def plan_jikime_file(file: SourceFile, limits: Limits) -> Found:
    """Return the plan for a file of a memory in the layout of Jikime."""
    if file.path == "track_buffer.jsonl":
        return [], [Left(file.path, "it is a buffer of a session that is over")]
    if not file.data.strip():
        return [], [Left(file.path, "it is empty")]
    if file.path.casefold() == "memory.md":
        return plan_memory(SourceKind.JIKIME, file, limits), []
    if day := _DAY.fullmatch(file.path):
        log = _log(file, day[1])
        return ([log], []) if log else ([], [Left(file.path, "its name is no day")])
    if file.path.endswith(".md") and "/" not in file.path:
        return [note(SourceKind.JIKIME, file)], []
    return [], [Left(file.path, "it is nothing gitmem knows")]


def _log(file: SourceFile, day: str) -> LogItem | None:
    if moment_in(day, file.modified.tzinfo) is None:
        return None
    entries: list[tuple[str, Entry]] = []
    prose: list[str] = []
    for section, time, label, text in _items(file.data.decode("utf-8-sig", "replace"), prose):
        said = clean_text(text)
        if said:
            at: datetime = moment_in(f"{day}_{time}", file.modified.tzinfo) or file.modified
            digest = bytes.fromhex(item_key(SourceKind.JIKIME, day, time, label, said))
            entries.append((section, Entry(make_id(int(at.timestamp() * 1000), digest), time, label, said)))
    when = moment_in(f"{day}_{max((entry.time for _, entry in entries), default='23:59:59')}", file.modified.tzinfo)
    rest = "\n".join(prose).strip("\n")
    key = item_key(SourceKind.JIKIME, file.path, file.data)
    return LogItem(file.path, when or file.modified, key, day, tuple(entries), f"{rest}\n" if rest.strip() else "")


def _items(text: str, prose: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the items of a log as (section, time, label, text); other text goes to `prose`.

    An item of a section has the time of the last one before it, or the day's beginning.
    """
    section, time = "", "00:00:00"
    held: tuple[str, str, str] | None = None
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        heading, timed = _HEADING.fullmatch(line), _TIMED.fullmatch(line)
        item = _ITEM.fullmatch(line) if section and not timed else None
        if not (heading or timed or item):
            if held:
                lines.append(line)
            elif line.strip() and not re.fullmatch(r"# [0-9-]{10}\s*", line):
                prose.append(line)
            continue
        if held:
            yield (*held, "\n".join(lines))
        held, lines = None, []
        if heading:
            section = heading["title"]
        elif timed:
            section, time = "", timed["time"]
            held, lines = (TIMELINE, time, timed["label"].strip()), [timed["text"]]
        elif item:
            held, lines = (section, time, section), [item["text"]]
    if held:
        yield (*held, "\n".join(lines))


_SESSION = re.compile(r"sessions/([0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{4,6}[^/]*?)\.md")
_RAW = re.compile(r"sessions/([^/]+)\.raw\.md")
_L1 = re.compile(r"sessions/([^/]+?)(?:\.l1)?\.jsonl")
_WEEK = re.compile(r"sessions/(?:archive/)?week-(?:([0-9]{4})-)?W?([0-9]{1,2})\.md")
_MONTH = re.compile(r"sessions/archive/([0-9]{4})-([0-9]{2})\.md")
_WEEKS = 53


def plan_keeper_file(file: SourceFile, limits: Limits) -> Found:  # noqa: PLR0911  # one a kind of file
    """Return the plan for a file of a project's memory in the layout of memory-keeper."""
    if file.path == FACTS:
        return plan_facts(SourceKind.KEEPER, file)
    if file.path == "index.json":
        return [], [Left(file.path, "an index of keywords is derived ('gitmem keywords')")]
    if not file.data.strip():
        return [], [Left(file.path, "it is empty")]
    if file.path == "memory.md":
        return plan_memory(SourceKind.KEEPER, file, limits), []
    if raw := _RAW.fullmatch(file.path):
        when = moment_in(raw[1], file.modified.tzinfo) or file.modified
        text = clean_text(file.data.decode("utf-8-sig", "replace"))  # no JSON: a transcript with one line
        line = {"at": when.isoformat(timespec="milliseconds"), "role": "summary", "text": text}
        lines = (json.dumps(line, ensure_ascii=False),)
        key = item_key(SourceKind.KEEPER, file.path, file.data)
        return [TranscriptItem(file.path, when, key, f"{raw[1]} raw", lines)], []
    if l1 := _L1.fullmatch(file.path):
        return plan_transcript(SourceKind.KEEPER, file, l1[1])
    if session := _SESSION.fullmatch(file.path):
        return [_session(file, session[1])], []
    if period := _period(file):
        return [period], []
    return [], [Left(file.path, "it is nothing gitmem knows")]


def _session(file: SourceFile, name: str) -> FileItem:
    """Return the summary of a session as a document."""
    when = moment_in(name, file.modified.tzinfo) or file.modified
    session = slug(name) or "session"
    path = session_path(stamp_of(when), session)
    head = [
        "---",
        f"id: session-{stamp_of(when).replace('_', '-')}-{session}",
        "kind: session",
        f"created: {when.isoformat(timespec='seconds')}",
        f"session: {flow(name)}",
        f"origin: {{tool: {SourceKind.KEEPER.value}}}",
        "---",
    ]
    data = "\n".join([*head, ""]).encode() + file.data
    return FileItem(file.path, when, item_key(SourceKind.KEEPER, file.path, file.data), path, data, f"session {name}")


def _period(file: SourceFile) -> FileItem | None:
    """Return a week or a month that an older tool consolidated; a week is taken to be of the year it was written in."""
    if month := _MONTH.fullmatch(file.path):
        name = f"{month[1]}-{month[2]}"
        last = moment_in(f"{name}-28", file.modified.tzinfo)
        path = monthly_path(name)
    elif week := _WEEK.fullmatch(file.path):
        year, number = int(week[1] or 0), int(week[2])
        written = file.modified.date().isocalendar()
        year = year or (written.year if number <= written.week else written.year - 1)
        try:  # week 53 of a year without one counts as 52
            weeks = date(year, 12, 28).isocalendar().week  # which is in the last
            sunday = date.fromisocalendar(year, min(number, weeks) if number == _WEEKS else number, 7)
        except ValueError:
            return None
        name = week_of(sunday)
        last = moment_in(sunday.isoformat(), file.modified.tzinfo)
        path = weekly_path(name)
    else:
        return None
    if last is None:
        return None
    data = period_document(name, file.data.decode("utf-8-sig", "surrogateescape"), SourceKind.KEEPER.value)
    key = item_key(SourceKind.KEEPER, file.path, file.data)
    return FileItem(file.path, last, key, path, data, f"{'month' if month else 'week'} {name}")

"""Find and read the memories of other tools; nothing there is changed.

The files are not trusted: no link is followed below the folder a user named, and files that are not regular, too
large or too many are listed and skipped. claude-mem has a database for all projects, `~/.claude-mem/claude-mem.db`,
with the tables `observations`, `session_summaries`, `user_prompts` and `sdk_sessions`; columns were renamed between
versions, so each row is read by the names it has. Source: its repository's schema.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from itertools import islice
from pathlib import Path

from gitmem.document.entry import TIMELINE, Entry, MemoryType, clean_text
from gitmem.document.ids import make_id
from gitmem.errors import RefusedError
from gitmem.importers.sources import (
    Found,
    Left,
    LogItem,
    MigrationPlan,
    SourceFile,
    SourceKind,
    TranscriptItem,
    first_text,
    instant,
    item_key,
    make_plan,
    spoken,
    texts_of,
)
from gitmem.platform.safe_open import enter, read_regular
from gitmem.text.sentences import count
from gitmem.values import Value

DATABASE = "claude-mem.db"
_LABELS = {"decision": MemoryType.DECISION, "bugfix": MemoryType.ERROR_FIX, "discovery": MemoryType.LEARNING}
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_TABLES = ("observations", "session_summaries", "user_prompts", "sdk_sessions")
_SECONDS = 100_000_000_000  # a smaller time is in seconds, a larger one in milliseconds
_LAST = 253_370_764_800_000  # milliseconds; Python's years end there
_MOST_SECONDS, _STEPS = 20.0, 100_000  # time to read a database, checked after so many steps of SQLite's machine
_ROW_BYTES = 1024  # approximate memory of a row without its text
_MOST_VALUE, _MOST_ROWS = 32 * 1024 * 1024, 512 * 1024 * 1024  # bytes of a value, and of all: a column can compute them
_PERMALINK = re.compile(rb"\A---\r?\n(?:[^\n]*\n)*?permalink:")
_Row = Mapping[str, object]
MAX_FILE = 32 * 1024 * 1024  # bytes; a transcript has a few MB, other files far less
MAX_FILES = 20_000
_LOOKED, _NOTES = 2_000, 50  # files, and notes among them, that are examined to recognise basic-memory
MAX_TOTAL = 512 * 1024 * 1024
MAX_DEPTH = 4  # folders; `sessions/archive/` is the deepest that any tool makes
# The folders for a project's memory: in the project, or in the home, named after the project or shared by all.
_PLACES = (
    (SourceKind.ROTATION, ".claude/memory"),
    (SourceKind.ROTATION, ".crabshell/memory"),
    (SourceKind.JIKIME, ".jikime/memory"),
    (SourceKind.KEEPER, "~/.claude/memory-keeper/projects/NAME"),
    (SourceKind.CLAUDE_MEM, "~/.claude-mem"),
)
_DATABASES = (".db", ".db-wal", ".db-shm", ".sqlite", ".sqlite3")


class Source(Value):
    """A folder with the memory of another tool; `project` is the project's name in a folder shared by all."""

    kind: SourceKind
    folder: str
    project: str = ""


def find_sources(project: str, home: str) -> list[Source]:
    """Return the memories of older tools that belong to a project; of a shared folder, the project's part.

    Links in the project are not followed, also on the way to a folder, as they may lead to another project's memory.
    """
    name, sources = os.path.basename(project), []
    for kind, place in _PLACES:
        top = home if place.startswith("~") else project
        parts = place.removeprefix("~/").replace("NAME", name).split("/")
        folder = os.path.join(top, *parts)
        of_all = kind is SourceKind.CLAUDE_MEM
        if top == project and os.path.realpath(folder) != os.path.join(os.path.realpath(project), *parts):
            continue
        if os.path.exists(os.path.join(folder, DATABASE * of_all)) and not os.path.islink(folder):
            sources.append(Source(kind, folder, name * of_all))
    return sources


def places_of(kind: SourceKind | None) -> list[str]:
    """Return the places that are searched for the memory of a tool, or of any."""
    return [place for layout, place in _PLACES if kind in (None, layout)]


def kind_of(folder: str) -> SourceKind | None:
    """Return the tool of a folder's memory, recognised by path or files; None if unknown."""
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
    return SourceKind.BASIC if _is_basic_memory(folder) else None


def read_source(folder: str, zone: tzinfo | None) -> tuple[list[SourceFile], list[Left]]:
    """Return the files of a folder, with times in this zone, and what is skipped."""
    files: list[SourceFile] = []
    left: list[Left] = []
    total = 0
    root = os.path.realpath(folder)
    for name in _walk(root, "", 0, left):
        if len(files) >= MAX_FILES or total >= MAX_TOTAL:
            left.append(Left(name, "there are more files than gitmem takes from one source"))
            break
        source = _read(root, name, zone)
        if isinstance(source, SourceFile):
            files.append(source)
            total += len(source.data)
        else:
            left.append(source)
    return files, left


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


def _is_basic_memory(folder: str) -> bool:
    """Return whether one of a folder's first notes has basic-memory's permalink."""
    names = islice(_walk(folder, "", 0, []), _LOOKED)
    for name in islice((name for name in names if name.endswith(".md")), _NOTES):
        with contextlib.suppress(OSError):
            if _PERMALINK.match(read_regular(os.path.join(folder, name), 4096, follow=False) or b""):
                return True
    return False


def plan_claude_mem(folder: str, project: str, zone: tzinfo | None) -> MigrationPlan:
    """Return the plan for a project's part of a database: days become logs, prompts become transcripts."""
    tables = _tables(os.path.join(folder, DATABASE))
    if tables is None:
        return make_plan([Left(DATABASE, "it cannot be read as a database")])
    return make_plan([*_days(tables, project, zone), *_transcripts(tables, project, zone)])


def _days(tables: Mapping[str, list[_Row]], project: str, zone: tzinfo | None) -> Found:
    days: dict[str, list[tuple[datetime, Entry]]] = {}
    for table, make in (("observations", _observation), ("session_summaries", _summary)):
        own = [row for row in tables[table] if first_text(row, "project") == project]
        if others := len(tables[table]) - len(own):
            yield Left(f"{DATABASE}: {count(others, 'row')} of {table}", "of other projects")
        for row in own:
            when, (label, text) = _when(row, zone), make(row)
            if text := clean_text(text):
                key = bytes.fromhex(item_key(SourceKind.CLAUDE_MEM, table, first_text(row, "id"), text))
                entry = Entry(make_id(int(when.timestamp() * 1000), key), f"{when:%H:%M:%S}", label, text)
                days.setdefault(f"{when:%Y-%m-%d}", []).append((when, entry))
    for day, found in days.items():
        found.sort(key=lambda pair: (pair[0], pair[1].id))
        key_of_day = item_key(SourceKind.CLAUDE_MEM, DATABASE, day, *(entry.id for _, entry in found))
        entries = tuple((TIMELINE, entry) for _, entry in found)
        yield LogItem(f"{DATABASE}: {len(found)} of {day}", found[-1][0], key_of_day, day, entries)


def _tables(path: str) -> dict[str, list[_Row]] | None:
    """Return the rows by table of a database, opened read-only; None if the file is no database."""
    import sqlite3  # noqa: PLC0415  # some builds of Python lack it

    size = 0
    rows: dict[str, list[_Row]] = {table: [] for table in _TABLES}
    if os.path.islink(path) or not os.path.isfile(path):
        return None
    try:
        database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(database):
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE)
            end = time.monotonic() + _MOST_SECONDS
            database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)  # a virtual table may be endless
            database.row_factory = sqlite3.Row
            # Not views: one of that name may be endless.
            tables = {row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in tables.intersection(_TABLES):
                for row in database.execute(f"SELECT * FROM {table}"):  # noqa: S608
                    size += _ROW_BYTES + sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
                    if size > _MOST_ROWS:
                        return None
                    rows[table].append(dict(row))
    except sqlite3.Error:
        return None
    return rows


def _when(row: _Row, zone: tzinfo | None) -> datetime:
    epoch = row.get("created_at_epoch")
    if isinstance(epoch, int | float) and 0 < epoch < _LAST:
        return datetime.fromtimestamp(epoch if epoch < _SECONDS else epoch / 1000, UTC).astimezone(zone)
    return instant(first_text(row, "created_at"), zone) or datetime.fromtimestamp(0, UTC).astimezone(zone)


def _listed(row: _Row, name: str) -> tuple[str, ...]:
    """Return the texts of a column that is a list in JSON."""
    with contextlib.suppress(ValueError, RecursionError):
        return texts_of(json.loads(first_text(row, name) or "[]"))
    return ()


def _observation(row: _Row) -> tuple[str, str]:
    """Return label and text of an observation."""
    title = ": ".join(filter(None, (first_text(row, "title"), first_text(row, "subtitle"))))
    lines = [title, first_text(row, "narrative", "text"), *(f"- {fact}" for fact in _listed(row, "facts"))]
    files = dict.fromkeys((*_listed(row, "files_modified"), *_listed(row, "files_read")))
    lines += [f"Files: {', '.join(files)}"] if files else []
    return _LABELS.get(first_text(row, "type"), MemoryType.NOTE).label, "\n".join(filter(None, lines))


def _summary(row: _Row) -> tuple[str, str]:
    """Return label and text of the summary of a session."""
    parts = {name.replace("_", " ").capitalize(): first_text(row, name) for name in _SUMMARY}
    return "Session Summary", "\n".join(f"{name}: {text}" for name, text in parts.items() if text)


def _session(row: _Row) -> str:
    return first_text(row, "content_session_id", "claude_session_id")


def _transcripts(tables: Mapping[str, list[_Row]], project: str, zone: tzinfo | None) -> Found:
    """Yield the prompts of a project's sessions."""
    own = {_session(row) for row in tables["sdk_sessions"] if first_text(row, "project") == project}
    prompts_of: dict[str, list[tuple[datetime, str]]] = {}
    for row in tables["user_prompts"]:
        if (session := _session(row)) in own and session:
            prompts_of.setdefault(session, []).append((_when(row, zone), first_text(row, "prompt_text")))
    for session, prompts in prompts_of.items():
        prompts.sort()
        key = item_key(SourceKind.CLAUDE_MEM, "user_prompts", session)
        lines = tuple(spoken(when, "user", text) for when, text in prompts)
        name = f"{DATABASE}: {count(len(prompts), 'prompt')} of {session}"
        yield TranscriptItem(name, prompts[0][0], key, session, lines)

"""Plans for memories of claude-mem, a database for all projects, and of basic-memory, a folder of notes (spec R10).

claude-mem: `~/.claude-mem/claude-mem.db` with the tables `observations`, `session_summaries`, `user_prompts` and
`sdk_sessions`; columns were renamed between versions, so each row is read by the names it has. basic-memory: markdown
with YAML (`title`, `type`, `tags`, `permalink`), which stays as it is. Sources: their repositories' schema and
NOTE-FORMAT.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from itertools import islice

from gitmem.archives.plans import Limits
from gitmem.document.entry import TIMELINE, Entry, MemoryType, clean_text
from gitmem.document.ids import make_id
from gitmem.importers.plan import (
    Found,
    Left,
    LogItem,
    MigrationItem,
    MigrationPlan,
    SourceFile,
    SourceKind,
    TranscriptItem,
    instant,
    item_key,
    make_plan,
    text_of,
    texts_of,
)
from gitmem.importers.split import note
from gitmem.platform.safe_open import read_regular
from gitmem.text.sentences import count

DATABASE = "claude-mem.db"
_LABELS = {"decision": MemoryType.DECISION, "bugfix": MemoryType.ERROR_FIX, "discovery": MemoryType.LEARNING}
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_TABLES = ("observations", "session_summaries", "user_prompts", "sdk_sessions")
_SECONDS = 100_000_000_000  # below, a number of time is in seconds, else in milliseconds
_LAST = 253_370_764_800_000  # milliseconds; Python's years end there
_MOST_VALUE, _MOST_ROWS = 32 * 1024 * 1024, 512 * 1024 * 1024  # bytes of a value, and of all: a column can compute them
_CREATED = re.compile(r"\A---\n(?:.*\n)*?(?:created|date): *[\"']?([^\"'\n]+)")
_PERMALINK = re.compile(rb"\A---\r?\n(?:[^\n]*\n)*?permalink:")
_LOOKED = 50  # notes
_Row = Mapping[str, object]


def is_basic_memory(folder: str, names: Iterable[str]) -> bool:
    """Return whether one of the first notes among some files has the link that basic-memory gives each of them."""
    for name in islice((name for name in names if name.endswith(".md")), _LOOKED):
        with contextlib.suppress(OSError):
            if _PERMALINK.match(read_regular(os.path.join(folder, name), 4096, follow=False) or b""):
                return True
    return False


def plan_basic_note(file: SourceFile, _: Limits) -> Found:
    """Return the plan for a file of basic-memory: a note as it is, with the date that it or its file has."""
    if not file.path.endswith(".md") or not file.data.strip():
        return [], [Left(file.path, "it is no note")]
    item = note(SourceKind.BASIC, file)
    created = _CREATED.match(file.data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
    when = instant(created[1].strip(), file.modified.tzinfo) if created else None
    return [item._replace(when=when or item.when)], []


def plan_claude_mem(folder: str, project: str, zone: tzinfo | None) -> MigrationPlan:
    """Return the plan for the part of a database that is a project's: its days as logs, its prompts as transcripts."""
    tables = _read(os.path.join(folder, DATABASE))
    if tables is None:
        return MigrationPlan((), (Left(DATABASE, "it cannot be read as a database"),))
    left = []
    days: dict[str, list[tuple[datetime, Entry]]] = {}
    for table, make in (("observations", _observation), ("session_summaries", _summary)):
        own = [row for row in tables[table] if text_of(row.get("project")) == project]
        if others := len(tables[table]) - len(own):
            left.append(Left(f"{DATABASE}: {count(others, 'row')} of {table}", "of other projects"))
        for row in own:
            when, (label, text) = _when(row, zone), make(row)
            if text := clean_text(text):
                key = bytes.fromhex(item_key(SourceKind.CLAUDE_MEM, table, text_of(row.get("id")), text))
                entry = Entry(make_id(int(when.timestamp() * 1000), key), f"{when:%H:%M:%S}", label, text)
                days.setdefault(f"{when:%Y-%m-%d}", []).append((when, entry))
    items: list[MigrationItem] = []
    for day, found in days.items():
        found.sort(key=lambda one: (one[0], one[1].id))
        entries = tuple((TIMELINE, entry) for _, entry in found)
        day_key = item_key(SourceKind.CLAUDE_MEM, DATABASE, day, *(entry.id for _, entry in entries))
        items.append(LogItem(f"{DATABASE}: {len(found)} of {day}", found[-1][0], day_key, day, entries))
    items += _transcripts(tables, project, zone)
    return make_plan(items, left)


def _read(path: str) -> dict[str, list[_Row]] | None:
    """Return the rows of the tables of a database, which is opened for reading only; None where it is none."""
    import sqlite3
    from pathlib import Path

    size = 0
    found: dict[str, list[_Row]] = {table: [] for table in _TABLES}
    if os.path.islink(path) or not os.path.isfile(path):
        return None
    try:
        database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(database):
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE)
            database.row_factory = sqlite3.Row
            # A view of that name may have no end.
            tables = {row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in tables.intersection(_TABLES):
                for row in database.execute(f"SELECT * FROM {table}"):  # noqa: S608
                    size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
                    if size > _MOST_ROWS:
                        return None
                    found[table].append(dict(row))
    except sqlite3.Error:
        return None
    return found


def _when(row: _Row, zone: tzinfo | None) -> datetime:
    epoch = row.get("created_at_epoch")
    if isinstance(epoch, int | float) and 0 < epoch < _LAST:
        return datetime.fromtimestamp(epoch if epoch < _SECONDS else epoch / 1000, UTC).astimezone(zone)
    return instant(text_of(row.get("created_at")), zone) or datetime.fromtimestamp(0, UTC).astimezone(zone)


def _listed(row: _Row, name: str) -> tuple[str, ...]:
    """Return the texts of a column that is a list in JSON."""
    with contextlib.suppress(ValueError, RecursionError):
        return texts_of(json.loads(text_of(row.get(name)) or "[]"))
    return ()


def _observation(row: _Row) -> tuple[str, str]:
    """Return label and text of an observation."""
    title, more, text = (text_of(row.get(name)) for name in ("title", "subtitle", "narrative"))
    lines = [": ".join(filter(None, (title, more))), text or text_of(row.get("text"))]
    lines += [f"- {fact}" for fact in _listed(row, "facts")]
    files = dict.fromkeys((*_listed(row, "files_modified"), *_listed(row, "files_read")))
    lines += [f"Files: {', '.join(files)}"] if files else []
    return _LABELS.get(text_of(row.get("type")), MemoryType.NOTE).label, "\n".join(filter(None, lines))


def _summary(row: _Row) -> tuple[str, str]:
    """Return label and text of the summary of a session."""
    said = {name.replace("_", " ").capitalize(): text_of(row.get(name)) for name in _SUMMARY}
    return "Session Summary", "\n".join(f"{name}: {text}" for name, text in said.items() if text)


def _session(row: _Row) -> str:
    return text_of(row.get("content_session_id") or row.get("claude_session_id"))


def _transcripts(tables: Mapping[str, list[_Row]], project: str, zone: tzinfo | None) -> list[TranscriptItem]:
    """Return the prompts of a project's sessions."""
    own = {_session(row) for row in tables["sdk_sessions"] if text_of(row.get("project")) == project}
    asked: dict[str, list[tuple[datetime, str]]] = {}
    for row in tables["user_prompts"]:
        if (session := _session(row)) in own and session:
            asked.setdefault(session, []).append((_when(row, zone), text_of(row.get("prompt_text"))))
    items = []
    for session, prompts in asked.items():
        prompts.sort()
        lines = [
            {"at": when.isoformat(timespec="milliseconds"), "role": "user", "text": text} for when, text in prompts
        ]
        key = item_key(SourceKind.CLAUDE_MEM, "user_prompts", session)
        name = f"{DATABASE}: {count(len(prompts), 'prompt')} of {session}"
        told = tuple(json.dumps(line, ensure_ascii=False) for line in lines)
        items.append(TranscriptItem(name, prompts[0][0], key, session, told))
    return items

"""A memory of memory-keeper: `~/.claude/memory-keeper/projects/NAME/`.

A rolling memory, `facts.json`, sessions in tiers: a summary and the raw text of each, weeks, months.

Tested through `tests/legacy/test_migrate.py`.
"""

from __future__ import annotations

import contextlib
import json
import re
from datetime import date
from typing import TYPE_CHECKING

from gitmem.legacy.facts import NAME as FACTS
from gitmem.legacy.facts import plan_facts
from gitmem.legacy.plan import (
    FileItem,
    Found,
    Left,
    MigrationPlan,
    SourceKind,
    TranscriptItem,
    item_key,
    moment_in,
    plan_files,
    stamp_of,
)
from gitmem.legacy.rolling import plan_memory
from gitmem.legacy.rotation import plan_transcript
from gitmem.model.document.scalars import flow
from gitmem.model.entry.entry import clean_text
from gitmem.model.paths import monthly_path, session_path, slug, weekly_path
from gitmem.model.tiers.consolidation import period_document
from gitmem.model.tiers.periods import week_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.legacy.plan import SourceFile
    from gitmem.model.tiers.limits import Limits

_SESSION = re.compile(r"sessions/([0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{4,6}[^/]*?)\.md")
_RAW = re.compile(r"sessions/([^/]+)\.raw\.md")
_L1 = re.compile(r"sessions/([^/]+?)(?:\.l1)?\.jsonl")
_WEEK = re.compile(r"sessions/(?:archive/)?week-(?:([0-9]{4})-)?W?([0-9]{1,2})\.md")
_MONTH = re.compile(r"sessions/archive/([0-9]{4})-([0-9]{2})\.md")
_WEEKS = 53


def plan_keeper_layout(files: Iterable[SourceFile], limits: Limits) -> MigrationPlan:
    """Return the plan for a project's memory in the layout of memory-keeper."""
    return plan_files(files, lambda file: _planned(file, limits))


def _planned(file: SourceFile, limits: Limits) -> Found:  # noqa: PLR0911
    if file.path == FACTS:
        return plan_facts(SourceKind.KEEPER, file)
    if file.path == "index.json":
        return [], [Left(file.path, "an index of keywords is derived ('gitmem keywords')")]
    if not file.data.strip():
        return [], [Left(file.path, "it is empty")]
    if file.path == "memory.md":
        return plan_memory(SourceKind.KEEPER, file, limits), []
    if raw := _RAW.fullmatch(file.path):
        return [_raw(file, raw[1])], []
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


def _raw(file: SourceFile, name: str) -> TranscriptItem:
    """Return the raw text of a session, which is no JSON, as a transcript with one line."""
    when = moment_in(name, file.modified.tzinfo) or file.modified
    text = clean_text(file.data.decode("utf-8-sig", "replace"))
    line = {"at": when.isoformat(timespec="milliseconds"), "role": "summary", "text": text}
    key = item_key(SourceKind.KEEPER, file.path, file.data)
    return TranscriptItem(file.path, when, key, f"{name} raw", (json.dumps(line, ensure_ascii=False),))


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
        sunday = _sunday(year, number)
        if sunday is None:
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


def _sunday(year: int, week: int) -> date | None:
    """Return the last day of an ISO week; week 53 of a year without one counts as 52."""
    for number in (week, week - 1) if week == _WEEKS else (week,):
        with contextlib.suppress(ValueError):
            return date.fromisocalendar(year, number, 7)
    return None

"""A memory with rotated archives: `.claude/memory/`, `.crabshell/memory/`.

`memory.md` (or `logbook.md`, as the tool's later versions call it), archives with a summary in JSON beside them,
`facts.json`, a person's notes on the project, and normalised transcripts. What the index held, history tells (R7).

Tested through `tests/legacy/test_migrate.py`.
"""

from __future__ import annotations

import json
import re
from datetime import UTC
from typing import TYPE_CHECKING

from gitmem.legacy.facts import NAME as FACTS
from gitmem.legacy.facts import plan_facts
from gitmem.legacy.plan import (
    ArchiveItem,
    FileItem,
    Found,
    Left,
    MigrationPlan,
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
from gitmem.legacy.rolling import note, plan_memory
from gitmem.model.entry.entry import clean_text
from gitmem.model.paths import SUMMARIES, archive_path
from gitmem.model.session.transcript import MAX_LINE, objects
from gitmem.model.tiers.summary import Summary, from_json, render_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gitmem.legacy.plan import SourceFile
    from gitmem.model.tiers.limits import Limits

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
        why = f"it is no summary: {_complaint(file)}; gitmem makes one of the archive itself"
        return [], [Left(file.path, why)]
    if archive in by_path:
        return [], []
    name = path.rpartition("/")[2].removesuffix(".md")
    key = item_key(SourceKind.ROTATION, file.path, file.data)
    target = f"{SUMMARIES}/{name}.summary.md"
    return [FileItem(file.path, when, key, target, render_document(summary, when), f"summary of {archive}")], []


def _complaint(file: SourceFile) -> str:
    try:
        read_json(file.data)
    except ValueError as error:
        return str(error)
    return "it says nothing of an archive"


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
        lines.append(json.dumps({"at": last.isoformat(timespec="milliseconds"), **_said(found)}, ensure_ascii=False))
    left = [Left(file.path, f"{unread} of its lines are no JSON")] if unread else []
    if not lines or started is None:
        return [], left or [Left(file.path, "it is empty")]
    key = item_key(kind, file.path, file.data)
    return [TranscriptItem(file.path, started, key, name, tuple(lines))], left


def _said(given: Mapping[str, object]) -> dict[str, object]:
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

"""What the files of older tools are, layout by layout: gitmem's seeds, jikime, memory-keeper, basic-memory (spec R10).

The seeds (`.claude/memory/`, `.crabshell/memory/`) have a rolling memory, rotated archives with a summary in JSON,
`facts.json`, a person's notes on the project, and normalised transcripts. Jikime (`.jikime/memory/`) writes text as it
comes: an item of a log goes on until the next one begins, and blank lines and headings in it are its own, but for those
the tool itself makes. memory-keeper has a rolling memory, `facts.json`, and sessions in tiers: a summary and the raw
text, weeks, months. Notes of basic-memory are markdown with YAML (`title`, `type`, `tags`, `permalink`), which stays.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime

from gitmem.archives.consolidation import period_document
from gitmem.archives.plans import Limits, week_of
from gitmem.archives.summary import Summary, from_json, render_document
from gitmem.document.document import flow
from gitmem.document.entry import (
    TIMELINE,
    Entry,
    MemoryType,
    clean_text,
)
from gitmem.document.ids import SUMMARIES, archive_path, make_id, monthly_path, session_path, slug, weekly_path
from gitmem.importers.plan import (
    FACTS,
    ArchiveItem,
    FileItem,
    Found,
    Left,
    LogItem,
    MigrationPlan,
    SourceFile,
    SourceKind,
    TranscriptItem,
    fields_of,
    instant,
    item_key,
    moment_in,
    plan_facts,
    plan_files,
    plan_memory,
    read_json,
    stamp_of,
    text_of,
)
from gitmem.sessions.transcript import MAX_LINE, objects

SUMMARIZER = "memory-summarizer"  # the agent of the older tool
_MEMORIES = ("memory.md", "logbook.md")
_ARCHIVE = re.compile(r"(?:memory|logbook)[_.-].*\.md")
_SUMMARY = ".summary.json"
_TRANSCRIPT = re.compile(r"sessions/([^/]+?)(?:\.l1)?\.jsonl")
_NOTES = ("project.md", "architecture.md", "conventions.md")
_INDEX = "memory-index.json"
_DERIVED = {_INDEX: "gitmem derives it from history ('gitmem index')", ".rotation.lock": "it is a lock"}


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
    if session := _TRANSCRIPT.fullmatch(file.path):
        return plan_transcript(SourceKind.ROTATION, file, session[1])
    if file.path in _NOTES:
        return [note(SourceKind.ROTATION, file)], []
    return [], [Left(file.path, _DERIVED.get(file.path, "it is nothing gitmem knows"))]


def _archive(file: SourceFile, by_path: Mapping[str, SourceFile]) -> ArchiveItem:
    when = moment_in(file.path, file.modified.tzinfo) or _rotated_at(file, by_path) or file.modified
    stamp = stamp_of(when)
    summary = None
    with contextlib.suppress(KeyError, ValueError):
        summary = _summary(by_path[file.path.removesuffix(".md") + _SUMMARY], archive_path(stamp))
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
    try:
        summary = _summary(file, path)
    except ValueError as error:
        return [], [Left(file.path, f"it is no summary: {error}; gitmem makes one of the archive itself")]
    if archive in by_path:
        return [], []
    name = path.rpartition("/")[2].removesuffix(".md")
    key = item_key(SourceKind.ROTATION, file.path, file.data)
    target = f"{SUMMARIES}/{name}.summary.md"
    return [FileItem(file.path, when, key, target, render_document(summary, when), f"summary of {archive}")], []


def _summary(file: SourceFile, archive: str) -> Summary:
    """Return the summary in a JSON file (spec R5).

    Raises:
        ValueError: there is none; the message says why.

    """
    summary = from_json(fields_of(read_json(file.data)), archive, SUMMARIZER)
    if not (summary.overall_summary or summary.themes or summary.key_decisions or summary.issues):
        raise ValueError("it says nothing of an archive")
    return summary


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
    if l1 := _TRANSCRIPT.fullmatch(file.path):
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


_CREATED = re.compile(r"\A---\n(?:.*\n)*?(?:created|date): *[\"']?([^\"'\n]+)")


def plan_basic_note(file: SourceFile, _: Limits) -> Found:
    """Return the plan for a file of basic-memory: a note as it is, with the date that it or its file has."""
    if not file.path.endswith(".md") or not file.data.strip():
        return [], [Left(file.path, "it is no note")]
    item = note(SourceKind.BASIC, file)
    created = _CREATED.match(file.data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
    when = instant(created[1].strip(), file.modified.tzinfo) if created else None
    return [item._replace(when=when or item.when)], []


def note(kind: SourceKind, file: SourceFile) -> FileItem:
    """Return a person's own notes on a project, as they are."""
    name = slug(file.path.removesuffix(".md")) or "notes"
    key = item_key(kind, file.path, file.data)
    return FileItem(file.path, file.modified, key, f"knowledge/{name}.md", file.data, file.path)


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

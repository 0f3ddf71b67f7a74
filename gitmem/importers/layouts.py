"""Plan the migration of older tools' files by a table of paths: gitmem's seeds, jikime, memory-keeper, basic-memory.

The seeds (`.claude/memory/`, `.crabshell/memory/`) have a rolling memory, rotated archives with a summary in JSON,
`facts.json`, a user's notes on the project, and normalised transcripts. Jikime (`.jikime/memory/`) escapes no text:
a log item extends to the next one, with all blank lines and headings in it except those that the tool itself makes.
memory-keeper has a rolling memory, `facts.json`, and sessions in tiers: a summary and the raw text, weeks, months.
Notes of basic-memory are markdown with YAML (`title`, `type`, `tags`, `permalink`), which is kept.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, tzinfo

from gitmem.archive.summary import Summary, from_json, render_document
from gitmem.config.values import RotationConfig
from gitmem.document.entry import Entry, clean_text
from gitmem.document.ids import archive_path, make_id, monthly_path, session_path, slug, summary_path, weekly_path
from gitmem.document.plain_header import flow
from gitmem.importers.sources import (
    STAMP,
    ArchiveItem,
    FileItem,
    Found,
    Left,
    LogItem,
    MemoryItem,
    MigrationPlan,
    SourceFile,
    SourceKind,
    TranscriptItem,
    days_in,
    fields_of,
    first_text,
    instant,
    item_key,
    log_items,
    make_plan,
    moment_in,
    read_json,
    split_memory,
    spoken,
    text_of,
    texts_of,
)
from gitmem.model.consolidation import period_document
from gitmem.model.fact import Fact, FactKind, FactStatus, make_fact, render_fact
from gitmem.model.rotation import week_of
from gitmem.model.transcript import MAX_LINE, objects
from gitmem.platform.safe_open import decode_by_hand
from gitmem.values import Value

_SUMMARIZER = "memory-summarizer"  # the agent of the older tool
_UNKNOWN = "it is nothing gitmem knows"


class _File(Value):
    """A file that matches a row of the table: its tool, the match of its path, and the files beside it by path."""

    kind: SourceKind
    file: SourceFile
    match: re.Match[str]
    beside: Mapping[str, SourceFile]
    limits: RotationConfig

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def zone(self) -> tzinfo | None:
        return self.file.modified.tzinfo

    @property
    def text(self) -> str:
        return decode_by_hand(self.file.data)

    def key(self, *parts: str | bytes) -> str:
        """Return the key of a part of the file, by default of the whole file."""
        return item_key(self.kind, self.path, *(parts or (self.file.data,)))

    def when(self, name: str) -> datetime:
        """Return the moment in a name, else the file's."""
        return moment_in(name, self.zone) or self.file.modified

    def as_document(self, path: str, subject: str, *, when: datetime | None = None, data: bytes | None = None) -> Found:
        """Yield the file as a document at this path; by default with the file's time and bytes."""
        content = self.file.data if data is None else data
        yield FileItem(self.path, when or self.file.modified, self.key(), content, path, subject)


def plan_layout(kind: SourceKind, files: Iterable[SourceFile], limits: RotationConfig) -> MigrationPlan:
    """Return the plan for the files of a tool's memory."""
    beside = {file.path: file for file in files}
    return make_plan(item for file in beside.values() for item in _planned(kind, file, beside, limits))


def _planned(kind: SourceKind, file: SourceFile, beside: Mapping[str, SourceFile], limits: RotationConfig) -> Found:
    if not file.data.strip():
        yield Left(file.path, "it is empty")
        return
    for kinds, pattern, read in _ROWS:
        if kind in kinds and (match := re.fullmatch(pattern, file.path, re.DOTALL)):
            if isinstance(read, str):
                yield Left(file.path, read)
            else:
                yield from read(_File(kind, file, match, beside, limits))
            return
    yield Left(file.path, _UNKNOWN)


def _memory(source: _File) -> Found:
    """Yield a rolling memory; if it is over the threshold, first its parts."""
    modified, today = source.file.modified, f"{source.file.modified:%Y-%m-%d}"
    archives: list[ArchiveItem] = []
    day = ""
    for number, (last, data) in enumerate(split_memory(source.file.data, source.limits, today)):
        day = max(day, last)  # keeps the order of the file, even if it begins with its newest day
        when = modified if day == today else source.when(day)  # the end of today may be in the future
        archives.append(ArchiveItem(source.path, when, source.key("part", str(number), data), data))
    whole = archives[0] if len(archives) == 1 else None
    if whole is None:
        yield from archives
    newest = max((day for _, day in days_in(source.file.data)), default="")
    yield MemoryItem(source.path, min(source.when(newest), modified), source.key(), source.file.data, whole)


def _archive(source: _File) -> Found:
    when = source.when(source.path)
    summary = None
    with contextlib.suppress(KeyError, ValueError):
        summary = _summary(
            source.beside[source.path.removesuffix(".md") + ".summary.json"], archive_path(f"{when:{STAMP}}")
        )
    yield ArchiveItem(source.path, when, source.key(), source.file.data, summary)


def _summary_alone(source: _File) -> Found:
    """Yield the summary of an archive that no longer exists."""
    archive, when = f"{source.match[1]}.md", source.when(source.path)
    path = archive_path(f"{when:{STAMP}}")
    try:
        summary = _summary(source.file, path)
    except ValueError as error:
        yield Left(source.path, f"it is no summary: {error}; gitmem makes one of the archive itself")
        return
    if archive not in source.beside:
        data = render_document(summary, when)
        yield from source.as_document(summary_path(path), f"summary of {archive}", when=when, data=data)


def _summary(file: SourceFile, archive: str) -> Summary:
    """Return the summary in a JSON file. Raises ValueError with the reason if there is none."""
    summary = from_json(fields_of(read_json(file.data)), archive, _SUMMARIZER)
    if not (summary.overall_summary or summary.themes or summary.key_decisions or summary.issues):
        raise ValueError("it says nothing of an archive")
    return summary


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


def _facts(source: _File) -> Found:
    """Yield the facts of a `facts.json` in both its shapes, and the parts left out.

    The old shape has `decisions`, `patterns` and `issues`, the new one `rules`, `solutions` and `coreLogic`; a file may
    have lists of both. The index of keywords beside them is derived and not read.
    """
    try:
        fields = fields_of(read_json(source.file.data))
    except ValueError as error:
        yield Left(source.path, str(error))
        return
    yield from [*_listed_facts(source, fields)] or [Left(source.path, "it holds no facts")]


def _listed_facts(source: _File, fields: Mapping[str, object]) -> Found:
    for name, listed in fields.items():
        if name in _LISTS and isinstance(listed, list):
            for number, item in enumerate(listed, 1):
                fact = _fact(source, _LISTS[name], fields_of(item) or {"content": item})
                if fact is None:
                    yield Left(source.path, f"number {number} of its {name} says nothing")
                    continue
                # The key is a digest of the text: equal facts of two files are one, a changed fact is new.
                key, subject = source.key(fact.id), f"fact: {fact.description}"
                yield FileItem(source.path, fact.created, key, render_fact(fact), fact.path, subject)
        elif name not in _DERIVED and listed and isinstance(listed, list | dict):
            yield Left(source.path, f"{name[:40]!r} is no list of facts that gitmem knows")


def _fact(source: _File, kind: FactKind, fields: Mapping[str, object]) -> Fact | None:
    text = clean_text(first_text(fields, *_SAID))
    if not text:
        return None
    origin = {"tool": source.kind.value, "id": first_text(fields, "id"), "session": first_text(fields, "session")}
    origin["exchange"] = first_text(fields, "exchange", "exchangeId")
    created = next(
        filter(None, (instant(first_text(fields, name), source.zone) for name in _DATES)), source.file.modified
    )
    sure = fields.get("confidence")
    is_sure = isinstance(sure, int | float) and not isinstance(sure, bool) and 0 <= sure <= 1
    fact = make_fact(
        kind,
        text,
        created,
        origin={key: value for key, value in origin.items() if value},
        confidence=float(str(sure)) if is_sure else None,
        keywords=texts_of(fields.get("keywords"))[:_MOST_KEYWORDS],
        files=texts_of(fields.get("files")),
        sources=tuple(filter(None, (origin["session"],))),
    )
    more = {"Why": first_text(fields, "reason"), "How": first_text(fields, "details", "solution")}
    more = {label: clean_text(said) for label, said in (more | {"Resolved": first_text(fields, "resolution")}).items()}
    if kind is FactKind.ISSUE and (more["Resolved"] or first_text(fields, "status").casefold() == "resolved"):
        fact = fact._replace(status=FactStatus.RESOLVED)
    return fact._replace(text="\n\n".join([text, *(f"**{label}:** {said}" for label, said in more.items() if said)]))


def _log(source: _File) -> Found:
    """Yield a day's log of Jikime."""
    day, entries, prose = source.match[1], list[tuple[str, Entry]](), list[str]()
    if moment_in(day, source.zone) is None:
        yield Left(source.path, "its name is no day")
        return
    for section, time, label, text in log_items(source.text, prose):
        if entry_text := clean_text(text):
            at = int(source.when(f"{day}_{time}").timestamp() * 1000)
            digest = bytes.fromhex(item_key(source.kind, day, time, label, entry_text))
            entries.append((section, Entry(make_id(at, digest), time, label, entry_text)))
    when = source.when(f"{day}_{max((entry.time for _, entry in entries), default='23:59:59')}")
    rest = "\n".join(prose).strip("\n")
    yield LogItem(source.path, when, source.key(), day, tuple(entries), f"{rest}\n" if rest.strip() else "")


def _session(source: _File) -> Found:
    """Yield the summary of a session of memory-keeper as a document."""
    name = source.match[1]
    when = source.when(name)
    stamp, session = f"{when:{STAMP}}", slug(name) or "session"
    head = (
        f"---\nid: session-{stamp.replace('_', '-')}-{session}\nkind: session\n"
        f"created: {when.isoformat(timespec='seconds')}\nsession: {flow(name)}\n"
        f"origin: {{tool: {source.kind.value}}}\n---\n"
    )
    data = head.encode() + source.file.data
    yield from source.as_document(session_path(stamp, session), f"session {name}", when=when, data=data)


def _week(source: _File) -> Found:
    """Yield a week that an older tool consolidated, assumed to be of the year of the file's time.

    Week 53 of a year without one counts as 52.
    """
    written, number = source.file.modified.date().isocalendar(), int(source.match[2])
    year = int(source.match[1] or 0) or (written.year if number <= written.week else written.year - 1)
    sunday = None
    for week in [53, 52] if number == 53 else [number]:  # noqa: PLR2004
        with contextlib.suppress(ValueError):
            sunday = sunday or date.fromisocalendar(year, week, 7)
    if sunday is None:
        yield Left(source.path, _UNKNOWN)
        return
    name = week_of(sunday)
    yield from _period(source, f"week {name}", weekly_path(name), name, sunday.isoformat())


def _month(source: _File) -> Found:
    name = f"{source.match[1]}-{source.match[2]}"
    yield from _period(source, f"month {name}", monthly_path(name), name, f"{name}-28")


def _period(source: _File, subject: str, path: str, name: str, day: str) -> Found:
    last = moment_in(day, source.zone)
    if last is None:
        yield Left(source.path, _UNKNOWN)
        return
    data = period_document(name, source.file.data.decode("utf-8-sig", "surrogateescape"), source.kind.value)
    yield from source.as_document(path, subject, when=last, data=data)


_CREATED = re.compile(r"\A---\n(?:.*\n)*?(?:created|date): *[\"']?([^\"'\n]+)")


def _note(source: _File) -> Found:
    """Yield a user's notes on a project unchanged, with their own date (basic-memory) or the file's."""
    created = _CREATED.match(source.text.replace("\r\n", "\n")) if source.kind is SourceKind.BASIC else None
    when = instant(created[1].strip(), source.zone) if created else None
    name = slug(source.path.removesuffix(".md")) or "notes"
    yield from source.as_document(f"knowledge/{name}.md", source.path, when=when)


def _raw(source: _File) -> Found:
    """Yield the raw text of a session of memory-keeper as a transcript of one line."""
    when = source.when(source.match[1])
    lines = (spoken(when, "summary", clean_text(source.text)),)
    yield TranscriptItem(source.path, when, source.key(), f"{source.match[1]} raw", lines)


_ROLES = ("user", "assistant", "summary")
_TIMES = ("at", "ts", "timestamp")


def _transcript(source: _File) -> Found:
    """Yield a normalised transcript (lines with `ts`, `role`, `text`) in the form of the branch l1."""
    last = source.when(source.match[1])
    lines, unread, started = [], 0, None
    for line in filter(str.strip, source.text.split("\n")):
        first = next(objects(line), None) if len(line) <= MAX_LINE else None
        if first is None:
            unread += 1
            continue
        last = instant(first_text(first, *_TIMES), UTC) or last
        started = started or last
        lines.append(spoken(last, *_speech_of(first)))
    if unread:
        yield Left(source.path, f"{unread} of its lines {'is' if unread == 1 else 'are'} no JSON")
    if started:
        yield TranscriptItem(source.path, started, source.key(), source.match[1], tuple(lines))


def _speech_of(fields: Mapping[str, object]) -> tuple[str, str]:
    """Return speaker and text of a transcript's line; the text of an unknown line is all of it."""
    message = fields_of(fields.get("message"))
    role = first_text(fields, "role", "type") or first_text(message, "role")
    content = fields.get("text") or fields.get("content") or message.get("content")
    if isinstance(content, list):
        content = "\n".join(filter(None, (text_of(fields_of(part).get("text")) or text_of(part) for part in content)))
    text = clean_text(text_of(content))
    if text and role in _ROLES:
        return role, text
    rest = {key: value for key, value in fields.items() if key not in _TIMES}
    return "summary", json.dumps(rest, ensure_ascii=False)


_SEEDS = (SourceKind.ROTATION,)
_KEEPER = (SourceKind.KEEPER,)
_JIKIME = (SourceKind.JIKIME,)
_NUMBER = "[0-9]{4}"
# By tool and path: the first row that fits reads the file, or has the reason why it is left out.
_ROWS: tuple[tuple[tuple[SourceKind, ...], str, Callable[[_File], Found] | str], ...] = (
    ((*_SEEDS, *_KEEPER), r"facts\.json", _facts),
    ((*_SEEDS, *_KEEPER), r"memory\.md", _memory),
    ((*_SEEDS, *_KEEPER), r"sessions/([^/]+?)(?:\.l1)?\.jsonl", _transcript),
    (_SEEDS, r"logbook\.md", _memory),
    (_SEEDS, r"(.+)\.summary\.json", _summary_alone),
    (_SEEDS, r"(?:memory|logbook)[_.-].*\.md", _archive),
    (_SEEDS, r"(?:project|architecture|conventions)\.md", _note),
    (_SEEDS, r"memory-index\.json", "gitmem derives it from history ('gitmem index')"),
    (_SEEDS, r"\.rotation\.lock", "it is a lock"),
    (_KEEPER, r"index\.json", "an index of keywords is derived ('gitmem keywords')"),
    (_KEEPER, r"sessions/([^/]+)\.raw\.md", _raw),
    (_KEEPER, rf"sessions/({_NUMBER}-[0-9]{{2}}-[0-9]{{2}}_[0-9]{{4,6}}[^/]*?)\.md", _session),
    (_KEEPER, rf"sessions/(?:archive/)?week-(?:({_NUMBER})-)?W?([0-9]{{1,2}})\.md", _week),
    (_KEEPER, rf"sessions/archive/({_NUMBER})-([0-9]{{2}})\.md", _month),
    (_JIKIME, r"track_buffer\.jsonl", "it is a buffer of a session that is over"),
    (_JIKIME, r"(?i:memory)\.md", _memory),
    (_JIKIME, rf"({_NUMBER}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))\.md", _log),
    (_JIKIME, r"[^/]+\.md", _note),
    ((SourceKind.BASIC,), r".*\.md", _note),
)

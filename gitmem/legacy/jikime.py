"""A memory of Jikime: `.jikime/memory/`.

Daily logs and a rolling `MEMORY.md`, which are taken; a buffer of tracked files and a database, which hold nothing that
the logs do not. The tool writes text as it comes: an item of a log goes on until the next one begins, indented or not,
and blank lines and headings in it are its own, but for those the tool itself makes.

Tested through `tests/legacy/test_migrate.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitmem.legacy.plan import Found, Left, LogItem, MigrationPlan, SourceKind, item_key, moment_in, plan_files
from gitmem.legacy.rolling import note, plan_memory
from gitmem.model.entry.entry import Entry, clean_text
from gitmem.model.entry.kinds import TIMELINE, MemoryType
from gitmem.model.ids import make_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from gitmem.legacy.plan import SourceFile
    from gitmem.model.tiers.limits import Limits

_DAY = re.compile(r"([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))\.md")
_SESSION_SUMMARY = "Session Summary"
_TITLES = (*(kind.label for kind in MemoryType), _SESSION_SUMMARY)
_HEADING = re.compile(rf"## (?P<title>{'|'.join(_TITLES)})\s*")
_TIMED = re.compile(
    r"- \[(?P<time>(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])\] \*\*(?P<label>[^*\n]{1,60})\*\*: ?(?P<text>.*)"
)
_ITEM = re.compile(r"- (?P<text>.*)")
_DATABASE = (".db", ".db-wal", ".db-shm", ".sqlite", ".sqlite3")


def plan_jikime_layout(files: Iterable[SourceFile], limits: Limits) -> MigrationPlan:
    """Return the plan for a memory in the layout of Jikime."""
    return plan_files(files, lambda file: _planned(file, limits))


def _planned(file: SourceFile, limits: Limits) -> Found:  # noqa: PLR0911
    if file.path.endswith(_DATABASE):
        return [], [Left(file.path, "a database; the logs say what is in it")]
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
            entries.append((section, Entry(_id(file, day, time, label, said), time, label, said)))
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


def _id(file: SourceFile, day: str, time: str, label: str, text: str) -> str:
    """Return the id of an entry, made of its moment and a digest of its text."""
    when: datetime = moment_in(f"{day}_{time}", file.modified.tzinfo) or file.modified
    digest = bytes.fromhex(item_key(SourceKind.JIKIME, day, time, label, text))
    return make_id(int(when.timestamp() * 1000), digest)

"""Explain a line of the project's code by the exchange that wrote it, found by the text of its edits.

`git blame` names the commit of a line. The exchange is the last one before that commit whose edit wrote the line, by
the record of code lines (docs/format.md, "Lines of code"). A line that a commit only reformatted is followed to the
version before. For a guess, `certain` is false.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from gitmem.document.code_lines import FOLDER, Written, day_of_lines, digest_of, parse_written
from gitmem.document.entry import Entry, find_by_digest, find_entries
from gitmem.document.ids import daily_path, tail_of
from gitmem.errors import GitFailedError, NotFoundError
from gitmem.history.origin import files_naming, find_entry
from gitmem.model.exchange import EXCHANGE, MAX_FILES, Fields, parse, split_fields
from gitmem.platform.machine import UTC
from gitmem.platform.safe_open import enter, read_open, split
from gitmem.project.code import ProjectCode
from gitmem.store.store import Store
from gitmem.tell.blamed_code import (
    MOST_LINES,
    BlamedCode,
    Blaming,
    blame_code,
    commit_named,
    lines_added_by,
    lines_with,
)
from gitmem.values import Value

_DAY, _TIME = len("2026-01-13"), len("2026-01-13 14:03:22")
_LOGS = ("daily", "sessions")


class FoundExchange(Value):
    """An exchange: its request, answer and files, when it began (`day` is YYYY-MM-DD), and its session's tag."""

    id: str
    day: str
    time: str
    session: str
    fields: Fields


def find_exchange(store: Store, identifier: str, at: datetime) -> FoundExchange | None:
    """Return the exchange that began at a moment; None if neither the work tree nor history has it."""
    for days in (0, -1, 1):  # its day depends on the time zone of the machine that wrote it
        day = f"{at.astimezone() + timedelta(days=days):%Y-%m-%d}"
        entry = find_by_digest(_text(store, daily_path(day)), tail_of(identifier))
        if entry is not None:
            return _exchange(entry.entry, day)
    for path in files_naming(store, [identifier]):  # the day was consolidated into a week
        entry = find_by_digest(_text(store, path), tail_of(identifier))
        if entry is not None and path.startswith(_LOGS):
            return _exchange(entry.entry, f"{at.astimezone():%Y-%m-%d}")
    try:
        return _exchange(find_entry(store, identifier).entry, f"{at.astimezone():%Y-%m-%d}")
    except NotFoundError:
        return None


def exchanges_naming(store: Store, file: str, until: datetime | None) -> Iterator[FoundExchange]:
    """Yield the exchanges that changed a file of the project and began by a moment, the newest first."""
    git, options = store.repository.git, ("-l", "-z", "--full-name", "--text", "--fixed-strings", "-e", file)
    output = git.run("grep", *options, "--", *(f":(top){folder}" for folder in _LOGS), ok=(0, 1), timeout=300)
    limit = f"{until.astimezone():%Y-%m-%d %H:%M:%S}" if until else "~"
    newest: dict[str, FoundExchange] = {}
    for path in map(os.fsdecode, output.split(b"\0")[:-1]):
        day = os.path.basename(path)[:_DAY]
        for entry in find_entries(_text(store, path)):
            exchange = _exchange(entry.entry, day)
            if entry.entry.label == EXCHANGE and file in exchange.fields.files:
                newest.setdefault(exchange.id, exchange)
    times = {exchange_named.id: f"{exchange_named.day} {exchange_named.time}" for exchange_named in newest.values()}
    for identifier in sorted(newest, key=times.__getitem__, reverse=True):
        if times[identifier] <= limit:
            yield newest[identifier]


def _text(store: Store, path: str) -> str:
    return (store.read(path) or b"").decode("utf-8", "replace")


def _exchange(entry: Entry, day: str) -> FoundExchange:
    """Return the exchange of an entry in a daily log, or in a session's file, where times include the date."""
    fields = split_fields(entry.text)
    if len(entry.time) >= _TIME:
        day, time = entry.time[:_DAY], entry.time[_DAY + 1 :]
        if exchange := parse(entry):
            answer = "\n".join(filter(None, (exchange.summary, exchange.details)))
            fields = Fields(request=exchange.asked or exchange.summary, answer=answer, files=exchange.files)
    else:
        time = entry.time
    return FoundExchange(entry.id, day, time, "".join(entry.tags[:1]), fields)


_AROUND = 4  # neighbouring lines that are evidence for the exchange that wrote them
_ENOUGH = 2  # neighbouring lines of the same edit that suffice as evidence
_CLEAR_LETTERS = 20  # letters of a line that nobody writes twice by chance
_PARTS = re.compile(r"[\s\"'`=(){},;]+")
_MOST_STEPS = 8  # commits that only reformatted a line, one after another
_FIRST = 500  # rows of the first days, in which the first exchange is looked for
_SKEW = timedelta(seconds=2)  # git's times are whole seconds
_AHEAD = 20  # lines whose rows are looked up while git is running
_MOST_PLACES = 20  # occurrences of a text in the project


class Ground(StrEnum):
    """The evidence for an answer about a line."""

    TEXT = "text"  # an edit wrote this line
    PART = "part"  # an edit wrote a part of this line
    FILE = "file"  # no edit's text is known: the newest exchange before the commit that names the file
    NOBODY = "nobody"  # no exchange wrote it: by hand, by a program, or before the first recorded line


class LineOrigin(Value):
    """The origin of a line: the line with its commit, the exchange, and whether that is certain.

    `file` is its present path, `since` the time of the first recorded exchange that wrote code, None without one.
    `others` is the number of other exchanges whose edits wrote the same line before the commit. `reformatted` are the
    commits between that only reformatted the line.
    """

    line: BlamedCode
    ground: Ground
    file: str = ""
    since: datetime | None = None
    exchange: FoundExchange | None = None
    certain: bool = False
    others: int = 0
    reformatted: tuple[str, ...] = ()


class _Row(Value):
    """A row of the record with its moment."""

    at: datetime
    exchange: str
    path: str
    digests: tuple[str, ...]


class WrittenLines:
    """A store's record of code lines, read once; only rows with a requested line are parsed."""

    def __init__(self, store: Store) -> None:
        self._files = [(day_of_lines(path), store.read(path) or b"") for path in sorted(_record_paths(store))]
        self._holding = dict[frozenset[str], list[_Row]]()

    @property
    def began(self) -> datetime | None:
        """When the first exchange that wrote code began, None without one."""
        rows = (_row(day, row) for day, data in self._files for row in parse_written(data))
        return min((row.at for row in islice(rows, _FIRST)), default=None)

    def rows(self, digests: frozenset[str], until: datetime | None) -> list[_Row]:
        """Return the rows with one of these lines, of exchanges that began by a moment, the oldest first."""
        return [row for row in self.holding(digests) if until is None or row.at <= until + _SKEW]

    def holding(self, digests: frozenset[str]) -> list[_Row]:
        """Return all rows with one of these lines, the oldest first; the result is cached."""
        if digests not in self._holding:
            rows = [row for day, data in self._files for row in _rows_with(digests, day, data)]
            self._holding[digests] = sorted(rows, key=lambda row: (row.at, row.exchange, row.path))
        return self._holding[digests]

    def of(self, exchanges: Collection[str]) -> list[_Row]:
        """Return the rows of some exchanges."""
        keys = [exchange.encode() for exchange in exchanges]
        rows = (
            (day, row) for day, data in self._files if any(key in data for key in keys) for row in parse_written(data)
        )
        return [_row(day, row) for day, row in rows if row.exchange in exchanges]

    def into(self, paths: Collection[str]) -> list[_Row]:
        """Return the rows of some files of the project."""
        return [_row(day, row) for day, data in self._files for row in parse_written(data) if row.path in paths]

    def names(self, exchange: str, path: str) -> bool:
        """Return whether lines of a file are recorded for an exchange."""
        key = exchange.encode()
        lines = (line for _, data in self._files if key in data for line in data.split(b"\n") if key in line)
        return any((row.exchange, row.path) == (exchange, path) for line in lines for row in parse_written(line))


def _rows_with(digests: frozenset[str], day: str, data: bytes) -> list[_Row]:
    wanted = [digest.encode() for digest in digests]
    if not any(digest in data for digest in wanted):
        return []
    lines = (line for line in data.split(b"\n") if any(digest in line for digest in wanted))
    return [_row(day, row) for row in parse_written(b"\n".join(lines)) if not digests.isdisjoint(row.digests)]


def _row(day: str, row: Written) -> _Row:
    try:
        at = datetime.fromisoformat(f"{day}T{row.at}").replace(tzinfo=UTC)
    except ValueError:  # an invalid day or hour
        at = datetime.fromtimestamp(0, UTC)
    return _Row(at, row.exchange, row.path, row.digests)


def _record_paths(store: Store) -> Iterator[str]:
    for year in store.names(FOLDER):
        for month in store.names(f"{FOLDER}/{year}"):
            names = store.names(f"{FOLDER}/{year}/{month}")
            yield from (path for name in names if day_of_lines(path := f"{FOLDER}/{year}/{month}/{name}"))


def why_lines(store: Store, code: ProjectCode, blaming: Blaming) -> list[LineOrigin]:
    """Return the origin of each blamed line of a file of the project; raises NotFoundError without one."""
    path, first = blaming.path, blaming.first
    written = WrittenLines(store)
    since = written.began
    around = project_lines(code, path)
    for digest in filter(None, map(digest_of, around[first - 1 : blaming.last][:_AHEAD])):
        written.holding(frozenset({digest}))
    try:
        lines = blaming.lines()
    except GitFailedError as error:
        raise NotFoundError(
            f"git has no line {first} of {path}: {error.reason}.",
            "Name a file that the project's git tracks, and a line of it.",
        ) from None
    answers = (_why(store, code, written, line, _neighbours(around, line.now)) for line in lines)
    return [answer._replace(file=path, since=since) for answer in answers]


def _near_file(code: ProjectCode, where: str) -> str:
    """Return a question that suggests a file with the same or a similar name, or ""."""
    from difflib import get_close_matches

    path, colon, line = where.partition(":")
    files = code.git.run("ls-files", "-z").decode("utf-8", "replace").split("\0")
    named = [file for file in files if file.endswith(f"/{path}")] or get_close_matches(path, files, 1)
    if path in files:
        return f"A line is a number: {path}:12. " if colon else ""
    return f"Did you mean {named[0]}{colon}{line}? " if len(named) == 1 else ""


def why_place(store: Store, code: ProjectCode, where: str, blaming: Blaming | None = None) -> list[LineOrigin]:
    """Return the origins of the lines of `PATH`, `PATH:LINE` or `PATH:FROM-TO`, or of a commit's lines.

    `blaming` is the running blame if `where` names a file. Raises NotFoundError for anything else.
    """
    if blaming is not None:
        return why_lines(store, code, blaming)
    commit = commit_named(code, where)
    if not commit:
        raise NotFoundError(
            f"This project has no file and no commit {where!r}.",
            f"{_near_file(code, where)}Give a file and a line of it, such as src/app.py:12, or a commit.",
        )
    return why_commit(store, code, commit)


def why_commit(store: Store, code: ProjectCode, commit: str) -> list[LineOrigin]:
    """Return the origin of each line that a commit of the project added."""
    lines = lines_added_by(code, commit)[:MOST_LINES]
    written, answers = WrittenLines(store), list[LineOrigin]()
    since = written.began
    for place, line in enumerate(lines):
        around = (*lines[max(place - _AROUND, 0) : place], *lines[place + 1 : place + 1 + _AROUND])
        digests = (digest_of(other.text) for other in around if other.path == line.path)
        answer = _why(store, code, written, line, frozenset(filter(None, digests)))
        answers.append(answer._replace(file=line.path, since=since))
    return answers


def why_text(store: Store, code: ProjectCode, text: str) -> list[LineOrigin]:
    """Return the origins of the project's first lines that contain a text. Raises NotFoundError without any."""
    places = lines_with(code, text, _MOST_PLACES)
    if not places:
        raise NotFoundError(f"No tracked file of the project holds {text!r}.", "'gitmem search' looks into the memory.")
    return [answer for path, number in places for answer in why_lines(store, code, Blaming(code, path, number, number))]


def project_lines(code: ProjectCode, path: str) -> list[str]:
    """Return the lines of a file of the project's work tree."""
    *folders, name = split(path)
    with enter(code.root, folders) as folder, open(folder.open(name), "rb") as file:
        data = read_open(file, 16 << 20) or b""
    return data.decode("utf-8", "replace").split("\n")


def _neighbours(texts: Sequence[str], number: int) -> frozenset[str]:
    """Return the digests of the lines around a line, without its own."""
    around = [*texts[max(number - 1 - _AROUND, 0) : number - 1], *texts[number : number + _AROUND]]
    return frozenset(filter(None, map(digest_of, around)))


def _why(
    store: Store, code: ProjectCode, written: WrittenLines, line: BlamedCode, around: frozenset[str]
) -> LineOrigin:
    here, reformatted = line, list[str]()
    for _ in range(_MOST_STEPS):
        answer = _by_text(store, written, here, around)
        if answer is not None and answer.certain:
            return answer._replace(line=line, reformatted=tuple(reformatted))
        place = _before(code, here) if here.commit else None
        if place is None:
            break
        reformatted.append(here.commit)
        here = blame_code(code, place[0], place[1], place[1], here.previous)[0]
    if reformatted:  # a reformatted line is judged by its original text
        answer = _by_text(store, written, here, around)
    if answer is not None:
        return answer._replace(line=line, reformatted=tuple(reformatted))
    return (_by_part(store, written, line) or _by_file(store, written, line))._replace(reformatted=tuple(reformatted))


def _by_part(store: Store, written: WrittenLines, line: BlamedCode) -> LineOrigin | None:
    """Return the last exchange before a line's commit that wrote a word or quotation of it into its file, else None.

    Some agents report only the replaced words of an edit.
    """
    parts = frozenset(filter(None, map(digest_of, _PARTS.split(line.text))))
    rows = [row for row in written.rows(parts, line.at if line.commit else None) if row.path == line.path]
    exchange = find_exchange(store, rows[-1].exchange, rows[-1].at) if rows else None
    return LineOrigin(line, Ground.PART, exchange=exchange) if exchange else None


def _before(code: ProjectCode, line: BlamedCode) -> tuple[str, int] | None:
    from gitmem.tell.blamed_code import line_before  # compares texts, which few lines need

    return line_before(code, line)


def _by_text(store: Store, written: WrittenLines, line: BlamedCode, around: frozenset[str]) -> LineOrigin | None:
    """Return the last exchange before a line's commit whose edit wrote the line, None if none did.

    Of several, one whose edit of the same file wrote neighbouring lines is preferred. It is certain if the line or its
    surroundings are unique; a line without a digest is found by its surroundings only, and never certain.
    """
    digest, until = digest_of(line.text), line.at if line.commit else None
    rows = written.rows(frozenset({digest}) if digest else around, until)
    same = [row for row in rows if row.path == line.path] or (rows if digest else [])
    if not same:
        return None
    support = {row: len(around.intersection(row.digests)) for row in same}
    best = max(same, key=lambda row: (min(support[row], _ENOUGH), row.at))
    if not digest:
        exchange = find_exchange(store, best.exchange, best.at)
        return LineOrigin(line, Ground.TEXT, exchange=exchange) if exchange else None
    is_clear = sum(map(str.isalpha, line.text)) >= _CLEAR_LETTERS
    certain = (best.path == line.path and (support[best] > 0 or is_clear)) or support[best] >= _ENOUGH
    exchange = find_exchange(store, best.exchange, best.at)
    certain = certain and exchange is not None and _names_file(exchange, best.path)
    others = len({row.exchange for row in same} - {best.exchange})
    return LineOrigin(line, Ground.TEXT, exchange=exchange, certain=certain, others=others)


def _names_file(exchange: FoundExchange, path: str) -> bool:
    """Return whether an exchange lists a file as changed; rows do not count, as anybody who pushes can add one."""
    files = exchange.fields.files
    return path in files or len(files) >= MAX_FILES


def _by_file(store: Store, written: WrittenLines, line: BlamedCode) -> LineOrigin:
    """Return the newest exchange before a line's commit that names the file and has no recorded edits."""
    until = line.at if line.commit else None
    for exchange in exchanges_naming(store, line.path, until):
        if not written.names(exchange.id, line.path):
            return LineOrigin(line, Ground.FILE, exchange=exchange)
    return LineOrigin(line, Ground.NOBODY)

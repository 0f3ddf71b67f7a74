"""Explain a line of the project's code by the exchange that wrote it, found by the text of its edits.

`git blame` names the commit of a line. The exchange is the last one before that commit whose edit wrote the line, by
the record of code lines (docs/format.md, "Lines of code"). A line that a commit only reformatted is followed to the
version before. For a guess, `certain` is false.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from operator import itemgetter

from gitmem.document.code_lines import digest_of
from gitmem.errors import GitFailedError, NotFoundError
from gitmem.model.exchange import MAX_FILES
from gitmem.platform.machine import UTC
from gitmem.platform.safe_open import enter, read_open, split
from gitmem.project.code import ProjectCode
from gitmem.store.store import Store
from gitmem.tell.blamed_code import (
    MOST_LINES,
    SECONDS,
    BlamedCode,
    Blaming,
    blame_code,
    commit_named,
    line_before,
    lines_added_by,
    lines_with,
)
from gitmem.tell.found_exchange import FoundExchange, exchange_at, exchanges_naming, find_exchange, stamp_of
from gitmem.tell.session_commands import SessionCommand, SessionCommands, has_text
from gitmem.tell.written_lines import WrittenLines
from gitmem.values import Value

_AROUND = 4  # neighbouring lines that are evidence for the exchange that wrote them
_ENOUGH = 2  # neighbouring lines of the same edit that suffice as evidence
_CLEAR_LETTERS = 20  # letters of a line that nobody writes twice by chance
_PARTS = re.compile(r"[\s\"'`=(){},;]+")
_MOST_STEPS = 8  # commits that only reformatted a line, one after another
_AHEAD = 20  # lines whose rows are looked up while git is running
_MOST_RUN = 3  # commands named in an answer
_MOST_PLACES = 20  # occurrences of a text in the project


class Ground(StrEnum):
    """The evidence for an answer about a line."""

    TEXT = "text"  # an edit wrote this line, or of a short one the lines around it
    PART = "part"  # an edit wrote a part of this line
    COMMAND = "command"  # a command that names the file ran between the line's commit and the one before it
    FILE = "file"  # no edit's text is known: the newest exchange before the commit that names the file
    COMMIT = "commit"  # a command of the session made the commit
    NOBODY = "nobody"  # no exchange wrote it: by hand, by a program, or before the first recorded line


class LineOrigin(Value):
    """The origin of a line: the line with its commit, the exchange, and whether that is certain.

    `file` is its present path, `since` the time of the first recorded exchange that wrote code, None without one.
    `others` is the number of other exchanges whose edits wrote the same line before the commit. `reformatted` are the
    commits between that only reformatted the line. `commands` may have written it, the likeliest first.
    """

    line: BlamedCode
    ground: Ground
    file: str = ""
    since: datetime | None = None
    exchange: FoundExchange | None = None
    certain: bool = False
    others: int = 0
    reformatted: tuple[str, ...] = ()
    commands: tuple[SessionCommand, ...] = ()


def why_lines(store: Store, code: ProjectCode, blaming: Blaming) -> list[LineOrigin]:
    """Return the origin of each blamed line of a file of the project; raises NotFoundError without one."""
    path, first = blaming.path, blaming.first
    evidence = _Evidence(store, code)
    around = project_lines(code, path)
    for digest in filter(None, map(digest_of, around[first - 1 : blaming.last][:_AHEAD])):
        evidence.written.holding(frozenset({digest}))
    try:
        lines = known = blaming.lines()
    except GitFailedError as error:
        raise NotFoundError(
            f"git has no line {first} of {path}: {error.reason}.",
            "Name a file that the project's git tracks, and a line of it.",
        ) from None
    if not all(digest_of(line.text) for line in lines) and (first > 1 or blaming.last < len(around)):
        with suppress(GitFailedError):  # a short line is known by its neighbours of the same commit
            known = blame_code(code, path, max(first - _AROUND, 1), blaming.last + _AROUND)
    answers = (_why(evidence, line, _neighbours(around, line.now), _beside(known, line)) for line in lines)
    return [answer._replace(file=path, since=evidence.written.began) for answer in answers]


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
    lines, answers = lines_added_by(code, commit)[:MOST_LINES], list[LineOrigin]()
    evidence = _Evidence(store, code)
    for place, line in enumerate(lines):
        near = [other for other in lines[max(place - _AROUND, 0) : place + 1 + _AROUND] if other.path == line.path]
        digests = (digest_of(other.text) for other in near if other is not line)
        answer = _why(evidence, line, frozenset(filter(None, digests)), _beside(near, line))
        answers.append(answer._replace(file=line.path, since=evidence.written.began))
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


def _beside(lines: Sequence[BlamedCode], line: BlamedCode) -> tuple[str, ...]:
    """Return the digests of the nearest lines above and below of the same commit that have one."""
    texts = {other.now: other.text for other in lines if other.commit == line.commit}
    ways = (range(line.now - 1, line.now - _AROUND - 1, -1), range(line.now + 1, line.now + _AROUND + 1))
    joined = (takewhile(texts.__contains__, numbers) for numbers in ways)
    nearest = (next(filter(None, (digest_of(texts[number]) for number in numbers)), "") for numbers in joined)
    return tuple(filter(None, nearest))


class _Evidence:
    """What a store has on lines of the project, read once: recorded lines, exchanges that name a file, commands."""

    def __init__(self, store: Store, code: ProjectCode) -> None:
        self.store, self.code, self.written = store, code, WrittenLines(store)
        self._commands, self._now = SessionCommands(store), store.context.clock()
        self._since = dict[tuple[str, str], datetime | None]()
        self._naming = dict[str, list[FoundExchange]]()

    def naming(self, line: BlamedCode) -> FoundExchange | None:
        """Return the newest exchange before a line's commit that names its file and has no recorded lines of it."""
        path, until = line.path, stamp_of(line.at) if line.commit and line.at else "~"
        if path not in self._naming:
            named = exchanges_naming(self.store, path)
            self._naming[path] = [exchange for exchange in named if not self.written.names(exchange.id, path)]
        return next((exchange for exchange in self._naming[path] if exchange.began <= until), None)

    def since(self, line: BlamedCode) -> datetime | None:
        """Return when the file was last committed before the line's commit, None if never."""
        place = (f"{line.commit}^" if line.commit else "HEAD", line.previous_path or line.path)
        if place not in self._since:
            options = ("log", "-1", "--format=%at", place[0], "--", f":(top,literal){place[1]}")
            seconds = self.code.git.run(*options, ok=(0, 128), timeout=SECONDS).strip()
            self._since[place] = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdigit() else None
        return self._since[place]

    def commands(self, line: BlamedCode) -> list[SessionCommand]:
        """Return the commands that may have written a line, the newest first; before all those that have its text."""
        until = line.at if line.commit and line.at else self._now
        ran = self._commands.may_have_changed(line.path, self.since(line), until)
        return sorted(ran, key=lambda each: not has_text(each, line.text))

    def commit(self, line: BlamedCode) -> SessionCommand | None:
        """Return the session's command that made a line's commit."""
        return self._commands.that_made(line.commit, line.at) if line.commit and line.at else None


def _why(evidence: _Evidence, line: BlamedCode, around: frozenset[str], beside: tuple[str, ...]) -> LineOrigin:
    if not digest_of(line.text):
        return _by_neighbours(evidence, line, beside) or _by_session(evidence, line)
    here, reformatted = line, list[str]()
    for _ in range(_MOST_STEPS):
        answer = _by_text(evidence, here, around)
        if answer is not None and answer.certain:
            return answer._replace(line=line, reformatted=tuple(reformatted))
        place = line_before(evidence.code, here) if here.commit else None
        if place is None:
            break
        reformatted.append(here.commit)
        here = blame_code(evidence.code, place[0], place[1], place[1], here.previous)[0]
    if reformatted:  # a reformatted line is judged by its original text
        answer = _by_text(evidence, here, around)
    return (answer or _by_session(evidence, line))._replace(line=line, reformatted=tuple(reformatted))


def _by_session(evidence: _Evidence, line: BlamedCode) -> LineOrigin:
    """Return the likeliest origin of a line that no recorded edit wrote.

    It is a command with its text, else the newest command or exchange since the file's last commit, else the session
    that made the line's commit, else the newest exchange before.
    """
    since, ran = evidence.since(line), evidence.commands(line)
    by_command = _by_commands(evidence, line, Ground.COMMAND, ran)
    if by_command is not None and has_text(ran[0], line.text):
        return by_command
    naming = evidence.naming(line)
    by_file = LineOrigin(line, Ground.FILE, exchange=naming) if naming else None
    answers = (by_command, _by_part(evidence, line), by_file)
    dated = [(_began(answer), answer) for answer in answers if answer]
    began, newest = max(dated, key=itemgetter(0), default=("", LineOrigin(line, Ground.NOBODY)))
    if began and (since is None or began >= stamp_of(since)):
        return newest
    made = evidence.commit(line)
    return (_by_commands(evidence, line, Ground.COMMIT, [made]) if made else None) or newest


def _began(answer: LineOrigin) -> str:
    """Return when the command or the exchange of an answer began."""
    return stamp_of(answer.commands[0].began) if answer.commands else answer.exchange.began if answer.exchange else ""


def _by_commands(
    evidence: _Evidence, line: BlamedCode, ground: Ground, ran: Sequence[SessionCommand]
) -> LineOrigin | None:
    """Return the exchange of the first of these commands; None without one."""
    exchange = exchange_at(evidence.store, ran[0].session, ran[0].began) if ran else None
    return LineOrigin(line, ground, exchange=exchange, commands=tuple(ran[:_MOST_RUN])) if exchange else None


def _by_part(evidence: _Evidence, line: BlamedCode) -> LineOrigin | None:
    """Return the last exchange before a line's commit that wrote a word or quotation of it into its file, else None.

    Some agents report only the replaced words of an edit.
    """
    parts = frozenset(filter(None, map(digest_of, _PARTS.split(line.text))))
    rows = [row for row in evidence.written.rows(parts, line.at if line.commit else None) if row.path == line.path]
    exchange = find_exchange(evidence.store, rows[-1].exchange, rows[-1].at) if rows else None
    return LineOrigin(line, Ground.PART, exchange=exchange) if exchange else None


def _by_neighbours(evidence: _Evidence, line: BlamedCode, beside: tuple[str, ...]) -> LineOrigin | None:
    """Return the last exchange whose edit of the file wrote the lines beside one that is too short to be recorded.

    `beside` are of the line's commit. It is certain if the edit wrote both, and nothing after it may have changed the
    line: no edit of short lines alone, no command of another exchange.
    """
    rows = evidence.written.rows(frozenset(beside), line.at if line.commit else None)
    rows = [row for row in rows if row.path == line.path]
    if not rows:
        return None
    best = max(rows, key=lambda row: (len({*beside}.intersection(row.digests)), row.at))
    exchange = find_exchange(evidence.store, best.exchange, best.at)
    if exchange is None:
        return None
    naming = evidence.naming(line)
    later = [ran for ran in evidence.commands(line) if ran.began > best.at]
    if later and has_text(later[0], line.text):
        return _by_commands(evidence, line, Ground.COMMAND, later)
    is_last = all(exchange_at(evidence.store, ran.session, ran.began) == exchange for ran in later)
    is_last = is_last and (naming is None or naming.began < exchange.began)
    is_within = len(beside) > 1 and {*beside}.issubset(best.digests) and _names_file(exchange, best.path)
    return LineOrigin(line, Ground.TEXT, exchange=exchange, certain=is_last and is_within)


def _by_text(evidence: _Evidence, line: BlamedCode, around: frozenset[str]) -> LineOrigin | None:
    """Return the last exchange before a line's commit whose edit wrote the line, None if none did.

    Of several, one whose edit of the same file wrote neighbouring lines is preferred. It is certain if the line or its
    surroundings are unique.
    """
    rows = evidence.written.rows(frozenset({digest_of(line.text)}), line.at if line.commit else None)
    same = [row for row in rows if row.path == line.path] or rows
    if not same:
        return None
    support = {row: len(around.intersection(row.digests)) for row in same}
    best = max(same, key=lambda row: (min(support[row], _ENOUGH), row.at))
    is_clear = sum(map(str.isalpha, line.text)) >= _CLEAR_LETTERS
    certain = (best.path == line.path and (support[best] > 0 or is_clear)) or support[best] >= _ENOUGH
    exchange = find_exchange(evidence.store, best.exchange, best.at)
    certain = certain and exchange is not None and _names_file(exchange, best.path)
    others = len({row.exchange for row in same} - {best.exchange})
    return LineOrigin(line, Ground.TEXT, exchange=exchange, certain=certain, others=others)


def _names_file(exchange: FoundExchange, path: str) -> bool:
    """Return whether an exchange lists a file as changed; rows do not count, as anybody who pushes can add one."""
    files = exchange.fields.files
    return path in files or len(files) >= MAX_FILES

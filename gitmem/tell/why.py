"""Why a line of the project's code is so: the exchange that wrote it, by the text of its edits.

`git blame` says which commit brought a line. The exchange is the last one before that commit whose edit wrote the line,
as the record of code lines tells (docs/format.md, "Lines of code"). A line that a commit only reformatted is followed
to the version before. What rests on a guess says so: `certain` is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from gitmem.document.code_lines import FOLDER, Written, day_of_lines, digest_of, parse_written
from gitmem.errors import GitFailedError, NotFoundError
from gitmem.platform.machine import UTC
from gitmem.project.code import ProjectCode
from gitmem.store.store import Store
from gitmem.tell.blamed_code import BlamedCode, blame_code, line_before, lines_added_by, lines_with
from gitmem.tell.found_exchange import FoundExchange, exchanges_naming, find_exchange
from gitmem.values import Value

_AROUND = 4  # lines before and after one that speak for the exchange that wrote them, too
_ENOUGH = 2  # lines around one, written by the same edit: more of them say no more
_CLEAR_LETTERS = 20  # of a line that nobody writes twice by chance
_MOST_STEPS = 8  # commits that only reformatted a line, one after another
_SKEW = timedelta(seconds=2)  # git's times are whole seconds
_MOST_PLACES = 20  # of a text in the project
MOST_LINES = 4_000  # of one answer


class Ground(StrEnum):
    """What an answer about a line rests on."""

    TEXT = "text"  # an edit wrote this line
    FILE = "file"  # no edit's text is known: the newest exchange before the commit that names the file
    NOBODY = "nobody"  # no exchange wrote it: by hand, by a program, or before the first recorded session


class Why(Value):
    """Why a line is so: the line with its commit, the exchange, and whether that is certain.

    `file` is its path now, `since` when the first recorded exchange that wrote code began, None if there is none.
    `others` is the number of other exchanges whose edits wrote the same line before the commit. `followed` are the
    commits between that only reformatted the line.
    """

    line: BlamedCode
    ground: Ground
    file: str = ""
    since: datetime | None = None
    exchange: FoundExchange | None = None
    certain: bool = False
    others: int = 0
    followed: tuple[str, ...] = ()


class _Row(Value):
    """A row of the record with its moment."""

    at: datetime
    exchange: str
    path: str
    digests: frozenset[str]


class WrittenLines:
    """The record of code lines of a store, read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.rows = sorted(_rows(store), key=lambda row: (row.at, row.exchange, row.path))

    def with_line(self, digest: str, until: datetime | None) -> list[_Row]:
        """Return the rows with a line, the oldest first, of exchanges that began by then."""
        return [row for row in self.rows if digest in row.digests and (until is None or row.at <= until + _SKEW)]

    def around(self, digests: frozenset[str], path: str, until: datetime | None) -> list[_Row]:
        """Return the rows of a file with some of these lines, of exchanges that began by a moment."""
        rows = (row for row in self.rows if row.path == path and row.digests & digests)
        return [row for row in rows if until is None or row.at <= until + _SKEW]

    def names(self, exchange: str, path: str) -> bool:
        """Return whether lines of a file are recorded for an exchange."""
        return any(row.exchange == exchange and row.path == path for row in self.rows)


def _rows(store: Store) -> Iterator[_Row]:
    for path in _record_paths(store):
        day = day_of_lines(path)
        for row in parse_written(store.read(path) or b""):
            yield _Row(_moment(day, row), row.exchange, row.path, frozenset(row.digests))


def _record_paths(store: Store) -> Iterator[str]:
    for year in store.files.names(FOLDER):
        for month in store.files.names(f"{FOLDER}/{year}"):
            names = store.files.names(f"{FOLDER}/{year}/{month}")
            yield from (path for name in names if day_of_lines(path := f"{FOLDER}/{year}/{month}/{name}"))


def _moment(day: str, row: Written) -> datetime:
    try:
        return datetime.fromisoformat(f"{day}T{row.at}").replace(tzinfo=UTC)
    except ValueError:  # a day or an hour that no clock has
        return datetime.fromtimestamp(0, UTC)


def why_lines(store: Store, code: ProjectCode, path: str, first: int, last: int) -> list[Why]:
    """Return why each line of a range (both inclusive, from 1) of a file of the project is so.

    Raises NotFoundError if there is no such file or line in the project's repository.
    """
    last = min(last, first + MOST_LINES - 1)
    try:
        lines = blame_code(code, path, first, last)
        around = blame_texts(code, path)
    except GitFailedError as error:
        raise NotFoundError(
            f"git has no line {first} of {path}: {error.stderr.strip().splitlines()[-1] if error.stderr else error}.",
            "Name a file that the project's git tracks, and a line of it.",
        ) from None
    written = WrittenLines(store)
    since = written.rows[0].at if written.rows else None
    answers = (_why(store, code, written, line, _neighbours(around, line.now)) for line in lines)
    return [answer._replace(file=path, since=since) for answer in answers]


def why_commit(store: Store, code: ProjectCode, commit: str) -> list[Why]:
    """Return why each line that a commit of the project added is so."""
    lines = lines_added_by(code, commit)[:MOST_LINES]
    written, answers = WrittenLines(store), list[Why]()
    since = written.rows[0].at if written.rows else None
    for place, line in enumerate(lines):
        around = (*lines[max(place - _AROUND, 0) : place], *lines[place + 1 : place + 1 + _AROUND])
        digests = (digest_of(other.text) for other in around if other.path == line.path)
        answer = _why(store, code, written, line, frozenset(filter(None, digests)))
        answers.append(answer._replace(file=line.path, since=since))
    return answers


def why_text(store: Store, code: ProjectCode, text: str) -> list[Why]:
    """Return why the first lines of the project that hold a text are so. Raises NotFoundError if none does."""
    places = lines_with(code, text, _MOST_PLACES)
    if not places:
        raise NotFoundError(f"No tracked file of the project holds {text!r}.", "'gitmem search' looks into the memory.")
    return [answer for path, number in places for answer in why_lines(store, code, path, number, number)]


def blame_texts(code: ProjectCode, path: str) -> list[str]:
    """Return the lines of a file of the project's work tree."""
    from gitmem.platform.safe_open import enter, read_open, split

    *folders, name = split(path)
    with enter(code.root, folders) as folder, open(folder.open(name), "rb") as file:
        data = read_open(file, 16 << 20) or b""
    return data.decode("utf-8", "replace").split("\n")


def _neighbours(texts: Sequence[str], number: int) -> frozenset[str]:
    """Return the digests of the lines around a line, which is left out."""
    around = [*texts[max(number - 1 - _AROUND, 0) : number - 1], *texts[number : number + _AROUND]]
    return frozenset(filter(None, map(digest_of, around)))


def _why(store: Store, code: ProjectCode, written: WrittenLines, line: BlamedCode, around: frozenset[str]) -> Why:
    here, followed = line, list[str]()
    for _ in range(_MOST_STEPS):
        answer = _by_text(store, written, here, around)
        if answer is not None and answer.certain:
            return answer._replace(line=line, followed=tuple(followed))
        place = line_before(code, here) if here.commit else None
        if place is None:
            break
        followed.append(here.commit)
        here = blame_code(code, place[0], place[1], place[1], here.previous)[0]
    if followed:  # what was reformatted is judged by its text at the end of the way back
        answer = _by_text(store, written, here, around)
    if answer is not None:
        return answer._replace(line=line, followed=tuple(followed))
    return _by_file(store, written, line)._replace(followed=tuple(followed))


def _by_text(store: Store, written: WrittenLines, line: BlamedCode, around: frozenset[str]) -> Why | None:
    """Return the last exchange before a line's commit whose edit wrote the line, None if none did.

    Among several, those whose edit of the same file wrote lines around it come first. It is certain if the line or its
    surroundings tell it from others; a line without a digest is known by its surroundings alone, and never certain.
    """
    digest, until = digest_of(line.text), line.at if line.commit else None
    rows = written.with_line(digest, until) if digest else written.around(around, line.path, until)
    same = [row for row in rows if row.path == line.path] or rows
    if not same:
        return None
    support = {row: len(row.digests & around) for row in same}
    best = max(same, key=lambda row: (min(support[row], _ENOUGH), row.at))
    if not digest:
        exchange = find_exchange(store, best.exchange, best.at)
        return Why(line, Ground.TEXT, exchange=exchange) if exchange else None
    is_clear = sum(map(str.isalpha, line.text)) >= _CLEAR_LETTERS
    certain = (best.path == line.path and (support[best] > 0 or is_clear)) or support[best] >= _ENOUGH
    exchange = find_exchange(store, best.exchange, best.at)
    others = len({row.exchange for row in same} - {best.exchange})
    return Why(line, Ground.TEXT, exchange=exchange, certain=certain and exchange is not None, others=others)


def _by_file(store: Store, written: WrittenLines, line: BlamedCode) -> Why:
    """Return the newest exchange before a line's commit that names the file, of those whose edits are not recorded."""
    until = line.at if line.commit else None
    for exchange in exchanges_naming(store, line.path, until):
        if not written.names(exchange.id, line.path):
            return Why(line, Ground.FILE, exchange=exchange)
    return Why(line, Ground.NOBODY)

"""A passage of a file around a line, and the text of a session."""

from __future__ import annotations

import errno
import unicodedata

from gitmem.document.entry import find_entries
from gitmem.document.ids import daily_path, is_git_folder, session_tag, tail_of
from gitmem.document.message import one_line
from gitmem.errors import NotFoundError, RefusedError
from gitmem.history.records import removal
from gitmem.history.sessions import SessionSummary, cleared_file
from gitmem.model.exchange import EXCHANGE, split_fields
from gitmem.model.outcome import beginning
from gitmem.platform.machine import timedelta
from gitmem.search.files import is_searched
from gitmem.search.hits import named
from gitmem.search.units import Units
from gitmem.store.store import Store
from gitmem.text.words import estimate_tokens
from gitmem.values import Value

_LONGEST = 4096  # characters of a path
_REQUEST, _ANSWER = 200, 300  # characters of a request and of an answer in a list
_SHOWN = 200  # characters of a path in a message
_REMEDY = "Name a file or an ^id as 'gitmem search' prints it."


class Passage(Value):
    """Lines of a file from 1, both ends included, in a `commit` ("": the work tree); `gone`: how it was removed."""

    path: str
    start: int
    end: int
    text: str
    tokens: int
    commit: str = ""
    gone: str = ""


def read_passage(
    store: Store, path: str, first: int | None = None, last: int | None = None, *, commit: str | None = None
) -> Passage:
    """Return lines of a file: `first` to `last`, or the entry or section around `first`, or the whole file.

    They have other authors' names, and marks on ended facts (`named`). `commit` is a commit to read instead of the
    working tree, without marks. A removed file is read in its last version, so that links to it still work.

    Raises:
        NotFoundError: there is no such file or line.
        RefusedError: the path leads out of the store or through a link, or is not a document's.
    """
    path = path.removeprefix("./")
    data = _read(store, path, commit)
    if data is None:
        path = unicodedata.normalize("NFC", path)
        data = _read(store, path, commit)
    gone = ""
    if data is None and not commit and (before := before_removal(store, path)):
        commit, gone = before
        data = _read(store, path, commit)
    if data is None:
        remedy = "'gitmem at HEAD --list' lists the files."
        raise NotFoundError(f"There is no file {path[:_SHOWN]!r} in the store.", remedy)
    units = Units(path, data)
    lines = units.text.split("\n")
    count = len(lines) - (not lines[-1])
    if first is not None and not 1 <= first <= count:
        raise NotFoundError(f"{path} has {count} lines; there is no line {first}.", "Lines are counted from 1.")
    start, end = 1, count
    if first is not None and last is not None:
        start, end = first, min(max(first, last), count)
    elif first is not None:
        start, end = _around(units, lines, first)
    text = "\n".join(line.rstrip("\r") for line in lines[start - 1 : end])
    shown = named(store, text, path, commit)
    return Passage(path, start, end, shown, estimate_tokens(shown), commit or "", gone)


def session_text(store: Store, session: SessionSummary) -> tuple[str, str]:
    """Return the text of a session's file, and since when it is gone if it was cleared; "" for what is missing."""
    path = session.file or cleared_file(store, session)
    passage = read_passage(store, path) if path else None
    return (passage.text, passage.gone) if passage else ("", "")


class LoggedRequest(Value):
    """A request of a session in a daily log, and the beginning of its answer."""

    id: str
    day: str
    time: str
    request: str
    answer: str


def logged_requests(store: Store, session: SessionSummary, text: str) -> list[LoggedRequest]:
    """Return a session's requests in the daily logs that its file's text lacks, in order."""
    filed = {tail_of(place.entry.id) for place in find_entries(text)}
    tags, requests = set(session_tag(session.id)), list[LoggedRequest]()
    for days in range((session.last.date() - session.first.date()).days + 3):  # days differ by time zone
        day = f"{session.first.date() + timedelta(days=days - 1):%Y-%m-%d}"
        log = (store.read(daily_path(day)) or b"").decode("utf-8", "replace")
        for entry in (place.entry for place in find_entries(log)):
            if entry.label == EXCHANGE and tags.intersection(entry.tags) and tail_of(entry.id) not in filed:
                fields = split_fields(entry.text)
                asked = one_line(fields.request or "\n".join(fields.words), _REQUEST)
                answer = one_line(beginning(fields.answer, _ANSWER), _ANSWER)
                requests.append(LoggedRequest(entry.id, day, entry.time, asked, answer))
    return requests


def before_removal(store: Store, path: str) -> tuple[str, str] | None:
    """Return the last commit with a removed file, and when and why it was removed; None if it never existed."""
    record = removal(store, path)
    if record is None or not record.parents:
        return None
    since = f"{path} is gone since {record.date:%Y-%m-%d}: {record.subject}"
    return record.parents[0], f"{since}. This is its last version."


def _read(store: Store, path: str, commit: str | None) -> bytes | None:
    parts = path.split("/")
    if len(path) > _LONGEST or any(part in {"", ".."} or is_git_folder(part) for part in parts):
        raise RefusedError(f"{path[:_SHOWN]!r} is not a path below the store.", _REMEDY)
    if not is_searched(path):
        raise NotFoundError(f"The store has no document {path!r}.", _REMEDY)
    try:
        return store.repository.read(commit, path) if commit else store.read(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None
        raise


def _around(units: Units, lines: list[str], number: int) -> tuple[int, int]:
    """Return the first and the last line of the unit around a line."""
    index, _ = units.around(sum(len(line) + 1 for line in lines[: number - 1]))
    if index < 0:
        return number, number
    start, end = units.lines(units.unit(index))
    return min(start, number), max(end, number)

"""An exchange of the past, read from the log of its day, from its session's file, or from history."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta

from gitmem.document.entry import Entry, find_by_digest, find_entries
from gitmem.document.ids import daily_path, tail_of
from gitmem.errors import NotFoundError
from gitmem.history.origin import files_naming, find_entry
from gitmem.model.exchange import EXCHANGE, Fields, parse, split_fields
from gitmem.store.store import Store
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
    for days in (0, -1, 1):  # it was written in the time zone of some machine
        day = f"{at.astimezone() + timedelta(days=days):%Y-%m-%d}"
        entry = find_by_digest(_text(store, daily_path(day)), tail_of(identifier))
        if entry is not None:
            return _exchange(entry.entry, day)
    for path in files_naming(store, [identifier]):  # the day was joined into a week
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
    times = {one.id: f"{one.day} {one.time}" for one in newest.values()}
    for identifier in sorted(newest, key=times.__getitem__, reverse=True):
        if times[identifier] <= limit:
            yield newest[identifier]


def _text(store: Store, path: str) -> str:
    return (store.read(path) or b"").decode("utf-8", "replace")


def _exchange(entry: Entry, day: str) -> FoundExchange:
    """Return the exchange of an entry in the log of a day, or in a session's file, whose times have the date."""
    fields = split_fields(entry.text)
    if len(entry.time) >= _TIME:
        day, time = entry.time[:_DAY], entry.time[_DAY + 1 :]
        if exchange := parse(entry):
            answer = "\n".join(filter(None, (exchange.summary, exchange.details)))
            fields = Fields(request=exchange.asked or exchange.summary, answer=answer, files=exchange.files)
    else:
        time = entry.time
    return FoundExchange(entry.id, day, time, "".join(entry.tags[:1]), fields)

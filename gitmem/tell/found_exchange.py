"""Find an exchange in the logs: by its id, by a file that it changed, or by its session and a moment."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from gitmem.document.entry import Entry, find_by_digest, find_entries
from gitmem.document.ids import daily_path, session_tag, tail_of
from gitmem.errors import NotFoundError
from gitmem.history.origin import files_naming, find_entry
from gitmem.history.sessions import file_of, session_files
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

    @property
    def began(self) -> str:
        """When it began, in the form of `stamp_of`."""
        return f"{self.day} {self.time}"


def stamp_of(at: datetime) -> str:
    """Return a moment as logs have it, in the time zone of this machine."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


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


def exchange_at(store: Store, session: str, at: datetime) -> FoundExchange | None:
    """Return the exchange of a session that ran at a moment, from its days' logs or its session's file."""
    days = {f"{at.astimezone() - timedelta(days=back):%Y-%m-%d}" for back in (0, 1)}
    found = [exchange for day in days for exchange in _exchanges(store, daily_path(day), day)]
    found = [exchange for exchange in found if (exchange.session,) == session_tag(session)]
    if not found and (path := file_of(session_files(store), session)):
        found = _exchanges(store, path, "")
    begun = (exchange for exchange in found if exchange.began <= stamp_of(at))
    return max(begun, key=lambda exchange: exchange.began, default=None)


def _exchanges(store: Store, path: str, day: str) -> list[FoundExchange]:
    """Return the exchanges in a log; `day` is the date of those whose time has none."""
    entries = (place.entry for place in find_entries(_text(store, path)))
    return [_exchange(entry, day) for entry in entries if entry.label == EXCHANGE]


def exchanges_naming(store: Store, file: str) -> list[FoundExchange]:
    """Return the exchanges that changed a file of the project, the newest first."""
    git, options = store.repository.git, ("-l", "-z", "--full-name", "--text", "--fixed-strings", "-e", file)
    output = git.run("grep", *options, "--", *(f":(top){folder}" for folder in _LOGS), ok=(0, 1), timeout=300)
    newest: dict[str, FoundExchange] = {}
    for path in map(os.fsdecode, output.split(b"\0")[:-1]):
        for exchange in _exchanges(store, path, os.path.basename(path)[:_DAY]):
            if file in exchange.fields.files:
                newest.setdefault(exchange.id, exchange)
    return sorted(newest.values(), key=lambda exchange: exchange.began, reverse=True)


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

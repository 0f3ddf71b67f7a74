"""Add the entry of a save to the daily log and to `memory.md`, in its commit.

Separate from `gitmem.sessions.save` so that it is imported while git starts.
"""

from __future__ import annotations

import contextlib

from gitmem.document.document import Document
from gitmem.document.entry import TIMELINE, Entry, add_entry, clean_text, entry_ids
from gitmem.document.ids import MEMORY, daily_path, milliseconds_of
from gitmem.document.message import Message, Op, Trailer
from gitmem.platform.clock import UTC, datetime, timedelta
from gitmem.redact.redact import kinds_of, redact
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitmem.document.entry import Save
    from gitmem.facts.book import FactBook
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction


_NEW = 3600.0  # seconds; a newer event has not been delivered from another time zone before
_RECENT = timedelta(days=2)  # newer days are never consolidated
_ZONES = (-12, 0, 14)  # hours from UTC: the extreme time zones


class Added(Value):
    """An added entry: its id, and the number of redacted secrets and private passages by kind."""

    id: str
    redacted: dict[str, int]


def add_save(transaction: Transaction, store: Store, event: Save, lasting: Callable[[], FactBook]) -> Added | None:
    """Add the commit of a save, with its fact if it lasts; None if it is there already."""
    day = event.at.strftime("%Y-%m-%d")
    path = daily_path(day)
    daily = transaction.read(path) or new_daily(day)
    if event.id.encode() in daily and event.id in entry_ids(daily.decode("utf-8", "surrogateescape")):
        return None
    if any(event.id in entry_ids(day_log(store, transaction, other)) for other in _other_logs(transaction, event)):
        return None
    redacted = redact(event.text, allow=store.config.redaction.allow)
    text = clean_text(redacted.text)
    identifier, facts = lasting().keep_save(event, text) if event.type.lasts else (event.id, {})
    if facts is None:
        return None
    entry = Entry(identifier, event.at.strftime("%H:%M:%S"), event.type.label, text, event.tags)
    dated = entry._replace(time=f"{day} {entry.time}")
    trailers = (
        (Trailer.OP.value, Op.SAVE.value),
        (Trailer.TYPE.value, event.type.value),
        (Trailer.ENTRY.value, identifier),
        (Trailer.SESSION.value, event.session),
        (Trailer.HOST.value, event.host),
    )
    message = Message(f"Save {event.type.label.lower()}: {text}", trailers)
    changes = {
        path: _with(daily, event.type.label, entry),
        MEMORY: _with(memory_of(transaction), event.type.section, dated),
        **facts,
    }
    if not transaction.commit(message, changes, when=event.at):
        return None
    return Added(identifier, kinds_of(redacted.findings))


def day_of(path: str) -> str:
    """Return the day of a daily log."""
    return path[-len("2026-01-13.md") : -len(".md")]


def day_log(store: Store, transaction: Transaction, path: str) -> str:
    """Return the text of a daily log, or of the last version of one that was consolidated, "" if there is none."""
    daily = transaction.read(path)
    if daily is None and day_of(path) < (transaction.now - _RECENT).strftime("%Y-%m-%d"):
        from gitmem.archives.rotate import log_before

        daily = log_before(store, transaction, datetime.fromisoformat(day_of(path)).date())
    return (daily or b"").decode("utf-8", "surrogateescape")


def _other_logs(transaction: Transaction, event: Save) -> set[str]:
    """Return the daily logs that may hold an old event, delivered from another time zone; none for a new event."""
    then = milliseconds_of(event.id) / 1000
    if abs(transaction.now.timestamp() - then) < _NEW:
        return set()
    with contextlib.suppress(OverflowError, ValueError, OSError):  # out of the calendar's range
        moments = (datetime.fromtimestamp(then + hours * 3600, UTC) for hours in _ZONES)
        return {daily_path(moment.strftime("%Y-%m-%d")) for moment in moments}
    return set()


def _with(data: bytes, section: str, entry: Entry) -> bytes:
    document = Document.parse(data)
    return document.with_body(add_entry(document.body, section, entry, document.newline)).render()


def memory_of(transaction: Transaction) -> bytes:
    """Return `memory.md`, or a new one."""
    memory = transaction.read(MEMORY)
    if memory is None:
        from gitmem.store.init import new_memory

        return new_memory(transaction.now)
    return memory


def memory_text(transaction: Transaction) -> str:
    """Return the text of `memory.md`, or of a new one."""
    return memory_of(transaction).decode("utf-8", "surrogateescape")


def new_daily(day: str) -> bytes:
    """Return a new daily log, the same bytes on every machine (docs/format.md, "Documents")."""
    return (
        f"---\nid: day-{day}\nkind: daily\ncreated: {day}T00:00:00Z\ndate: {day}\n---\n# {day}\n\n## {TIMELINE}\n"
    ).encode()

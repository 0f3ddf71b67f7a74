"""What a save comes to in the store: an entry in the daily log and in `memory.md`, and the commit of both.

Apart from `gitmem.memory.save` so that it is imported while git starts, which takes about as long.
"""

from __future__ import annotations

import contextlib

from gitmem.machine.moment import UTC, datetime, timedelta
from gitmem.model.document.document import Document
from gitmem.model.entry.entry import Entry, clean_text
from gitmem.model.entry.kinds import TIMELINE
from gitmem.model.entry.log import add_entry, entry_ids
from gitmem.model.ids import milliseconds_of
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import MEMORY, daily_path
from gitmem.redact.redact import kinds_of, redact

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.entry.save import Save
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

_NEW = 3600.0  # seconds in which nothing comes twice from two zones
_RECENT = timedelta(days=2)  # in which no day is consolidated
_ZONES = (-12, 0, 14)  # hours: the days that it may have been somewhere


def add_save(transaction: Transaction, store: Store, what: Save) -> dict[str, int] | None:
    """Add the commit of one save to a transaction; None where its entry is there already.

    Returns how many secrets, and passages in `<private>`, were left out of its text, by kind.
    """
    day = what.at.strftime("%Y-%m-%d")
    path = daily_path(day)
    daily = transaction.read(path) or new_daily(day)
    if _holds(daily, what.id) or any(
        _holds(day_log(store, transaction, other), what.id) for other in _other_logs(transaction, what)
    ):
        return None
    redacted = redact(what.text, allow=store.config.redaction.allow)
    text = clean_text(redacted.text)
    entry = Entry(what.id, what.at.strftime("%H:%M:%S"), what.type.label, text, what.tags)
    dated = Entry(what.id, f"{day} {entry.time}", what.type.label, text, what.tags)
    trailers = (
        (Trailer.OP.value, Op.SAVE.value),
        (Trailer.TYPE.value, what.type.value),
        (Trailer.ENTRY.value, what.id),
        (Trailer.SESSION.value, what.session),
        (Trailer.HOST.value, what.host),
    )
    message = Message(f"Save {what.type.label.lower()}: {text}", trailers)
    changes = {
        path: _with(daily, what.type.label, entry),
        MEMORY: _with(memory_of(transaction), what.type.section, dated),
    }
    return kinds_of(redacted.findings) if transaction.commit(message, changes, when=what.at) else None


def _holds(daily: bytes | None, identifier: str) -> bool:
    if daily is None or identifier.encode() not in daily:
        return False
    return identifier in entry_ids(daily.decode("utf-8", "surrogateescape"))


def day_log(store: Store, transaction: Transaction, path: str) -> bytes | None:
    """Return a daily log; of a day that was consolidated, as it last was."""
    found = transaction.read(path)
    day = path[-len("2026-01-13.md") : -len(".md")]
    if found is not None or day >= (transaction.now - _RECENT).strftime("%Y-%m-%d"):
        return found
    from gitmem.memory.tiers.consolidate import log_before

    return log_before(store, transaction, datetime.fromisoformat(day).date())


def _other_logs(transaction: Transaction, what: Save) -> set[str]:
    """Return the daily logs in which it may stand, delivered from another time zone; none of what is new."""
    then = milliseconds_of(what.id) / 1000
    if abs(transaction.now.timestamp() - then) < _NEW:
        return set()
    with contextlib.suppress(OverflowError, ValueError, OSError):  # a time no calendar has
        moments = (datetime.fromtimestamp(then + hours * 3600, UTC) for hours in _ZONES)
        return {daily_path(moment.strftime("%Y-%m-%d")) for moment in moments}
    return set()


def _with(data: bytes, section: str, entry: Entry) -> bytes:
    document = Document.parse(data)
    return document.with_body(add_entry(document.body, section, entry, document.newline)).render()


def memory_of(transaction: Transaction) -> bytes:
    """Return `memory.md`, or a new one where there is none."""
    memory = transaction.read(MEMORY)
    if memory is None:
        from gitmem.store.setup.init import new_memory

        return new_memory(transaction.now)
    return memory


def new_daily(day: str) -> bytes:
    """Return a daily log that holds nothing yet; every machine makes the same bytes of it (docs/format.md)."""
    return (
        f"---\nid: day-{day}\nkind: daily\ncreated: {day}T00:00:00Z\ndate: {day}\n---\n# {day}\n\n## {TIMELINE}\n"
    ).encode()

"""Bring a store of an older format version over, in one commit (docs/format.md, "Versions").

Each step returns the files it changes, computed from what the transaction reads, and runs on what the steps before it
made. A killed migration left nothing, and is done by the next command that writes. All steps are pure functions of the
files, so that two machines that migrate the same memory make the same of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gitmem.archives.version_1 import Known, exchanges_in, joined_day, with_new_ids
from gitmem.document.document import Document
from gitmem.document.ids import ARCHIVE, FACTS, FORMAT, MEMORY, tail_of
from gitmem.document.message import Message, Op, Trailer
from gitmem.errors import RefusedError
from gitmem.facts.fact import Fact
from gitmem.facts.file import parse_fact, render_fact
from gitmem.facts.version_1 import lines_to_facts, renamed
from gitmem.store.transaction import Transaction

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    Step = Callable[[Transaction, dict[str, bytes | None]], dict[str, bytes]]


_VERSION = re.compile(rb"(?m)^version:[^\r\n]*")
_LOGS = ("daily", "weekly", "monthly")
_LINKED = ("sessions", "concepts", "facts", "weekly", "monthly")  # folders whose files name exchanges


def upgrade(transaction: Transaction, version: int) -> None:
    """Add the commit that makes this store one of `version`; unreadable files stay as they are."""
    changes: dict[str, bytes | None] = {
        FORMAT: _VERSION.sub(f"version: {version}".encode(), transaction.read(FORMAT) or b"", count=1)
    }
    for step in STEPS:
        changes |= step(transaction, changes)
    message = Message(f"Bring the store over to format version {version}", ((Trailer.OP.value, Op.UPGRADE.value),))
    transaction.commit(message, changes)
    transaction.notices.append(f"The store has format version {version} now; 'gitmem log' shows the commit.")


def _exchanges(transaction: Transaction, changed: dict[str, bytes | None]) -> dict[str, bytes]:
    """Make one entry of each turn in the daily logs, and give exchanges the ids of version 2 wherever they stand."""
    known: dict[str, Known] = {}
    for path in (MEMORY, *_files(transaction, ARCHIVE), *_files(transaction, "sessions")):
        for one in exchanges_in(_text(transaction, changed, path)):
            known.setdefault(tail_of(one.id), one)
    changes: dict[str, bytes] = {}
    for path in _files(transaction, "daily"):
        text = _text(transaction, changed, path)
        document = Document.parse(text.encode("utf-8", "surrogateescape"))
        day = path[-len("2026-01-13.md") : -len(".md")]
        body = joined_day(document.body, day, known.values(), document.newline)
        changes[path] = document.with_body(body).render()
    for path in (MEMORY, *(path for folder in _LINKED for path in _files(transaction, folder))):
        text = with_new_ids(_text(transaction, changed, path), known.keys())
        if text:
            changes[path] = text.encode("utf-8", "surrogateescape")
    return changes


def _facts(transaction: Transaction, changed: dict[str, bytes | None]) -> dict[str, bytes]:
    """Make facts of the decisions, preferences, issues and patterns in `memory.md`; their lines have their ids."""
    known: dict[str, Fact] = {}
    for path in _files(transaction, FACTS):
        fact = parse_fact(_text(transaction, changed, path).encode("utf-8", "surrogateescape"), path)
        if fact is not None:
            known[fact.id] = fact
    memory = Document.parse(_text(transaction, changed, MEMORY).encode("utf-8", "surrogateescape"))
    brought = lines_to_facts(memory.body, known, memory.newline)
    changes = {fact.path: render_fact(fact) for fact in brought.new}
    changes[MEMORY] = memory.with_body(brought.body).render()
    for path in (path for folder in _LOGS for path in _files(transaction, folder)):
        document = Document.parse(_text(transaction, changed, path).encode("utf-8", "surrogateescape"))
        body = renamed(document.body, brought.ids, document.newline)
        if body != document.body:
            changes[path] = document.with_body(body).render()
    return changes if brought.ids else {}


STEPS: tuple[Step, ...] = (_exchanges, _facts)


def _files(transaction: Transaction, folder: str) -> Iterator[str]:
    """Yield the documents below a folder, in order."""
    for name in sorted(transaction.names(folder)):
        path = f"{folder}/{name}"
        if name.endswith(".md"):
            yield path
        elif transaction.is_folder(path):
            yield from _files(transaction, path)


def _text(transaction: Transaction, changed: dict[str, bytes | None], path: str) -> str:
    """Return a file as the steps before left it, "" if there is none that can be read."""
    try:
        data = changed[path] if path in changed else transaction.read(path)
    except (RefusedError, OSError):
        return ""
    return (data or b"").decode("utf-8", "surrogateescape")

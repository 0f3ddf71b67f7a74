"""The end of a session, behind the host's back: its transcript becomes L1 (spec R14), and what it taught is saved (J9).

A session ends by its SessionEnd, or, where the host was killed, when nothing of it runs any more. Until all of it is
committed its events stay in the spool.
"""

from __future__ import annotations

from gitmem.errors import UnreadableError
from gitmem.machine.moment import local
from gitmem.memory.capture.tail import open_regular
from gitmem.memory.capture.turns import boot_lines, save_entries
from gitmem.memory.save import rotate_if_full
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.ids import TIME_LENGTH
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.session.entries import Placed, cue_entries, memory_entries
from gitmem.model.session.l1 import l1_lines
from gitmem.model.session.noise import human_text
from gitmem.model.session.transcript import MAX_LINE, Record, Role, Unread, records
from gitmem.redact.redact import redact
from gitmem.store.transaction.transact import transact

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from gitmem.memory.capture.pending import Session
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

MAX_TRANSCRIPT = 256 * 1024 * 1024  # bytes that are read
_TAUGHT = (MemoryType.DECISION, MemoryType.LEARNING, MemoryType.ERROR_FIX)


def read_lines(path: str) -> Iterator[str]:
    """Yield the lines of a transcript, read one at a time; nothing where there is no such file.

    Raises:
        UnreadableError: it cannot be read to its end.

    """
    file = open_regular(path)
    if file is None:
        return
    with file:
        left = MAX_TRANSCRIPT
        while left > 0 and (line := _read_line(file, path, min(left, MAX_LINE))):
            left -= len(line)
            yield line.decode("utf-8", "replace")


def _read_line(file: BinaryIO, path: str, most: int) -> bytes:
    try:
        return file.readline(most)
    except OSError as error:
        raise UnreadableError(
            f"The transcript {path} cannot be read: {error.strerror or error}.",
            f"'gitmem replay {path}' saves it once it can be.",
        ) from error


def read_records(path: str, unread: Unread | None = None) -> Iterator[Record]:
    """Yield the parts of a transcript that can be read; `unread` counts the lines that cannot."""
    return records(read_lines(path), unread)


def keep_transcript(store: Store, session: str, path: str) -> str | None:
    """Write a session's transcript to L1; returns the commit, None where there is nothing new to keep.

    Raises:
        GitmemError: it could not be stored.

    """
    if not store.config.transcripts.enabled:
        return None
    # The transcript of a subagent alone, which bears the session's id too, is not the session's.
    started = next((part.at for part in read_records(path) if part.role is Role.USER and not part.sidechain), None)
    if started is None:
        return None
    from gitmem.store.transcripts.transcripts import put

    def clean(text: str) -> str:
        return redact(text, allow=store.config.redaction.allow).text

    lines = l1_lines(read_records(path), store.config.transcripts.tool_result_chars, clean)
    return put(store, session, started, lines)


def save_lessons(store: Store, session: Session, why: str) -> str | None:
    """Save the decisions, learnings and fixes that a transcript's answers state and that are not saved yet (spec J9).

    Each is one entry for ever, by the digest of its words: doing it again saves only what is new. Returns the commit.
    """
    allow = store.config.redaction.allow
    boot = boot_lines(store)
    daily: dict[str, Placed] = {}
    for part in read_records(session.transcript):
        if part.role is Role.ASSISTANT and not part.sidechain and part.text.strip():
            said = human_text(redact(part.text, allow=allow).text)
            for placed in cue_entries(said, local(part.at), boot, _TAUGHT):
                daily.setdefault(placed.entry.id[TIME_LENGTH:], placed)
    found = tuple(daily.values())
    if not found:
        return None
    message = Message(
        f"Save what was learned {why}: {len(found)} entries",
        (
            (Trailer.OP.value, Op.EXTRACT.value),
            *((Trailer.ENTRY.value, placed.entry.id) for placed in found),
            (Trailer.SESSION.value, session.name),
            (Trailer.HOST.value, session.host),
        ),
    )

    def plan(transaction: Transaction) -> bool:
        rotate_if_full(transaction, store.config.rotation)
        return save_entries(transaction, store, found, memory_entries(found), message)

    outcome = transact(store, plan, purpose="extract")
    return outcome.commits[-1] if outcome.value else None

"""A session's transcript: read, kept as L1 (spec R14), and searched for lessons (spec J9)."""

from __future__ import annotations

from gitmem.errors import UnreadableError
from gitmem.hosts.all import read_transcript
from gitmem.machine.beneath import open_regular
from gitmem.machine.moment import local
from gitmem.memory.capture.clean import boot_lines
from gitmem.memory.capture.turns import save_entries
from gitmem.memory.save.save import rotate_if_full
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.ids import tail_of
from gitmem.model.message import Op, Trailer, session_message
from gitmem.model.session.entries import Placed, cue_entries
from gitmem.model.session.l1 import l1_lines
from gitmem.model.session.noise import human_text
from gitmem.model.session.transcript import MAX_LINE, Record, Role, Unread
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
_LESSONS = (MemoryType.DECISION, MemoryType.LEARNING, MemoryType.ERROR_FIX)


def read_lines(path: str) -> Iterator[str]:
    """Yield the lines of a transcript; none if there is no such file.

    Raises:
        UnreadableError: reading failed.

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


def read_records(path: str, unread: Unread | None = None, host: str = "") -> Iterator[Record]:
    """Yield the records of a transcript; `unread` counts the lines that cannot be parsed.

    `host` is the name of the host that wrote it; without it, the path says which.
    """
    return read_transcript(path, read_lines, unread, host)


def keep_transcript(store: Store, session: str, path: str) -> str | None:
    """Write a session's transcript to L1; returns the commit, None if nothing is new.

    Raises:
        GitmemError: it could not be stored.

    """
    if not store.config.transcripts.enabled:
        return None
    # A transcript with nothing but a subagent's records bears the session's id, but is not the session's.
    started = next((part.at for part in read_records(path) if part.role is Role.USER and not part.sidechain), None)
    if started is None:
        return None
    from gitmem.store.transcripts.transcripts import put

    def clean(text: str) -> str:
        return redact(text, allow=store.config.redaction.allow).text

    lines = l1_lines(read_records(path), store.config.transcripts.tool_result_chars, clean)
    return put(store, session, started, lines)


def save_lessons(store: Store, session: Session, why: str) -> str | None:
    """Save the decisions, learnings and fixes that a transcript's answers state (spec J9); returns the commit.

    Each is identified by the digest of its words, so that a second call saves only new ones.
    """
    allow = store.config.redaction.allow
    boot = boot_lines(store)
    daily: dict[str, Placed] = {}
    for part in read_records(session.transcript):
        if part.role is Role.ASSISTANT and not part.sidechain and part.text.strip():
            answer = human_text(redact(part.text, allow=allow).text)
            for placed in cue_entries(answer, local(part.at), boot, _LESSONS):
                daily.setdefault(tail_of(placed.entry.id), placed)
    lessons = tuple(daily.values())
    if not lessons:
        return None
    subject = f"Save lessons {why}: {len(lessons)} {'entry' if len(lessons) == 1 else 'entries'}"
    ids = (placed.entry.id for placed in lessons)
    message = session_message(subject, Op.EXTRACT, Trailer.ENTRY, ids, session=session.name, host=session.host)

    def plan(transaction: Transaction) -> bool:
        rotate_if_full(transaction, store)
        return save_entries(transaction, store, lessons, message, session=session.name)

    outcome = transact(store, plan, purpose="extract")
    return outcome.commits[-1] if outcome.value else None

"""Keep a finished session: its transcript, turns that no event told, lessons; read turns back from the daily logs."""

from __future__ import annotations

from datetime import datetime, timedelta

from gitmem.document.document import Document
from gitmem.document.entry import Entry, MemoryType, find_entries
from gitmem.document.ids import daily_path, session_tag, tail_of
from gitmem.document.message import Op, Trailer, session_message
from gitmem.document.scope import scopes_in
from gitmem.errors import UnreadableError
from gitmem.hosts.host import read_transcript
from gitmem.platform.clock import local
from gitmem.platform.safe_open import open_regular
from gitmem.sessions.capture import BATCH_BYTES, capture_turn, save_entries
from gitmem.sessions.cleaned import boot_lines, cleaner, exchanges_in
from gitmem.sessions.entries import EXCHANGE, Placed, cue_entries
from gitmem.sessions.outcome import MENDED, split_fields
from gitmem.sessions.save import rotate_if_full
from gitmem.sessions.transcript import MAX_LINE, Record, Role, Unread, l1_lines
from gitmem.sessions.turns import Failure, Turn, human_text
from gitmem.store.transact import transact
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

    from gitmem.sessions.pending import PendingSession
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction


BATCH = 50  # turns of one transaction
_LONGEST_SESSION = timedelta(days=7)


class Recorded(Value):
    """The number of turns that were new or longer than before, the archives of rotations, and notices."""

    saved: int
    archives: tuple[str, ...]
    notices: tuple[str, ...]


def capture_recorded(store: Store, turns: Sequence[Turn], purpose: str) -> Recorded:
    """Save the turns of a transcript, as far as the logs lack them; a second call changes nothing.

    Raises:
        GitmemError: it could not be committed.

    """
    saved = done = 0
    archives: list[str] = []
    notices: list[str] = []
    boot = boot_lines(store)

    def plan(transaction: Transaction) -> tuple[int, int, list[str]]:
        """Capture the next turns; return how many were taken, how many of them saved, and the archives."""
        taken, new, rotated = 0, 0, list[str]()
        for turn in turns[done : done + BATCH]:
            if taken and transaction.planned > BATCH_BYTES:
                break
            taken += 1
            before = len(transaction.drafts)
            rotated += capture_turn(transaction, store, turn, boot)
            new += len(transaction.drafts) > before
        return taken, new, rotated

    while done < len(turns):
        outcome = transact(store, plan, purpose=purpose)
        taken, more, rotated = outcome.value
        done, saved, archives = done + taken, saved + more, archives + rotated
        notices += outcome.notices
    return Recorded(saved, tuple(archives), tuple(notices))


def logged_turns(store: Store, session: str, host: str) -> list[Turn]:
    """Return the turns of a session as the daily logs of the last week tell them, where no transcript can be read."""
    tag, now = session_tag(session), store.context.clock().astimezone()
    day = now - _LONGEST_SESSION
    turns = []
    while tag and day.date() <= now.date():
        name = day.strftime("%Y-%m-%d")
        text = (store.read(daily_path(name)) or b"").decode("utf-8", "replace")
        for entry in (found.entry for found in find_entries(text)):
            if entry.label == EXCHANGE and entry.tags[:1] == tag:
                at = datetime.fromisoformat(f"{name} {entry.time}").replace(tzinfo=now.tzinfo)
                turns.append(_turn(entry, at, session, host))
        day += timedelta(days=1)
    return turns


def filed_turns(data: bytes, session: str, host: str) -> list[Turn]:
    """Return the turns of a session as its file tells them, at its beginning, where neither logs nor transcript do."""
    given, turns = Document.parse(data).get("created"), []
    if not isinstance(given, datetime):
        return []
    for exchange in exchanges_in(data):
        entry = Entry(exchange.id, exchange.time, EXCHANGE, "\n".join(("", *exchange.failed)), exchange.tags)
        answer = "\n".join(filter(None, (exchange.summary, exchange.details)))
        turns.append(
            _turn(entry, given, session, host)._replace(prompt=exchange.asked, answer=answer, files=exchange.files)
        )
    return turns


def _turn(entry: Entry, at: datetime, session: str, host: str) -> Turn:
    fields = split_fields(entry.text)
    failures = []
    for error in fields.errors:
        command, _, said = error.removeprefix("`").partition("`: ")
        said, _, mended = said.partition(MENDED)
        failures.append(Failure(at, "Bash", "", command, said, explained=mended))
    return Turn(
        session,
        host,
        entry.id,
        at,
        at,
        prompt=fields.request,
        answer=fields.answer,
        files=fields.files,
        failures=tuple(failures),
        tools=len(failures) + len(fields.files),
        closed=True,
        logged=entry.id,
        said=fields.said,
        scope="".join(scopes_in(entry.tags)[:1]),
    )


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
    from gitmem.store.transcripts import put

    lines = l1_lines(read_records(path), store.config.transcripts.tool_result_chars, cleaner(store))
    return put(store, session, started, lines)


def keep_session(store: Store, session: str, host: str, turns: Sequence[Turn], records: Iterable[Record]) -> None:
    """Save a session's exchanges (spec V1), and what they teach: facts (V4), concepts (V3), episodes (M2), errors."""
    from gitmem.facts.book import learn
    from gitmem.lessons.concepts import group
    from gitmem.lessons.episodes import save_episodes
    from gitmem.lessons.learn import learn_lessons
    from gitmem.sessions.exchanges import save_exchanges

    save_exchanges(store, session, host, turns)
    learn(store, session, host, turns)
    group(store, session, host, turns)
    save_episodes(store, session, host, turns, records)
    learn_lessons(store, session, host, turns)


def save_lessons(store: Store, session: PendingSession, why: str) -> str | None:
    """Save the decisions, learnings and fixes that a transcript's answers state (spec J9); returns the commit.

    Each is identified by the digest of its words, so that a second call saves only new ones.
    """
    clean, boot = cleaner(store), boot_lines(store)
    daily: dict[str, Placed] = {}
    for part in read_records(session.transcript):
        if part.role is Role.ASSISTANT and not part.sidechain and part.text.strip():
            answer = human_text(clean(part.text))
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

    return transact(store, plan, purpose="extract").commit

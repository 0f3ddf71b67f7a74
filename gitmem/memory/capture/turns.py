"""From what hooks delivered to memory: each turn becomes entries of the daily log and of `memory.md`, in one commit.

The events of a turn stay in the spool until it is committed, so a crash loses nothing: they are met again, and what is
in the daily log already is known by the digest in its id. Runs behind the host's back (spec J10), at the end of a turn,
every few tool uses, and before any other command.
"""

from __future__ import annotations

import os
from datetime import timedelta

from gitmem.errors import RefusedError
from gitmem.memory.capture.pending import Waiting
from gitmem.memory.entries import day_log, memory_of, new_daily
from gitmem.memory.save import rotate_if_full
from gitmem.model.document.document import Document
from gitmem.model.entry.entry import find_by_digest, find_entries
from gitmem.model.entry.kinds import CURRENT_STATE
from gitmem.model.entry.log import entries_in, entry_digests, put_entry, remove_entries, replace_entry
from gitmem.model.ids import TIME_LENGTH
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import MEMORY, daily_path
from gitmem.model.session.entries import (
    EXCHANGE,
    STATE,
    TOOL_USAGE,
    Placed,
    Remembered,
    files_told,
    joined_exchange,
    remember,
)
from gitmem.model.session.noise import BOOT_FILES, content_lines
from gitmem.redact.redact import redact
from gitmem.store.spool.hooks import HookSpool
from gitmem.store.transaction.transact import transact
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from gitmem.model.entry.entry import Entry
    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

BETWEEN_SAVES = timedelta(seconds=60)  # of one long turn: a turn that is over sooner is one commit
BATCH = 200  # turns of one transaction
_BOOT_BYTES = 262_144


class Captured(Value):
    """What was captured: commits, archives that a rotation made, notices for the user."""

    commits: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


class Capture:
    """One pass over the turns of a store; its plan may run again, so it begins afresh each time."""

    def __init__(self, store: Store, read: Callable[[], Waiting]) -> None:
        self._store = store
        self._read = read
        self.waiting = Waiting((), (), (), (), ())
        self.done: list[str] = []
        self.archives: list[str] = []
        self.full = False

    def plan(self, transaction: Transaction) -> None:
        """Turn what is due into commits."""
        self.waiting = self._read()
        self.done, self.archives, self.full = [], [], False
        over, boot = self.waiting.over(), boot_lines(self._store)
        due = [turn for turn in self.waiting.turns if is_due(turn, over, self._store, transaction.now)]
        for turn in due[:BATCH]:
            try:
                if archive := capture_turn(transaction, self._store, _closed(turn, over), boot):
                    self.archives.append(archive)
            except RefusedError as error:  # it waits; another day's log may well take the others
                transaction.notices.append(f"A turn is not saved yet: {error.message} {error.remedy}".strip())
                continue
            if turn.closed or turn.session in over:
                self.done += turn.sources
        self.full = len(due) > BATCH and bool(self.done)


def capture(store: Store, read: Callable[[], Waiting]) -> Captured:
    """Commit the turns that are over, and what there is of long ones; remove the events of the former.

    Raises:
        GitmemError: they could not be committed, and stay in the spool.

    """
    commits: list[str] = []
    archives: list[str] = []
    notices: list[str] = []
    spool = HookSpool(store.private)
    while True:
        pass_ = Capture(store, read)
        outcome = transact(store, pass_.plan, purpose="capture")
        commits += outcome.commits
        archives += pass_.archives
        notices += outcome.notices
        spool.remove([*pass_.done, *pass_.waiting.useless])
        for name in pass_.waiting.unreadable:
            spool.put_aside(name)
            notices.append(f"What a hook delivered could not be understood and was kept aside: {name}.")
        if not pass_.full:
            return Captured(tuple(commits), tuple(archives), tuple(notices))


def is_due(turn: Turn, over: Collection[str], store: Store, now: datetime) -> bool:
    """Say whether a turn is to be saved now: it is over, or long and not saved for a while (spec R4)."""
    if turn.closed or turn.session in over:
        return True
    if turn.tools < store.config.save.interval:
        return False
    text = (store.read(MEMORY) or b"").decode("utf-8", "surrogateescape")
    saved = find_by_digest(text, turn.entry_id()[TIME_LENGTH:])
    since = saved.entry.time if saved else turn.started.strftime("%Y-%m-%d %H:%M:%S")
    return since <= (now - BETWEEN_SAVES).astimezone(turn.started.tzinfo).strftime("%Y-%m-%d %H:%M:%S")


def capture_turn(transaction: Transaction, store: Store, turn: Turn, boot: Collection[str]) -> str:
    """Add the commit of a turn, after a rotation if one is due (spec R4); returns the archive that one made, or "".

    `boot` is what `boot_lines` says of the project.

    Raises:
        RefusedError: a file of the store cannot hold it, or is a link.

    """
    what = remember(
        redacted(turn, store.config.redaction.allow),
        (os.path.dirname(store.root), turn.cwd),
        boot,
        exchange=store.config.save.mode != "ask",
    )
    if what is None:
        return ""
    if not turn.prompt:
        what = _gone_on(memory_of(transaction), turn, what)
    what = _without_known(memory_of(transaction), what)
    days = _new_of_days(transaction, store, what.daily)
    if turn.closed and not days:
        return ""  # captured before: a second delivery, or a crash before the events were removed
    archive = rotate_if_full(transaction, store.config.rotation)
    changes = {path: _with(transaction.read(path) or new, news) for path, (new, news) in days.items()}
    changes[MEMORY] = _with_memory(memory_of(transaction), what)
    entries = dict.fromkeys(
        one.entry.id for some in (what.memory, *(news for _, news in days.values())) for one in some
    )
    trailers = (
        (Trailer.OP.value, Op.TURN.value),
        *((Trailer.ENTRY.value, identifier) for identifier in entries),
        (Trailer.SESSION.value, turn.session),
        (Trailer.HOST.value, turn.host),
    )
    transaction.commit(Message(what.subject, trailers), changes, when=turn.ended)
    return archive or ""


def save_entries(
    transaction: Transaction, store: Store, daily: Sequence[Placed], memory: Sequence[Placed], message: Message
) -> bool:
    """Add a commit of entries that are not in their daily logs yet; False where there is none."""
    days = _new_of_days(transaction, store, daily)
    new = {placed.entry.id for _, news in days.values() for placed in news}
    if not new:
        return False
    changes = {path: _with(transaction.read(path) or empty, news) for path, (empty, news) in days.items()}
    known = entry_digests(memory_of(transaction).decode("utf-8", "surrogateescape"))
    fresh = [one for one in memory if one.entry.id in new and one.entry.id[TIME_LENGTH:] not in known]
    changes[MEMORY] = _with(memory_of(transaction), fresh)
    return transaction.commit(message, changes)


def boot_lines(store: Store) -> frozenset[str]:
    """Return the lines of the files an agent loads by itself in a project, so that they are not remembered again."""
    project, texts = os.path.dirname(store.root), []
    for name in BOOT_FILES:
        path = os.path.join(project, name)
        if os.path.isfile(path):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts.append(file.read(_BOOT_BYTES))
            except OSError:
                continue
    return content_lines(texts)


def _closed(turn: Turn, over: Collection[str]) -> Turn:
    return turn._replace(closed=True) if turn.session in over else turn


def redacted(turn: Turn, allow: Sequence[str]) -> Turn:
    """Return a turn without secrets; before anything of it is shortened, which could hide where one ends."""

    def clean(text: str) -> str:
        return redact(text, allow=allow).text

    failures = tuple(
        failure._replace(
            command=clean(failure.command),
            error=clean(failure.error),
            fixed_by=clean(failure.fixed_by),
            meanwhile=clean(failure.meanwhile),
        )
        for failure in turn.failures
    )
    files = tuple(clean(name) for name in turn.files)
    return turn._replace(prompt=clean(turn.prompt), answer=clean(turn.answer), files=files, failures=failures)


def _new_of_days(
    transaction: Transaction, store: Store, daily: Iterable[Placed]
) -> dict[str, tuple[bytes, list[Placed]]]:
    """Return, by daily log, its beginning and the entries that it does not hold yet."""
    days: dict[str, tuple[bytes, list[Placed]]] = {}
    for placed in daily:
        day = placed.at.strftime("%Y-%m-%d")
        days.setdefault(daily_path(day), (new_daily(day), []))[1].append(placed)
    new = {}
    for path, (empty, entries) in days.items():
        texts = [
            (day_log(store, transaction, near) or b"").decode("utf-8", "surrogateescape")
            for near in _near(path, entries[0].at)
        ]
        known = {digest for text in texts for digest in entry_digests(text)}
        news = [placed for placed in entries if placed.entry.id[TIME_LENGTH:] not in known]
        if len(news) < len(entries):
            news = [placed for placed in news if not _names_known_files(placed.entry, texts[0])]
        if news:
            new[path] = (empty, news)
    return new


def _near(path: str, at: datetime) -> tuple[str, ...]:
    """Return a daily log and those beside it: a second delivery may come after midnight, a replay in another zone."""
    return (path, *(daily_path((at + timedelta(days=days)).strftime("%Y-%m-%d")) for days in (-1, 1)))


def _names_known_files(entry: Entry, daily: str) -> bool:
    """Say whether an entry only names files that a daily log names: of a turn that went on, or without a subagent's."""
    if entry.label != TOOL_USAGE:
        return False
    told = (found.entry.text for found in find_entries(daily) if found.entry.label == TOOL_USAGE)
    return files_told(entry.text) <= {name for text in told for name in files_told(text)}


def _with(data: bytes, entries: Iterable[Placed]) -> bytes:
    document = Document.parse(data)
    body = document.body
    for placed in entries:
        body = put_entry(body, placed.section, placed.entry, document.newline)
    return document.with_body(body).render()


def _without_known(data: bytes, what: Remembered) -> Remembered:
    """Return what a turn comes to without the decisions and issues that stand in `memory.md` already.

    Who said one first keeps it, and so do the words a person has given it since.
    """
    known = entry_digests(data.decode("utf-8", "surrogateescape"))

    def is_new(placed: Placed) -> bool:
        return placed.entry.label == EXCHANGE or placed.entry.id[TIME_LENGTH:] not in known

    return what._replace(daily=tuple(filter(is_new, what.daily)), memory=tuple(filter(is_new, what.memory)))


def _gone_on(data: bytes, turn: Turn, what: Remembered) -> Remembered:
    """Return what a turn comes to that went on after it was saved: its exchange says both, its state stays."""
    before = find_by_digest(data.decode("utf-8", "surrogateescape"), turn.entry_id()[TIME_LENGTH:])
    if before is None:
        return what
    memory = (
        placed._replace(entry=placed.entry._replace(text=joined_exchange(before.entry.text, placed.entry.text)))
        if placed.entry.label == EXCHANGE
        else placed
        for placed in what.memory
    )
    return what._replace(memory=tuple(memory), state=None)


def _with_memory(data: bytes, what: Remembered) -> bytes:
    """Return `memory.md` with what a turn comes to; where the work stands is replaced, if this turn is the latest."""
    document = Document.parse(_with(data, what.memory))
    body = document.body
    if what.state is not None:
        states = [found for found in entries_in(body, CURRENT_STATE) if found.entry.label == STATE]
        if all(state.entry.time <= what.state.time for state in states):
            later = {state.entry.id for state in states[1:]}
            body = replace_entry(body, states[0], what.state, document.newline) if states else body
            body = remove_entries(body, later - {what.state.id})
            body = put_entry(body, CURRENT_STATE, what.state, document.newline)
    return document.with_body(body).render()

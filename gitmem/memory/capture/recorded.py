"""Capture the turns of a transcript, and read captured turns back from the daily logs.

Tested through `tests/memory/sessions/test_replay.py` and `tests/memory/capture/test_session_end.py`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gitmem.memory.capture.clean import boot_lines
from gitmem.memory.capture.turns import BATCH_BYTES, capture_turn
from gitmem.model.entry.entry import find_entries
from gitmem.model.paths import daily_path
from gitmem.model.session.entries import EXCHANGE, session_tag
from gitmem.model.session.fields import MENDED, split_fields
from gitmem.model.session.turns import Failure, Turn
from gitmem.store.transaction.transact import transact
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.model.entry.entry import Entry
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

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
    saved = 0
    archives: list[str] = []
    notices: list[str] = []
    boot = boot_lines(store)
    done = 0
    while done < len(turns):
        attempt = _Attempt(store, turns[done : done + BATCH], boot)
        outcome = transact(store, attempt.plan, purpose=purpose)
        done += attempt.done
        saved += attempt.saved
        archives += attempt.archives
        notices += outcome.notices
    return Recorded(saved, tuple(archives), tuple(notices))


class _Attempt:
    """One transaction; its plan resets all state, as it may run again."""

    def __init__(self, store: Store, turns: Sequence[Turn], boot: frozenset[str]) -> None:
        self._store = store
        self._boot = boot
        self._turns = turns
        self.done = 0
        self.saved = 0
        self.archives: list[str] = []

    def plan(self, transaction: Transaction) -> None:
        self.done, self.saved, self.archives = 0, 0, []
        for turn in self._turns:
            if self.done and transaction.planned > BATCH_BYTES:
                break
            self.done += 1
            before = len(transaction.drafts)
            if archive := capture_turn(transaction, self._store, turn, self._boot):
                self.archives.append(archive)
            self.saved += len(transaction.drafts) > before


def logged_turns(store: Store, session: str, host: str) -> list[Turn]:
    """Return the turns of a session as the daily logs of the last week tell them, where no transcript can be read."""
    tag, now = session_tag(session), store.context.clock().astimezone()
    day = now - _LONGEST_SESSION
    turns = []
    while tag and day.date() <= now.date():
        name = day.strftime("%Y-%m-%d")
        text = (store.read(daily_path(name)) or b"").decode("utf-8", "replace")
        for entry in _exchanges(text):
            if entry.tags == tag:
                at = datetime.fromisoformat(f"{name} {entry.time}").replace(tzinfo=now.tzinfo)
                turns.append(_turn(entry, at, session, host))
        day += timedelta(days=1)
    return turns


def _exchanges(text: str) -> Iterator[Entry]:
    return (found.entry for found in find_entries(text) if found.entry.label == EXCHANGE)


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
    )

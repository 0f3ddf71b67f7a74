"""Replay recorded sessions as if their hooks had delivered them, with their own times."""

from __future__ import annotations

import os

from gitmem.memory.capture.session_end import keep_transcript, read_records
from gitmem.memory.capture.turns import boot_lines, capture_turn
from gitmem.memory.concepts.group import group
from gitmem.memory.exchanges.offline import save_exchanges
from gitmem.memory.facts.learn import learn
from gitmem.model.session.replay import hook_events
from gitmem.model.session.transcript import Unread
from gitmem.model.session.turns import Turn, fold
from gitmem.store.transaction.transact import transact
from gitmem.text.quantities import count
from gitmem.text.terminal import plain
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

BATCH = 50  # turns of one transaction, which holds each of their versions of the daily log
_SUFFIX = ".jsonl"
_NOT_SESSIONS = ("subagents", "tool-results")  # folders beside a session's transcript


class Replayed(Value):
    """The result for one transcript: its turns, how many were new, whether its L1 was, archives, notices.

    `unread` counts its lines that could not be parsed, or were truncated.
    """

    path: str
    sessions: tuple[str, ...]
    turns: int
    unread: int
    saved: int
    transcript: bool
    archives: tuple[str, ...]
    notices: tuple[str, ...]


def find_transcripts(path: str) -> list[str]:
    """Return the transcripts below a folder, the oldest first; of a file, the file."""
    if not os.path.isdir(path):
        return [path]
    paths = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name not in _NOT_SESSIONS]
        paths += [os.path.join(folder, name) for name in names if name.endswith(_SUFFIX) and name[:6] != "agent-"]
    return sorted(paths, key=lambda path: (os.path.getmtime(path), path))


def replay(store: Store, path: str) -> Replayed:
    """Save the turns of a transcript that are not saved yet, and its L1; a second call changes nothing.

    Raises:
        GitmemError: it could not be committed.

    """
    turns, unread = _turns(path)
    replayed = _replay_turns(store, path, turns, unread)
    for session in replayed.sessions:
        own = [turn for turn in turns if turn.session == session]
        save_exchanges(store, session, own[0].host, own)
        learn(store, session, own[0].host, own)
        group(store, session, own[0].host, own)
    # The file of a resumed session may begin with the lines of the previous one: it belongs to the last.
    kept = [keep_transcript(store, session, path) for session in replayed.sessions[-1:]]
    return replayed._replace(transcript=any(kept))


def _turns(path: str) -> tuple[list[Turn], int]:
    """Return the turns of a transcript, and the number of lines that could not be parsed."""
    stem, unread = os.path.basename(path).removesuffix(_SUFFIX), Unread()
    turns = fold(hook_events(read_records(path, unread), None))
    return [turn._replace(closed=True, session=turn.session or stem) for turn in turns], unread.lines


def _notices(path: str, turns: int, unread: int) -> list[str]:
    """Return a notice about a file without turns or with unreadable lines; none about an empty file."""
    name = plain(path)
    lost = f"{count(unread, 'line')} could not be read" if unread else ""
    if turns:
        return [f"{name}: {lost}; everything else is saved."] if lost else []
    return [f"{name}: it has no turns of a session{lost and f'; {lost}'}."] if os.path.getsize(path) else []


def _replay_turns(store: Store, path: str, turns: Sequence[Turn], unread: int) -> Replayed:
    saved = 0
    archives: list[str] = []
    notices = _notices(path, len(turns), unread)
    boot = boot_lines(store)
    for start in range(0, len(turns), BATCH):
        attempt = _Attempt(store, turns[start : start + BATCH], boot)
        outcome = transact(store, attempt.plan, purpose="replay")
        saved += attempt.saved
        archives += attempt.archives
        notices += outcome.notices
    sessions = tuple(dict.fromkeys(turn.session for turn in turns))
    return Replayed(
        path,
        sessions,
        len(turns),
        unread,
        saved,
        transcript=False,
        archives=tuple(archives),
        notices=tuple(dict.fromkeys(notices)),
    )


class _Attempt:
    """One transaction of a replay; its plan resets all state, as it may run again."""

    def __init__(self, store: Store, turns: Sequence[Turn], boot: frozenset[str]) -> None:
        self._store = store
        self._boot = boot
        self._turns = turns
        self.saved = 0
        self.archives: list[str] = []

    def plan(self, transaction: Transaction) -> None:
        self.saved, self.archives = 0, []
        for turn in self._turns:
            before = len(transaction.drafts)
            if archive := capture_turn(transaction, self._store, turn, self._boot):
                self.archives.append(archive)
            self.saved += len(transaction.drafts) > before

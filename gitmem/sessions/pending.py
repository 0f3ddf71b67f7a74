"""Pending turns and sessions: the events in the spool of the hooks, parsed. Changes nothing."""

from __future__ import annotations

import os

from gitmem.hosts.host import read_payload
from gitmem.platform.clock import timedelta
from gitmem.platform.programs import is_running
from gitmem.sessions.events import HookEvent, HookKind, parse_payload
from gitmem.sessions.turns import Turn, fold
from gitmem.store.spool import HookSpool
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gitmem.platform.clock import Context
    from gitmem.store.spool import Delivered
    from gitmem.store.store import Store


_JUST_NOW = timedelta(seconds=5)
IDLE = timedelta(hours=1)  # after which a session counts as over
_MAX_PAYLOADS, _MAX_BYTES = 1_000, 1 << 23  # that are read at a session's start
_TELLS_ALL = "claude-code"  # the host whose hooks bring each prompt and each answer
_BOUNDARIES = (HookKind.SESSION_START, HookKind.SESSION_END)


class PendingSession(Value):
    """A session with events in the spool; `over` if it, or the host's process, has ended."""

    name: str
    host: str
    over: bool
    transcript: str
    sources: tuple[str, ...]


class Pending(Value):
    """The spool: its events, their turns and sessions, compactions, and files without use or that cannot be parsed."""

    turns: tuple[Turn, ...]
    sessions: tuple[PendingSession, ...]
    compactions: tuple[HookEvent, ...]
    useless: tuple[str, ...]
    unreadable: tuple[str, ...]
    events: tuple[HookEvent, ...] = ()

    def over(self) -> frozenset[str]:
        """Return the names of finished sessions."""
        return frozenset(session.name for session in self.sessions if session.over)


def read_pending(spool: HookSpool, context: Context, alive: Callable[[int], bool]) -> Pending:
    """Read the spool; `alive` returns whether the process with an id still runs."""
    seen, now = spool.read(lambda file: (file.name, file.at, file.owner, *_event(file, context))), context.clock()
    events = [event for *_, event in seen if event]
    owners: dict[str, tuple[datetime, int]] = {}
    for _, at, owner, _, event in seen:
        if event:
            owners[event.session] = max(owners.get(event.session, (at, 0)), (at, owner))
    sessions = tuple(
        _session(name, events, running=now - last < IDLE and (not owner or alive(owner)))
        for name, (last, owner) in sorted(owners.items())
    )
    transcripts = {session.name: session.transcript for session in sessions}
    return Pending(
        tuple(_completed(turn, transcripts[turn.session]) for turn in fold(events)),
        sessions,
        tuple(event for event in events if event.kind is HookKind.PRE_COMPACT),
        tuple(name for name, _, _, readable, event in seen if readable and event is None),
        tuple(name for name, _, _, readable, _ in seen if not readable),
        tuple(events),
    )


def _event(file: Delivered, context: Context) -> tuple[bool, HookEvent | None]:
    """Return whether a payload can be parsed, and its event; None for events that memory does not use."""
    try:
        label, payload = read_payload(file.payload, file.host, file.event, (context.environ, context.home))
        event = parse_payload(payload, file.at, label) if payload is not None else None
    except ValueError:
        return False, None
    if event is None or event.kind in {HookKind.SUBAGENT_STOP, HookKind.POST_COMPACT}:
        return True, None
    return True, event._replace(source=file.name)


def _session(name: str, events: Sequence[HookEvent], *, running: bool) -> PendingSession:
    ours = sorted((event for event in events if event.session == name), key=lambda event: event.at)
    boundaries = [event for event in ours if event.kind in _BOUNDARIES]
    ended = bool(boundaries) and boundaries[-1].kind is HookKind.SESSION_END and boundaries[-1].at >= ours[-1].at
    transcript = next((event.transcript for event in reversed(ours) if event.transcript), "")
    return PendingSession(
        name, ours[-1].host, ended or not running, transcript, tuple(event.source for event in boundaries)
    )


def _completed(turn: Turn, transcript: str) -> Turn:
    """Return a turn with the prompt and the answer that hooks of hosts other than Claude Code may leave out."""
    is_complete = turn.prompt and (turn.answer or not turn.closed)
    if is_complete or not transcript or turn.host == _TELLS_ALL:
        return turn
    from gitmem.sessions.cleaned import recorded_turn

    found = recorded_turn(transcript, turn)
    if found is None:
        return turn
    answer = turn.answer or (found.answer if turn.closed else "")
    return turn._replace(key=turn.key or found.key, prompt=turn.prompt or found.prompt, answer=answer)


def lacks_answer(turn: Turn, transcript: str, now: datetime) -> bool:
    """Return whether a turn that ended just now has no answer, though its host tells answers in a transcript."""
    is_late = turn.closed and not turn.answer and turn.host != _TELLS_ALL and now - turn.ended < _JUST_NOW
    return is_late and os.path.isdir(os.path.dirname(transcript))


def glance(store: Store) -> Pending | None:
    """Return the content of the spool, None if it is too large to be read at a session's start."""
    return look(store) if HookSpool(store.private).fits(_MAX_PAYLOADS, _MAX_BYTES) else None


def with_last_answers(pending: Pending) -> tuple[Turn, ...]:
    """Return the pending turns, a killed session's last one with the words that only its transcript has (spec R8)."""
    if not pending.turns:
        return ()
    from gitmem.sessions.cleaned import last_words, recorded_turn

    transcripts = {session.name: session.transcript for session in pending.sessions if session.over}
    last = {turn.session: turn.key for turn in pending.turns}

    def told(turn: Turn) -> Turn:
        path = transcripts.get(turn.session, "")
        if turn.answer or not path or last[turn.session] != turn.key:
            return turn
        if turn.host == _TELLS_ALL:
            words, ends = last_words(path, turn.started)
            return turn._replace(answer=words, closed=True, interrupted=not ends)
        found = recorded_turn(path, turn) or turn
        return turn._replace(answer=found.answer, closed=True, interrupted=found.interrupted)

    return tuple(map(told, pending.turns))


def look(store: Store, alive: Callable[[int], bool] = is_running) -> Pending:
    """Return the content of the spool."""
    return read_pending(HookSpool(store.private), store.context, alive)

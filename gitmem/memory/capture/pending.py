"""What waits in the spool of the hooks: the turns and sessions that its events tell of. Reads, and changes nothing."""

from __future__ import annotations

from datetime import timedelta

from gitmem.machine.processes import is_running
from gitmem.model.session.events import HookEvent, HookKind, parse_payload
from gitmem.model.session.turns import Turn, fold
from gitmem.store.spool.hooks import HookSpool
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gitmem.store.spool.hooks import Delivered
    from gitmem.store.store import Store

HOST = "claude-code"
IDLE = timedelta(hours=1)  # after which a session whose host cannot be asked for counts as over
_MOST, _MOST_BYTES = 1_000, 1 << 23  # payloads that are looked at while somebody waits
_KEPT_TO_THE_END = (HookKind.SESSION_START, HookKind.SESSION_END)


class Session(Value):
    """A session that the spool knows of; `over` says that it has ended, or that its host has."""

    name: str
    host: str
    over: bool
    transcript: str
    sources: tuple[str, ...]


class Waiting(Value):
    """What the spool of the hooks holds: turns, sessions, compactions to come, and files that mean nothing."""

    turns: tuple[Turn, ...]
    sessions: tuple[Session, ...]
    compactions: tuple[HookEvent, ...]
    useless: tuple[str, ...]
    unreadable: tuple[str, ...]

    def over(self) -> frozenset[str]:
        """Return the names of the sessions that are over."""
        return frozenset(session.name for session in self.sessions if session.over)


class _Seen(Value):
    """A payload that was looked at: whether it can be read, and its event if it has one."""

    name: str
    at: datetime
    owner: int
    readable: bool
    event: HookEvent | None


def waiting(spool: HookSpool, host: str, now: datetime, alive: Callable[[int], bool]) -> Waiting:
    """Read the spool; `alive` says whether the process with an id still runs."""
    seen = spool.read(lambda one: _Seen(one.name, one.at, one.owner, *_event(one, host)))
    events = [one.event for one in seen if one.event]
    owners: dict[str, tuple[datetime, int]] = {}
    for one in seen:
        if one.event:
            session = one.event.session
            owners[session] = max(owners.get(session, (one.at, 0)), (one.at, one.owner))
    return Waiting(
        tuple(fold(events)),
        tuple(
            _session(name, events, running=now - last < IDLE and (not owner or alive(owner)))
            for name, (last, owner) in sorted(owners.items())
        ),
        tuple(event for event in events if event.kind is HookKind.PRE_COMPACT),
        tuple(one.name for one in seen if one.event is None and one.readable),
        tuple(one.name for one in seen if not one.readable),
    )


def _event(one: Delivered, host: str) -> tuple[bool, HookEvent | None]:
    """Say whether a payload can be read, and return its event, None where it means nothing to a memory."""
    try:
        event = parse_payload(one.payload, one.at, host)
    except ValueError:
        return False, None
    if event is None or event.kind in {HookKind.SUBAGENT_STOP, HookKind.POST_COMPACT}:
        return True, None
    return True, event._replace(source=one.name)


def _session(name: str, events: Sequence[HookEvent], *, running: bool) -> Session:
    ours = sorted((event for event in events if event.session == name), key=lambda event: event.at)
    marks = [event for event in ours if event.kind in _KEPT_TO_THE_END]
    ended = bool(marks) and marks[-1].kind is HookKind.SESSION_END and marks[-1].at >= ours[-1].at
    transcript = next((event.transcript for event in reversed(ours) if event.transcript), "")
    return Session(name, ours[-1].host, ended or not running, transcript, tuple(event.source for event in marks))


def glance(store: Store) -> Waiting | None:
    """Return what waits in the spool of the hooks, None where that is more than a session's start has time for."""
    return look(store) if HookSpool(store.private).fits(_MOST, _MOST_BYTES) else None


def look(store: Store, alive: Callable[[int], bool] = is_running) -> Waiting:
    """Return what waits in the spool of the hooks."""
    return waiting(HookSpool(store.private), HOST, store.context.clock(), alive)

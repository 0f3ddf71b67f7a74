"""Judge the texts given to a finished session: by the outcome of their turn (spec M2), and by their use (M7)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gitmem.memory.capture.clean import redacted_with_runs
from gitmem.memory.guide.given import (
    ERROR,
    GET,
    GUIDE,
    PROMPT,
    RECALL,
    Came,
    Mended,
    read_notes,
    record_came,
    record_mended,
)
from gitmem.memory.guide.used import was_used
from gitmem.memory.learned.counts import add_told
from gitmem.memory.learned.known import match_error, pattern_headers
from gitmem.model.learned.pattern import LETTER, pattern_id
from gitmem.model.learned.sight import find_sights
from gitmem.model.session.noise import human_text
from gitmem.model.session.outcome import Outcome, judge_outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store

_COUNTED = frozenset({PROMPT, ERROR, GUIDE, RECALL, GET})  # a search shows but lines of a memory
_VERDICTS = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILED: 0.0}


def count_given(store: Store, session: str, turns: Sequence[Turn]) -> str | None:
    """Add the memories that a session was told to this machine's counts, in one commit; a second call adds nothing."""
    told: dict[str, dict[str, float | None]] = {}
    for given in read_notes(store.private).given:
        if given.session == session and given.how in _COUNTED:
            verdict = _verdict(turns, given.at)
            for identifier in given.ids:
                told.setdefault(identifier, {})[given.at.isoformat()] = verdict
    return add_told(store, told, f"Count what session {session[:8]} was told") if told else None


def note_use(store: Store, session: str, turns: Sequence[Turn]) -> None:
    """Record after how many commands a finished session mended its errors, and how many of the given texts it used.

    A second call replaces the record of the first.
    """
    notes = read_notes(store.private)
    note_mended(store, turns, {(one.pattern, one.exchange) for one in notes.mended})
    given = [one for one in notes.given if one.session == session]
    named = [one for one in given if one.names]
    mends = {id_ for one in given if one.how == ERROR for id_ in one.ids if id_.startswith(LETTER)}
    if turns and (named or mends):
        used = Counter(one.how for one in named if was_used(one, turns))
        mended = {one.pattern for one in read_notes(store.private).mended if one.session == session}
        came = Came(store.context.clock(), session, Counter(one.how for one in named), used, len(mends))
        came = came._replace(mended=len(mends & mended))
        if came._replace(at=None) not in [one._replace(at=None) for one in notes.came]:
            record_came(store.private, came)


def note_mended(store: Store, turns: Iterable[Turn], known: Collection[tuple[str, str]] = ()) -> None:
    """Record after how many commands the errors of these turns were mended, unless `known` has pattern and exchange.

    An error that comes for the first time has the id that its pattern gets when its session is over. The second record
    of one place replaces the first.
    """
    failed = [redacted_with_runs(turn, store.config.redaction.allow) for turn in turns if turn.failures]
    sessions = {turn.exchange_id: turn.session for turn in failed}
    sights = [sight for sight in find_sights(failed) if sight.commands]
    headers = pattern_headers(store) if sights else []
    for sight in sights:
        match = next(iter(match_error(store, sight.error, headers)), None)
        pattern = match.pattern.id if match else pattern_id(sight.error)
        if (pattern, sight.exchange) not in known:
            mended = Mended(sight.at, sessions[sight.exchange], pattern, sight.exchange, sight.commands)
            record_mended(store.private, store.context.clock(), mended)


def _verdict(turns: Sequence[Turn], at: datetime) -> float | None:
    """Return the outcome of the turn that ran at this time as a number; None without one, or if it was interrupted."""
    index = max((index for index, turn in enumerate(turns) if turn.started <= at), default=None)
    if index is None:
        return None
    following = human_text(turns[index + 1].prompt) if index + 1 < len(turns) else ""
    return _VERDICTS.get(judge_outcome(turns[index], following))

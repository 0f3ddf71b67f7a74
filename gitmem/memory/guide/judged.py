"""Count the memories that a finished session was told, and judge each by the outcome of its turn (spec M2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.memory.guide.given import all_given
from gitmem.memory.learned.counts import add_told
from gitmem.model.session.noise import human_text
from gitmem.model.session.outcome import Outcome, judge_outcome

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store

_VERDICTS = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILED: 0.0}


def count_given(store: Store, session: str, turns: Sequence[Turn]) -> str | None:
    """Add the memories that a session was told to this machine's counts, in one commit; a second call adds nothing."""
    told: dict[str, dict[str, float | None]] = {}
    for given in all_given(store.private):
        if given.session == session:
            verdict = _verdict(turns, given.at)
            for identifier in given.ids:
                told.setdefault(identifier, {})[given.at.isoformat()] = verdict
    return add_told(store, told, f"Count what session {session[:8]} was told") if told else None


def _verdict(turns: Sequence[Turn], at: datetime) -> float | None:
    """Return the outcome of the turn that ran at this time as a number; None if there was no turn."""
    index = max((index for index, turn in enumerate(turns) if turn.started <= at), default=None)
    if index is None:
        return None
    following = human_text(turns[index + 1].prompt) if index + 1 < len(turns) else ""
    return _VERDICTS[judge_outcome(turns[index], following)]

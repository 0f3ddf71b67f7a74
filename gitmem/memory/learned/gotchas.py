"""Make a fact of an error that a command met in several sessions: a gotcha, with what mended it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.memory.facts.learn import learn_told
from gitmem.memory.learned.known import known_patterns, own_part
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.find import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.model.learned.pattern import BugPattern
    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store

_CONFIDENCE = 0.7


def learn_gotchas(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save a fact for each error of a finished session that an earlier session met; return the commit.

    Its sources are the exchanges in which the error came. A second call adds nothing.

    Raises:
        GitmemError: the facts could not be committed.

    """
    times = {turn.exchange_id: turn.ended for turn in turns if turn.failures}
    if not times:
        return None
    likely = [one for one in known_patterns(store) if one.commands and _in_several(one, set(times))]
    again = [own for one in likely if (own := own_part(store, one)) and _in_several(own, set(times))]
    return learn_told(store, session, host, [finding for one in again for finding in _findings(one)])


def _in_several(pattern: BugPattern, own: set[str]) -> bool:
    """Return whether exchanges of this session and of others met an error."""
    seen = set(pattern.seen)
    return bool(seen & own and seen - own and (pattern.error.type or pattern.error.message))


def _findings(pattern: BugPattern) -> Iterator[Finding]:
    """Yield the same finding from each exchange in which an error came."""
    mend = pattern.best()
    said = f"`{pattern.commands[0]}` failed in several sessions: {pattern.title.rstrip('.')}."
    text = f"{said}\n\n**How:** {mend.text}" if mend else said
    for exchange in pattern.seen:
        yield Finding(FactKind.CORE_LOGIC, text, _CONFIDENCE, pattern.updated, exchange)

"""Find stale bug patterns: their files changed a lot since, or the error never came back (spec M3, M5)."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from gitmem.memory.learned.known import known_patterns
from gitmem.model.learned.pattern import BugPattern, parse_pattern, render_pattern
from gitmem.model.message import Message, Op, Trailer
from gitmem.store.transaction.transact import transact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitmem.project.past import Past
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

UNUSED_DAYS = 90  # since an error came last
MIN_USAGE_COUNT = 2  # times that a pattern was seen or told, below which it is unused
_OFTEN = 5  # commits since a pattern's error came, from which a file of it changed a lot


def stale_patterns(
    store: Store, min_usage_count: int = MIN_USAGE_COUNT, told: Mapping[str, int] | None = None
) -> list[str]:
    """Return the files of bug patterns with fewer uses than `min_usage_count`, none of them in the last 90 days.

    A use is an exchange in which the error came; `told` has how often a pattern was told, by id.
    """
    oldest = store.context.clock() - timedelta(days=UNUSED_DAYS)
    counts = told or {}
    return sorted(
        pattern.path
        for pattern in known_patterns(store)
        if pattern.updated < oldest and len(pattern.seen) + counts.get(pattern.id, 0) < min_usage_count
    )


def changed_a_lot(pattern: BugPattern, past: Past) -> bool:
    """Return whether most of a pattern's files are gone, or were changed by several commits, since its error came."""
    since = Counter(file for commit in past.commits if commit.at > pattern.updated for file in commit.files)
    there = frozenset(past.files)
    changed = [file for file in pattern.files if since[file] >= _OFTEN or (since[file] and file not in there)]
    return bool(changed) and 2 * len(changed) > len(pattern.files)


def mark_stale(store: Store, past: Past) -> str | None:
    """Mark the patterns whose files changed a lot since; return the commit, None if there is no such pattern."""
    found = [one for one in known_patterns(store) if not one.stale and changed_a_lot(one, past)]
    if not found:
        return None
    outcome = transact(store, partial(_mark, found), purpose="learn")
    return outcome.commits[-1] if outcome.value else None


def _mark(found: Iterable[BugPattern], transaction: Transaction) -> bool:
    changes: dict[str, bytes | None] = {}
    for one in found:
        data = transaction.read(one.path)
        pattern = parse_pattern(data) if data is not None else None
        if pattern is not None:
            changes[one.path] = render_pattern(pattern._replace(stale=True))
    number = "1 bug pattern" if len(changes) == 1 else f"{len(changes)} bug patterns"
    message = Message(f"Mark {number} as stale: their files changed a lot", ((Trailer.OP.value, Op.PATTERN.value),))
    return bool(changes) and transaction.commit(message, changes)

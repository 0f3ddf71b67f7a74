"""Learn bug patterns from errors and their fixes, and drop those that never helped."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from datetime import timedelta
from functools import partial

from gitmem.document.message import Message, Op, Trailer, one_line, session_message
from gitmem.errors import RefusedError
from gitmem.lessons.episode import episode_id, episode_path
from gitmem.lessons.episodes_from_turns import tasks_in
from gitmem.lessons.error import MATCH, ErrorSignature, likeness
from gitmem.lessons.error_occurrence import find_sights, with_errors
from gitmem.lessons.known_errors import known_patterns, pattern_headers, signature_of
from gitmem.lessons.pattern import (
    BUGS,
    BugPattern,
    begun,
    parse_pattern,
    pattern_id,
    render_pattern,
    seen_again,
)
from gitmem.sessions.cleaned import redacted_with_runs
from gitmem.store.transact import transact

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitmem.lessons.error_occurrence import Sight
    from gitmem.project.state import Past
    from gitmem.sessions.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction


def learn_bugs(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the errors of a finished session and their mends; return the commit. A second call adds nothing.

    Raises:
        GitmemError: the patterns could not be committed.

    """
    allow, project = store.config.redaction.allow, os.path.dirname(store.root)
    sights = find_sights([redacted_with_runs(turn, allow) for turn in with_errors(turns)], project)
    if not sights:
        return None

    def plan(transaction: Transaction) -> bool:
        episodes = _episodes(transaction, turns, {sight.exchange for sight in sights})
        told = [sight._replace(episode=episodes.get(sight.exchange, "")) for sight in sights]
        changed, new = patterns_with(store, transaction, told)
        changes = rendered(changed)
        return transaction.commit(_message(changed, new, session, host), changes, when=turns[-1].ended)

    outcome = transact(store, plan, purpose="learn")
    pattern_headers(store)  # so that the next error finds them in the cache
    return outcome.commits[-1] if outcome.value else None


def patterns_with(store: Store, transaction: Transaction, sights: Iterable[Sight]) -> tuple[dict[str, BugPattern], int]:
    """Return the patterns that change with these sights, by path, and how many of them are new."""
    known = {header.path: signature_of(header) for header in pattern_headers(store)}
    changed: dict[str, BugPattern] = {}
    new = 0
    for sight in sights:
        pattern = _known(transaction, known, changed, sight.error)
        after = begun(sight) if pattern is None else seen_again(pattern, sight)
        if pattern is None and transaction.read(after.path) is not None:
            continue  # a person rewrote the file
        new += pattern is None
        known[after.path] = after.error
        changed[after.path] = after
    return changed, new


def _episodes(transaction: Transaction, turns: Sequence[Turn], wanted: set[str]) -> dict[str, str]:
    """Return the ids of the existing episodes of these exchanges, by exchange."""
    found: dict[str, str] = {}
    for task in tasks_in(turns):
        own = [turn.exchange_id for turn in task]
        if wanted & set(own):
            ids = (episode_id(task[0].session, exchange) for exchange in own)
            there = (one for one in ids if transaction.read(episode_path(one, task[0].started)) is not None)
            found |= dict.fromkeys(own, next(there, ""))
    return found


def _known(
    transaction: Transaction, known: dict[str, ErrorSignature], changed: dict[str, BugPattern], error: ErrorSignature
) -> BugPattern | None:
    """Return the pattern that matches an error best; None if none does, or its file cannot be parsed."""
    own = f"{BUGS}/{pattern_id(error)}.md"
    likely = sorted(((likeness(one, error), path == own, path) for path, one in known.items()), reverse=True)
    for score, _, path in likely:
        if score <= MATCH:
            break
        if path in changed:
            return changed[path]
        try:
            data = transaction.read(path)
        except (RefusedError, OSError):
            continue
        pattern = parse_pattern(data) if data is not None else None
        if pattern is not None and pattern.path == path:
            return pattern
    return None


def rendered(changed: Mapping[str, BugPattern]) -> dict[str, bytes | None]:
    """Return the files of patterns, without those whose header a person wrote in a form that cannot be edited."""
    files: dict[str, bytes | None] = {}
    for path, pattern in changed.items():
        with contextlib.suppress(ValueError):
            files[path] = render_pattern(pattern)
    return files


def _message(changed: dict[str, BugPattern], new: int, session: str, host: str) -> Message:
    titles = [pattern.title for pattern in changed.values()]
    number = "1 error" if len(titles) == 1 else f"{len(titles)} errors"
    subject = f"Learn {number}{f', {new} new' if new else ''}: {one_line('; '.join(titles), 60)}"
    ids = (pattern.id for pattern in changed.values())
    return session_message(subject, Op.PATTERN, Trailer.PATTERN, ids, session=session, host=host)


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

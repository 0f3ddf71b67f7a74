"""Learn bug patterns at the end of a session (spec M3)."""

from __future__ import annotations

import os

from gitmem.errors import RefusedError
from gitmem.memory.capture.clean import redacted_with_runs
from gitmem.memory.learned.known import pattern_headers, signature_of
from gitmem.model.learned.episode import episode_id
from gitmem.model.learned.episode_file import episode_path
from gitmem.model.learned.error import MATCH, ErrorSignature, likeness
from gitmem.model.learned.finished import tasks_in
from gitmem.model.learned.pattern import (
    BUGS,
    BugPattern,
    begun,
    parse_pattern,
    pattern_id,
    render_pattern,
    seen_again,
)
from gitmem.model.learned.sight import find_sights, with_errors
from gitmem.model.message import Message, Op, Trailer, one_line, session_message
from gitmem.store.transaction.transact import transact

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction


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
        known = {header.path: signature_of(header) for header in pattern_headers(store)}
        changed: dict[str, BugPattern] = {}
        new = 0
        for one in sights:
            sight = one._replace(episode=episodes.get(one.exchange, ""))
            pattern = _known(transaction, known, changed, sight.error)
            after = begun(sight) if pattern is None else seen_again(pattern, sight)
            if pattern is None and transaction.read(after.path) is not None:
                continue  # a person rewrote the file
            new += pattern is None
            known[after.path] = after.error
            changed[after.path] = after
        changes = dict(_rendered(changed))
        return transaction.commit(_message(changed, new, session, host), changes, when=turns[-1].ended)

    outcome = transact(store, plan, purpose="learn")
    pattern_headers(store)  # so that the next error finds them in the cache
    return outcome.commits[-1] if outcome.value else None


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


def _rendered(changed: dict[str, BugPattern]) -> Iterator[tuple[str, bytes]]:
    for path, pattern in changed.items():
        try:
            yield path, render_pattern(pattern)
        except ValueError:  # a person wrote the header in a form that cannot be edited in place
            continue


def _message(changed: dict[str, BugPattern], new: int, session: str, host: str) -> Message:
    titles = [pattern.title for pattern in changed.values()]
    number = "1 error" if len(titles) == 1 else f"{len(titles)} errors"
    subject = f"Learn {number}{f', {new} new' if new else ''}: {one_line('; '.join(titles), 60)}"
    ids = (pattern.id for pattern in changed.values())
    return session_message(subject, Op.PATTERN, Trailer.PATTERN, ids, session=session, host=host)

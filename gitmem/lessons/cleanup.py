"""Count what was told and helped, and remove what never did.

Remove old, useless episodes and bug patterns from the tree (spec M5), in one commit.

Tested through `tests/lessons/test_kept.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.document.ids import digest, slug
from gitmem.document.message import Message, Op, Trailer
from gitmem.lessons.counts import BY_PERSON, FOLDER, USELESS, Count, with_told
from gitmem.lessons.learn_errors import stale_patterns
from gitmem.lessons.read import counts, episode_paths, read_episode
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count

if TYPE_CHECKING:
    from gitmem.lessons.counts import Told


def judge(store: Store, identifier: str, *, helped: bool) -> str | None:
    """Note a person's verdict on a memory in one commit, and return the commit."""
    at = store.context.clock().isoformat(timespec="microseconds")
    verdict = "helped" if helped else "did not help"
    return add_told(store, {identifier: {f"{at}{BY_PERSON}": float(helped)}}, f"Note that {identifier} {verdict}")


def add_told(store: Store, told: Told, subject: str) -> str | None:
    """Add told memories to this machine's file; return the commit, None if the file has all of them already."""

    def plan(transaction: Transaction) -> bool:
        path = machine_path(store)
        before = transaction.read(path) or b""
        after = with_told(before, told)
        message = Message(subject, ((Trailer.OP.value, Op.COUNT.value),))
        return before != after and transaction.commit(message, {path: after})

    outcome = transact(store, plan, purpose="count")
    return outcome.commits[-1] if outcome.value else None


def machine_path(store: Store) -> str:
    """Return the file in which this machine counts for this store."""
    name = slug(store.context.machine) or "machine"
    return f"{FOLDER}/{name}-{digest(store.context.machine, store.root)[:4].hex()}.json"


RETRIEVALS = 2  # times told, from which an old episode stays


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The removed files, and the commit; None in a dry run and where nothing was to be done."""

    episodes: tuple[str, ...]
    patterns: tuple[str, ...]
    commit: str | None = None


def clean_up(store: Store, *, dry_run: bool = False) -> Cleaned:
    """Remove old useless episodes and unused bug patterns from the tree; history keeps them, an undo restores them."""
    found = _found(store)
    if dry_run or not (found.episodes or found.patterns):
        return found

    def plan(transaction: Transaction) -> bool:
        paths = (*found.episodes, *found.patterns)
        changes: dict[str, bytes | None] = {path: None for path in paths if transaction.read(path) is not None}
        numbers = f"{count(len(found.episodes), 'episode')} and {count(len(found.patterns), 'pattern')}"
        message = Message(f"Clean up {numbers} that were of no use", ((Trailer.OP.value, Op.CLEAR.value),))
        return bool(changes) and transaction.commit(message, changes)

    outcome = transact(store, plan, purpose="cleanup", scan=True)
    return Cleaned(found.episodes, found.patterns, outcome.commits[-1] if outcome.value else None)


def _found(store: Store) -> Cleaned:
    uses = counts(store)
    config = store.config.cleanup
    oldest = store.context.clock() - timedelta(days=config.max_age_days)
    episodes = []
    for path in episode_paths(store) if config.max_age_days else ():
        episode = read_episode(store, path)
        use = uses.get(episode.id, Count()) if episode else Count()
        if episode and episode.ended < oldest and use.usefulness < USELESS and use.retrieved < RETRIEVALS:
            episodes.append(path)
    patterns = stale_patterns(store, config.min_usage_count, {id_: use.retrieved for id_, use in uses.items()})
    return Cleaned(tuple(episodes), tuple(patterns))

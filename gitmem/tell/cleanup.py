"""Remove memories that never helped: old episodes, and bug patterns of errors that did not recur."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from gitmem.document.message import Message, Op, Trailer
from gitmem.history.undo import without_links
from gitmem.store.learned import episode_paths, known_patterns, read_episode
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.tell.known_errors import counts
from gitmem.tell.start import session_paths
from gitmem.tell.usage_log import USELESS, Count
from gitmem.text.sentences import count
from gitmem.values import Value

UNUSED_DAYS = 90  # since an error's last occurrence
RETRIEVALS = 2  # times shown, from which an old episode stays


class Cleanup(Value):
    """The removed files and the commit, None in a dry run or without files to remove."""

    episodes: tuple[str, ...]
    patterns: tuple[str, ...]
    commit: str | None = None


def clean_up(store: Store, *, dry_run: bool = False) -> Cleanup:
    """Remove useless old episodes, unused bug patterns and links to them from the work tree; history keeps them."""
    cleanup = Cleanup(tuple(_useless_episodes(store)), tuple(_unused_patterns(store)))
    if dry_run or not (cleanup.episodes or cleanup.patterns):
        return cleanup

    def plan(transaction: Transaction) -> bool:
        paths = {*cleanup.episodes, *cleanup.patterns}
        changes: dict[str, bytes | None] = {path: None for path in paths if transaction.read(path) is not None}
        for path in session_paths(store) if changes else ():
            data = store.read(path) or b""
            if without_links(data, paths) != data:
                changes[path] = without_links(transaction.read(path) or b"", paths)
        numbers = f"{count(len(cleanup.episodes), 'episode')} and {count(len(cleanup.patterns), 'pattern')}"
        message = Message(f"Clean up {numbers} that were of no use", ((Trailer.OP.value, Op.CLEAR.value),))
        return bool(changes) and transaction.commit(message, changes)

    return cleanup._replace(commit=transact(store, plan, purpose="cleanup", scan=True).commit)


def _useless_episodes(store: Store) -> Iterator[str]:
    """Yield the files of old episodes that were rarely shown and helped little."""
    days, uses = store.config.cleanup.max_age_days, counts(store)
    oldest = store.context.clock() - timedelta(days=days)
    for path in episode_paths(store) if days else ():
        episode = read_episode(store, path)
        use = uses.get(episode.id, Count()) if episode else Count()
        if episode and episode.ended < oldest and use.usefulness < USELESS and use.retrieved < RETRIEVALS:
            yield path


def _unused_patterns(store: Store) -> list[str]:
    """Return the files of bug patterns with rare and old occurrences; each showing counts as one."""
    oldest, uses = store.context.clock() - timedelta(days=UNUSED_DAYS), counts(store)
    return sorted(
        pattern.path
        for pattern in known_patterns(store)
        if pattern.updated < oldest
        and len(pattern.seen) + uses.get(pattern.id, Count()).retrieved < store.config.cleanup.min_usage_count
    )

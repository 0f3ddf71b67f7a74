"""Write the episodes of a finished session (spec M2): a file for each task, in one commit, without a model."""

from __future__ import annotations

import os

from gitmem.memory.capture.clean import redacted_with_runs
from gitmem.memory.capture.session_file import exchanges_in, find_session_file
from gitmem.memory.task.working import clean_event, read_working
from gitmem.model.learned.episode import ending
from gitmem.model.learned.episode_file import episode_path, parse_episode, render_episode
from gitmem.model.learned.finished import episodes_of, noting_growth
from gitmem.model.learned.working import working_of
from gitmem.model.message import Message, Op, Trailer, one_line, session_message
from gitmem.model.session.replay import hook_events
from gitmem.store.history.records import last_version
from gitmem.store.transaction.transact import transact

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from gitmem.model.learned.episode import Episode
    from gitmem.model.learned.finished import Notes
    from gitmem.model.session.transcript import Record
    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction


def save_episodes(
    store: Store, session: str, host: str, turns: Sequence[Turn], records: Iterable[Record] = ()
) -> str | None:
    """Save the episodes of a finished session; return the commit. A second call adds nothing.

    `records` are those of its transcript, for plans and decisions; the agent's own notes come from working memory. A
    task that went on since gets its new exchanges, unless a person changed its episode.

    Raises:
        GitmemError: the episodes could not be committed.

    """
    if not turns:
        return None
    allow = store.config.redaction.allow
    clean = [redacted_with_runs(turn, allow) for turn in turns]
    noted = read_working(store, session)
    grown: list[tuple[datetime, int]] = []
    events = (clean_event(event, allow) for event in hook_events(noting_growth(records, grown), None))
    working: list[Notes] = [*working_of(events)]
    working += [*noted.earlier, noted] if noted else []

    def plan(transaction: Transaction) -> bool:
        path = find_session_file(transaction, session, turns[0].started)
        data = transaction.read(path) if path else None
        if path is None or data is None:
            return False
        project = os.path.dirname(store.root)
        made = episodes_of(clean, exchanges_in(data), path, working=working, project=project, grown=grown)
        new = {one.id: one for one in made if _is_new(store, transaction, one)}
        changes: dict[str, bytes | None] = {
            episode_path(one.id, one.created): render_episode(one) for one in new.values()
        }
        message = _message(list(new.values()), session, host)
        return bool(changes) and transaction.commit(message, changes, when=turns[-1].ended)

    outcome = transact(store, plan, purpose="episodes")
    return outcome.commits[-1] if outcome.value else None


def _is_new(store: Store, transaction: Transaction, episode: Episode) -> bool:
    """Return whether to write an episode: it is missing and was never cleared, or has more exchanges now."""
    path = episode_path(episode.id, episode.created)
    data = transaction.read(path)
    if data is None:
        return last_version(store.repository, path) is None
    known = parse_episode(data)
    return known is not None and set(known.exchanges) < set(episode.exchanges) and render_episode(known) == data


def _message(episodes: Sequence[Episode], session: str, host: str) -> Message:
    number = "1 episode" if len(episodes) == 1 else f"{len(episodes)} episodes"
    tasks = "; ".join(f"{episode.task} ({ending(episode)})" for episode in episodes)
    subject, ids = f"Remember {number}: {one_line(tasks, 60)}", (episode.id for episode in episodes)
    return session_message(subject, Op.EPISODE, Trailer.EPISODE, ids, session=session, host=host)

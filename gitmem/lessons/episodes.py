"""Save the episodes of a finished session, and find those like a task or with the same error (spec M2)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import log
from typing import TYPE_CHECKING

from gitmem.document.ids import id_in
from gitmem.document.message import Message, Op, Trailer, one_line, session_message
from gitmem.document.scope import do_meet
from gitmem.lessons.counts import Count
from gitmem.lessons.episode import FOLDER, Episode, ending, episode_folder, episode_path, parse_episode, render_episode
from gitmem.lessons.episodes_from_turns import episodes_of, noting_growth
from gitmem.lessons.error import MATCH, ErrorSignature, likeness, read_error
from gitmem.lessons.read import counts, episode_paths, read_episode
from gitmem.search.engine import answer
from gitmem.search.hits import Hit
from gitmem.sessions.exchange import exchanges_in
from gitmem.sessions.exchanges import find_session_file, with_links
from gitmem.sessions.memory import clean_event, read_working
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.read import cleaner, redacted_with_runs
from gitmem.sessions.transcript import Record, hook_events
from gitmem.sessions.turns import TaskType, Turn
from gitmem.sessions.working import working_of
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count
from gitmem.values import Value

if TYPE_CHECKING:
    from gitmem.lessons.episodes_from_turns import Notes


LIMIT = 5
_WEIGHED, _LOOKED_AT = 30, 300  # hits that are weighed by usefulness; that are looked at for type, files or outcome
_WORD = re.compile(r"\w[\w./-]*\w|\w")
_MAX_WORDS = 40
_SHARED_FILE = 0.25  # of a rank, for each file in common
_SAME_TYPE = 1.5  # factor of a rank


class RankedEpisode(Value):
    """An episode, its score, its counts, and the likeness of its error to the given one (0 if none was)."""

    episode: Episode
    path: str
    score: float
    count: Count
    likeness: float = 0.0


def similar(
    store: Store,
    description: str = "",
    *,
    files: Sequence[str] = (),
    error: str = "",
    type: TaskType | None = None,  # noqa: A002  # the field's name
    outcome: Outcome | None = None,
    limit: int = LIMIT,
) -> list[RankedEpisode]:
    """Return the episodes most like a task: rank * usefulness * (1 + ln(retrieved + 1)), at most `limit`.

    With `error`, the output of a failed command, only episodes with that error are returned, successes first; with
    `files`, `type` and `outcome` only those that changed one of the files, and are of that type and outcome.
    """
    seen = read_error(error) if error else None
    if error and seen is None:
        return []
    ranks = _candidates(store, description, files, seen, _LOOKED_AT if files or type or outcome else _WEIGHED)
    found = [
        one
        for one in _ranked(store, ranks, files, seen)
        if (type is None or one.episode.type is type)
        and (outcome is None or one.episode.outcome is outcome)
        and (not files or _shared(files, one.episode.files))
    ]
    if seen is not None:
        found.sort(key=lambda one: one.episode.outcome is not Outcome.SUCCESS)
    return found[:limit]


def ranked_episodes(store: Store, hits: Sequence[Hit], alike: TaskType | None = None) -> list[RankedEpisode]:
    """Return the episodes among hits, the best first; one of the type `alike` may be a little worse."""
    found = _ranked(store, _ranks(hits))
    return sorted(found, key=lambda one: -one.score * (_SAME_TYPE if one.episode.type is alike else 1))


def _ranked(
    store: Store, ranks: Mapping[str, float], files: Sequence[str] = (), error: ErrorSignature | None = None
) -> list[RankedEpisode]:
    """Return the episodes of these paths, the best first; with `error` only those with that error."""
    all_counts = counts(store) if ranks else {}
    found = []
    for path, rank in ranks.items():
        episode = read_episode(store, path)
        if episode is None or not do_meet(episode.scope, (store.here,)):
            continue
        like = max((likeness(signature, error) for signature in episode.errors), default=0.0) if error else 0.0
        if error is None or like > MATCH:
            count = all_counts.get(episode.id, Count())
            shared = 1 + _SHARED_FILE * _shared(files, episode.files)
            found.append(RankedEpisode(episode, path, weigh(rank * shared * (like or 1), count), count, like))
    return sorted(found, key=lambda one: (-one.score, one.path))


def _shared(named: Sequence[str], files: Sequence[str]) -> int:
    """Return how many files one of the names means: a whole path, or the end of one."""
    names = [name.replace("\\", "/").removeprefix("./") for name in named]
    return sum(any(file == name or file.endswith(f"/{name}") for name in names) for file in files)


def weigh(rank: float, count: Count) -> float:
    """Return the score of an episode by its rank, its usefulness and how often it was told."""
    return rank * count.usefulness * (1 + log(count.retrieved + 1))


def _candidates(
    store: Store, description: str, files: Sequence[str], error: ErrorSignature | None, limit: int
) -> dict[str, float]:
    """Return the paths of episodes for a task or an error with their ranks; all with the same rank for neither."""
    names = " ".join(name.replace("\\", "/").rpartition("/")[2] for name in files)
    message = f"{error.type} {error.message}" if error else ""
    words = dict.fromkeys(_WORD.findall(f"{message} {names} {description}"))
    if not words:
        return dict.fromkeys(episode_paths(store), 1.0)
    query = " ".join([*list(words)[:_MAX_WORDS], f"path:{FOLDER}/"])
    return _ranks(answer(store, query, limit=limit).hits)


def _ranks(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.path: hit.score for hit in reversed(hits) if hit.path.startswith(f"{FOLDER}/")}


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
    clean = [redacted_with_runs(turn, store) for turn in turns]
    noted = read_working(store, session)
    grown: list[tuple[datetime, int]] = []
    events = (clean_event(event, cleaner(store)) for event in hook_events(noting_growth(records, grown), None))
    working: list[Notes] = [*working_of(events)]
    working += [*noted.earlier, noted] if noted else []

    def plan(transaction: Transaction) -> bool:
        path = find_session_file(transaction, session, turns[0].started)
        data = transaction.read(path) if path else None
        if path is None or data is None:
            return False
        project = os.path.dirname(store.root)
        made = episodes_of(clean, exchanges_in(data), path, working=working, project=project, grown=grown)
        new = {name: episode for episode in made if (name := _path_of(store, transaction, episode))}
        changes: dict[str, bytes | None] = {name: render_episode(episode) for name, episode in new.items()}
        changes |= with_links(transaction, path, {name: episode.task for name, episode in new.items()})
        message = _message(list(new.values()), session, host)
        return bool(new) and transaction.commit(message, changes, when=turns[-1].ended)

    return transact(store, plan, purpose="episodes").commit


def _path_of(store: Store, transaction: Transaction, episode: Episode) -> str:
    """Return where to write an episode that is missing and was never cleared, or has more exchanges now; else ""."""
    path = find_episode_file(transaction, episode.id, episode.created)
    data = transaction.read(path) if path else None
    if data is None:
        return "" if was_cleared(store, episode.id, episode.created) else episode_path(episode)
    known = parse_episode(data)
    grown = known is not None and set(known.exchanges) < set(episode.exchanges) and render_episode(known) == data
    return path if grown else ""


def find_episode_file(transaction: Transaction, identifier: str, created: datetime) -> str:
    """Return the file of an episode, "" if it has none; older versions named it by the id alone."""
    folder = episode_folder(created)
    names = (name for name in sorted(transaction.names(folder)) if id_in(name) == identifier)
    return next((f"{folder}/{name}" for name in names), "")


def was_cleared(store: Store, identifier: str, created: datetime) -> bool:
    """Return whether history has a file of an episode."""
    return store.repository.ever_had(f":(glob){episode_folder(created)}/{identifier}[-.]*")


def _message(episodes: Sequence[Episode], session: str, host: str) -> Message:
    tasks = one_line("; ".join(f"{episode.task} ({ending(episode)})" for episode in episodes), 60)
    subject, ids = f"Remember {count(len(episodes), 'episode')}: {tasks}", (episode.id for episode in episodes)
    return session_message(subject, Op.EPISODE, Trailer.EPISODE, ids, session=session, host=host)

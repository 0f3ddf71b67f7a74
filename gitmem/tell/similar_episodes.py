"""Find the episodes similar to a task, weighed by whether they helped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log

from gitmem.document.ids import do_meet
from gitmem.model.episode import FOLDER, Episode
from gitmem.model.error import ErrorSignature, likeness, read_error
from gitmem.model.outcome import Outcome
from gitmem.model.request import TaskType
from gitmem.model.similarity import SAME_ERROR
from gitmem.search.hits import Hit
from gitmem.store.learned import episode_paths, read_episode
from gitmem.store.store import Store
from gitmem.tell.usage_log import Count
from gitmem.values import Value

LIMIT = 5
_WEIGHED, _LOOKED_AT = 30, 300  # hits that are weighed by usefulness; that are looked at for type, files or outcome
_WORD = re.compile(r"\w[\w./-]*\w|\w")
_MAX_WORDS = 40
_SHARED_FILE = 0.25  # of a rank, for each file in common
_SAME_TYPE = 1.5  # factor of a rank


class RankedEpisode(Value):
    """An episode, its score, its counts, and the likeness of its error to the given one (0 without one)."""

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
    """Return at most `limit` episodes similar to a task, by rank * usefulness * (1 + ln(retrieved + 1)).

    With `error`, the output of a failed command, only episodes with that error are returned, successes first; with
    `files`, `type` and `outcome` only those that changed one of the files, and are of that type and outcome.
    """
    seen = read_error(error) if error else None
    if error and seen is None:
        return []
    ranks = _candidates(store, description, files, seen, _LOOKED_AT if files or type or outcome else _WEIGHED)
    episodes = [
        episode
        for episode in _ranked(store, ranks, files, seen)
        if (type is None or episode.episode.type is type)
        and (outcome is None or episode.episode.outcome is outcome)
        and (not files or _shared(files, episode.episode.files))
    ]
    if seen is not None:
        episodes.sort(key=lambda task: task.episode.outcome is not Outcome.SUCCESS)
    return episodes[:limit]


def ranked_episodes(store: Store, hits: Sequence[Hit], alike: TaskType | None = None) -> list[RankedEpisode]:
    """Return the episodes among hits, the best first, preferring the type `alike`."""
    episodes = _ranked(store, _ranks(hits))
    return sorted(episodes, key=lambda ranked: -ranked.score * (_SAME_TYPE if ranked.episode.type is alike else 1))


def _ranked(
    store: Store, ranks: Mapping[str, float], files: Sequence[str] = (), error: ErrorSignature | None = None
) -> list[RankedEpisode]:
    """Return the episodes of these paths, the best first; with `error` only those with that error."""
    from gitmem.tell.known_errors import counts

    all_counts = counts(store) if ranks else {}
    episodes = []
    for path, rank in ranks.items():
        episode = read_episode(store, path)
        if episode is None or not do_meet(episode.scope, (store.here,)):
            continue
        like = max((likeness(signature, error) for signature in episode.errors), default=0.0) if error else 0.0
        if error is None or like > SAME_ERROR:
            count = all_counts.get(episode.id, Count())
            shared = 1 + _SHARED_FILE * _shared(files, episode.files)
            episodes.append(RankedEpisode(episode, path, weigh(rank * shared * (like or 1), count), count, like))
    return sorted(episodes, key=lambda ranked: (-ranked.score, ranked.path))


def _shared(named: Sequence[str], files: Sequence[str]) -> int:
    """Count the files of which one of the names is the whole path or the end."""
    names = [name.replace("\\", "/").removeprefix("./") for name in named]
    return sum(any(file == name or file.endswith(f"/{name}") for name in names) for file in files)


def weigh(rank: float, count: Count) -> float:
    """Return the score of an episode by its rank, its usefulness and how often it was shown."""
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
    from gitmem.search.engine import answer

    query = " ".join([*list(words)[:_MAX_WORDS], f"path:{FOLDER}/"])
    return _ranks(answer(store, query, limit=limit).hits)


def _ranks(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.path: hit.score for hit in reversed(hits) if hit.path.startswith(f"{FOLDER}/")}

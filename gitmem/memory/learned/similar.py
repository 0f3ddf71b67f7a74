"""Find episodes like a task, or with the same error (spec M2): by the search's one pass over the files, no index.

Tested through `tests/memory/learned/test_counts.py`.
"""

from __future__ import annotations

import re
from math import log

from gitmem.memory.learned.read import counts, read_episode
from gitmem.model.learned.counts import Count
from gitmem.model.learned.episode_file import FOLDER
from gitmem.model.learned.error import MATCH, ErrorSignature, likeness, read_error
from gitmem.model.session.outcome import Outcome
from gitmem.search.engine import answer
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.model.learned.episode import Episode
    from gitmem.model.learned.task import TaskType
    from gitmem.search.order.hits import Hit
    from gitmem.store.store import Store

LIMIT = 5
_WEIGHED = 30  # hits that are weighed by usefulness
_WORD = re.compile(r"\w[\w./-]*\w|\w")
_MAX_WORDS = 40
_SHARED_FILE = 0.25  # of a rank, for each file in common


class Ranked(Value):
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
) -> list[Ranked]:
    """Return the episodes most like a task: rank * usefulness * (1 + ln(retrieved + 1)), at most `limit`.

    With `error`, the output of a failed command, only episodes with that error are returned, successes first.
    `files` raise the episodes that touched them; `type` and `outcome` leave the others out.
    """
    seen = read_error(error) if error else None
    if error and seen is None:
        return []
    found = [
        one
        for one in ranked_episodes(store, _candidates(store, description, files, seen), files, seen)
        if (type is None or one.episode.type is type) and (outcome is None or one.episode.outcome is outcome)
    ]
    if seen is not None:
        found.sort(key=lambda one: one.episode.outcome is not Outcome.SUCCESS)
    return found[:limit]


def ranked_episodes(
    store: Store,
    hits: Sequence[Hit],
    files: Sequence[str] = (),
    error: ErrorSignature | None = None,
    first: TaskType | None = None,
) -> list[Ranked]:
    """Return the episodes among hits, those of type `first` before others, then the best first.

    With `error`, only the episodes with that error are returned.
    """
    ranks: dict[str, float] = {}
    for hit in hits:
        if hit.path.startswith(f"{FOLDER}/"):
            ranks.setdefault(hit.path, hit.score)
    all_counts = counts(store) if ranks else {}
    found = []
    for path, rank in ranks.items():
        episode = read_episode(store, path)
        if episode is None:
            continue
        like = max((likeness(known, error) for known in episode.errors), default=0.0) if error else 0.0
        if error is None or like > MATCH:
            count = all_counts.get(episode.id, Count())
            shared = 1 + _SHARED_FILE * len(set(files) & set(episode.files))
            found.append(Ranked(episode, path, weigh(rank * shared * (like or 1), count), count, like))
    return sorted(found, key=lambda one: (first not in {None, one.episode.type}, -one.score, one.path))


def weigh(rank: float, count: Count) -> float:
    """Return the score of an episode by its rank, its usefulness and how often it was told."""
    return rank * count.usefulness * (1 + log(count.retrieved + 1))


def _candidates(store: Store, description: str, files: Sequence[str], error: ErrorSignature | None) -> list[Hit]:
    """Return the hits among the episodes for a task or an error."""
    names = " ".join(name.replace("\\", "/").rpartition("/")[2] for name in files)
    message = f"{error.type} {error.message}" if error else ""
    words = dict.fromkeys(_WORD.findall(f"{message} {names} {description}"))
    query = " ".join([*list(words)[:_MAX_WORDS], f"path:{FOLDER}/"])
    return answer(store, query, limit=_WEIGHED).hits if words else []

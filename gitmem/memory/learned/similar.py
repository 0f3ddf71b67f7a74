"""Find episodes like a task, or with the same error (spec M2): by the search's one pass over the files, no index."""

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
    told = counts(store)
    found = []
    for path, rank in _candidates(store, description, files, seen).items():
        episode = read_episode(store, path)
        if episode is None or (type and episode.type is not type) or (outcome and episode.outcome is not outcome):
            continue
        like = max((likeness(known, seen) for known in episode.errors), default=0.0) if seen else 0.0
        if seen is None or like > MATCH:
            count = told.get(episode.id, Count())
            shared = 1 + _SHARED_FILE * len(set(files) & set(episode.files))
            found.append(Ranked(episode, path, weigh(rank * shared * (like or 1), count), count, like))
    found.sort(key=lambda one: (seen is not None and one.episode.outcome is not Outcome.SUCCESS, -one.score, one.path))
    return found[:limit]


def weigh(rank: float, count: Count) -> float:
    """Return the score of an episode by its rank, its usefulness and how often it was told."""
    return rank * count.usefulness * (1 + log(count.retrieved + 1))


def _candidates(store: Store, description: str, files: Sequence[str], error: ErrorSignature | None) -> dict[str, float]:
    """Return the paths of the episodes that share words with the task or error, and their rank."""
    names = " ".join(name.replace("\\", "/").rpartition("/")[2] for name in files)
    message = f"{error.type} {error.message}" if error else ""
    words = dict.fromkeys(_WORD.findall(f"{message} {names} {description}"))
    if not words:
        return {}
    query = " ".join([*list(words)[:_MAX_WORDS], f"path:{FOLDER}/"])
    found: dict[str, float] = {}
    for hit in answer(store, query, limit=_WEIGHED).hits:
        found.setdefault(hit.path, hit.score)
    return found

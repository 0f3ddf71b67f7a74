"""Advice of episodes and project knowledge, as a guide gives it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from gitmem.lessons.episode import Episode, episode_id, episode_path, render_episode
from gitmem.lessons.episodes import ranked_episodes
from gitmem.lessons.outcome_counts import judge
from gitmem.search.engine import answer
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.state import TaskType

TASK = "Add retries with backoff to the CSV importer of the prices feed"
AT = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
PAST = Episode(
    episode_id("s-1", "x2fk7k2m9q0a"),
    "s-1",
    "h",
    AT,
    AT,
    TaskType.FEATURE,
    "Add retries with backoff to the CSV importer of the orders feed",
    Outcome.SUCCESS,
    ("x2fk7k2m9q0a",),
    solution="The importer of the orders feed retries thrice, with backoff.",
)


def test_of_episodes_about_as_good_those_of_the_type_of_the_task_come_first(desk):
    asked = PAST._replace(id="e22222222222", session="s-2", type=TaskType.QUESTION, gotchas=("Mind the feed's clock.",))
    for episode in (PAST, asked):
        path = Path(desk.store.root, episode_path(episode))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render_episode(episode))
    judge(desk.store, asked.id, helped=True)
    hits = answer(desk.store, TASK, limit=12, beside="episodes").hits
    assert [one.episode.id for one in ranked_episodes(desk.store, hits)] == [asked.id, PAST.id]
    assert [one.episode.id for one in ranked_episodes(desk.store, hits, alike=TaskType.FEATURE)] == [PAST.id, asked.id]

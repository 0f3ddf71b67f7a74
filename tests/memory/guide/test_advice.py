"""A prompt that begins a task is told what helped and what did not in tasks like it, and what its files need."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.memory.guide.advice.lines import kind_of
from gitmem.memory.guide.advice.project import names_project
from gitmem.memory.guide.advice.short import TOKENS as SHORT
from gitmem.memory.guide.given import all_given
from gitmem.memory.guide.prompt import MAY_ASK, TOKENS, remembered, tell_prompt
from gitmem.memory.learned.counts import judge
from gitmem.memory.learned.similar import ranked_episodes
from gitmem.model.knowledge.document import Knowledge, KnowledgeKind, render_knowledge
from gitmem.model.learned.episode import Episode, episode_id
from gitmem.model.learned.episode_file import episode_path, render_episode
from gitmem.model.learned.task import TaskType
from gitmem.model.session.outcome import Outcome
from gitmem.search.engine import answer
from gitmem.text.tokens import estimate_tokens

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
    tips=("TimeoutError: raise the limit to 5 s mended it",),
    gotchas=("TimeoutError: `sleep 5` did not help",),
)


@pytest.fixture
def past(desk):
    """Give a store with an episode, other exchanges, and what is known of a file."""
    others = "\n".join(
        f"- [09:{n:02d}:00] **Exchange** #aaaaaaaa: Rename module m{n} to n{n}. ^x{n:02d}k2m9q0xb\n\n"
        f"  **Answer:** Module m{n} is n{n} now.\n"
        for n in range(30)
    )
    hotspots = Knowledge(KnowledgeKind.HOTSPOTS, ("src/prices.py breaks often (5 errors)",))
    files = {
        "daily/2026/11/2026-11-20.md": others.encode(),
        episode_path(PAST.id, PAST.created): render_episode(PAST),
        KnowledgeKind.HOTSPOTS.path: render_knowledge(hotspots, None, desk.clock.now),
    }
    for name, data in files.items():
        path = Path(desk.store.root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return desk


def test_a_task_is_told_what_helped_and_what_did_not_once_and_within_its_tokens(past):
    text = tell_prompt(past.store, "s-9", TASK)
    assert f"Try: TimeoutError: raise the limit to 5 s mended it (^{PAST.id})" in text
    assert f"Avoid: TimeoutError: `sleep 5` did not help (^{PAST.id})" in text
    assert estimate_tokens(text) <= TOKENS
    assert SHORT <= TOKENS / 2  # most of the room is for what answers the prompt
    assert PAST.id in next(all_given(past.store.private)).ids
    assert tell_prompt(past.store, "s-9", TASK) == ""


@pytest.mark.parametrize("prompt", ["Add a page with the weather of next week", f"ok, {TASK[:40]}", "still broken"])
def test_another_task_and_a_follow_up_are_told_nothing(past, prompt):
    assert remembered(past.store, prompt).text == ""


def test_an_episode_of_the_session_itself_is_not_told(past):
    assert "Try:" not in remembered(past.store, TASK, "s-1").text


def test_a_file_that_is_named_is_told_of(past):
    text = remembered(past.store, "Please clean up src/prices.py").text
    assert "Expect: src/prices.py breaks often (5 errors) (patterns/project/hotspots.md)" in text
    assert remembered(past.store, "Please clean up src/orders.py").text == ""


def test_advice_that_did_not_help_twice_is_not_given_again(past):
    for second in range(2):
        past.clock.now += timedelta(seconds=second)
        judge(past.store, PAST.id, helped=False)
    assert "Try:" not in remembered(past.store, TASK).text


@pytest.mark.parametrize(
    "prompt",
    [
        "Please clean up src/prices.py",
        "Mend prices.py",
        "Which naming convention do we follow?",
        "How do I run the tests?",
        "테스트는 어떻게 돌려?",
        "어떤 규칙을 따라?",
    ],
)
def test_what_may_ask_for_the_project_is_seen_before_anything_is_imported(prompt):
    assert names_project(prompt, kind_of(prompt))
    assert MAY_ASK.search(prompt)


def test_a_command_is_asked_for_by_what_is_to_be_run_and_not_by_why():
    prompt = "how can I install the casks that goreleaser makes so I can test it"
    assert not names_project(prompt, kind_of(prompt))


def test_of_episodes_about_as_good_those_of_the_type_of_the_task_come_first(past):
    asked = PAST._replace(id="e22222222222", session="s-2", type=TaskType.QUESTION, gotchas=("Mind the feed's clock.",))
    path = Path(past.store.root, episode_path(asked.id, asked.created))
    path.write_bytes(render_episode(asked))
    judge(past.store, asked.id, helped=True)
    hits = answer(past.store, TASK, limit=12, beside="episodes").hits
    assert [one.episode.id for one in ranked_episodes(past.store, hits)] == [asked.id, PAST.id]
    assert [one.episode.id for one in ranked_episodes(past.store, hits, alike=TaskType.FEATURE)] == [PAST.id, asked.id]
    told = remembered(past.store, TASK).text
    assert told.index(PAST.id) < told.index(asked.id)


def test_how_something_was_done_asks_for_no_command():
    assert not MAY_ASK.search("How did we fix the retry of the cache worker?")

"""Figures count what was asked and given, what of it was used, and which errors were fixed."""

from datetime import datetime, timedelta

import pytest

from gitmem.background import process_spool
from gitmem.cli import recall_hooks
from gitmem.document.ids import id_in
from gitmem.history.records import records
from gitmem.learn.facts import learn
from gitmem.learn.lessons import learn_bugs, mark_stale
from gitmem.model.episode import Episode, episode_path, render_episode
from gitmem.model.outcome import Outcome
from gitmem.model.request import TaskType
from gitmem.model.turns import Failure, Run, Turn
from gitmem.project.code import ProjectCommit, ProjectHistory
from gitmem.store.learned import pattern_headers
from gitmem.store.store import Store
from gitmem.tell.cleanup import UNUSED_DAYS, clean_up
from gitmem.tell.known_errors import tell_error
from gitmem.tell.outcome_counts import MOST, add_shown, count_shown, judge, measure, note_fixes
from gitmem.tell.usage_log import ShownText, record
from tests.agent import BEGAN, Recorder
from tests.world import World

ERROR = "Exit code 1\nE   ModuleNotFoundError: No module named 'yaml'"
FIX = "uv sync --all"
WEEK = "2026-11-16"


def turn(session: str, at: datetime, *between: str, prompt: str = "Run the tests") -> Turn:
    """Return a turn in which the tests fail, and work after these commands and the fix."""
    failure = Failure(at, "Bash", "pytest -q", ERROR, "pytest -q", FIX)
    commands = (*between, FIX, "pytest -q")
    runs = (Run("pytest -q", ERROR, failed=True), *(Run(command, "", failed=False) for command in commands))
    return Turn(session, "claude-code", "t-1", at, at, prompt, "Done.", (), (failure,), closed=True, runs=runs)


def remember(world: World, made: Turn) -> None:
    learn_bugs(world.store, made.session, "claude-code", [made])
    note_fixes(world.store, made.session, [made])


def test_a_told_fix_is_right_if_the_session_then_fixed_the_error(world):
    at = world.clock.now
    remember(world, turn("s-1", at - timedelta(hours=1)))
    assert measure(world.store)["effectiveness"]["fixes"] == {"shown": 0, "worked": 0, "rate": None}
    for session in ("s-2", "s-3"):
        assert tell_error(world.store, session, ERROR)
    remember(world, turn("s-2", at))
    broken = turn("s-3", at)
    left = broken.failures[0]._replace(fixed_by="", meanwhile="")
    remember(world, broken._replace(failures=(left,), runs=broken.runs[:1]))
    assert measure(world.store)["effectiveness"]["fixes"] == {"shown": 2, "worked": 1, "rate": 0.5}
    note_fixes(world.store, "s-2", [turn("s-2", at)])
    assert measure(world.store)["effectiveness"]["fixes"]["shown"] == 2


def test_what_was_told_helped_as_its_turns_ended_and_as_people_say(world):
    at = world.clock.now
    for number, (session, how) in enumerate((("s-1", "guide"), ("s-2", "guide"), ("s-3", "prompt"))):
        record(world.store.private, ShownText(at + timedelta(minutes=number), session, how, ("e1", "e2"), 40))
    assert measure(world.store)["effectiveness"]["helped"]["judged"] == 0
    for number, (session, ended) in enumerate((("s-1", Outcome.SUCCESS), ("s-2", Outcome.FAILED))):
        when = at + timedelta(minutes=number)
        run = Run("pytest -q", "3 passed", failed=ended is Outcome.FAILED)
        done = Turn(session, "h", "t-1", when, when, "Fix it", "Done.", runs=(run._replace(said=""),), closed=True)
        count_shown(world.store, session, [done])
    world.clock.now += timedelta(minutes=1)
    judge(world.store, "e1", helped=True)
    world.clock.now += timedelta(minutes=1)
    judge(world.store, "e2", helped=False)
    found = measure(world.store)["effectiveness"]["helped"]
    assert found == {"judged": 2, "mean": 0.5, "by": {"guide": {"judged": 2, "mean": 0.5}}, "good": 1, "bad": 1}


def test_what_was_told_most_is_named_with_its_title(world):
    at = world.clock.now
    remember(world, turn("s-1", at))
    [header] = pattern_headers(world.store)
    pattern = id_in(header.path)
    made = []
    for number in range(MOST + 2):
        episode = Episode(f"e{number}4f7k2m9q0", "s", "h", at, at, TaskType.TEST, f"Task {number}", Outcome.SUCCESS, ())
        world.write(episode_path(episode), render_episode(episode))
        made.append(episode.id)
    times = [(at + timedelta(minutes=minute)).isoformat() for minute in range(9)]
    told = {id_: dict.fromkeys(times[: number + 1], 1.0) for number, id_ in enumerate(made)}
    add_shown(world.store, {**told, pattern: dict.fromkeys(times[:2]), "e-gone": dict.fromkeys(times)}, "Count")
    found = measure(world.store)["most"]
    title = "ModuleNotFoundError: No module named 'yaml'"
    assert found["patterns"] == [{"id": pattern, "title": title, "told": 2, "seen": 1}]
    assert [(one["title"], one["told"]) for one in found["episodes"]] == [
        (f"Task {at}", at + 1) for at in (6, 5, 4, 3, 2)
    ]
    assert found["episodes"][0]["usefulness"] == pytest.approx(0.96)


def test_errors_that_come_again_are_reinforced_and_those_cleaned_up_retired(world):
    at = world.clock.now
    once = Failure(at, "Bash", "ruff check", "a.py:1:121: E501 Line too long (121 > 120)", "ruff check")
    remember(world, turn("s-0", at)._replace(failures=(once,)))
    remember(world, turn("s-1", at))
    assert measure(world.store)["learning"]["reinforced"][WEEK] == 0
    remember(world, turn("s-2", at + timedelta(hours=1)))
    assert measure(world.store)["learning"]["reinforced"][WEEK] == 1
    world.clock.now += timedelta(days=UNUSED_DAYS + 1)
    assert len(clean_up(world.store).patterns) == 1
    assert list(measure(world.store)["learning"]["deprecated"].values())[-1] == 1
    renewed = turn("s-3", world.clock.now)._replace(files=("a.py",))
    remember(world, renewed)
    commits = tuple(ProjectCommit("c", world.clock.now + timedelta(hours=1), ("a.py",)) for _ in range(5))
    assert mark_stale(world.store, ProjectHistory("c0", ("a.py",), commits)) is not None
    assert list(measure(world.store)["learning"]["deprecated"].values())[-1] == 2


def test_tasks_are_counted_with_what_they_took_and_whether_they_were_told(world):
    at = world.clock.now
    for number, outcome in enumerate((*[Outcome.SUCCESS] * 2, Outcome.FAILED, Outcome.PARTIAL, Outcome.INTERRUPTED)):
        kind = TaskType.TEST if number else TaskType.BUG_FIX
        episode = Episode(f"e{number}4f7k2m9q0", f"s-{number}", "h", at, at, kind, "Run the tests", outcome, ())
        took = episode._replace(seconds=60 * (number + 1), tokens=1_000 if number < 2 else 0)
        world.write(episode_path(took), render_episode(took))
    record(world.store.private, ShownText(at, "s-1", "prompt", ("x",), 40))
    record(world.store.private, ShownText(at, "s-2", "prompt", (), 0))  # memory had no answer
    record(world.store.private, ShownText(at, "s-3", "start", ("x",), 900))
    record(world.store.private, ShownText(at, "s-4", "prompt", ("x",), 40))  # of a task that was interrupted
    assert measure(world.store)["tasks"] == {
        "number": 5,
        "types": {"test": 4, "bug_fix": 1},
        "seconds": 180,
        "tokens": 1_000,
        "mended_in": None,
        "told": {"number": 1, "succeeded": 1},
        "alone": {"number": 3, "succeeded": 1},
    }


def test_learning_counts_what_was_made_and_contradictions_in_their_week(world):
    at = world.clock.now
    remember(world, turn("s-1", at))
    said = [f"Always use {one}." for one in ("Redis for sessions", "Memcached for sessions", "pnpm for the web build")]
    for days, prompt in enumerate((*said, "Always use npm for the web build.")):
        when = at + timedelta(days=days)
        learn(world.store, f"s-{days}", "h", [Turn("s", "h", prompt, when, when, prompt, "Done.", closed=True)])
    world.clock.now += timedelta(days=7)
    learned = measure(world.store)["learning"]
    assert list(learned["facts"])[-1] == "2026-11-23"
    assert len(learned["facts"]) == 8
    assert learned["patterns"][WEEK] == 1
    assert sum(learned["facts"].values()) == 4
    assert sum(learned["contradictions"].values()) == 2


def test_a_turn_that_goes_on_is_one_exchange(world, tmp_path):
    session = Recorder(tmp_path / "one.jsonl", "s-one")
    session.turn(1, "Make the parser of numbers build", "It builds now.")
    session.write()
    session.live(world.store)
    process_spool(world.store)
    session.payloads.clear()
    at = session.record("assistant", [{"type": "text", "text": "The linter is content, too."}])
    session.deliver("Stop", at, "p-1", last_assistant_message="The linter is content, too.")
    finish(world, session)
    assert [one.op for one in records(world.store)].count("turn") > 1
    log = (world.store.read("daily/2026/10/2026-10-03.md") or b"").decode()
    assert "**Answer:** The linter is content, too." in log
    assert "**Said:** It builds now." in log
    figures = measure(world.store)
    assert (figures["usage"]["exchanges"], sum(figures["learning"]["exchanges"].values())) == (1, 1)


def fail(world, error: str) -> str:
    """Return what the hook answers in the third second of the session."""
    world.clock.now = BEGAN + timedelta(seconds=3)
    return recall_hooks.help_for(world.store, recall_hooks.ERROR, {"session_id": "s-two", "error": error})


def finish(world, session: Recorder) -> None:
    """Have the hooks deliver the session, and the work behind them close it."""
    session.deliver("SessionEnd", (BEGAN + timedelta(seconds=90)).timestamp(), "")
    session.write()
    session.live(world.store)
    process_spool(Store(world.store.root, world.store.context), lambda _: False)

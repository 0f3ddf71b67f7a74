"""Guidance for a task and for an error: what was done, what to try and to avoid, each line with its source."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.learn.lessons import learn_bugs, learn_commands
from gitmem.model.episode import Episode, episode_id, episode_path, render_episode
from gitmem.model.outcome import Outcome
from gitmem.model.project_knowledge import Knowledge, KnowledgeKind, render_knowledge
from gitmem.model.request import TaskType
from gitmem.model.turns import Failure, Run, Turn
from gitmem.model.working import fail, start_task
from gitmem.record.save import save
from gitmem.record.working_memory import change_working, suppose
from gitmem.store.init import Place, init_store
from gitmem.store.layers import store_for_session
from gitmem.tell.guide import AdviceKind, Complexity, guide
from tests.agent import given_texts

ERROR = "Exit code 1\nE   ModuleNotFoundError: No module named 'yaml'"


def exchanges(world) -> None:
    """Have much that nobody asks for, so that words tell one memory from another, and an exchange like the task."""
    others = "\n".join(
        f"- [09:{n:02d}:00] **Exchange** #aaaaaaaa: Rename module m{n} to n{n}. ^x{n:02d}k2m9q0xb\n\n"
        f"  **Answer:** Module m{n} is n{n} now.\n"
        for n in range(30)
    )
    request = "- [10:00:00] **Exchange** #1b4e51f0: Add retries to the CSV importer ^x4f7k2m9q0x"
    path = Path(world.store.root, "daily/2026/11/2026-11-20.md")
    path.parent.mkdir(parents=True)
    path.write_text(f"{others}\n{request}\n\n  **Answer:** The CSV importer retries thrice, with backoff.\n", "utf-8")


def test_what_the_running_session_supposes_comes_first(world):
    exchanges(world)
    at = world.clock.now.isoformat()
    change_working(world.store, "s-9", lambda memory: start_task(memory, "Add retries", at))
    change_working(world.store, "s-9", lambda memory: suppose(memory, "The server closes idle connections", 0.6))
    found = guide(world.store, "Add retries to the JSON importer", session="s-9")
    assert found.lines[0].text == "Open: The server closes idle connections"
    assert (found.lines[0].sources, found.lines[0].confidence) == (("s-9/h1",), 0.6)


def episode(number: int, outcome: Outcome, **more) -> Episode:
    at = datetime(2026, 11, number, 9, 0, tzinfo=UTC)
    task = f"Add retries to the {'CSV' if number < 5 else 'XML'} importer"
    exchange = f"x{number}fk7k2m9q0"
    return Episode(
        episode_id("s", exchange), f"s-{number}", "h", at, at, TaskType.FEATURE, task, outcome, (exchange,), **more
    )


def remember(world, *episodes: Episode) -> None:
    for one in episodes:
        path = Path(world.store.root, episode_path(one))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render_episode(one))


def test_episodes_say_what_was_done_what_helped_and_what_did_not(world):
    exchanges(world)
    good = episode(
        2,
        Outcome.SUCCESS,
        solution="The CSV importer retries thrice.",
        plan=("[x] Wrap the request", "[ ] Measure it"),
        tips=("TimeoutError of the importer: raise the limit mended it", "The moon is full"),
        gotchas=("TimeoutError of the importer: `sleep 5` did not help", "The mirror of prices is slow at night"),
    )
    bad = episode(7, Outcome.FAILED, solution="Wrote a loop of its own", tips=("Never told",))
    remember(world, good, bad)
    found = guide(world.store, "Add retries to the CSV importer of prices")
    told = {part: [(line.text, line.sources) for line in found.lines if line.part is part] for part in AdviceKind}
    assert (f"{good.task} (success): The CSV importer retries thrice. Steps: Wrap the request", (good.id,)) in told[
        AdviceKind.APPROACH
    ]
    assert told[AdviceKind.TRY] == [("TimeoutError of the importer: raise the limit mended it", (good.id,))]
    assert told[AdviceKind.AVOID] == [("TimeoutError of the importer: `sleep 5` did not help", (good.id,))]
    assert (f"{bad.task} (failed): Wrote a loop of its own", (bad.id,)) in told[AdviceKind.CHALLENGE]
    assert ("The mirror of prices is slow at night", (good.id,)) in told[AdviceKind.CHALLENGE]
    assert {good.id, bad.id} <= set(given_texts(world.store.private)[0].ids)
    assert guide(world.store, "Paint the garden fence").lines == ()


KNOWLEDGE = {
    KnowledgeKind.HOTSPOTS: ("src/load.py breaks often (5 errors)", "src/main.py changes often (20+ changes)"),
    KnowledgeKind.STACK: ("Tools with settings: ruff, mypy (pyproject.toml)",),
}


@pytest.fixture
def project(world):
    """Give a store that knows its project: hotspots, what changes together, commands."""
    for kind, lines in KNOWLEDGE.items():
        path = Path(world.store.root, kind.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render_knowledge(Knowledge(kind, lines, confidence=0.8), None, world.clock.now))
    for number, failed in enumerate((False, False, True, False)):
        runs = (Run("make test", "", failed),) if number < 3 else (Run("make lint", "", failed),)
        at = world.clock.now + timedelta(days=number)
        turn = Turn(f"s-{number}", "h", "t", at, at, "Run it", "Done.", runs=runs, closed=True)
        learn_commands(world.store, f"s-{number}", "h", [turn])
    return world


def parts(found) -> set[tuple[AdviceKind, str, str]]:
    return {(line.part, line.text.partition(" (")[0], line.sources[0]) for line in found.lines}


def test_what_is_known_of_named_files_and_tools_is_told(project):
    found = guide(project.store, "Mend the parsing in src/load.py")
    assert parts(found) == {(AdviceKind.CHALLENGE, "src/load.py breaks often", "patterns/project/hotspots.md")}
    found = guide(project.store, "Change the settings of ruff")
    assert parts(found) == {(AdviceKind.APPROACH, "Tools with settings: ruff, mypy", "patterns/project/stack.md")}
    assert guide(project.store, "Mend the parsing of dates").lines == ()


def test_how_hard_a_task_is_follows_from_the_files_it_names_where_those_that_change_most_are_known(project, world):
    found = guide(project.store, "Mend the parsing in src/load.py")
    assert found.complexity is Complexity.MEDIUM
    assert guide(project.store, "Mend the parsing in src/other.py").complexity is Complexity.LOW
    assert guide(project.store, "Mend the parsing of dates").complexity is None
    Path(world.store.root, KnowledgeKind.HOTSPOTS.path).unlink()
    assert guide(project.store, "Mend the parsing in src/load.py").complexity is None


def test_how_to_run_something_is_told_with_how_often_it_worked_and_that_it_began_to_fail(project):
    found = guide(project.store, "How do I run the tests?")
    [line] = found.lines
    assert line.part is AdviceKind.CHALLENGE
    assert line.text.startswith("Tests run with `make test`; its last run failed (worked in 2 of 3, last on 2026-11-2")
    for task in (
        "테스트는 어떻게 돌려?",
        "Fix the failing unit tests",
        "The tests still fail on Windows",
        "테스트 오류 고쳐줘",
    ):
        assert parts(guide(project.store, task)) == parts(found)
    assert guide(project.store, "Write the page that lists failures").lines == ()


FRAMED = """Traceback (most recent call last):
  File "/home/a/src/load.py", line 9, in load
KeyError: 'rate'"""


def test_the_errors_of_a_named_file_are_expected_with_their_fixes(world):
    failed, path = world.clock.now, "/home/a/src/load.py"
    failure = Failure(failed, "Bash", "", "pytest -q", FRAMED, "pytest -q", f"change `{path}`: `+ x = 1`")
    turn = Turn("s-1", "h", "t", failed, failed, "Run it", "Done.", (path,), (failure,), closed=True, cwd="/home/a")
    learn_bugs(world.store, "s-1", "h", [turn])
    [line] = guide(world.store, "Rename the columns in src/load.py").lines
    assert line.part is AdviceKind.CHALLENGE
    assert line.text == "KeyError: 'rate': seen once, fixed by change `src/load.py`: `+ x = 1`, last 2026-11-21"
    assert line.sources[1:] == (turn.exchange_id,)
    assert guide(world.store, "Rename the columns in other/load.py").lines == ()
    assert guide(world.store, "Rename the columns").lines == ()


def test_a_review_is_told_the_rules_to_check_the_most_stated_first(world):
    for text in ("All timestamps must be UTC.", "Never log the token.", "Tests need no network."):
        world.save(text, MemoryType.RULE)
    world.save("Never log the token.", MemoryType.RULE)
    found = guide(world.store, "Review the pull request of the price list")
    assert [line.part for line in found.lines] == [AdviceKind.APPROACH] * 3
    assert found.lines[0].text == "Check: Never log the token."
    assert found.lines[0].sources[0].startswith("r")
    standing = guide(world.store, "Write the price list").lines
    assert [(line.part, line.text) for line in standing][:1] == [(AdviceKind.AVOID, "Rule: Never log the token.")]
    assert len(standing) == 3


def test_an_error_that_the_session_had_before_is_said_so(world):
    at = world.clock.now.isoformat()
    change_working(world.store, "s-9", lambda memory: start_task(memory, "Load it", at))
    change_working(world.store, "s-9", lambda memory: fail(memory, ERROR, at, command="pytest -q"))
    found = guide(world.store, "", error=ERROR)
    assert found.lines[0].part is AdviceKind.AVOID
    assert found.lines[0].text.startswith("The same again after `pytest -q` failed with it at")
    assert [one.session for one in given_texts(world.store.private)] == ["s-9"]


def test_an_error_of_the_running_session_is_told_only_to_a_task_that_speaks_of_it(world):
    at = world.clock.now.isoformat()
    change_working(world.store, "s-9", lambda memory: start_task(memory, "Load it", at))
    change_working(world.store, "s-9", lambda memory: fail(memory, ERROR, at, command="pytest -q"))
    assert guide(world.store, "Paint the garden fence").lines == ()
    (line,) = guide(world.store, "Why does pytest fail with the fence?").lines
    assert line.text.startswith("`pytest -q` failed: ")
    assert line.confidence < 1.0


def test_the_users_own_preferences_are_told_where_they_fit(world):
    Path(world.store.context.home).mkdir(exist_ok=True)
    own = init_store(world.store.context.home, world.store.context, Place.USER).store
    for text in ("Write commit messages in the imperative mood", "Never squash commits of a release branch"):
        save(own, world.event(text, MemoryType.PREFERENCE))
    found = guide(world.store, "Squash the commits of the release branch, and write the commit messages")
    told = {line.part: line.text for line in found.lines}
    assert "Never squash commits" in told[AdviceKind.AVOID]
    assert "imperative mood" in told[AdviceKind.APPROACH]
    assert guide(world.store, "Paint the garden fence").lines == ()


def test_what_others_wrote_into_the_users_own_store_is_told_with_their_name(world, bare_git):
    Path(world.store.context.home).mkdir(exist_ok=True)
    own = init_store(world.store.context.home, world.store.context, Place.USER).store
    save(own, world.event("Never squash commits of a release branch", MemoryType.PREFERENCE))
    for path in Path(own.root).rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("squash commits of a release branch", "rename the tags of old versions"))
    bare_git(Path(own.root), "commit", "-qam", "Notes", "--author=Mallory <m@example.com>")
    (line,) = guide(world.store, "Rename the tags of versions").lines
    assert line.text.endswith("(by you, changed by Mallory)")


def test_of_the_private_store_only_facts_are_told(world):
    private = store_for_session(world.store, "", private=True)
    save(private, world.event("The export of the fence as csv was asked for by the neighbour", MemoryType.NOTE))
    save(private, world.event("Never paint the garden fence green", MemoryType.RULE))
    (line,) = guide(world.store, "Paint the garden fence green, and its export as csv of the neighbour").lines
    assert line.text == "Rule: Never paint the garden fence green"
    assert guide(world.store, "Write the csv export of the fence").lines == ()


def test_digests_of_lines_of_code_are_no_advice(world):
    path = Path(world.store.root, "lines/2026/11/2026-11-20.txt")
    path.parent.mkdir(parents=True)
    path.write_text("10:00:00 x4f7k2m9q0x Zm9vYmFyYmF0aGVsbG8 src/quarry.py\n", encoding="utf-8")
    assert guide(world.store, "Mend src/quarry.py").lines == ()

"""Guidance for a task and for an error: what was done, what to try and to avoid, each line with its source."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.learn.lessons import learn_commands
from gitmem.model.episode import Episode, episode_id, episode_path, render_episode
from gitmem.model.outcome import Outcome
from gitmem.model.project_knowledge import Knowledge, KnowledgeKind, render_knowledge
from gitmem.model.request import TaskType
from gitmem.model.turns import Run, Turn
from gitmem.record.save import save
from gitmem.store.init import Place, init_store
from gitmem.tell.guide import AdviceKind, Complexity, guide
from tests.agent import given_texts


def exchanges(world) -> None:
    """Have much that nobody asks for, so that words tell one memory from another, and an exchange like the task."""
    others = "\n".join(
        f"- [09:{n:02d}:00] **Exchange** #aaaaaaaa: Rename module m{n} to n{n}. ^x{n:02d}k2m9q0xb\n\n"
        f"  **Answer:** Module m{n} is n{n} now.\n"
        for n in range(30)
    )
    request = "- [10:00:00] **Exchange** #1b4e51f0: Add retries to the CSV importer ^x4f7k2m9q0x"
    answer = "  **Answer:** The CSV importer retries thrice, with backoff.\n"
    world.write("daily/2026/11/2026-11-20.md", f"{others}\n{request}\n\n{answer}")


def episode(number: int, outcome: Outcome, **more) -> Episode:
    at = datetime(2026, 11, number, 9, 0, tzinfo=UTC)
    task = f"Add retries to the {'CSV' if number < 5 else 'XML'} importer"
    exchange = f"x{number}fk7k2m9q0"
    return Episode(
        episode_id("s", exchange), f"s-{number}", "h", at, at, TaskType.FEATURE, task, outcome, (exchange,), **more
    )


def remember(world, *episodes: Episode) -> None:
    for one in episodes:
        world.write(episode_path(one), render_episode(one))


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
        world.write(kind.path, render_knowledge(Knowledge(kind, lines, confidence=0.8), None, world.clock.now))
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


def test_digests_of_lines_of_code_are_no_advice(world):
    world.write("lines/2026/11/2026-11-20.txt", "10:00:00 x4f7k2m9q0x Zm9vYmFyYmF0aGVsbG8 src/quarry.py\n")
    assert guide(world.store, "Mend src/quarry.py").lines == ()

"""Errors are learned at a session's end and in replay, and known again on another day."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.config.values import Config
from gitmem.history.undo import undo
from gitmem.learn.episodes import save_episodes
from gitmem.learn.lessons import learn_bugs, learn_commands, learn_preferences, mark_stale
from gitmem.model.turns import Failure, Turn
from gitmem.project.code import ProjectCommit, ProjectHistory
from gitmem.record.exchanges import save_exchanges
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_patterns
from gitmem.store.store import Store
from gitmem.tell.cleanup import UNUSED_DAYS, clean_up
from gitmem.tell.guide import guide
from gitmem.tell.known_errors import match
from gitmem.tell.outcome_counts import add_shown
from gitmem.tell.similar_episodes import similar

FIRST = "Exit code 1\nE   ModuleNotFoundError: No module named 'yaml'\n3 failed in 1.2s"
AGAIN = "  File \"/home/b/app/x.py\", line 90, in load\nModuleNotFoundError: No module named 'yaml'\n5 failed in 9.9s"
OTHER = "ModuleNotFoundError: No module named 'redis'"


def learn_lessons(*session) -> None:
    for learned in (learn_bugs, learn_commands, learn_preferences):
        learned(*session)


def failed(world, session: str, error: str, fix: str = "", *, files: tuple[str, ...] = (), learned=learn_bugs) -> Turn:
    """Have a session end in which this failed and perhaps was fixed."""
    world.clock.now += timedelta(days=1)
    at = world.clock.now
    failure = Failure(at, "Bash", "pytest -q", error, "pytest -q" if fix else "", fix)
    turn = Turn(session, "claude-code", "t-1", at, at, "Run the tests", "Done.", files, (failure,), closed=True)
    world.store = Store(world.store.root, world.store.context)
    learned(world.store, session, "claude-code", [turn])
    return turn


def test_a_pattern_is_named_for_people_and_an_older_name_stays(world):
    first = failed(world, "s-1", FIRST, "uv sync")
    [pattern] = known_patterns(world.store)
    assert pattern.path == f"patterns/bugs/{pattern.id}-modulenotfounderror-no-module-named-yaml.md"
    old = Path(world.store.root, "patterns", "bugs", f"{pattern.id}.md")
    Path(world.store.root, pattern.path).rename(old)
    second = failed(world, "s-2", AGAIN)
    assert [path.name for path in old.parent.iterdir()] == [old.name]
    [known] = known_patterns(world.store)
    assert (known.path, known.seen) == (f"patterns/bugs/{old.name}", (first.exchange_id, second.exchange_id))
    old.write_text("mine now\n", encoding="utf-8")  # a user's: no second file is made beside it
    failed(world, "s-3", FIRST)
    assert [path.name for path in old.parent.iterdir()] == [old.name]


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("gone", [1, 2, 3])
def test_a_session_is_undone_although_a_later_one_met_the_same_error(world, gone, bare_git):
    turns = [
        failed(world, "s-1", FIRST, "pip install pyyaml", learned=learn_lessons),
        failed(world, "s-2", AGAIN, "uv sync", learned=learn_lessons),
        failed(world, "s-3", FIRST, "uv sync", learned=learn_lessons),
    ]
    done = undo(world.store, session=f"s-{gone}")
    assert done.commit
    left = [turn.exchange_id for turn in turns if turn.session != f"s-{gone}"]
    [pattern] = known_patterns(world.store)
    assert list(pattern.seen) == left
    tried = {one.text: one.worked for one in pattern.solutions}
    assert ("`pip install pyyaml`" in tried) is (gone != 1)
    assert {exchange for worked in tried.values() for exchange in worked} == set(left)
    body = (world.store.read(pattern.path) or b"").decode()
    assert ("Fixed by: `pip install pyyaml`" in body) is (gone != 1)
    assert bare_git(Path(world.store.root), "status", "--porcelain") == ""
    undo(world.store, revision=done.commit)
    assert {turn.exchange_id for turn in turns} == set(known_patterns(world.store)[0].seen)


def test_all_sessions_with_an_error_are_undone_one_by_one(world):
    for session in ("s-1", "s-2", "s-3"):
        failed(world, session, FIRST, "uv sync", learned=learn_lessons)
    for session in ("s-2", "s-1", "s-3"):
        undo(world.store, session=session)
    assert known_patterns(world.store) == []
    assert known_facts(world.store) == []


def test_a_fix_and_an_episode_of_a_part_are_told_there_and_above_and_not_beside(world):
    """As facts are (`gitmem init --scope`); what also came outside of all parts is told everywhere."""
    format_ = Path(world.store.root, "FORMAT.md")
    format_.write_text(format_.read_text("utf-8").replace("kind: format", "kind: format\nscopes: [a, b]"), "utf-8")
    project = Path(world.store.root).parent
    for part in ("a/src", "b"):
        (project / part).mkdir(parents=True)

    def ended(session: str, folder: str) -> None:
        world.clock.now += timedelta(days=1)
        at, store = world.clock.now, Store(world.store.root, world.store.context)
        failure = Failure(at, "Bash", "pytest -q", FIRST, "pytest -q", "uv sync")
        turn = Turn(session, "h", "t", at, at, "Repair the zebra importer", "The zebra importer installs yaml.")
        turn = turn._replace(cwd=str(project / folder), files=("z.py",), failures=(failure,), tools=1, closed=True)
        save_exchanges(store, session, "h", [turn])
        save_episodes(store, session, "h", [turn])
        learn_bugs(store, session, "h", [turn])

    def told(folder: str) -> tuple[int, int, bool]:
        store = Store(world.store.root, world.store.context)
        store.folder = str(project / folder)
        advice = guide(store, "", error=AGAIN)
        episodes = similar(store, "zebra importer")
        return len(match(store, AGAIN)), len(episodes), bool(advice.lines)

    ended("s-1", "a/src")
    assert [told(folder) for folder in ("a", "a/src", ".", "b")] == [(1, 1, True)] * 3 + [(0, 0, False)]
    ended("s-2", "b")
    assert known_patterns(world.store)[0].scope == ("a", "b")
    ended("s-3", ".")
    assert (known_patterns(world.store)[0].scope, told("b")[:2]) == ((), (1, 2))


def unused(world) -> tuple[str, ...]:
    return clean_up(Store(world.store.root, world.store.context), dry_run=True).patterns


def test_unused_for_90_days_under_the_least_count(world):
    assert (UNUSED_DAYS, Config().cleanup.min_usage_count) == (90, 2)  # the numbers of the design
    failed(world, "s-1", OTHER, "uv sync")
    [pattern] = known_patterns(world.store)
    world.clock.now += timedelta(days=90)
    assert unused(world) == ()
    world.clock.now += timedelta(seconds=1)
    assert unused(world) == (pattern.path,)
    add_shown(world.store, {pattern.id: {"2026-01-01": None}}, "Count")
    assert unused(world) == ()
    world.clock.now -= timedelta(days=80)
    failed(world, "s-2", OTHER, "uv sync")
    world.clock.now += timedelta(days=100)
    assert unused(world) == ()


def test_a_pattern_whose_files_changed_a_lot_is_marked_until_it_comes_again(world, bare_git):
    failed(world, "s-1", OTHER, "uv sync", files=("a.py", "b.py", "c.py"))
    later = world.clock.now + timedelta(hours=1)

    def past(*files: str) -> ProjectHistory:
        return ProjectHistory("c0", ("a.py", "b.py", "c.py"), tuple(ProjectCommit("c", later, files) for _ in range(5)))

    assert mark_stale(world.store, past("a.py")) is None  # one of three
    assert mark_stale(world.store, ProjectHistory("c0", ("a.py",), past("a.py", "b.py").commits[:4])) is None
    assert mark_stale(world.store, past("a.py", "b.py"))
    [pattern] = known_patterns(world.store)
    assert pattern.stale
    assert mark_stale(world.store, past("a.py", "b.py")) is None
    world.clock.now += timedelta(days=1)
    failed(world, "s-2", OTHER, "uv sync")
    [pattern] = known_patterns(world.store)
    assert not pattern.stale
    assert "stale" not in world.text(pattern.path)
    assert bare_git(Path(world.store.root), "status", "--porcelain") == ""

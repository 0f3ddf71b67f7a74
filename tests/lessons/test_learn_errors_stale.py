"""Patterns go out of date with their files, and unused ones are named for a cleanup (spec M3, M5)."""

from datetime import timedelta
from pathlib import Path

from gitmem.config import Config
from gitmem.lessons.known_errors import known_patterns
from gitmem.lessons.learn import UNUSED_DAYS, clean_up, learn_bugs, mark_stale
from gitmem.lessons.outcome_counts import add_told
from gitmem.project.state import Past, ProjectCommit
from gitmem.sessions.turns import Failure, Turn
from gitmem.store.store import Store

ERROR = "ModuleNotFoundError: No module named 'yaml'"


def failed(desk, turn: str, files: tuple[str, ...] = ("a.py",)) -> None:
    at = desk.clock.now
    failure = Failure(at, "Bash", "", "pytest", ERROR, "pytest", "uv sync")
    told = Turn("s-1", "h", turn, at, at, files=files, failures=(failure,), closed=True)
    desk.store = Store(desk.store.root, desk.store.context)
    learn_bugs(desk.store, "s-1", "h", [told])


def unused(desk) -> tuple[str, ...]:
    return clean_up(Store(desk.store.root, desk.store.context), dry_run=True).patterns


def test_unused_for_90_days_under_the_least_count(desk):
    assert (UNUSED_DAYS, Config().cleanup.min_usage_count) == (90, 2)  # the numbers of the design
    failed(desk, "t-1")
    [pattern] = known_patterns(desk.store)
    desk.clock.now += timedelta(days=90)
    assert unused(desk) == ()
    desk.clock.now += timedelta(seconds=1)
    assert unused(desk) == (pattern.path,)
    add_told(desk.store, {pattern.id: {"2026-01-01": None}}, "Count")
    assert unused(desk) == ()
    desk.clock.now -= timedelta(days=80)
    failed(desk, "t-2")
    desk.clock.now += timedelta(days=100)
    assert unused(desk) == ()


def test_a_pattern_whose_files_changed_a_lot_is_marked_until_it_comes_again(desk, bare_git):
    failed(desk, "t-1", ("a.py", "b.py", "c.py"))
    later = desk.clock.now + timedelta(hours=1)

    def past(*files: str) -> Past:
        return Past("c0", ("a.py", "b.py", "c.py"), tuple(ProjectCommit("c", later, "x", files) for _ in range(5)))

    assert mark_stale(desk.store, past("a.py")) is None  # one of three
    assert mark_stale(desk.store, Past("c0", ("a.py",), past("a.py", "b.py").commits[:4])) is None
    assert mark_stale(desk.store, past("a.py", "b.py"))
    [pattern] = known_patterns(desk.store)
    assert pattern.stale
    assert mark_stale(desk.store, past("a.py", "b.py")) is None
    desk.clock.now += timedelta(days=1)
    failed(desk, "t-2")
    [pattern] = known_patterns(desk.store)
    assert not pattern.stale
    assert "stale" not in desk.text(pattern.path)
    assert bare_git(Path(desk.store.root), "status", "--porcelain") == ""

"""Whose experience a bug pattern is: by who committed its parts, not by the exchanges that it names."""

from pathlib import Path

import pytest

from gitmem.learn.lessons import learn_bugs
from gitmem.model.pattern import Case, render_pattern
from gitmem.model.turns import Failure, Turn
from gitmem.store.learned import known_patterns
from gitmem.store.store import Store
from gitmem.tell.known_errors import UNKNOWN, counts, experience, user_counts
from gitmem.tell.outcome_counts import judge
from gitmem.tell.usage_log import ALPHA, BEGINS, Count, with_shown
from tests.conftest import RunsGit
from tests.history.test_authors import team
from tests.history.test_records import START
from tests.world import World

__all__ = ["team"]
ERROR = "Exit code 1\nModuleNotFoundError: No module named 'yaml'"


def learned(store: Store, session: str, fix: str) -> str:
    failure = Failure(START, "Bash", "pytest -q", ERROR, "pytest -q", fix)
    turn = Turn(session, "h", "t-1", START, START, "Run the tests", "Done.", (), (failure,), closed=True)
    learn_bugs(store, session, "h", [turn])
    return turn.exchange_id


def worked(change: str, *exchanges: str) -> list[Case]:
    return [Case(exchange, START, "pytest -q", (change,), "pytest -q") for exchange in exchanges]


def committed(git: RunsGit, store: Store, name: str, *cases: Case) -> None:
    """Have somebody add these cases to the known error by plain git."""
    [pattern] = known_patterns(store)
    path = Path(store.root, pattern.path)
    path.write_bytes(render_pattern(pattern._replace(cases=(*pattern.cases, *cases))))
    git(Path(store.root), "add", "patterns")
    message = f"Save\n\nGitmem-Op: pattern\nGitmem-Pattern: {pattern.id}"
    git(Path(store.root), "commit", "-qm", message, f"--author={name}")


def test_each_part_is_of_who_committed_it(team: World):
    ada, ben = team.by("Ada").store, team.by("Ben").store
    first, second = learned(ada, "s-1", "uv sync"), learned(ben, "s-2", "pip install pyyaml")
    [pattern] = known_patterns(ada)
    mine, other = experience(ada, pattern)
    assert (mine.author, mine.part.seen, [one.text for one in mine.part.solutions]) == ("", (first,), ["`uv sync`"])
    assert (other.author, other.part.seen) == ("Ben", (second,))
    assert [one.author for one in experience(ben, pattern)] == ["", "Ada"]


@pytest.mark.parametrize("name", ["Mallory <m@example.com>", "gitmem <gitmem@localhost>"])
def test_claims_about_the_user_s_own_exchanges_are_of_who_makes_them(team: World, bare_git, name: str):
    ada = team.by("Ada").store
    own = learned(ada, "s-1", "uv sync")
    committed(bare_git, ada, name, *worked("./fix", own, "x1111111111", "x2222222222"))
    committed(bare_git, ada, name, *worked("uv sync", "x3333333333"))
    [pattern] = known_patterns(ada)
    mine, other = experience(ada, pattern)
    assert [(one.text, one.worked) for one in mine.part.solutions] == [("`uv sync`", (own,))]
    assert other.author == name.partition(" ")[0]
    assert "`./fix`" in [one.text for one in other.part.solutions]
    learned(ada, "s-2", "uv sync")  # writes the whole file
    [pattern] = known_patterns(ada)
    mine, other = experience(ada, pattern)
    assert [(one.text, len(one.worked)) for one in mine.part.solutions] == [("`uv sync`", 2)]


def test_what_nobody_committed_is_of_nobody_known(team: World):
    ada = team.by("Ada").store
    learned(ada, "s-1", "uv sync")
    [pattern] = known_patterns(ada)
    forged = pattern._replace(cases=(*pattern.cases, *worked("./fix", *pattern.seen)))
    assert [one.author for one in experience(ada, forged)] == ["", UNKNOWN]


def test_what_others_count_rates_no_memory_down(team: World, bare_git):
    ada = team.by("Ada").store
    judge(ada, "b-mine", helped=True)
    [own] = user_counts(ada)
    assert counts(ada)["b-mine"].usefulness > BEGINS
    root = Path(ada.root)
    forged = root / "counts" / "laptop-00000000.json"
    forged.write_bytes(with_shown(b"", {"b-mine": {f"2026-11-2{day}T00:00:00": 0.0 for day in range(9)}}))
    bare_git(root, "add", "counts")
    bare_git(root, "commit", "-qm", "Count\n\nGitmem-Op: count", "--author=Mallory <m@example.com>")
    assert counts(ada)["b-mine"] == Count(0, ALPHA + (1 - ALPHA) * BEGINS)
    (root / own).write_bytes(forged.read_bytes())
    bare_git(root, "commit", "-qam", "Count more", "--author=Mallory <m@example.com>")
    assert user_counts(ada) == []


def test_a_merge_of_others_takes_no_count_away(team: World, bare_git):
    ada, ben = team.by("Ada", "laptop").store, team.by("Ben", "desk").store
    root = Path(ada.root)
    base = ada.tip
    mine = judge(ada, "b-mine", helped=True)
    bare_git(root, "reset", "-q", "--hard", str(base))
    judge(ben, "b-his", helped=True)
    bare_git(root, "merge", "-q", "-m", "Merge", str(mine))
    bare_git(root, "commit", "-q", "--amend", "--no-edit", "--author=Ben <ben@example.org>")
    assert [*counts(ada)] == ["b-mine"]
    assert [*counts(ben)] == ["b-his"]

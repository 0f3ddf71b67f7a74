"""Clones that learn, tell and judge apart, and sync as they like: their counts add up, and what they learned joins."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.learn.lessons import learn_bugs
from gitmem.model.turns import Failure, Turn
from gitmem.store.learned import known_patterns
from gitmem.tell.known_errors import counts
from gitmem.tell.outcome_counts import add_shown
from gitmem.tell.usage_log import total, with_shown
from tests.world import NOON, make_machines

CLONES = 3
BEGAN = NOON
FIXES = ("uv sync", "pip install pyyaml")
steps = st.lists(
    st.tuples(
        st.integers(0, CLONES - 1),
        st.one_of(
            st.tuples(st.just("told"), st.sampled_from(("e1", "b1")), st.sampled_from((None, 0.0, 0.5, 1.0))),
            st.tuples(st.just("learned"), st.sampled_from(FIXES), st.none()),
            st.tuples(st.just("synced"), st.just(""), st.none()),
        ),
    ),
    min_size=4,
    max_size=9,
)


class Clones:
    """Some clones of a memory, on machines of one clock, and what they are told and learn."""

    def __init__(self, folder: Path) -> None:
        self.now = BEGAN
        self.machines = make_machines(folder, *map(str, range(CLONES)))
        self.told: dict[str, dict[str, float | None]] = {}
        self.learned: dict[str, set[str]] = {}

    def step(self, clone: int, act: str, what: str, verdict: float | None) -> None:
        self.now += timedelta(minutes=1)
        machine = self.machines[clone]
        machine.now, store = self.now, machine.reopen()
        if act == "told":
            at = self.now.isoformat()
            self.told.setdefault(what, {})[at] = verdict
            add_shown(store, {what: {at: verdict}}, "Count")
        elif act == "learned":
            error = "ModuleNotFoundError: No module named 'yaml'"
            failure = Failure(self.now, "Bash", "pytest", error, "pytest", what)
            name = f"s-{self.now:%H%M}"
            turn = Turn(name, "h", "t", self.now, self.now, "Test it", "Done.", (), (failure,), closed=True)
            learn_bugs(store, name, "h", [turn])
            self.learned.setdefault(f"`{what}`", set()).add(turn.exchange_id)
        else:
            machine.sync()


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps)
@pytest.mark.slow
def test_counts_add_up_and_patterns_join_over_clones_that_sync(acts):
    folder = Path(tempfile.mkdtemp(prefix="gitmem-learned-"))
    try:
        clones = Clones(folder)
        for clone, act in acts:
            clones.step(clone, *act)
        for _ in range(2):
            for clone in range(CLONES):
                clones.step(clone, "synced", "", None)
        expected = total([with_shown(b"", clones.told)])
        for machine in clones.machines:
            assert counts(machine.store) == expected
            assert {path.suffix for path in (machine.root / "counts").glob("*")} <= {".json"}
            found = known_patterns(machine.store)
            assert len(found) == bool(clones.learned)
            for pattern in found:
                assert set(pattern.seen) == set().union(*clones.learned.values())
                assert {one.text: set(one.worked) for one in pattern.solutions} == clones.learned
    finally:
        shutil.rmtree(folder)

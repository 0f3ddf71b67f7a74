"""What a hook told counts for the memories that it told, by how the task then ended (spec M2, M4)."""

from datetime import timedelta

import pytest

from gitmem.cli.recall_hooks import ERROR, help_for
from gitmem.lessons.known_errors import counts, known_patterns
from gitmem.lessons.usage_log import ALPHA, BEGINS
from gitmem.sessions.background import process_spool
from gitmem.sessions.end import replay
from gitmem.store.store import Store
from tests.desk import BEGAN, Recorder

ENDS = {"": 1.0, "still broken, that is not it": 0.0}


def fail(desk, error: str) -> str:
    """Return what the hook answers in the third second of the session."""
    desk.clock.now = BEGAN + timedelta(seconds=3)
    return help_for(desk.store, ERROR, {"session_id": "s-two", "error": error})


def finish(desk, session: Recorder) -> None:
    """Have the hooks deliver the session, and the work behind them close it."""
    session.deliver("SessionEnd", (BEGAN + timedelta(seconds=90)).timestamp(), "")
    session.write()
    session.live(desk.store)
    process_spool(Store(desk.store.root, desk.store.context), lambda _: False)


@pytest.mark.parametrize("said", ENDS, ids=["it succeeds", "it fails"])
def test_what_was_told_rises_where_the_task_succeeds_and_falls_where_it_fails(desk, tmp_path, said):
    first = Recorder(tmp_path / "one.jsonl", "s-one")
    first.turn(1, "Make the parser of numbers build", "It builds now.", mend="uv sync")
    replay(desk.store, first.write())
    [pattern] = known_patterns(desk.store)
    [episode] = pattern.episodes
    now, session = desk.clock.now, Recorder(tmp_path / "two.jsonl", "s-two")
    session.turn(1, "Build the parser of dates for the importer", "The parser reads ISO dates now.")
    if said:
        session.turn(2, said, "I will look at it again.")
    told = fail(desk, "Exit code 2\nerror: it broke")
    assert f"^{pattern.id}" in told
    desk.clock.now = now
    finish(desk, session)
    found = counts(desk.store)
    expected = pytest.approx(ALPHA * ENDS[said] + (1 - ALPHA) * BEGINS)
    for identifier in (pattern.id, episode):
        assert (found[identifier].retrieved, found[identifier].usefulness) == (1, expected)

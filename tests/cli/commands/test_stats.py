"""`gitmem stats`: figures from files, history and what was given."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.cli.commands.stats import _weeks
from gitmem.machine.context import Context
from gitmem.memory.guide.given import Came, Given, record, record_came
from gitmem.memory.learned.counts import add_told
from gitmem.model.learned.episode import Episode
from gitmem.model.learned.episode_file import episode_path, render_episode
from gitmem.model.learned.task import TaskType
from gitmem.model.session.outcome import Outcome
from gitmem.store.store import Store

if TYPE_CHECKING:
    from tests.cli.commands.project import Desk

TASK = "add retries with backoff to the importer"


def test_it_counts_what_is_held_learned_and_told(desk: Desk):
    for number in range(12):
        desk.run("save", f"Module m{number} was renamed to n{number}")
    desk.run("save", "The importer retries thrice with backoff", "--type", "decision")
    desk.run("guide", TASK)
    desk.run("search", "importer backoff", CLAUDE_CODE_SESSION_ID="s-1")
    desk.run("search", "zebra crossing")
    desk.run("recall", "importer backoff", CLAUDE_CODE_SESSION_ID="s-1")
    found = desk.run("stats", "--json").json
    assert found["storage"]["facts"]["files"] == 1
    assert found["storage"]["history"]["bytes"] > 0
    assert sum(found["learning"]["saves"].values()) >= 12
    assert {how: number for how, number in found["told"].items() if number} == {"guide": 1, "search": 1, "recall": 1}
    assert (found["retrieval"]["search"]["asked"], found["retrieval"]["search"]["found"]) == (2, 1)
    assert found["tokens"]["total"]["recalled"] > 0
    assert found["tokens"]["total"]["sessions"] == 1
    shown = desk.run("stats").out
    assert "  searches                   1 of 2 (50%)" in shown
    assert "nothing yet: this is counted when a session is over" in shown


def test_it_says_how_told_turns_ended_and_what_was_told_most(desk: Desk):
    at = datetime.now(UTC).replace(microsecond=0)
    store = Store(str(desk.store), Context({}, os.environ["HOME"], "desk", lambda: at))
    ids = [f"e{number}4f7k2m9q0" for number in range(2)]
    for one in ids:
        path = desk.store / episode_path(one, at)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            render_episode(Episode(one, "s", "h", at, at, TaskType.TEST, f"Mend {one}", Outcome.SUCCESS, ()))
        )
    record(store.private, Given(at, "s-1", "guide", (ids[0],), 40))
    add_told(store, {ids[0]: {at.isoformat(): 0.5}}, "Count")
    record_came(store.private, Came(at, "s-1", {"guide": 1}, {}, 4, 3))
    shown = desk.run("stats").out
    assert "Success of turns that were told something\n  guidance                 50% in 1 turn\n" in shown
    assert "  mends                      3 of 4 told ones: the error was gone afterwards\n" in shown
    assert f"Tasks told most\n  {ids[0]:<18}    1 time  Mend {ids[0]}\n" in shown


def test_what_a_person_reads_at_a_terminal_costs_no_tokens(desk: Desk):
    desk.run("save", "The importer retries thrice with backoff", "--type", "decision")
    desk.run("recall", "importer backoff", terminal=True)
    found = desk.run("stats", "--json").json
    assert found["retrieval"]["recall"]["found"] == 1
    assert found["tokens"]["total"]["recalled"] == 0


def test_weeks_are_bars_on_a_terminal_and_figures_elsewhere():
    assert _weeks([0, 1, 4, 8], bars=True) == " ▁▄█  8 this week"
    assert _weeks([0, 1], bars=False) == "      0       1"

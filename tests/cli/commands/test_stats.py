"""`gitmem stats`: figures from files, history and what was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.commands.stats import _weeks

if TYPE_CHECKING:
    from tests.cli.commands.project import Desk

TASK = "add retries with backoff to the importer"


def test_it_counts_what_is_held_learned_and_told(desk: Desk):
    for number in range(12):
        desk.run("save", f"Module m{number} was renamed to n{number}")
    desk.run("save", "The importer retries thrice with backoff", "--type", "decision")
    desk.run("guide", TASK)
    found = desk.run("stats", "--json").json
    assert found["storage"]["facts"]["files"] == 1
    assert found["storage"]["history"]["bytes"] > 0
    assert sum(found["learning"]["saves"].values()) >= 12
    assert found["told"] == {"prompt": 0, "error": 0, "guide": 1}
    assert found["tokens"]["told"] > 0
    assert found["effectiveness"] == {"mends_told": 0, "mends_used": 0}
    shown = desk.run("stats").out
    assert "  as guidance              1\n" in shown
    assert "  facts" in shown


def test_weeks_are_bars_on_a_terminal_and_figures_elsewhere():
    assert _weeks([0, 1, 4, 8], bars=True) == " ▁▄█  8 this week"
    assert _weeks([0, 1], bars=False) == "      0       1"

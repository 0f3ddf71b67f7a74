"""Figures count what was given, and mends that were told and then used."""

from __future__ import annotations

from pathlib import Path

from gitmem.memory.guide.measure import measure
from gitmem.memory.guide.mend import tell_error
from gitmem.memory.learned.bugs import learn_bugs
from gitmem.model.session.turns import Failure, Turn

ERROR = "Exit code 1\nE   ModuleNotFoundError: No module named 'yaml'"


def test_a_mend_that_was_told_counts_as_used_once_its_session_tells_of_it(desk):
    at = desk.clock.now
    failure = Failure(at, "Bash", "", "pytest -q", ERROR, "pytest -q", "uv sync --all")
    turn = Turn("s-1", "claude-code", "t-1", at, at, "Run the tests", "Done.", (), (failure,), closed=True)
    learn_bugs(desk.store, "s-1", "claude-code", [turn])
    assert tell_error(desk.store, "1b4e51f0-021d", ERROR)
    assert measure(desk.store)["effectiveness"] == {"mends_told": 1, "mends_used": 0}
    path = Path(desk.store.root, "daily/2026/11/2026-11-21.md")
    path.parent.mkdir(parents=True)
    entry = "- [15:00:00] **Exchange** #{}: Test it ^x4f7k2m9q0x\n\n  **Error:** `pytest` no yaml → `uv sync --all`\n"
    path.write_text(entry.format("aaaaaaaa"), "utf-8")
    assert measure(desk.store)["effectiveness"]["mends_used"] == 0
    path.write_text(entry.format("1b4e51f0"), "utf-8")
    figures = measure(desk.store)
    assert figures["effectiveness"] == {"mends_told": 1, "mends_used": 1}
    assert figures["told"] == {"prompt": 0, "error": 1, "guide": 0}
    assert figures["tokens"]["2026-11-16"] == figures["tokens"]["told"] > 0
    assert figures["learning"]["patterns"]["2026-11-16"] == 1

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gitmem.model.learned.error import ErrorSignature
from gitmem.model.learned.pattern import BugPattern, render_pattern

if TYPE_CHECKING:
    from tests.cli.commands.project import Desk


def test_a_young_store_has_nothing_to_clean_up(gitmem):
    assert gitmem("cleanup")[1] == "There is nothing to clean up.\n"
    assert json.loads(gitmem("cleanup", "--dry-run", "--json")[1]) == {"episodes": [], "patterns": [], "commit": None}


def test_it_lists_what_would_go_and_an_undo_brings_back_what_went(desk: Desk):
    at = datetime.now(UTC) - timedelta(days=91)
    path = desk.store / "patterns" / "bugs" / "b14f7k2m9q0x.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(render_pattern(BugPattern(path.stem, ErrorSignature("KeyError", "a"), at, at, ("x1",))))
    listed = desk.run("cleanup", "--dry-run").out
    assert listed == "0 episodes and 1 bug pattern would go:\npatterns/bugs/b14f7k2m9q0x.md\n"
    assert path.exists()
    assert desk.run("cleanup").out == "Removed 0 episodes and 1 bug pattern; 'gitmem undo' brings them back.\n"
    assert not path.exists()
    desk.run("undo")
    assert path.exists()
    desk.run("config", "cleanup.min_usage_count", "1")
    assert desk.run("cleanup").out == "There is nothing to clean up.\n"

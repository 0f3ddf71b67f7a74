from datetime import UTC, datetime, timedelta

from gitmem.lessons.error import ErrorSignature
from gitmem.lessons.pattern import BugPattern, render_pattern


def test_it_lists_what_would_go_and_an_undo_brings_back_what_went(desk):
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

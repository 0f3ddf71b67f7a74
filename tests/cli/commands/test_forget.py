import json
from datetime import UTC, datetime, timedelta

from gitmem.lessons.error import ErrorSignature
from gitmem.lessons.pattern import BugPattern, render_pattern
from gitmem.platform.machine import Context
from gitmem.store.store import Store
from gitmem.store.transcripts import put


def test_forget_asks_and_frees(gitmem, tmp_path, environ, home):
    context = Context(environ, str(home), "box", lambda: datetime.now(UTC))
    store = Store(str(tmp_path / ".gitmem"), context)
    for day in (1, 9):
        put(store, f"session-{day}", datetime(2026, 5, day, tzinfo=UTC), ["{}"])
    assert gitmem("forget", "--transcripts", "--before", "2026-05-05", "--dry-run")[1] == (
        "Would delete 1 transcript of 3 bytes and keep 1.\n"
    )
    assert gitmem("forget", "--transcripts")[0] == 8
    assert "Nothing was deleted." in gitmem("forget", "--transcripts", answer="\n")[2]
    code, out, _ = gitmem("forget", "--transcripts", "--before", "2026-05-05", "--yes", "--json")
    assert (code, json.loads(out)["sessions"], json.loads(out)["kept"]) == (0, 1, 1)


def test_a_date_is_about_transcripts_and_spares_nothing_of_an_author(gitmem):
    code, _, err = gitmem("forget", "--author", "ada@example.org", "--before", "2026-05-05", "--dry-run")
    assert (code, err.partition("\n")[0]) == (2, "gitmem: --before is about transcripts alone.")


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


def test_purge_reads_the_text_from_standard_input_and_answers_in_json(gitmem):
    gitmem("save", "It is hunter2-Staging, says Ada.")
    code, out, _ = gitmem("purge", "-", "--yes", "--json", stdin=b"hunter2-Staging\n")
    said = json.loads(out)
    assert (code, said["texts"], said["commits"], said["dry_run"]) == (0, 1, 1, False)
    assert "hunter2" not in out

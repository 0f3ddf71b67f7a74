import json
import os
import sqlite3
from pathlib import Path

import pytest

from gitmem.importers.migrate import migrate
from gitmem.importers.read import Source, find_sources, kind_of
from gitmem.importers.sources import SourceKind

MORNING = 1_768_300_000_000  # 2026-01-13


@pytest.fixture
def database(home):
    """A database as claude-mem writes it: two projects, one of them ours."""
    folder = home / ".claude-mem"
    folder.mkdir()
    made = sqlite3.connect(folder / "claude-mem.db")
    made.executescript("""
        CREATE TABLE sdk_sessions (id INTEGER, content_session_id TEXT, project TEXT);
        CREATE TABLE observations (id INTEGER, project TEXT, type TEXT, title TEXT, subtitle TEXT, narrative TEXT,
            facts TEXT, files_modified TEXT, files_read TEXT, created_at TEXT, created_at_epoch INTEGER);
        CREATE TABLE session_summaries (id INTEGER, project TEXT, request TEXT, learned TEXT, next_steps TEXT,
            created_at_epoch INTEGER);
        CREATE TABLE user_prompts (id INTEGER, content_session_id TEXT, prompt_number INTEGER, prompt_text TEXT,
            created_at_epoch INTEGER);
    """)
    facts, files = json.dumps(["WAL lets readers go on"]), json.dumps(["src/store.py"])
    for number, project in enumerate(("shop", "other")):
        said = ("decision", f"Use SQLite in {project}", "", "It needs no server.", facts, files, "[]", "", MORNING)
        made.execute(f"INSERT INTO observations VALUES ({','.join('?' * 11)})", (number, project, *said))
    made.execute("INSERT INTO session_summaries VALUES (1, 'shop', 'Choose a store', 'Locks', '', ?)", (MORNING + 1,))
    made.execute("INSERT INTO sdk_sessions VALUES (1, 'sess-1', 'shop')")
    made.execute("INSERT INTO user_prompts VALUES (1, 'sess-1', 1, 'Which database?', ?)", (MORNING,))
    made.commit()
    made.close()
    return folder


def test_claude_mem_s_days_come_with_their_dates_and_other_projects_stay_out(world, database, home):
    source = Source(SourceKind.CLAUDE_MEM, str(database), "shop")
    assert source in find_sources(str(home / "shop"), str(home))
    assert kind_of(str(database)) is SourceKind.CLAUDE_MEM
    before = (database / "claude-mem.db").read_bytes()
    planned = migrate(world.store, source, dry_run=True)
    assert [one.source.partition(": ")[2] for one in planned.brought] == ["2 of 2026-01-13", "1 prompt of sess-1"]
    assert [one.source for one in planned.left] == ["claude-mem.db: 1 row of observations"]
    done = migrate(world.store, source)
    assert done.brought == planned.brought
    log = world.store.read("daily/2026/01/2026-01-13.md").decode()
    assert "**Decision**: Use SQLite in shop" in log
    for words in ("- WAL lets readers go on", "Files: src/store.py", "Learned: Locks"):
        assert words in log
    assert "other" not in log
    assert (database / "claude-mem.db").read_bytes() == before
    again = migrate(world.store, source)
    assert (again.brought, again.there) == ((), 2)


def test_a_file_that_is_no_database_is_left(world, database):
    (database / "claude-mem.db").write_bytes(b"no database at all, but long enough" * 99)
    done = migrate(world.store, Source(SourceKind.CLAUDE_MEM, str(database), "shop"))
    assert (done.brought, [one.why for one in done.left]) == ((), ["it cannot be read as a database"])


@pytest.mark.few(1)
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "columns, rows",
    [
        ("project, title, facts, created_at_epoch", "('shop', 'Deep', printf('%.*c', 200000, '['), 9e999)"),
        ("project, text AS (hex(zeroblob(400000000)))", "('shop')"),
        ("project, title, facts, created_at_epoch", "('shop', 'Late', '[', 99999999999999999)"),
        ("project, title, created_at", "('shop', 'Early', '0001-01-01T00:00:00+23:59')"),
        ("project, title, created_at", "('shop', 'Late', '9999-12-31T23:59:59-23:59')"),
        ("project, title, created_at", "('shop', CAST(x'ff' AS TEXT), 5)"),
    ],
)
def test_no_table_of_claude_mem_fails_a_migration(world, database, columns, rows):
    """A column can compute gigabytes, JSON nest too deeply, a date be none of Python's."""
    made = sqlite3.connect(database / "claude-mem.db")
    table = f"CREATE TABLE observations ({columns}); INSERT INTO observations VALUES {rows};"
    made.executescript(f"DROP TABLE observations; {table}")
    made.close()
    done = migrate(world.store, Source(SourceKind.CLAUDE_MEM, str(database), "shop"))
    assert done.brought or done.left


@pytest.mark.timeout(60)
def test_a_view_without_end_is_no_table_of_claude_mem(world, database):
    made = sqlite3.connect(database / "claude-mem.db")
    rows = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, 'shop' AS project FROM n"
    made.executescript(f"DROP TABLE observations; CREATE VIEW observations AS {rows};")
    made.close()
    done = migrate(world.store, Source(SourceKind.CLAUDE_MEM, str(database), "shop"))
    assert [one.source.partition(": ")[2] for one in done.brought] == ["1 of 2026-01-13", "1 prompt of sess-1"]


@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_or_a_link_is_no_database_and_no_note(world, database, tmp_path):
    (database / "claude-mem.db").rename(tmp_path / "other.db")
    (database / "claude-mem.db").symlink_to(tmp_path / "other.db")
    assert not migrate(world.store, Source(SourceKind.CLAUDE_MEM, str(database), "shop")).brought
    (database / "claude-mem.db").unlink()
    os.mkfifo(database / "claude-mem.db")
    assert not migrate(world.store, Source(SourceKind.CLAUDE_MEM, str(database), "shop")).brought
    os.mkfifo(tmp_path / "a.md")
    assert kind_of(str(tmp_path)) is None


@pytest.mark.timeout(60)
def test_a_note_of_many_line_ends_is_looked_at_in_a_moment(tmp_path):
    (tmp_path / "a.md").write_bytes(b"---\n" + b"\r\n" * 2_000)
    assert kind_of(str(tmp_path)) is None


def test_basic_memory_s_notes_come_as_they_are(world, tmp_path, bare_git):
    folder = tmp_path / "basic-memory"
    (folder / "notes").mkdir(parents=True)
    text = "---\ntitle: Brewing\npermalink: brewing\ncreated: 2025-03-04\n---\n- [method] Pour over #coffee\n"
    (folder / "Brewing.md").write_text(text)
    (folder / "notes" / "Tea.md").write_text("---\ntitle: Tea\npermalink: notes/tea\n---\nGreen.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    os.utime(folder / "notes" / "Tea.md", (1_700_049_600, 1_700_049_600))
    assert kind_of(str(folder)) is SourceKind.BASIC
    assert kind_of(str(tmp_path)) is SourceKind.BASIC, "the notes may be in folders alone"
    done = migrate(world.store, Source(SourceKind.BASIC, str(folder)))
    assert {one.to for one in done.brought} == {"knowledge/brewing.md", "knowledge/notes-tea.md"}
    assert [one.source for one in done.left] == ["picture.png"]
    assert world.store.read("knowledge/brewing.md").decode() == text
    dates = bare_git(Path(world.store.root), "log", "--format=%ad", "--date=short", "--", "knowledge").split()
    assert sorted(dates) == ["2023-11-15", "2025-03-04"]

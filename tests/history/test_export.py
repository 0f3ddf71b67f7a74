"""The export: each memory once, the same bytes for the same commit, and what changed since a commit."""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.document.message import Message
from gitmem.errors import NotFoundError
from gitmem.history.export import export
from gitmem.model.fact import FactKind, make_fact, render_fact
from gitmem.purge.purge import plan_purge, purge
from gitmem.store.transact import transact
from tests.world import World

UV = make_fact(FactKind.DECISION, "Use uv for packages.", datetime(2026, 11, 20, 9, tzinfo=UTC))


def store(world: World, text: str, kind: MemoryType = MemoryType.NOTE, **more: object):
    return world.save(text, kind, **more)


def put(world: World, files: dict[str, bytes | None]) -> None:
    message = Message("put", (("Gitmem-Op", "clear"),))
    transact(world.store, lambda transaction: transaction.commit(message, files), purpose="test")


def records(world: World, since: str = "") -> tuple[str, list[dict]]:
    head, *rest = map(json.loads, export(world.store, since))
    return head["commit"], rest


def applied(state: dict[str, dict], changes: list[dict]) -> dict[str, dict]:
    """Apply a stream as an engine does."""
    for record in changes:
        if record["id"] == "*":
            state = {}
        elif record.get("deleted"):
            state.pop(record["id"], None)
        else:
            state[record["id"]] = record
    return state


def test_the_same_commit_gives_the_same_bytes_and_nothing_changed_since_itself(world):
    store(world, "one")
    assert list(export(world.store)) == list(export(world.store))
    commit, _ = records(world)
    assert records(world, commit) == (commit, [])


def test_changes_applied_to_an_earlier_export_give_the_present_one_also_twice(world):
    store(world, "one")
    put(world, {UV.path: render_fact(UV), "knowledge/a.md": b"notes\n"})
    commit, first = records(world)
    store(world, "two")
    put(world, {UV.path: render_fact(UV._replace(text="Use uv, always.")), "knowledge/a.md": None})
    _, changes = records(world, commit)
    assert {"id": "knowledge/a.md", "deleted": True} in changes
    state = applied({record["id"]: record for record in first}, changes)
    assert state == {record["id"]: record for record in records(world)[1]}
    assert applied(state, changes) == state


def test_after_a_purge_an_engine_forgets_what_was_purged(world):
    store(world, "the secret is swordfish-1234-blue")
    store(world, "two")
    commit, first = records(world)
    purge(world.store, plan_purge(world.store, "swordfish-1234-blue"))
    _, changes = records(world, commit)
    assert changes[0] == {"id": "*", "deleted": True}
    state = applied({record["id"]: record for record in first}, changes)
    assert "swordfish" not in json.dumps(state)
    assert "two" in json.dumps(state)


@pytest.mark.parametrize("since", ["HEAD", "--all", "abc", ""])
def test_only_a_full_id_is_a_commit_to_begin_from(world, since):
    store(world, "one")
    if since:
        with pytest.raises(NotFoundError, match="no full id"):
            list(export(world.store, since))
    else:
        assert records(world)[1]


def test_a_hostile_file_is_a_record_and_no_more(world):
    put(world, {"facts/rule/r000000000a-x.md": b"---\nid: [1\n---\n\xff\n", "daily/2026/11/x.md": b"- [bad\n"})
    _, found = records(world)
    assert [record["id"] for record in found if record["path"].startswith("facts/")] == ["facts/rule/r000000000a-x.md"]


PAGE = Path(__file__).parents[2] / "docs" / "teams.md"
ENGINES = {"sqlite": "sqlite3", "duckdb": "duckdb", "lance": "lancedb", "postgres": ""}


def lines_for(engine: str) -> str:
    """Return the ten lines of the page for an engine."""
    blocks = re.findall(r"```(?:python|sql)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    words = {"sqlite": "sqlite3", "duckdb": "duckdb", "lance": "lancedb", "postgres": "jsonb"}[engine]
    return next(block for block in blocks if words in block)


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[dict[str, str]]:
    """Run a server on a socket in a folder; yield the variables with which psql finds it."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    found = shutil.which("initdb", path=os.pathsep.join([*map(str, programs), os.environ.get("PATH", "")]))
    if found is None or shutil.which("psql") is None:
        pytest.skip("PostgreSQL is not installed")
    user = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(dir="/tmp") as home:  # a short path, for the socket
        Path(home).chmod(0o777)
        data, control = f"{home}/data", str(Path(found).with_name("pg_ctl"))
        made = subprocess.run(
            [*user, found, "-D", data, "-U", "ada", "-A", "trust"], capture_output=True, cwd="/", check=False
        )
        options = f"-c listen_addresses= -c unix_socket_directories={home}"
        start = [*user, control, "-D", data, "-l", f"{home}/log", "-w", "-o", options, "start"]
        if made.returncode or subprocess.run(start, capture_output=True, cwd="/", check=False).returncode:
            pytest.skip("PostgreSQL does not start here")
        try:
            yield {"PGHOST": home, "PGUSER": "ada", "PGDATABASE": "postgres"}
        finally:
            subprocess.run(
                [*user, control, "-D", data, "-m", "immediate", "stop"], capture_output=True, cwd="/", check=False
            )


QUERIES = {
    "sqlite": "import sqlite3; r = sqlite3.connect('memory.db').execute('SELECT id FROM m')",
    "duckdb": "import duckdb; r = duckdb.sql(\"SELECT id FROM 'memory.parquet'\").fetchall()",
    "lance": "import lancedb; "
    "t = lancedb.connect('memory.lance').open_table('m'); r = [[x] for x in t.to_arrow()['id'].to_pylist()]",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.few(1)
def test_the_lines_of_the_page_keep_an_engine_equal_to_the_memory(world, engine, tmp_path):
    if ENGINES[engine] and importlib.util.find_spec(ENGINES[engine]) is None:
        pytest.skip(f"{ENGINES[engine]} is not installed")
    lines = lines_for(engine)
    assert len(lines.split("\n\n")[-1].splitlines()) <= 10  # without imports
    variables: dict[str, str] = {}

    def load(stream: str) -> set[str]:
        if engine == "postgres":
            (tmp_path / "memory.jsonl").write_text(stream, encoding="utf-8")
            (tmp_path / "memory.sql").write_text(lines, encoding="utf-8")
            run(["psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", "memory.sql"])
            return set(run(["psql", "-qAt", "-c", "SELECT id FROM m"]).split("\n")) - {""}
        run([sys.executable, "-c", lines], stream)
        return set(run([sys.executable, "-c", f"{QUERIES[engine]}; print(*(x[0] for x in r), sep='\\n')"]).split())

    def run(command: list[str], given: str = "") -> str:
        env = {**os.environ, **variables}
        done = subprocess.run(
            command, cwd=tmp_path, env=env, input=given, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with postgres(tmp_path) if engine == "postgres" else contextlib.nullcontext({}) as found:
        variables.update(found)
        store(world, 'It\'s "quoted", with\ttabs and a \\ backslash. 한국어')
        put(world, {UV.path: render_fact(UV)})
        first = "\n".join(export(world.store)) + "\n"
        ids = {record["id"] for record in records(world)[1]}
        assert load(first) == ids
        assert load(first) == ids
        commit, _ = records(world)
        put(world, {UV.path: None})
        store(world, "the secret is swordfish-1234-blue")
        assert load("\n".join(export(world.store, commit)) + "\n") == {record["id"] for record in records(world)[1]}
        commit, _ = records(world)
        purge(world.store, plan_purge(world.store, "swordfish-1234-blue"))
        assert load("\n".join(export(world.store, commit)) + "\n") == {record["id"] for record in records(world)[1]}

"""Transcripts that real clients wrote, databases made of their rows."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from tests.recorded import transcript_of


@pytest.fixture
def recorded_transcript(tmp_path):
    """Give a function that returns the path of a host's recorded transcript."""

    def transcript(host: str) -> str:
        path = transcript_of(host)
        return _database(path, tmp_path / host / f"{host}.db") if path.name == "rows.jsonl" else str(path)

    return transcript


def _database(rows: Path, path: Path) -> str:
    """Make the database that these rows are from; return the path of its session."""
    path.parent.mkdir()
    session = ""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.executescript(rows.with_name("schema.sql").read_text(encoding="utf-8"))
        for line in rows.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            table = row.pop("table")
            session = row["id"] if table == "session" else session
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
    return f"{path}#{session}"

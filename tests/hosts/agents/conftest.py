"""Recorded payloads and transcripts of real clients, beside the repository; where they are absent, tests say so."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "e2e" / "hosts"


@pytest.fixture
def recorded_payloads():
    """Give a function that returns a host's recorded payloads in their order."""

    def payloads(host: str) -> list[dict[str, object]]:
        folder = RECORDED / "payloads" / host
        if not folder.is_dir():
            pytest.skip(f"no recorded payloads of {host} at {folder}")
        paths = sorted(path for path in folder.glob("[0-9]*.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    return payloads


@pytest.fixture
def recorded_transcript(tmp_path):
    """Give a function that returns the path of a host's recorded transcript."""

    def transcript(host: str) -> str:
        rows = RECORDED / "transcripts" / host / "rows.jsonl"
        if rows.exists():
            return _database(rows, tmp_path / host / f"{host}.db")
        paths = sorted((RECORDED / "transcripts" / host).rglob("*.jsonl" if host != "cline" else "*.messages.json"))
        if not paths:
            pytest.skip(f"no recorded transcript of {host} at {RECORDED}")
        return str(paths[0])

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

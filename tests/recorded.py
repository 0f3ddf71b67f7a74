"""Recordings in `tests/data`: sessions of our own making, and what real clients sent to hooks and wrote down.

`hosts/payloads/RUN.jsonl` has the payloads of a run in their order, of plugins `{"event": NAME, "given": …}`;
`hosts/transcripts/HOST/` what the client wrote, at its path below the home; `hosts/words/HOST/` what it wrote of all
that a user says besides prompts. All against a scripted model, long texts left out. `hosts/every-event/` has each event
of Claude Code, made by us, and its session's transcript.
"""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data"
SESSIONS = sorted((DATA / "sessions").glob("*.jsonl"))
TRANSCRIPTS = DATA / "hosts" / "transcripts"
EVERY_EVENT = DATA / "hosts" / "every-event" / "payloads.jsonl"
(EVERY_EVENT_TRANSCRIPT,) = (path for path in EVERY_EVENT.parent.glob("*.jsonl") if path != EVERY_EVENT)


def payloads_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def payloads_of(run: str) -> list[dict[str, Any]]:
    return payloads_in(DATA / "hosts" / "payloads" / f"{run}.jsonl")


def transcript_of(host: str) -> Path:
    """Return the host's transcript of the run; of OpenCode and Kilo the rows of its database."""
    (path,) = (TRANSCRIPTS / host).rglob("*.messages.json" if host == "cline" else "*.jsonl")
    return path


def make_database(rows: Path, schema: Path, path: Path) -> str:
    """Make the database that these rows are from; return the path of its session."""
    path.parent.mkdir(exist_ok=True)
    session = ""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.executescript(schema.read_text(encoding="utf-8"))
        for line in rows.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            table = row.pop("table")
            session = row["id"] if table == "session" else session
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
    return f"{path}#{session}"

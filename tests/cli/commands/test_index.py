from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.commands.project import Desk


def test_index_of_a_new_store(desk: Desk):
    assert desk.run("index", "--json").json == {
        "version": 1,
        "current": "memory.md",
        "rotatedFiles": [],
        "stats": {"totalRotations": 0, "lastRotation": None},
    }
    assert "No rotation yet" in desk.run("index").out


def test_index_has_the_shape_of_the_seed(desk: Desk):
    archive = desk.rotate()
    name = Path(archive).stem
    data = (desk.store / archive).read_bytes()
    desk.write(f"summaries/{name}.summary.md", b"---\n---\n", "summary")

    value = desk.run("index", "--json").json

    rotation = json.loads(desk.run("log", "--op", "rotate", "--json").data)[0]
    at = desk.git(desk.store, "log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%ad", rotation["commit"])
    item = value["rotatedFiles"][0]
    days = item.pop("dateRange")
    assert list(days) == ["first", "last"]
    assert len(days["first"]) == len(days["last"]) == len("2026-01-01")
    assert item == {
        "file": f"{name}.md",
        "rotatedAt": at,
        "tokens": -(-len(data) // 4),
        "bytes": len(data),
        "lines": data.count(b"\n"),
        "summary": f"{name}.summary.md",
        "summaryGenerated": True,
    }
    assert value["stats"] == {"totalRotations": 1, "lastRotation": at}
    header, row, _, total = desk.run("index").out.splitlines()
    assert header.split() == ["ARCHIVE", "ROTATED", "TOKENS", "LINES", "DAYS", "SUMMARY"]
    assert row.startswith(archive)
    assert row.endswith("yes")
    assert total == "1 rotation."


def test_index_counts_what_retention_took_away(desk: Desk):
    first = desk.rotate()
    (desk.store / first).unlink()
    desk.git(desk.store, "commit", "-qam", "Retain\n\nGitmem-Op: retain")

    value = desk.run("index", "--json").json
    assert value["rotatedFiles"] == []
    assert value["stats"]["totalRotations"] == 1
    assert f"({first})" in desk.run("index").out
    assert "1 in brackets" in desk.run("index").out

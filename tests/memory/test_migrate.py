"""Migration of the layout that the rotation seed (`rotation-plan.md`) describes; other layouts beside it."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from gitmem.memory.migrate import migrate
from gitmem.model.legacy import Kind
from gitmem.model.limits import Limits, needs_rotation
from gitmem.store.foreign import Source, find_sources, kind_of
from gitmem.store.history import rotations
from gitmem.store.undo import undo

from tests.memory.conftest import SEOUL

SUMMARY = {
    "dateRange": {"first": "2026-01-01", "last": "2026-01-13"},
    "sectionCount": 45,
    "themes": [{"name": "인증", "summary": "JWT를 넣었다.", "sessions": ["2026-01-10"]}],
    "keyDecisions": [{"decision": "uv를 쓴다", "reason": "빠르다", "date": "2026-01-11"}],
    "issues": [{"issue": "느린 빌드", "status": "open", "date": "2026-01-12"}],
    "overallSummary": "The parser was written. It is fast.",
}
INDEX = {
    "version": 1,
    "current": "memory.md",
    "rotatedFiles": [{"file": "memory_20260113_112700.md", "rotatedAt": "2026-01-13T11:27:00Z"}],
    "stats": {"totalRotations": 1, "lastRotation": "2026-01-13T11:27:00Z"},
}
MODIFIED = datetime(2026, 2, 3, 4, 5, 6, tzinfo=SEOUL).timestamp()


def put(folder: Path, files: dict[str, bytes | str | object]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode())
        os.utime(path, (MODIFIED, MODIFIED))
    return folder


@pytest.fixture
def legacy(desk) -> Path:
    return Path(desk.store.root).parent / ".claude" / "memory"


def bring(desk, folder: Path, kind: Kind = Kind.ROTATION, **more: object):
    return migrate(desk.store, Source(kind, str(folder)), **more)


def root(desk) -> Path:
    return Path(desk.store.root)


def seed_layout(folder: Path) -> Path:
    return put(
        folder,
        {
            "memory.md": "# Memory\n\n## 2026-02-01\n\n- 오늘 한 일\n",
            "memory_20260113_112700.md": "## 2026-01-13\r\n\r\n- the loader reads its settings in layers\r\n",
            "memory_20260113_112700.summary.json": SUMMARY,
            "memory-index.json": INDEX,
            "sessions/2026-01-13_1011.l1.jsonl": '{"ts":"2026-01-13T01:11:00.000Z","role":"user","text":"빌드"}\n'
            '{"ts":"2026-01-13T01:12:00.000Z","role":"assistant","text":"Done."}',
        },
    )


def test_the_layout_of_the_rotation_seed(desk, legacy, bare_git):
    seed_layout(legacy)
    done = bring(desk, legacy)
    assert [(item.source, item.to) for item in done.brought] == [
        ("memory_20260113_112700.md", "archive/memory_20260113_112700.md"),
        ("memory_20260113_112700.md", "summaries/memory_20260113_112700.summary.md"),
        ("memory.md", "memory.md"),
        ("sessions/2026-01-13_1011.l1.jsonl", "the transcript of session 2026-01-13_1011"),
    ]
    assert [(one.source, one.why) for one in done.left] == [
        ("memory-index.json", "gitmem derives it from history ('gitmem index')")
    ]
    archive = root(desk) / "archive/memory_20260113_112700.md"
    assert archive.read_bytes() == (legacy / archive.name).read_bytes()
    assert desk.text("memory.md").endswith("---\n# Memory\n\n## 2026-02-01\n\n- 오늘 한 일\n")
    assert bare_git(root(desk), "status", "--porcelain") == ""


def test_the_original_dates_are_the_authors(desk, legacy, bare_git):
    seed_layout(legacy)
    bring(desk, legacy)
    said = bare_git(root(desk), "log", "--format=%ad %s", "--date=iso-strict", "--grep=Migrate")
    assert said.splitlines() == [
        "2026-02-01T23:59:59+09:00 Migrate memory.md into memory.md",
        "2026-01-13T11:27:00+09:00 Migrate memory_20260113_112700.md into memory_20260113_112700.md",
    ]
    assert [found.rotated_at.isoformat() for found in rotations(desk.store)] == ["2026-01-13T11:27:00+09:00"]
    l1 = bare_git(root(desk), "log", "-1", "--format=%ad", "--date=iso-strict-local", "l1")
    assert l1 == "2026-01-13T01:11:00+00:00"

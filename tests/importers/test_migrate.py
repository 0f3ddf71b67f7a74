"""Migration of a memory with rotated archives; other layouts beside it."""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from gitmem.archive.summarize import read_summary
from gitmem.archive.summary import pending_archives
from gitmem.config.values import RotationConfig
from gitmem.document.entry import MemoryType
from gitmem.importers.migrate import migrate
from gitmem.importers.read import Source
from gitmem.importers.sources import SourceKind
from gitmem.model.rotation import needs_rotation
from gitmem.store import transcripts
from tests.world import SEOUL

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
        text = content if isinstance(content, bytes | str) else json.dumps(content, ensure_ascii=False)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (MODIFIED, MODIFIED))
    return folder


@pytest.fixture
def legacy(world) -> Path:
    return Path(world.store.root).parent / ".claude" / "memory"


def bring(world, folder: Path, kind: SourceKind = SourceKind.ROTATION, **more: object):
    return migrate(world.store, Source(kind, str(folder)), **more)


def modified_in(world) -> datetime:
    """Return the modification time of all files, in the time zone of the machine that migrates."""
    return datetime.fromtimestamp(MODIFIED, world.store.context.clock().tzinfo)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def whys(done) -> dict[str, str]:
    return {item.source: item.why for item in done.left}


def root(world) -> Path:
    return Path(world.store.root)


def rotated_layout(folder: Path) -> Path:
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


def test_done_again_it_adds_nothing_and_the_source_is_untouched(world, legacy):
    rotated_layout(legacy)
    put(legacy, {"facts.json": {"decisions": [{"id": "d001", "content": "uv"}]}})
    before = snapshot(legacy)
    bring(world, legacy)
    tip, l1 = world.store.tip, transcripts.tips(world.store)
    again = bring(world, legacy)
    assert (again.brought, again.there) == ((), 4)
    assert (world.store.tip, transcripts.tips(world.store)) == (tip, l1)
    world.save("from now on it grows", MemoryType.DECISION)
    assert bring(world, legacy).brought == ()
    assert snapshot(legacy) == before


def large(days: int = 12, lines: int = 300) -> bytes:
    day = "- 파서를 고쳤다 and wrote a test for it\r\n" * lines
    return "".join(f"## 2026-01-{number:02d}\r\n\r\n{day}" for number in range(1, days + 1)).encode()


def test_a_memory_over_the_threshold_is_split_by_its_days(world, legacy, bare_git):
    """Spec R10: every part under the threshold, named after its last day, with a summary asked for; none lost."""
    data = large()
    put(legacy, {"memory.md": data})
    bring(world, legacy)
    archives = sorted((root(world) / "archive").iterdir())
    assert b"".join(path.read_bytes() for path in archives) == data
    assert len(archives) > 1
    assert all(path.name.endswith("_235959.md") for path in archives)
    assert not any(needs_rotation(path.stat().st_size, RotationConfig()) for path in archives)
    assert pending_archives(world.store) == [f"archive/{path.name}" for path in archives]
    memory = world.text("memory.md")
    assert memory.endswith("파서를 고쳤다 and wrote a test for it\r\n")
    assert len(memory.encode()) <= 2_375 * 4 + 500
    said = bare_git(root(world), "log", "--format=%as", "--grep=Migrate memory.md into memory_")
    assert sorted(said.split()) == [f"{path.name[7:11]}-{path.name[11:13]}-{path.name[13:15]}" for path in archives]


PLUGIN_MEMORY = """# Project Memory: 로더

## Core Decisions (영구 보존)
- uv를 쓴다,
  pnpm이 아니라
- [중요 결정사항들]

## Current State (매 세션 업데이트)
- 버전: 1.2.0

## Recent Context (최근 3세션)
- 2026-01-13: 파서

## Known Issues
- 긴 경로에서 저장이 실패한다
"""


def test_into_a_memory_in_use_it_comes_as_an_archive_and_its_decisions_as_entries(world, legacy):
    world.save("never deploy on Fridays", MemoryType.DECISION)
    world.save("the loader is being rewritten", MemoryType.NOTE)
    put(legacy, {"memory.md": PLUGIN_MEMORY})
    bring(world, legacy)
    archive = root(world) / f"archive/memory_{modified_in(world):%Y%m%d_%H%M%S}.md"
    assert archive.read_text(encoding="utf-8") == PLUGIN_MEMORY
    memory = world.text("memory.md")
    assert "**Decision**: uv를 쓴다," in memory
    assert "\n  pnpm이 아니라\n" in memory
    assert "**Issue**: 긴 경로에서 저장이 실패한다 ^" in memory
    assert "중요 결정사항들" not in memory
    assert "never deploy" in memory
    tip = world.store.tip
    bring(world, legacy)
    assert world.store.tip == tip


@pytest.mark.skipif(os.name == "nt", reason="symbolic links and pipes are other things there")
def test_hostile_sources_are_named_and_all_else_is_brought(world, legacy, tmp_path):
    secret = put(tmp_path / "elsewhere", {"secret.md": "## 2026-01-01\nnot yours\n"})
    put(
        legacy,
        {
            "memory.md": b"\xef\xbb\xbf# Memory\r\n\r\n## 2026-02-01\r\n- \xff\xfe one\r\n",
            "memory_20260113_112700.md": "",
            "memory_20260114_112700.md": "- kept\n",
            "memory_20260114_112700.summary.json": '{"overallSummary": ',
            "memory_20260115_112700.summary.json": b"\xff",
            "memory_20260199_996699.md": "- a name that is no date\n",
            "facts.json": "[" * 100_000,
            "sessions/2026-01-13_1011.l1.jsonl": "no json\n" + '{"role":"user","text":"빌드"}\n' + "[" * 10_000 + "\n",
            "메모.md": "mine\n",
            "deep/er/and/deep/er/x.md": "x\n",
            ".git/config": "x\n",
            "x.db": "x\n",
        },
    )
    os.symlink(secret / "secret.md", legacy / "memory_20250101_000000.md")
    os.symlink("nowhere", legacy / "dangling.md")
    os.symlink(secret, legacy / "logs")
    os.mkfifo(legacy / "memory_20250102_000000.md")
    with (legacy / "memory_20250103_000000.md").open("wb") as file:
        file.truncate(40 * 1024 * 1024)
    done = bring(world, legacy)
    no_summary = "it is no summary: {}; gitmem makes one of the archive itself"
    assert whys(done) == {
        "memory_20260113_112700.md": "it is empty",
        "memory_20260114_112700.summary.json": no_summary.format("it is not JSON (line 1)"),
        "memory_20260115_112700.summary.json": no_summary.format("it is not UTF-8"),
        "facts.json": "it is nested too deeply",
        "sessions/2026-01-13_1011.l1.jsonl": "2 of its lines are no JSON",
        "메모.md": "it is nothing gitmem knows",
        "deep/er/and/deep/er/": "it is nothing gitmem knows",
        ".git/": "it is nothing gitmem knows",
        "x.db": "it is a database; the logs beside it say what is in it",
        "memory_20250101_000000.md": "it is a symbolic link, which gitmem does not follow",
        "dangling.md": "it is a symbolic link, which gitmem does not follow",
        "logs": "it is a symbolic link, which gitmem does not follow",
        "memory_20250102_000000.md": "it is no plain file",
        "memory_20250103_000000.md": "it has 41,943,040 bytes, more than gitmem takes from one file",
    }
    kept = {path.name: path.read_bytes() for path in (root(world) / "archive").iterdir()}
    assert kept["memory_20260114_112700.md"] == b"- kept\n"
    assert "memory_20260203_040506.md" in kept
    assert not any(b"not yours" in data for data in kept.values())
    assert b"one\r\n" in (root(world) / "memory.md").read_bytes()
    assert pending_archives(world.store)


def test_another_file_of_one_name_gets_a_name_of_its_own(world, legacy):
    (root(world) / "archive").mkdir()
    (root(world) / "archive/memory_20260113_112700.md").write_text("mine\n", encoding="utf-8")
    put(legacy, {"memory_20260113_112700.md": "theirs\n", "memory_20260113_112700.summary.json": SUMMARY})
    bring(world, legacy)
    assert world.text("archive/memory_20260113_112700.md") == "mine\n"
    assert world.text("archive/memory_20260113_112700_02.md") == "theirs\n"
    assert read_summary(world.store, "archive/memory_20260113_112700_02.md").archive.endswith("_02.md")


def test_decisions_that_come_as_entries_keep_their_order(world, legacy):
    world.save("the loader is being rewritten", MemoryType.NOTE)
    items = [f"the {number}th of the rules" for number in range(20, 0, -1)]
    put(legacy, {"memory.md": "## Core Decisions\n\n" + "".join(f"- {item}\n" for item in items)})
    bring(world, legacy)
    memory = world.text("memory.md")
    assert sorted(items, key=memory.index) == items


def test_a_memory_that_begins_with_its_newest_day_keeps_its_order_and_that_day(world, legacy):
    days = "".join(large().decode().split("## ")[:0:-1]).replace("2026-", "## 2026-")
    data = f"# Notes\r\n\r\n{days}## Known Issues\r\n\r\n- slow\r\n".encode()
    put(legacy, {"memory.md": data})
    bring(world, legacy)
    archives = sorted((root(world) / "archive").iterdir())
    assert len(archives) > 1
    assert b"".join(path.read_bytes() for path in archives) == data
    memory = world.text("memory.md")
    assert "## 2026-01-12\r\n" in memory
    assert "## 2026-01-01" not in memory
    assert memory.index("## 2026-01-12") < memory.index("## Known Issues")

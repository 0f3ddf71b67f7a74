"""Rotation's numbers and edge cases, end to end (spec R1 to R13)."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from gitmem.archives.archives import pending_archives
from gitmem.archives.plans import tail_of_lines
from gitmem.archives.rotate import check
from gitmem.archives.summarize import read_summary
from gitmem.cli.app import App
from gitmem.cli.main import main
from gitmem.config import Config
from gitmem.importers.migrate import migrate
from gitmem.importers.plan import SourceKind
from gitmem.importers.read import Source
from gitmem.sessions.save import save
from gitmem.text.stems import estimate_tokens, tokens_of_size
from tests.boxes import forget_private
from tests.started import session_start

KB = 1000


def root(desk) -> Path:
    return Path(desk.store.root)


def write_memory(desk, data: bytes) -> bytes:
    (root(desk) / "memory.md").write_bytes(data)
    return data


def index(desk, environ) -> dict[str, object]:
    out = io.StringIO()
    app = App(environ, str(root(desk).parent), io.StringIO(), out, io.StringIO())
    assert main(["index", "--json"], lambda: app) == 0
    return json.loads(out.getvalue())


# -- 11.1 units


@pytest.mark.parametrize("text, tokens", [("Hello World", 3), ("가나다라마바사아자차", 8)])
def test_estimate_tokens(text, tokens):
    assert estimate_tokens(text) == tokens


def test_estimate_tokens_from_file_of_100_kb_is_about_25_000():
    assert tokens_of_size(100 * KB) == 25_000


def test_extract_tail_by_tokens_of_1000_lines_and_2500_tokens_is_about_100_lines():
    text = "".join(f"line {number:04d} ".ljust(99, "x") + "\n" for number in range(1000))
    assert tail_of_lines(text, 2_500).count("\n") == 100


# -- 11.2 scenarios


def test_a_normal_rotation(desk, environ):
    data = write_memory(desk, b"## Test\n" * (120 * KB // 8))
    result, _ = check(desk.store)
    (archive,) = (root(desk) / "archive").iterdir()
    assert archive.name == "memory_20261121_140322.md"  # an underscore, and 14 digits
    assert archive.read_bytes() == data
    assert 9 * KB < (root(desk) / "memory.md").stat().st_size <= 10 * KB
    assert index(desk, environ)["rotatedFiles"][0]["file"] == archive.name
    assert pending_archives(desk.store) == [result.archive]  # what `summaryGenerated: false` was for


def test_under_the_threshold(desk):
    write_memory(desk, b"## Test\n" * (50 * KB // 8))
    assert check(desk.store)[0].archive is None
    assert not (root(desk) / "archive").exists()


def test_a_session_is_told_which_summaries_are_to_be_written(desk):
    write_memory(desk, b"- the loader reads its settings in layers\n" * 3 * KB)
    archive = check(desk.store)[0].archive
    told = session_start(desk.store, (), None, pending_archives(desk.store))
    assert f"[GITMEM_ROTATE] file={archive}" in told
    assert "reads its settings" in told


# -- 11.3 edge cases


def test_an_empty_memory_does_not_rotate(desk):
    write_memory(desk, b"")
    assert check(desk.store)[0].archive is None


@pytest.mark.parametrize("tokens, rotates", [(23_749, False), (23_750, True), (23_751, True)])
def test_the_threshold(desk, tokens, rotates):
    write_memory(desk, (b"a line of text\n" * tokens)[: tokens * 4])
    assert (check(desk.store)[0].archive is not None) is rotates


@pytest.mark.parametrize("syllables, rotates", [(31_665, False), (31_666, True)])
def test_a_file_of_hangul_only(desk, syllables, rotates):
    """Three bytes a syllable: 94,995 of them are 23,749 tokens, 94,998 are 23,750."""
    write_memory(desk, ("가" * syllables).encode())
    result, _ = check(desk.store)
    assert result.tokens == (23_750 if rotates else 23_749)
    assert (result.archive is not None) is rotates


def test_an_index_that_is_damaged_is_no_harm(desk, environ):
    """There is none: what it held is derived, and one of an older tool's is passed over."""
    write_memory(desk, b"- one line\n" * 20 * KB)
    check(desk.store)
    before = index(desk, environ)
    (root(desk) / "memory-index.json").write_text('{"version": 1, "rotatedFiles": [', encoding="utf-8")
    forget_private(Path(desk.store.private))
    assert index(desk, environ) == before
    legacy = root(desk).parent / ".claude" / "memory"
    legacy.mkdir(parents=True)
    (legacy / "memory-index.json").write_text("{", encoding="utf-8")
    (legacy / "memory_20260113_112700.md").write_text("- kept\n", encoding="utf-8")
    migrate(desk.store, Source(SourceKind.ROTATION, str(legacy)))
    assert next(one["file"] for one in index(desk, environ)["rotatedFiles"]) == "memory_20260113_112700.md"


# Two sessions that rotate at once: tests/archives/test_tiers_rotate.py, "of two checks at once".


# -- 11.4 the whole cycle, but for the agent's part


def test_from_five_tool_uses_to_the_next_session(desk, environ):
    assert Config().save.interval == 5
    write_memory(desk, b"# Memory\n\n## Recent Context\n\n" + b"- the parser caches its tokens now\n" * 3 * KB)
    done = save(desk.store, desk.save("what comes after it lands in the new file"))
    memory = desk.text("memory.md")
    assert len(memory.encode()) <= 10 * KB
    assert "lands in the new file" in memory
    assert "lands in the new file" not in desk.text(done.archive)
    entry = index(desk, environ)["rotatedFiles"][0]
    assert (entry["summaryGenerated"], entry["tokens"] > 23_750) == (True, True)
    summary = read_summary(desk.store, done.archive)
    assert summary.overall_summary
    assert summary.overall_summary.split(".")[0] in session_start(desk.store, (), None, ())

"""What all readers of older tools' memories share, and that none of them loses or fails on anything."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.config.values import RotationConfig
from gitmem.document.document import Document
from gitmem.document.entry import clean_text, find_entries, render_entry
from gitmem.document.ids import check_path
from gitmem.importers.layouts import plan_layout
from gitmem.importers.sources import FileItem, LogItem, SourceFile, SourceKind, TranscriptItem, instant
from gitmem.model.fact import parse_fact

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
LAYOUTS = [SourceKind.ROTATION, SourceKind.KEEPER, SourceKind.JIKIME, SourceKind.BASIC]
NAMES = st.sampled_from(
    [
        *("memory.md", "MEMORY.md", "logbook.md", "memory_20260113_112700.md", "memory_20260113_112700.summary.json"),
        *("memory_20260113_part1_235959.md", "memory.old.md", "memory-index.json", "facts.json", "index.json"),
        *("project.md", "sessions/2026-01-13_1011.md", "sessions/2026-01-13_1011.raw.md", "sessions/week-53.md"),
        *("sessions/2026-01-13_1011.l1.jsonl", "sessions/week-00.md", "sessions/archive/2026-13.md", "a b/..md"),
        *("sessions/archive/2026-02.md", "2026-01-28.md", "2026-02-31.md", "track_buffer.jsonl", "한글.md"),
    ]
)
KEYS = ["decisions", "issues", "rules", "content", "id", "date", "themes", "overallSummary", "keywords"]
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
CONTENTS = st.one_of(
    st.binary(max_size=200), TREES.map(lambda tree: json.dumps(tree).encode()), st.text().map(str.encode)
)


@pytest.mark.parametrize("kind", LAYOUTS)
@given(files=st.dictionaries(NAMES, CONTENTS, max_size=6))
@pytest.mark.few(2)
def test_whatever_a_source_holds_there_is_a_plan(kind, files):
    """Each file is brought in, or it is said why not; what is made can be stored; and again it is the same."""
    sources = [SourceFile(path, data, NOW) for path, data in files.items()]
    planned = plan_layout(kind, sources, RotationConfig(100, 10))
    told = {item.source for item in planned.items} | {left.source for left in planned.left}
    beside = {path for path in files if path.endswith(".summary.json")}
    assert set(files) - beside <= told
    assert len({item.key for item in planned.items}) == len(planned.items)
    for item in planned.items:
        assert item.when.tzinfo
        if isinstance(item, FileItem):
            check_path(item.path)
            assert Document.parse(item.data).problem is None or item.path.startswith("knowledge/")
    assert plan_layout(kind, reversed(sources), RotationConfig(100, 10)) == planned or len(planned.left) > 1


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=60), max_size=8))
def test_no_word_of_a_daily_log_is_lost(texts):
    lines = [
        f"- [1{number}:00:00] **User Prompt**: {text}" if number % 2 else f"## Decision\n\n- {text}"
        for number, text in enumerate(texts)
    ]
    file = SourceFile("2026-01-28.md", "\n".join(["# 2026-01-28", *lines]).encode(), NOW)
    [log] = plan_layout(SourceKind.JIKIME, [file], RotationConfig()).items
    assert isinstance(log, LogItem)
    said = "\n".join(entry.text for _, entry in log.entries) + log.prose
    for text in texts:
        assert clean_text(text).split() == [] or all(word in said for word in clean_text(text).split())
    for _, entry in log.entries:
        assert [found.entry for found in find_entries(render_entry(entry))] == [entry]


@given(st.dictionaries(st.sampled_from(["decisions", "patterns", "issues", "rules", "solutions", "coreLogic"]), TREES))
def test_every_fact_that_says_something_can_be_read_back(given_facts):
    file = SourceFile("facts.json", json.dumps(given_facts).encode(), NOW)
    for item in plan_layout(SourceKind.KEEPER, [file], RotationConfig()).items:
        assert parse_fact(item.data, item.path) is not None


@pytest.mark.parametrize(
    "text, found",
    [
        ("2026-01-13T11:27:00Z", "2026-01-13T11:27:00+00:00"),
        ("2026-01-13T11:27:00.5+09:00", "2026-01-13T11:27:00.500000+09:00"),
        ("2026-01-13T11:27:00", "2026-01-13T11:27:00+00:00"),
        ("2026-01-13_1011", "2026-01-13T10:11:00+00:00"),
        ("on 2026-13-01, no: 2026-01-13", "2026-01-13T23:59:59+00:00"),
        ("", None),
    ],
)
def test_instants_have_their_own_offset(text, found):
    moment = instant(text, UTC)
    assert (moment.isoformat() if moment else None) == found


def test_a_transcript_keeps_every_line_that_is_json():
    lines = b'{"ts":"2026-01-13T01:11:00Z","role":"user","text":"a"}\n\n{"tool":"Edit","input":{"x":1}}\nbroken\n'
    planned = plan_layout(
        SourceKind.ROTATION, [SourceFile("sessions/2026-01-13_1011.l1.jsonl", lines, NOW)], RotationConfig()
    )
    (item,) = planned.items
    assert isinstance(item, TranscriptItem)
    assert [json.loads(line)["role"] for line in item.lines] == ["user", "summary"]
    assert '\\"tool\\": \\"Edit\\"' in item.lines[1]
    assert [left.why for left in planned.left] == ["1 of its lines is no JSON"]

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.archives.summary import (
    MAX_TEXT,
    Issue,
    KeyDecision,
    Summary,
    Theme,
    archive_day,
    cleaned,
    from_answer,
    from_json,
    parse_document,
    render_document,
    summary_id,
)
from gitmem.document.document import Document

NOW = datetime(2026, 1, 13, 11, 27, tzinfo=UTC)
ARCHIVE = "archive/memory_20260113_112700.md"
FULL = Summary(
    archive=ARCHIVE,
    date_range=("2026-01-10", "2026-01-13"),
    section_count=45,
    themes=(Theme("회전: 'yes'", "요약은 #1 이다.", ("1234abcd", "2026-01-10")), Theme("no", "", ())),
    key_decisions=(KeyDecision("Use uv, not pnpm: it locks", "because it is faster 🚀", "2026-01-11"),),
    issues=(Issue("긴 경로", "open", "2026-01-12"), Issue("leak", "resolved", "")),
    overall_summary="첫 문장이다. Second sentence.\n\n---\nAnother: paragraph.",
)

words = st.text(max_size=80) | st.sampled_from(
    ["no", "007", "12:30", "2026-01-01", "- a", "# b", "'", '"', "~", "{}", "\ud800"]
)
summaries = st.builds(
    Summary,
    archive=st.just(ARCHIVE) | words,
    date_range=st.tuples(words, words),
    section_count=st.integers(min_value=-1, max_value=10_000),
    themes=st.lists(st.builds(Theme, words, words, st.lists(words, max_size=3).map(tuple)), max_size=12).map(tuple),
    key_decisions=st.lists(st.builds(KeyDecision, words, words, words), max_size=12).map(tuple),
    issues=st.lists(st.builds(Issue, words, st.sampled_from(["open", "resolved", "?"]), words), max_size=12).map(tuple),
    overall_summary=words | st.text(max_size=300),
    method=words,
    cost=st.none() | st.integers(0, 10**9).map(lambda millionths: millionths / 1e6),
)


@given(summaries)
def test_a_summary_comes_back_from_its_document(summary):
    assert parse_document(render_document(summary, NOW)) == cleaned(summary)
    assert cleaned(cleaned(summary)) == cleaned(summary)


def test_the_document_is_front_matter_and_a_text():
    document = Document.parse(render_document(FULL, NOW))
    assert document.problem is None
    assert document.get("id") == "summary-20260113-112700"
    assert document.get("kind") == "summary"
    assert document.get("created") == NOW
    assert document.get("method") == "offline"
    assert document.body == FULL.overall_summary + "\n"
    assert document.metadata["key_decisions"] == [
        {"decision": "Use uv, not pnpm: it locks", "reason": "because it is faster 🚀", "date": "2026-01-11"}
    ]


def test_the_json_has_the_fields_of_spec_r5():
    value = FULL.to_json()
    assert list(value) == ["dateRange", "sectionCount", "themes", "keyDecisions", "issues", "overallSummary"]
    assert value["dateRange"] == {"first": "2026-01-10", "last": "2026-01-13"}
    assert value["themes"][0] == {
        "name": "회전: 'yes'",
        "summary": "요약은 #1 이다.",
        "sessions": ["1234abcd", "2026-01-10"],
    }
    assert json.loads(json.dumps(value)) == value


def test_the_largest_summary_has_a_header_that_can_be_read():
    long = "\N{PILE OF POO}" * 5000
    most = Summary(
        ARCHIVE,
        (long, long),
        10**9,
        tuple(Theme(long, long, (long,) * 100) for _ in range(50)),
        tuple(KeyDecision(long, long, long) for _ in range(50)),
        tuple(Issue(long, "resolved", long) for _ in range(50)),
        long * 10,
        long,
    )
    data = render_document(most, NOW)
    assert Document.parse(data).problem is None
    kept = parse_document(data)
    assert [len(kept.themes), len(kept.key_decisions), len(kept.issues)] == [10, 10, 10]
    assert len(kept.key_decisions[0].decision) > MAX_TEXT // 8


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Only a text.\n",
        b"---\nthemes: 1\nkey_decisions: {}\nissues: [1, null, [2]]\ndate_range: []\nsection_count: many\n---\nText.\n",
        b"---\nthemes: [{}, {name: x, sessions: 1}]\n---\n",
        b"---\nbroken: [\n---\nText.\n",
        b"\xff\xfe\x00",
    ],
)
def test_what_cannot_be_read_is_left_out(data):
    summary = parse_document(data)
    assert summary.key_decisions == summary.issues == ()
    assert render_document(summary, NOW)


def test_a_date_without_quotes_is_text():
    data = b"""---
date_range: {first: 2026-01-10, last: 2026-01-13}
issues:
- issue: x
  date: 2026-01-12
---
A.
B.
""".replace(b"\n", b"\r\n")
    summary = parse_document(data)
    assert summary.date_range == ("2026-01-10", "2026-01-13")
    assert summary.issues == (Issue("x", "open", "2026-01-12"),)
    assert summary.overall_summary == "A.\nB."


def test_ids_and_days_are_those_of_the_archive():
    assert summary_id("archive/memory_20260113_112700_02.md") == "summary-20260113-112700-02"
    assert summary_id("archive/other.md") == "summary-other"
    assert archive_day(ARCHIVE) == "2026-01-13"
    assert archive_day("archive/other.md") == ""


def test_one_sentence_is_no_summary_though_the_offline_one_has_no_more():
    offline = from_json({"overallSummary": "All is code."}, "archive/memory_20260101_000000.md", "offline")
    with pytest.raises(ValueError, match="fewer than 2 sentences"):
        from_answer({"overallSummary": "It was built."}, offline, "m")
    assert from_answer({"overallSummary": "It was built. It works."}, offline, "m").method == "m"

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.archive import rotate as rotating
from gitmem.archive.summarize import as_of_now, improve, put_summary, read_summary, summarize_archive
from gitmem.archive.summary import (
    MAX_TEXT,
    ArchiveSummary,
    Issue,
    KeyDecision,
    Summary,
    Theme,
    archive_summaries,
    ask_for_summaries,
    cleaned,
    from_answer,
    from_json,
    parse_document,
    pending_archives,
    render_document,
)
from gitmem.document.document import Document
from gitmem.document.entry import MemoryType
from gitmem.document.ids import summary_path
from gitmem.history.marks import marked
from gitmem.record.fact_edits import find_fact, retire, supersede_fact
from gitmem.store.transact import transact
from tests.own_settings import own_settings
from tests.started import session_start

NOW = datetime(2026, 1, 13, 11, 27, tzinfo=UTC)
ARCHIVE = "archive/memory_20260113_112700.md"

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


@settings(max_examples=settings.default.max_examples // 4)  # each takes a fifth of a second to make
@given(summaries)
def test_a_summary_comes_back_from_its_document(summary):
    assert parse_document(render_document(summary, NOW)) == cleaned(summary)
    assert cleaned(cleaned(summary)) == cleaned(summary)


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


def test_one_sentence_is_no_summary_though_the_offline_one_has_no_more():
    offline = from_json({"overallSummary": "All is code."}, "archive/memory_20260101_000000.md", "offline")
    with pytest.raises(ValueError, match="fewer than 2 sentences"):
        from_answer({"overallSummary": "It was built."}, offline, "m")
    assert from_answer({"overallSummary": "It was built. It works."}, offline, "m").method == "m"


# In a store


SMALL = "rotation:\n  threshold_tokens: 400\n  carryover_tokens: 100\n"


@pytest.fixture
def small(world):
    own_settings(world.store.context, SMALL)
    world.store = type(world.store)(world.store.root, world.store.context)
    return world


def rotated(world) -> str:
    """Save until memory.md has been rotated; return the archive."""
    world.save("never deploy on Fridays, because nobody is there", MemoryType.DECISION)
    world.save("긴 경로에서 저장이 실패합니다", MemoryType.ISSUE)
    for number in range(30):
        done = world.save(f"The parser of part {number} reads its tokens twice by now.")
        if done.archive:
            return done.archive
    raise AssertionError


def test_an_offline_summary_is_pending_and_a_better_one_is_not_replaced(small, bare_git):
    archive = rotated(small)
    assert pending_archives(small.store) == [archive]
    better = read_summary(small.store, archive)._replace(method="a-model", overall_summary="Better.")
    transact(small.store, lambda transaction: put_summary(transaction, better), purpose="summary")
    assert pending_archives(small.store) == []
    assert [(one.archive, one.method) for one in archive_summaries(small.store)] == [(archive, "a-model")]
    tip = small.store.tip
    text = small.text(archive)
    transact(
        small.store, lambda transaction: summarize_archive(small.store, transaction, archive, text), purpose="summary"
    )
    assert small.store.tip == tip
    assert read_summary(small.store, archive) == better


def test_a_summary_that_cannot_be_made_keeps_nothing_from_being_saved(small, monkeypatch):
    def broken(*_):
        raise ValueError("no summary today")

    monkeypatch.setattr("gitmem.archive.summarize.offline_summary", broken)
    archive = rotated(small)
    assert small.text(archive)
    assert pending_archives(small.store) == [archive]


def test_a_file_where_the_summaries_should_be_is_told(small, monkeypatch):
    Path(small.store.root, "summaries").write_text("in the way\n", encoding="utf-8")
    notices: list[str] = []
    real = rotating._summarize

    def watched(store, transaction, archive, text):
        real(store, transaction, archive, text)
        notices.extend(transaction.notices)

    monkeypatch.setattr(rotating, "_summarize", watched)
    archive = rotated(small)
    assert small.text(archive)
    assert any(archive in notice for notice in notices)


def test_a_better_summary_is_offered_once_for_an_archive(small):
    assert ask_for_summaries(small.store) == ((), "")
    rotated(small)
    _, said = ask_for_summaries(small.store)
    assert said.startswith("1 archive has a summary made without a model only; `gitmem summary pending`")
    assert ask_for_summaries(small.store) == ((), "")
    rotated(small)
    assert ask_for_summaries(small.store)[1].startswith("2 archives have")
    assert said in session_start(small.store, (), None, (), offer=said)


def test_a_summary_says_of_its_sentences_which_do_not_hold_any_more(small):
    archive = rotated(small)
    summary = read_summary(small.store, archive)
    sentence = summary.overall_summary.split("\n")[0].split(". ")[0]
    fact = find_fact(small.store, small.save(sentence, MemoryType.DECISION).id)
    assert sentence in as_of_now(summary, small.store).overall_summary
    retire(small.store, fact, "")
    now = as_of_now(summary, small.store)
    assert re.search(re.escape(sentence) + r"\.? \[retired since ", now.overall_summary)
    assert "[retired since" in marked(small.store, small.text(summary_path(archive)))


def test_a_link_where_the_summaries_should_be_lists_none(small, tmp_path):
    archive = rotated(small)
    summaries = Path(small.store.root, "summaries")
    summaries.rename(tmp_path / "elsewhere")
    summaries.symlink_to(tmp_path / "elsewhere")
    assert archive_summaries(small.store) == [ArchiveSummary(archive, None)]


def test_what_is_there_already_is_not_committed_anew_for_its_time(small):
    archive = rotated(small)
    small.clock.now += timedelta(hours=1)
    done = improve(small.store, archive)
    assert (done.method, done.commit) == ("offline", None)
    assert "no model is named" in done.why


def test_a_decision_that_goes_on_where_an_ended_one_stops_is_not_taken_for_it(small):
    old, new = "Deploy to staging first", "Deploy to staging first, then to production"
    summary = read_summary(small.store, rotated(small))._replace(key_decisions=(KeyDecision(new), KeyDecision(old)))
    first = find_fact(small.store, small.save(old, MemoryType.DECISION).id)
    second = find_fact(small.store, small.save(new, MemoryType.DECISION).id)
    supersede_fact(small.store, first, second)
    going_on, ended = as_of_now(summary, small.store).key_decisions
    assert going_on.decision == new
    assert ended.decision == f"{old} [superseded since {small.clock.now:%Y-%m-%d}, now: {new}]"


def ops(world, bare_git, *options: str) -> list[str]:
    return bare_git(
        Path(world.store.root), "log", "--format=%(trailers:key=Gitmem-Op,valueonly,separator=%x2C)", *options
    ).split("\n")


def test_the_summary_of_a_rotation_is_the_commit_after_it(small, bare_git):
    archive = rotated(small)
    assert ops(small, bare_git, "-3") == ["save", "summarize", "rotate"]
    root = Path(small.store.root)
    assert bare_git(root, "show", "--name-only", "--format=", "HEAD~1").strip() == summary_path(archive)
    named = bare_git(root, "log", "-1", "--format=%(trailers:key=Gitmem-Archive,valueonly)", "HEAD~1")
    assert named.strip() == archive
    assert bare_git(root, "status", "--porcelain").strip() == ""
    summary = read_summary(small.store, archive)
    assert summary.archive == archive
    assert [(one.decision, one.reason) for one in summary.key_decisions] == [
        ("never deploy on Fridays, because nobody is there", "")
    ]
    assert [one.issue for one in summary.issues] == ["긴 경로에서 저장이 실패합니다"]
    assert "The parser of part" in summary.overall_summary

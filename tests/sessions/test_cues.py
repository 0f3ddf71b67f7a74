import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.entry import MemoryType
from gitmem.sessions.outcome import Cue, find_cues, is_resolved

D, I, L, F = MemoryType.DECISION, MemoryType.ISSUE, MemoryType.LEARNING, MemoryType.ERROR_FIX  # noqa: E741


@pytest.mark.parametrize(
    "text, kind, kept",
    [
        ("결정: pnpm 대신 uv를 쓴다", D, "pnpm 대신 uv를 쓴다"),
        ("**Decision:** keep one archive a rotation.", D, "keep one archive a rotation."),
        ("✅ Decision — use SQLite for the cache.", D, "use SQLite for the cache."),
        ("We decided to store transcripts on their own branch.", D, None),
        ("캐시는 SQLite에 저장하기로 했습니다.", D, None),
        ("Known issue: the watcher leaks handles on Windows.", I, "the watcher leaks handles on Windows."),
        ("The retry test still fails on macOS.", I, None),
        ("TODO: validate the header before parsing", I, "validate the header before parsing"),
        ("알려진 문제: 긴 경로에서 저장이 실패합니다.", I, "긴 경로에서 저장이 실패합니다."),
        ("It turns out the lock was never released.", L, None),
        ("Root cause: the hook ran twice for one event.", L, "the hook ran twice for one event."),
        ("원인은 타임존이 UTC로 고정되어 있었기 때문입니다.", L, None),
        ("Fixed the flaky test by waiting for the socket.", F, None),
        ("Fixed the order of locks - the index comes first now.", F, None),
        ("Fix: compare bytes, not text.", F, "compare bytes, not text."),
        ("버퍼를 먼저 비우는 것으로 해결했습니다.", F, None),
    ],
)
def test_what_is_stated_is_found(text, kind, kept):
    expected = [Cue(kind, kept or text)]
    assert find_cues(text) == expected
    assert find_cues(f"Some words before. {text}\r\n\r\nAnd after.") == expected


@pytest.mark.parametrize(
    "text",
    [
        "Should we decide to use uv?",
        "Did we decide to use uv instead of pnpm?",
        "uv를 쓰기로 했나요?",
        "I can fix this by adding a lock.",
        "Let me check whether the test still fails.",
        "The cause might be that it turned out to be stale.",
        "We have not decided to use uv.",
        "알려진 문제는 없습니다.",
        "원인은 아직 모릅니다.",
        'The heading says "Known issue: none fits" in red.',
        "The log prints `Decision: use uv` there.",
        "> Decision: use uv, not pnpm.",
        "```\nDecision: use uv, not pnpm.\n```",
        "| Decision: use uv | not pnpm |",
        "Decision:",
        "Decision: uv",
        "The test still fails. Let me look at the trace.",
        "The test still fails.\n\nLet me look at the trace.",
        "Known issue: the leak, resolved in 1.2.3 (fixed).",
        "The test still fails with this error:",
        "Listed the already-fixed comments by reading history.",
        "await load(path), this is a known issue",
        "Decision: string[]; // what was decided",
        "The weather is fine and nothing was said.",
        "오늘은 날씨가 좋고 아무 말도 하지 않았다.",
        "해결: " + "가나 " * 400,
    ],
)
def test_what_is_asked_planned_quoted_supposed_or_denied_is_not(text):
    assert find_cues(text) == []


def test_items_under_a_heading_that_says_so_are_memories():
    text = "## Decisions\n\n- Use uv, not pnpm.\n- Keep the log short. It grows.\n\n## Next\n\n- Write the tests now."
    assert find_cues(text) == [Cue(D, "Use uv, not pnpm."), Cue(D, "Keep the log short.")]
    assert find_cues("**알려진 문제**\n- 긴 경로에서 저장이 실패합니다.") == [Cue(I, "긴 경로에서 저장이 실패합니다.")]


def test_a_fix_that_names_no_problem_is_kept_with_the_sentence_before_it():
    [cue] = find_cues("It runs now. The loader read a stale cache. Fixed by removing the cache.")
    assert cue == Cue(F, "The loader read a stale cache. Fixed by removing the cache.")


def test_the_same_sentence_is_one_memory():
    assert len(find_cues("Decision: use uv here.\n\ndecision: Use uv here.")) == 1


@pytest.mark.parametrize(
    "text, resolved",
    [
        ("Watcher leaks handles (resolved in 1.2)", True),
        ("The leak was fixed by closing the handle.", True),
        ("긴 경로 저장 실패: 해결됨", True),
        ("Watcher leaks handles on Windows", False),
        ("The leak is not fixed yet", False),
        ("The leak needs to be fixed", False),
        ("It is unresolved", False),
        ("아직 해결되지 않았습니다", False),
        ("The flag `fixed` is ignored", False),
        ("", False),
    ],
)
def test_an_issue_says_that_it_is_done_with(text, resolved):
    assert is_resolved(text) is resolved


@given(st.text(max_size=300))
def test_any_text_has_cues_or_none(text):
    for cue in find_cues(text):
        assert cue.text.strip()
        assert "\n" not in cue.text
        assert cue in find_cues(text)
    assert is_resolved(text) in (True, False)


HOSTILE = ["아직 ", "결정 ", "going with ", "fixed ", '"', "Decision: ", "we decided to ", "no x "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_steps_grow_with_the_length_of_hostile_text(grows_linearly, piece):
    lines = piece * 60 + ".\n"
    assert grows_linearly(find_cues, lambda size: piece * (size // len(piece)))
    assert grows_linearly(find_cues, lambda size: lines * (size // len(lines)))
    assert grows_linearly(is_resolved, lambda size: piece * (size // len(piece)))

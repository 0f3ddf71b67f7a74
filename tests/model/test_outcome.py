"""What an entry of the daily log says of an exchange (docs/format.md, "Turns")."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.entry import Entry, MemoryType, clean_text, find_entries, render_entry
from gitmem.model.exchange import Fields, join_fields, render_fields, split_fields
from gitmem.model.outcome import Cue, Outcome, find_cues, is_resolved, judge_outcome, outcome_of, verdict_of
from gitmem.model.turns import Failure, Run, Turn

WORDS = st.text(st.sampled_from("ab \n*:`-|#가") | st.characters(codec="utf-8"), max_size=60)
PIECES = st.lists(st.sampled_from(["**Answer:**", "**Files:** a", "**Error:**", "\n", "text", "```", "- x"]) | WORDS)
TEXTS = PIECES.map("".join).map(clean_text).map(str.strip)
LINES = TEXTS.map(lambda text: " ".join(text.split()).replace(", ", " ").removeprefix("- ").strip(", ")).filter(bool)
FIELDS = st.builds(
    Fields,
    request=TEXTS,
    answer=TEXTS,
    said=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
    errors=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
    files=st.lists(LINES, max_size=3).map(tuple),
    outcome=st.sampled_from(["", "partial", "failed"]),
    words=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
)


def test_an_exchange_is_rendered_as_the_format_says() -> None:
    fields = Fields(
        request="Why does the save fail?\nIt did not yesterday.",
        answer="The lock was stale.\n\n```py\nlock.clear()\n```",
        said=("The cause: nobody removes the lock.", "- first\n\nthen"),
        errors=("`pytest`: 1 failed → then worked: `pytest -x`",),
        files=("a.py", "b.py"),
        outcome="partial",
    )
    text = """Why does the save fail?
It did not yesterday.

**Answer:** The lock was stale.

```py
lock.clear()
```

**Said:** The cause: nobody removes the lock.

**Said:**
- first

then

**Error:** `pytest`: 1 failed → then worked: `pytest -x`

**Files:** a.py, b.py

**Outcome:** partial"""
    assert render_fields(fields) == text
    assert split_fields(text) == fields


@given(FIELDS)
def test_fields_come_back_from_their_text(fields: Fields) -> None:
    text = render_fields(fields)
    entry = Entry("x4f7k2m9q0x1"[:11], "14:03:22", "Exchange", clean_text(text))
    again = split_fields(entry.text)
    assert render_fields(again) == clean_text(text)
    assert (again.files, again.outcome) == (fields.files, fields.outcome)
    assert len(again.errors) == len(fields.errors)
    assert len(again.said) == len(fields.said)
    assert bool(again.answer) == bool(fields.answer)
    assert again.request.replace("*", "").replace(":", "") == fields.request.replace("*", "").replace(":", "")


def test_a_mark_inside_an_answer_begins_no_part() -> None:
    fields = Fields(request="Summarise.", answer="Done.\n\n**Files:** two of them\n**Answer:** 42", files=("a.py",))
    again = split_fields(render_fields(fields))
    assert again.files == ("a.py",)
    assert again.answer == "Done.\n\n**Files**: two of them\n**Answer**: 42"


def test_a_text_without_parts_is_the_request() -> None:
    assert split_fields("Only a request.\n\nWith a paragraph.") == Fields(
        request="Only a request.\n\nWith a paragraph."
    )


def test_an_answer_without_a_request_stands_first() -> None:
    assert render_fields(Fields(answer="It works.")) == "**Answer:** It works."
    assert split_fields("**Answer:** It works.") == Fields(answer="It works.")


def test_two_captures_of_one_turn_lose_nothing() -> None:
    before = Fields("Fix it.", "Looking.", ("The cause is a lock.",), ("`a`: no",), ("a.py",), "partial")
    after = Fields("", "Fixed.", (), ("`b`: no",), ("a.py", "b.py"))
    assert join_fields(before, after) == Fields(
        "Fix it.", "Looking.\n\nFixed.", ("The cause is a lock.",), ("`a`: no", "`b`: no"), ("a.py", "b.py")
    )
    assert join_fields(before, before) == before


def test_an_entry_with_code_is_read_again_as_it_was() -> None:
    code = "```md\n## Heading\n\n- [14:03:22] **Decision**: no entry ^1ksd9q2x0m3v8t5w7zab\n```"
    entry = Entry("1ksd9q2x0m3v8t5w7zab", "14:03:22", "Exchange", render_fields(Fields("Show it.", code)))
    assert [found.entry for found in find_entries(render_entry(entry))] == [entry]


def test_a_merge_may_have_put_parts_into_another_order():
    parts = ("Fix it.", "**Answer:** Fixed.", "**Files:** a.py", "**Error:** `make` failed", "**Files:** b.py, a.py")
    text = "\n\n".join((*parts, "**Said:** why"))
    assert split_fields(text) == Fields(
        request="Fix it.", answer="Fixed.", said=("why",), errors=("`make` failed",), files=("a.py", "b.py")
    )


AT = datetime(2026, 11, 18, 9, 12, 40, tzinfo=UTC)
DONE = Turn("s", "claude-code", "1", AT, AT, prompt="Fix the parser", answer="Fixed it.", files=("a.py",), closed=True)


@pytest.mark.parametrize(
    "command, said, failed, outcome",
    [
        ("uv run pytest -q tests", "3 passed in 0.1s", False, Outcome.SUCCESS),
        ("pytest | tail -3", "1 failed, 3 passed", False, Outcome.FAILED),
        ("pytest", "2 errors in 1s", False, Outcome.FAILED),
        ("pytest", "3 passed, 2 xfailed, 0 failed", False, Outcome.SUCCESS),
        ("go test ./...", "--- FAIL: TestX", False, Outcome.FAILED),
        ("go test ./...", "ok  	example.org/x	0.1s", False, Outcome.SUCCESS),
        ("npm run test:unit", "Tests:       1 failed, 4 total", False, Outcome.FAILED),
        ("cargo nextest run", "", True, Outcome.FAILED),
        ("cargo test", "test result: FAILED. 1 passed", False, Outcome.FAILED),
        ("make check", "", True, Outcome.FAILED),
        ("make", "", True, None),
        ("cat test_notes.md", "", False, None),
        ("pytest && ruff check .", "14 passed in 5 s\nFound 1 error.", True, None),
        ("ruff check --fix . && pytest", "Found 2 errors (2 fixed).\n118 passed in 31 s", False, Outcome.SUCCESS),
        (
            "cargo test",
            "test result: ok. 3 passed; 0 failed\ntest result: FAILED. 1 passed; 1 failed",
            True,
            Outcome.FAILED,
        ),
        ("git commit -m 'pass the test'", "", False, None),
    ],
)
def test_how_tests_ended(command, said, failed, outcome):
    assert verdict_of([Run("ls", "", failed=True), Run(command, said, failed), Run("ls", "", failed=False)]) is outcome


def test_the_last_tests_count():
    runs = [Run("pytest", "1 failed", failed=True), Run("pytest", "2 passed", failed=False)]
    assert verdict_of(runs) is Outcome.SUCCESS
    assert verdict_of(runs[::-1]) is Outcome.FAILED
    assert verdict_of([]) is None


@pytest.mark.parametrize(
    "tests, answer, changed, mended, outcome",
    [
        (None, "Done.", True, True, Outcome.SUCCESS),
        (None, "Here is why.", False, True, Outcome.SUCCESS),
        (None, "Done.", True, False, Outcome.PARTIAL),
        (Outcome.SUCCESS, "Done.", True, False, Outcome.SUCCESS),
        (Outcome.FAILED, "Done.", True, True, Outcome.PARTIAL),
        (Outcome.FAILED, "Done.", False, True, Outcome.FAILED),
        (None, "", True, True, Outcome.SUCCESS),  # the person typed again
        (None, "", True, False, Outcome.PARTIAL),
        (None, "", False, True, Outcome.INTERRUPTED),
        (None, "I couldn't reproduce it.", False, True, Outcome.FAILED),
        (None, "The release failed at the upload of the wheel.", False, True, Outcome.FAILED),
        (None, "Bumped the version. The deployment was rejected.", True, True, Outcome.PARTIAL),
        (Outcome.SUCCESS, "The refund test still fails on Mondays.", True, True, Outcome.PARTIAL),
        (None, "끝까지 돌리지 못했고 해결하지 못했습니다.", True, True, Outcome.PARTIAL),
    ],
)
def test_how_an_exchange_ended(tests, answer, changed, mended, outcome):
    assert outcome_of(tests, answer, changed=changed, mended=mended) is outcome


@pytest.mark.parametrize("text", ["1 " * 50_000, "pytest " * 20_000, "still " * 40_000, "9" * 100_000 + " failed"])
def test_hostile_output_is_no_failure(text):
    assert verdict_of([Run("pytest", text, failed=False)]) is Outcome.SUCCESS
    assert outcome_of(None, text, changed=True, mended=True) is Outcome.SUCCESS


@pytest.mark.parametrize(
    "said, outcome",
    [
        ("", Outcome.SUCCESS),
        ("그거 아니야, 로그인 쪽이야", Outcome.FAILED),
        ("여전히 안 돼", Outcome.FAILED),
        ("still broken", Outcome.FAILED),
        ("Thanks, but it still fails", Outcome.FAILED),
        ("that doesn't work", Outcome.FAILED),
        ("No, not what I asked for", Outcome.FAILED),
        ("Fix the  parser", Outcome.FAILED),  # the same request again
        ("but what about tabs?", Outcome.PARTIAL),
        ("hmm, are you sure?", Outcome.PARTIAL),
        ("lint failing", Outcome.PARTIAL),
        ("perfect", Outcome.SUCCESS),
        ("thanks, works", Outcome.SUCCESS),
        ("고마워, 잘 되네", Outcome.SUCCESS),
        ("Now add a button; not all of it works alone.", Outcome.SUCCESS),
        ("Notify people when a job fails", Outcome.SUCCESS),
    ],
)
def test_what_the_person_says_next_counts(said, outcome):
    assert judge_outcome(DONE, said) is outcome


def test_thanks_count_more_than_an_error_on_the_way():
    failure = Failure(AT, "Bash", "t", "make", "make: error: it broke")
    turn = DONE._replace(failures=(failure,), runs=(Run("make", "error", failed=True),))
    assert judge_outcome(turn) is Outcome.PARTIAL
    assert judge_outcome(turn, "Great, thanks!") is Outcome.SUCCESS
    assert judge_outcome(turn, "Next: write the docs. Then say thank you to the people who reported it.") is (
        Outcome.PARTIAL
    )


def test_a_call_that_the_host_refused_is_no_error_of_the_turn():
    refused = Failure(AT, "Edit", "t", "a.py", "<tool_use_error>File has not been read yet")
    assert judge_outcome(DONE._replace(failures=(refused,))) is Outcome.SUCCESS


def test_an_error_of_a_command_that_the_answer_gave_is_its_failure():
    advice = DONE._replace(answer="Run `brew tap local/test ~/tap` and install it.", files=())
    told = "brew tap local/test ~/tap\nError: remote mismatch"
    assert judge_outcome(advice, told) is Outcome.FAILED
    assert judge_outcome(advice, "pip install x\nError: no such package") is Outcome.SUCCESS


def test_a_release_that_failed_is_no_success():
    tests = Run("pytest -q", "12 passed", failed=False)
    assert verdict_of([tests, Run("npm publish", "403 Forbidden", failed=True)]) is Outcome.FAILED
    assert verdict_of([Run("npm publish", "403", failed=True), Run("npm publish", "+ a@1", failed=False)]) is None
    assert verdict_of([tests, Run("git push", "", failed=False)]) is Outcome.SUCCESS
    assert verdict_of([Run("ls", "", failed=True)]) is None


def test_a_turn_that_was_broken_off_neither_succeeded_nor_failed():
    for tests, answer in ((None, ""), (None, "Let me look."), (Outcome.FAILED, ""), (Outcome.SUCCESS, "")):
        ended = outcome_of(tests, answer, changed=True, mended=True, interrupted=True)
        assert ended is Outcome.INTERRUPTED
    broken = DONE._replace(answer="I read the settings now.", interrupted=True)
    assert judge_outcome(broken, broken.prompt) is Outcome.INTERRUPTED, "asked again after no answer"
    assert judge_outcome(broken, "no, that's wrong") is Outcome.FAILED, "the person says so"


# Sentences of an answer that are worth keeping


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

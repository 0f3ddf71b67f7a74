from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitmem.model.session.outcome import Outcome, judge_outcome, outcome_of, verdict_of
from gitmem.model.session.turns import Failure, Run, Turn

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

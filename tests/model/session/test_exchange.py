from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.document.document import Document
from gitmem.model.entry.entry import find_entries, render_entry
from gitmem.model.session.exchange import (
    SCHEMA,
    Exchange,
    Outcome,
    details_without,
    is_raw,
    new_session,
    outcome_of,
    parse,
    parts_of_turn,
    render,
    reworded,
    took_the_place,
    verdict_of,
)
from gitmem.model.session.turns import Run

ONE = Exchange(
    id="01m7pz3j001yabjbsh1e",
    time="2026-11-18 09:16:48",
    tags=("5f0c2a7e",),
    summary="Passwords are hashed with argon2id now (tests pass).",
    asked="Which hash should we use?",
    details="bcrypt cuts passwords at 72 bytes. Old hashes are renewed at login.",
    files=("src/auth/login.py", "pyproject.toml"),
    failed=("Failed: `pytest`: ModuleNotFoundError → worked after: `uv add argon2-cffi`",),
    keywords=("argon2id", "bcrypt", "passwords"),
    outcome=Outcome.PARTIAL,
)
KOREAN = ONE._replace(
    summary="비밀번호 해시를 바꿨습니다.",
    asked="해시를 바꿔줘",
    details="이전 해시는 로그인할 때 갱신됩니다.",
    failed=(),
)


@pytest.mark.parametrize("exchange", [ONE, KOREAN, Exchange(ONE.id, ONE.time, (), "Only this.")])
def test_an_exchange_is_read_as_it_was_written(exchange):
    text = render_entry(render(exchange))
    (found,) = find_entries(text)
    assert parse(found.entry) == exchange


def test_the_labels_are_in_the_language_of_the_conversation():
    assert "Outcome: partial" in render(ONE).text
    text = render(KOREAN).text
    assert "결과: 일부" in text
    assert "키워드: argon2id" in text
    assert "Outcome" not in text


words = st.text(max_size=80).map(lambda text: " ".join(text.split()))


@given(words, words, words, st.lists(words, max_size=8), st.sampled_from(Outcome))
def test_whatever_is_in_it_an_exchange_is_one_entry(summary, asked, details, keywords, outcome):
    exchange = Exchange(ONE.id, ONE.time, ONE.tags, summary or "x", asked, details, (), (), tuple(keywords), outcome)
    (found,) = find_entries(render_entry(render(exchange)))
    assert found.entry.id == ONE.id
    assert parse(found.entry).outcome is outcome


RAW = "Fix the port.\nDone: It picks a free port.\nFiles: a.py, b.py, 3 more\nFailed: `make`: no → not fixed"


def test_what_a_turn_wrote_is_told_from_what_a_sessions_end_made_of_it():
    assert is_raw(RAW)
    assert not is_raw(render(ONE).text)
    assert parse(render(ONE)._replace(text=RAW)) is None
    asked, done, files, failed = parts_of_turn(RAW)
    assert (asked, done, files, len(failed)) == ("Fix the port.", "It picks a free port.", ("a.py", "b.py"), 1)
    assert parts_of_turn("Done: only that")[:2] == ("", "only that")
    assert parts_of_turn("한 일: 그것만\n파일: a.py")[1:3] == ("그것만", ("a.py",))


def test_what_a_person_reworded_is_not_what_the_turn_wrote():
    assert took_the_place(RAW, RAW)
    assert took_the_place(RAW.replace("no →", "nothing →"), RAW)
    assert not took_the_place(RAW.replace("free port", "free socket"), RAW)
    assert not took_the_place(render(ONE).text, RAW)


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
        (None, "", False, True, Outcome.FAILED),
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


def test_the_beginning_of_a_sessions_file_is_the_same_on_every_machine():
    started = datetime(2026, 11, 18, 9, 12, 40, tzinfo=UTC)
    data = new_session("s: #1", "claude-code", "s-1-abc", started)
    assert data == new_session("s: #1", "claude-code", "s-1-abc", started.astimezone())
    document = Document.parse(data)
    assert document.problem is None
    assert document.get("session") == "s: #1"
    assert document.get("id") == "session-20261118-091240-s-1-abc"
    assert document.get("kind") == "session"


def test_a_model_may_say_it_in_other_words_and_nothing_else():
    said = {"summary": " Better. \n", "details": "Why.", "files": ["pyproject.toml", "/etc/passwd"], "keywords": ["a"]}
    better = reworded(ONE, {**said, "outcome": "success"})
    assert (better.summary, better.details, better.keywords) == ("Better.", "Why.", ("a",))
    assert (better.files, better.outcome) == (("pyproject.toml",), Outcome.SUCCESS)
    assert (better.id, better.asked, better.failed) == (ONE.id, ONE.asked, ONE.failed)
    assert reworded(ONE, {"summary": "  "}) is None
    odd = reworded(ONE, {"summary": "x", "files": 3, "keywords": None, "outcome": "great"})
    assert (odd.files, odd.keywords, odd.outcome) == (ONE.files, ONE.keywords, ONE.outcome)
    assert SCHEMA["required"] == ["exchanges"]


@pytest.mark.parametrize(
    "done, sentence, left",
    [
        ("All 4 are fixed: no limit; one fetch", "All 4 are fixed", "no limit; one fetch"),
        ("Here's a summary of the changes: A. Fixed B. C", "Fixed B.", "A. C"),
        ("Here's the summary: Fixed B; C; D", "Fixed B", "C; D"),
        ("A; Fixed B; C", "Fixed B", "A; C"),
        ("A; Fixed B", "Fixed B", "A"),
        ("Summary: ; A", "", "A"),
        ("변경 사항은 다음과 같습니다: 가; 나", "가", "나"),
        ("Fixed B:", "Fixed B", ""),
        ("The root: a cause. It is fixed.", "It is fixed.", "The root: a cause."),
        ("", "", ""),
    ],
)
def test_details_do_not_say_the_sentence_again(done, sentence, left):
    assert details_without(done, sentence) == left


def test_a_release_that_failed_is_no_success():
    tests = Run("pytest -q", "12 passed", failed=False)
    assert verdict_of([tests, Run("npm publish", "403 Forbidden", failed=True)]) is Outcome.FAILED
    assert verdict_of([Run("npm publish", "403", failed=True), Run("npm publish", "+ a@1", failed=False)]) is None
    assert verdict_of([tests, Run("git push", "", failed=False)]) is Outcome.SUCCESS
    assert verdict_of([Run("ls", "", failed=True)]) is None


def test_a_turn_that_the_person_interrupted_is_no_success():
    assert outcome_of(None, "", changed=True, mended=True, interrupted=True) is Outcome.PARTIAL

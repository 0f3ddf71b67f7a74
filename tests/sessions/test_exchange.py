from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.document import Document
from gitmem.document.entry import find_entries, render_entry
from gitmem.sessions.exchange import (
    Exchange,
    details_without,
    is_raw,
    new_session,
    parse,
    parts_of_turn,
    render,
    took_the_place,
)
from gitmem.sessions.outcome import Outcome

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


def test_the_beginning_of_a_sessions_file_is_the_same_on_every_machine():
    started = datetime(2026, 11, 18, 9, 12, 40, tzinfo=UTC)
    data = new_session("s: #1", "claude-code", "s-1-abc", started)
    assert data == new_session("s: #1", "claude-code", "s-1-abc", started.astimezone())
    document = Document.parse(data)
    assert document.problem is None
    assert document.get("session") == "s: #1"
    assert document.get("id") == "session-20261118-091240-s-1-abc"
    assert document.get("kind") == "session"


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

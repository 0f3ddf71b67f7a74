import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.document.entry import find_entries, render_entry
from gitmem.model.entries import LEFT_OUT, texts_between, without_middle
from gitmem.model.exchange import Exchange, is_as_captured, parse, render
from gitmem.model.outcome import Outcome

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


@pytest.mark.slow
@given(words, words, words, st.lists(words, max_size=8), st.sampled_from(Outcome))
def test_whatever_is_in_it_an_exchange_is_one_entry(summary, asked, details, keywords, outcome):
    exchange = Exchange(ONE.id, ONE.time, ONE.tags, summary or "x", asked, details, (), (), tuple(keywords), outcome)
    (found,) = find_entries(render_entry(render(exchange)))
    assert found.entry.id == ONE.id
    assert parse(found.entry).outcome is outcome


RAW = "Fix the port.\nDone: It picks a free port.\nFiles: a.py, b.py, 3 more\nFailed: `make`: no → not fixed"


def read(text: str) -> Exchange:
    exchange = parse(render(ONE)._replace(text=text))
    assert exchange is not None
    return exchange


def test_what_a_turn_wrote_is_told_from_what_a_sessions_end_made_of_it():
    raw = read(RAW)
    assert (raw.summary, raw.details, raw.files) == ("Fix the port.", "It picks a free port.", ("a.py", "b.py"))
    assert len(raw.failed) == 1
    assert (raw.raw, parse(render(ONE)).raw) == (True, False)
    assert (read("Done: only that").summary, read("Done: only that").details) == ("", "only that")
    assert (read("한 일: 그것만\n파일: a.py").details, read("한 일: 그것만\n파일: a.py").files) == ("그것만", ("a.py",))


def test_what_a_user_reworded_is_not_what_the_turn_wrote():
    assert is_as_captured(read(RAW), read(RAW))
    assert is_as_captured(read(RAW.replace("no →", "nothing →")), read(RAW))
    assert not is_as_captured(read(RAW.replace("free port", "free socket")), read(RAW))
    assert not is_as_captured(ONE, read(RAW))


# Shorter texts

SENTENCE = "This is one sentence of a long answer that goes on. "


@given(st.text(st.sampled_from("ab `|\n.#-"), max_size=3_000), st.integers(50, 500))
@settings(max_examples=100, deadline=None)
def test_any_text_stays_about_within_its_limit(text: str, limit: int) -> None:
    short = without_middle(text, limit)
    assert len(short) <= limit + len(LEFT_OUT) + 4
    assert {*short.replace(LEFT_OUT, "")} <= {*text, "\n"}


def test_what_is_said_between_tool_calls_is_kept_whole() -> None:
    texts = [
        "Let me look at the lock because it hangs.",
        "The root cause is a lock file.\n\n```py\nlock.clear()\n```",
        "Let me look at the lock because it hangs.",
        "원인은 잠금 파일이 남아 있기 때문입니다.",
        "The answer says this, too.",
    ]
    assert texts_between(texts, "Fixed. The answer\nsays this, too.", 6_000) == (texts[0], texts[1], texts[3])
    assert texts_between(["", "\n"], "", 6_000) == ()
    (long,) = texts_between([SENTENCE * 100], "", 1_000)
    assert LEFT_OUT in long

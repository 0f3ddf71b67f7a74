"""The exchanges of a finished session without a model: the request, and how the answer begins."""

from datetime import UTC, datetime

import pytest

from gitmem.model.outcome import Outcome, first_paragraph, judge_outcome
from gitmem.model.turns import Run, Turn
from gitmem.record.exchanges import exchanges_of, keywords_of, summary_of

AT = datetime(2026, 11, 21, 5, tzinfo=UTC)


def turn(key: str, prompt: str, answer: str, *runs: Run) -> Turn:
    return Turn("s-1", "h", key, AT, AT, prompt, answer, tools=1, runs=runs, closed=True)


@pytest.mark.parametrize(
    "asked, answer, files, summary",
    [
        ("Add a parser.", "It reads CRLF.\n\nIt has tests.", (), "Add a parser → It reads CRLF."),
        ("파서를 추가해줘", "", ("src/a.py",), "파서를 추가해줘 → a.py 수정"),
        ("", "# Done\n\n- It reads CRLF.\n", (), "It reads CRLF."),
        ("Add a parser", "```\ncode\n```", (), "Add a parser"),
    ],
)
def test_an_exchange_is_its_request_and_how_its_answer_begins(asked, answer, files, summary):
    assert summary_of(asked, answer, files) == summary


def test_keywords_are_the_commonest_words_of_files_and_request():
    assert keywords_of("Cache the tokens", "The tokens are cached.", ("src/tokens.py",))[0] == "tokens"


PASSED, FAILED = Run("pytest -q", "3 passed", failed=False), Run("pytest -q", "1 failed, 2 passed", failed=True)
BUILT = Run("npm run build", "ERR", failed=True)


@pytest.mark.parametrize(
    "runs, more, outcome",
    [
        ((), {}, Outcome.UNKNOWN),
        ((FAILED, PASSED), {}, Outcome.SUCCESS),
        ((PASSED, FAILED), {}, Outcome.FAILED),
        ((PASSED, BUILT), {}, Outcome.FAILED),
        ((PASSED,), {"interrupted": True}, Outcome.INTERRUPTED),
        ((), {"answer": ""}, Outcome.INTERRUPTED),
    ],
)
def test_only_a_test_or_a_build_or_an_interruption_makes_an_outcome(runs, more, outcome):
    assert judge_outcome(turn("t", "Do it", "Done.", *runs)._replace(**more)) is outcome


def test_the_next_prompt_decides_nothing(desk):
    turns = [
        turn("t-1", "Fix the login of the shop", "The login works now, with a test for it."),
        turn("t-2", "There is still a bug: logout does not work", "It works, too."),
    ]
    made = [one.exchange for one in exchanges_of(desk.store, turns)]
    assert [exchange.outcome for exchange in made] == [Outcome.UNKNOWN, Outcome.UNKNOWN]
    assert made[0].summary == "Fix the login of the shop → The login works now, with a test for it."


def test_the_first_paragraph_of_an_answer_may_be_wrapped():
    assert first_paragraph("```\nx\n```\n\nIt reads\nCRLF.\n\nMore.") == "It reads"
    assert first_paragraph("```\nx\n```") == ""

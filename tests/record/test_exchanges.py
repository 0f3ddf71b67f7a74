"""The exchanges of a finished session without a model: the request, and how the answer begins."""

from datetime import UTC, datetime

import pytest

from gitmem.model.outcome import Outcome, judge_outcome
from gitmem.model.turns import Run, Turn
from gitmem.record.exchanges import keywords_of, summary_of

AT = datetime(2026, 11, 21, 5, tzinfo=UTC)


def turn(key: str, prompt: str, answer: str, *runs: Run) -> Turn:
    return Turn("s-1", "h", key, AT, AT, prompt, answer, tools=1, runs=runs, closed=True)


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


@pytest.mark.parametrize(
    "answer, begins",
    [
        ("Done. Here's what I changed:\n\nThe list is grouped by session.", "The list is grouped by session."),
        ("You're absolutely right.\n\nThe port was wrong.\n\nIt is 8080.", "The port was wrong. It is 8080."),
        ("Two ways:\n\n- a flag\n- a file", "Two ways: a flag; a file"),
        ("네, 지금은 조용히 덮어씁니다.", "네, 지금은 조용히 덮어씁니다."),
        ("The files:\n\n```\na.py\n```", "The files: `a.py`"),
        ("네, 알겠습니다. 다음과 같습니다:\n\n- 금액은 정수입니다.", "금액은 정수입니다."),
    ],
)
def test_an_answer_begins_behind_its_courtesies_and_lead_ins(answer, begins):
    assert summary_of("Group the list", answer, ()) == f"Group the list → {begins}"


def test_an_ending_that_stands_alone_is_no_keyword():
    assert keywords_of("캐시는 메모리로 하기로 했어", "네.", ()) == ("캐시", "메모리")

from __future__ import annotations

import pytest

from gitmem.model.fact.said.reason import split_reason, with_reason


@pytest.mark.parametrize(
    "sentence, statement, why",
    [
        ("Use pnpm because the lock file is shared", "Use pnpm because the lock file is shared", ""),
        ("Use pnpm everywhere because the lock file is shared", "Use pnpm everywhere", "the lock file is shared"),
        (
            "The app must work offline, otherwise nobody can use it",
            "The app must work offline",
            "otherwise nobody can use it",
        ),
        ("Keep the old parser — we still have partners on it", "Keep the old parser", "we still have partners on it"),
        ("We have used uv since last year", "We have used uv since last year", ""),
        (
            "결제 모듈은 건드리지 마세요, 다른 팀에서 관리하니까요",
            "결제 모듈은 건드리지 마세요",
            "다른 팀에서 관리하니까요",
        ),
    ],
)
def test_a_statement_and_its_reason(sentence, statement, why):
    assert split_reason(sentence) == (statement, why)


def test_the_reason_is_a_paragraph_of_the_fact():
    assert with_reason("Use pnpm.", "It is fast.") == "Use pnpm.\n\n**Why:** It is fast."
    assert with_reason("Use pnpm.", "") == "Use pnpm."

from __future__ import annotations

import pytest

from gitmem.model.fact.said.picks import is_pick, options_of, picks_of

OPTIONS = """There are three ways:

1. **Keep the counter in Redis** and expire it daily
2. Count in the database, one row a day
3. Drop the counter entirely

Which should I do?
"""
NAMED = """**Option A**: a queue in Postgres with advisory locks
**Option B**: a broker of its own, such as RabbitMQ

Which one do you prefer?
"""
TABLE = """Which of these should I address?

| # | Where | Issue |
|---|---|---|
| 1 | a.py:3 | The doc comment does not match the code |
| 2 | b.py:9 | The loop has quadratic cost in the number of rows |
"""


@pytest.mark.parametrize(
    "prompt, numbers",
    [
        ("option 3", [3]),
        ("let's do 1", [1]),
        ("yeah 2 and 3", [2, 3]),
        ("2번으로", [2]),
        ("2번으로 하자", [2]),
        ("1번이랑 3번으로 진행해줘", [1, 3]),
        ("go with #2 please", [2]),
        ("I prefer the second option", [2]),
        ("두 번째로 가자", [2]),
        ("2, 3", [2, 3]),
        ("let's do 2. Count in the database, one row a day", [2]),
        ("1. lint fails\n2. merge main", []),
        ("2 tests fail now", []),
        ("why not option 2?", []),
        ("can you do a review in 3 days", []),
        ("option 7", []),
    ],
)
def test_a_pick_is_resolved_against_the_options_before(prompt, numbers):
    texts = {
        1: "Keep the counter in Redis and expire it daily",
        2: "Count in the database, one row a day",
        3: "Drop the counter entirely",
    }
    assert [one.text for one in picks_of(prompt, OPTIONS)] == [
        texts[number] if number != 3 else "Which should I do? Drop the counter entirely" for number in numbers
    ] or [one.text for one in picks_of(prompt, OPTIONS)] == [texts[number] for number in numbers]


def test_a_pick_by_letter_and_its_reason():
    (one,) = picks_of("option b, because we need fan-out", NAMED)
    assert (one.text, one.why) == ("a broker of its own, such as RabbitMQ", "we need fan-out")


def test_what_is_left_out_was_decided_too():
    (one,) = picks_of("skip 2 and do the rest", TABLE)
    assert one.text == "Decided to leave out: The loop has quadratic cost in the number of rows"


def test_a_short_option_is_told_with_its_question():
    answer = "Which database should the ledger use?\n1. Postgres\n2. MySQL\n"
    assert [one.text for one in picks_of("1", answer)] == ["Which database should the ledger use? Postgres"]


def test_no_options_no_pick():
    assert picks_of("option 2", "") == []
    assert picks_of("let's do 1", "I fixed it.\n1. Built\n2. Tested\n") == []
    assert options_of("1. only one") == {}


def test_options_that_are_offered_in_korean_without_a_question():
    answer = "다음 중에서 고르실 수 있습니다:\n1. SQLite: 설정이 필요 없습니다.\n2. PostgreSQL: 동시 쓰기가 좋습니다.\n"
    assert [one.text for one in picks_of("2번으로 하자", answer)] == ["PostgreSQL: 동시 쓰기가 좋습니다."]


@pytest.mark.parametrize(
    "said, pick", [("2번으로 하자", True), ("let's do 1", True), ("3번은 빼자", True), ("PostgreSQL로 하자", False)]
)
def test_a_pick_is_known_without_its_options(said, pick):
    assert is_pick(said) is pick

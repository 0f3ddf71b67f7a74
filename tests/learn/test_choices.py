"""What a person chooses among options; each row of the cues for it has an example, and a text that looks alike."""

import pytest

from gitmem.learn.choices import _left_of, has_subject, picks_of
from gitmem.text.words import phrases
from tests.cues import of_kind


def picked(said: str, answer: str, request: str = "Go.") -> list[str]:
    return [one.text for one in picks_of(said, answer, request)]


def test_a_choice_is_told_with_its_question():
    asked = "Where should visits be counted?\n\n1. In a counter in Redis\n2. In the database\n"
    [said] = picks_of("option 1, because it is one line", asked)
    assert (said.text, said.why) == ("Where should visits be counted? In a counter in Redis", "it is one line")
    assert picked("the second one, please", asked) == ["Where should visits be counted? In the database"]
    named = "Should sessions live in Redis or in Postgres?"
    assert picked("Postgres, please", named) == ["Should sessions live in Redis or in Postgres? Postgres"]
    assert picked("2", "Which one do you prefer?\n\n1. The first thing\n2. The other\n") == []


@pytest.mark.parametrize(
    "request_before, answer, said, text",
    [
        (
            "Go.",
            "As written, they vanish. Ways to count visits of a page:\n\n1. A counter\n2. A table\n",
            "2. counters lie",
            "Ways to count visits of a page \u2192 A table",
        ),
        (
            "We lose visits of bots. What can we do?",
            "They vanish. Two ways:\n\n1. A counter\n2. A table\n",
            "2",
            "We lose visits of bots. What can we do? \u2192 A table",
        ),
        (
            "방문 수를 어디에 세면 좋을까",
            "두 가지가 있습니다.\n\n1. 카운터\n2. 테이블\n",
            "2번",
            "방문 수를 어디에 세면 좋을까 \u2192 테이블",
        ),
        (
            "Do 1 from last time.",
            "Done: `visits` is a table now. It is slow, though. Two ways:\n\n1. An index\n2. A cache\n",
            "1",
            "Done: `visits` is a table now \u2192 An index",
        ),
        (
            "Good. And count the visits of each page.",
            "A counter is empty after a restart. Two ways:\n\n1. A table\n2. A file\n",
            "1",
            "count the visits of each page (A counter is empty after a restart) \u2192 A table",
        ),
        (
            "Store visits of bots, too.",
            "Three ways:\n\n1. A flag\n2. A table\n\nBots by name, or by network?",
            "1",
            "Store visits of bots, too \u2192 A flag",
        ),
    ],
)
def test_a_choice_from_a_list_is_told_with_what_it_settles(request_before, answer, said, text):
    assert picked(said, answer, request_before) == [text]


@pytest.mark.parametrize("said", ["2 for now", "일단 2번", "1"])
def test_what_is_picked_for_now_or_somebody_does_next_is_no_fact(said):
    answer = "The upload needs a token. Two ways:\n\n1. You log in, and I try again\n2. A token in the environment\n"
    assert picked(said, answer, "Upload the package.") == []
    assert picked("2", answer, "Upload the package.") != []
    assert picked("2", answer.replace("Two ways", "Quick wins"), "Upload the package.") == []


@of_kind("pick ordinal")
def test_a_pick_says_nothing_but_its_option(language, row):
    left = [_left_of(text) for text in (row.example, row.counter)]
    is_key = [one.isdigit() or bool(phrases("ordinal").fullmatch(one)) for one in left]
    assert is_key == [True, False]


@of_kind("or")
def test_two_sides_of_a_question(language, row):
    assert [len(phrases("or").split(text)) for text in (row.example, row.counter)] == [2, 1]


@of_kind("hollow")
def test_a_question_that_names_no_subject(language, row):
    assert [has_subject(text) for text in (row.example, row.counter)] == [False, True]


@of_kind("errand offer")
def test_what_somebody_does_next_and_what_is_left_to_choose(language, row):
    assert [bool(phrases(row.kind).search(text)) for text in (row.example, row.counter)] == [True, False]


def test_a_question_that_speaks_of_something_before_it_names_no_subject():
    assert picked("a migration of ours", "It needs a schema. Its own tables, or a migration of ours?") == []

"""Numbers that are spelled out are read as digits, and words that only look like numbers are not."""

import pytest

from gitmem.text.numbers import numbers_of


@pytest.mark.parametrize(
    "text, number",
    [
        ("한 묶음에 오십 개씩 담는다", "50"),
        ("기록은 일곱 년간 남긴다", "7"),
        ("정원은 이백삼십 명까지다", "230"),
        ("스물네 시간마다 비운다", "24"),
        ("천오백 건을 넘으면 나눈다", "1500"),
        ("제목은 스무 글자 미만", "20"),
        ("삼 년 뒤에 지운다", "3"),
        ("번호는 네 자리로", "4"),
    ],
)
def test_korean_numbers_before_a_counter(text, number):
    assert numbers_of(text) == {number}


@pytest.mark.parametrize(
    "text",
    [
        "이 줄을 고친다",
        "할 일이 개인마다 다르다",
        "네 명령을 따른다",
        "이천 시청에 보낸다",
        "천천히 번역한다",
        "사 주세요",
    ],
)
def test_no_number_in_other_words(text):
    assert numbers_of(text) == frozenset()

from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.keywords import keywords


def stems(text):
    return [stem for stem, _ in keywords(text)]


def test_forms_of_a_word_are_one_keyword():
    assert len(set(stems("rotation rotated rotations rotating"))) == 1
    assert len(set(stems("archive archives archived archiving"))) == 1
    assert len(set(stems("잠금을 잠금은 잠금이 잠금에서 잠금으로 잠금"))) == 1
    assert len(set(stems("배포했습니다 배포하기로 배포를 배포한다"))) == 1


def test_identifiers_and_file_names_are_one_word():
    text = "memory.rotate in gitmem/text/keywords.py uses fast-import and snake_case"
    assert [word for _, word in keywords(text)] == [
        "memory.rotate",
        "gitmem/text/keywords.py",
        "fast-import",
        "snake_case",
    ]


def test_what_carries_no_topic_is_left_out():
    assert stems("I will now check whether this was done, and then run the tests.") == []
    assert stems("그리고 이것을 다시 확인했습니다. 이제 파일을 수정합니다.") == []
    assert stems("c2b0273ab 36ff9a9 12345 " + "x" * 100) == []


def test_other_scripts_have_keywords():
    assert stems("認証トークンの実行") == ["認証", "トークン", "実行"]
    assert stems("кэш naïve") == ["кэш", "naïve"]


@given(st.text(max_size=200))
def test_any_text_has_keywords_or_none(text):
    assert all(stem and word and " " not in stem for stem, word in keywords(text))

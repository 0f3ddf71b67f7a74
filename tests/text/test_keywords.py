from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.keywords import keywords


def stems(text):
    return [stem for stem, _ in keywords(text)]


def test_forms_of_a_word_are_one_keyword():
    assert len(set(stems("rotation rotated rotations rotating"))) == 1
    assert len(set(stems("setting settings"))) == 1
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


def test_names_of_two_letters_are_keywords():
    assert stems("We use uv as it is, and so do CI jobs.") == ["uv", "ci", "job"]


def test_words_about_the_telling_are_no_keywords():
    assert stems("The branch already exists, e.g. for a session; i.e. it was not removed yet.") == ["branch", "session"]
    assert stems("Thanks! Please thank the reviewers.") == ["reviewer"]


def test_a_counter_is_no_keyword():
    assert stems("연결을 5회로 제한, 3단계에서 회로를 끈다") == ["연결", "제한", "회로", "끈다"]


def test_a_particle_behind_code_is_no_keyword():
    assert stems("`config.yaml`에서 API를 끈다") == ["config.yaml", "api", "끈다"]


def test_words_that_end_like_another_keep_their_end():
    assert stems("string station 로그인 파이프라인을") == ["string", "station", "로그인", "파이프라인"]


def test_what_carries_no_topic_is_left_out():
    assert stems("I will now check whether this was done, and then run the tests.") == []
    assert stems("그리고 이것을 다시 확인했습니다. 이제 파일을 수정합니다.") == []
    assert stems("c2b0273ab 36ff9a9 12345 " + "x" * 100) == []


def test_the_mark_of_a_secret_is_no_keyword():
    assert stems("Use [REDACTED:anthropic-key] for zebras.") == ["zebra"]


def test_other_scripts_have_keywords():
    assert stems("認証トークンの実行") == ["認証", "トークン", "実行"]
    assert stems("кэш naïve") == ["кэш", "naïve"]


@given(st.text(max_size=200))
def test_any_text_has_keywords_or_none(text):
    assert all(stem and word and " " not in stem for stem, word in keywords(text))

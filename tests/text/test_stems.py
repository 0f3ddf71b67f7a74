import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.text.stems import estimate_tokens, hangul_stem, keywords, literal_of, root, stem, tokens_of_size, utf8_size


@pytest.mark.parametrize(
    "forms",
    [
        *("paint paints painted painting", "story stories", "make makes making", "plan plans planned planning"),
        "class classes",
    ],
)
def test_forms_of_a_word_share_a_stem(forms):
    assert len({stem(form) for form in forms.split()}) == 1


@given(st.text(alphabet="abdegilnorsty", min_size=1, max_size=14))
def test_what_is_looked_for_is_the_beginning_of_the_word(word):
    literal = root(literal_of(word, stem(word)))

    assert literal
    assert word.startswith(literal)


@pytest.mark.parametrize(
    "word, base",
    [
        ("임종석이", "임종석"),
        ("학교에서는", "학교"),
        ("지명수배되었던", "지명수배"),
        ("사람들에게", "사람"),
        ("책을", "책을"),
        ("시위를", "시위"),
        ("잠금으로", "잠금"),
        ("파이프라인을", "파이프라인"),
    ],
)
def test_particles_and_endings_are_taken_off(word, base):
    assert hangul_stem(word) == base


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("Hello World", 3),
        ("가나다라마바사아자차", 8),
        ("🧠", 1),
        ("\udcff", 1),
    ],
)
def test_four_bytes_of_utf8_are_a_token(text, tokens):
    assert estimate_tokens(text) == tokens


def test_a_file_of_100_kb_is_about_25_000_tokens():
    assert tokens_of_size(100_000) == 25_000
    assert tokens_of_size(100 * 1024) == 25_600


@given(st.integers(0, 2**40))
def test_a_part_of_a_token_is_a_token(size):
    assert 4 * tokens_of_size(size) - 4 < size <= 4 * tokens_of_size(size)


@given(st.binary())
def test_bytes_that_are_no_utf8_count_as_in_the_file(data):
    text = data.decode("utf-8", "surrogateescape")
    assert utf8_size(text) == len(data)
    assert estimate_tokens(text) == tokens_of_size(len(data))


@given(st.text(st.characters(exclude_categories=())))
@example("\ud800")
def test_no_text_is_refused(text):
    assert estimate_tokens(text) >= len(text) / 4


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

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


@pytest.mark.parametrize(
    "forms",
    [
        *("rotation rotated rotations rotating", "setting settings", "archive archives archived archiving"),
        *("잠금을 잠금은 잠금이 잠금에서 잠금으로 잠금", "배포했습니다 배포하기로 배포를 배포한다"),
    ],
)
def test_forms_of_a_word_are_one_keyword(forms):
    assert len(set(stems(forms))) == 1


KEYWORDS = {
    "identifiers and file names": (
        "memory.rotate in gitmem/text/keywords.py uses fast-import and snake_case",
        "memory.rotate gitmem/text/keywords.py fast-import snake_case",
    ),
    "names of two letters": ("We use uv as it is, and so do CI jobs.", "uv ci job"),
    "words about the telling": (
        "The branch already exists, e.g. for a session; i.e. it was not removed yet.",
        "branch session",
    ),
    "a counter": ("연결을 5회로 제한, 3단계에서 회로를 끈다", "연결 제한 회로 끈다"),
    "a particle behind code": ("`config.yaml`에서 API를 끈다", "config.yaml api 끈다"),
    "ends like those of others": ("string station 로그인 파이프라인을", "string station 로그인 파이프라인"),
    "no topic": ("I will now check whether this was done, and then run the tests. c2b0273ab 36ff9a9 12345", ""),
    "no topic in Korean": (f"그리고 이것을 다시 확인했습니다. 이제 파일을 수정합니다. {'x' * 100}", ""),
    "the mark of a secret": ("Use [REDACTED:anthropic-key] for zebras.", "zebra"),
    "other scripts": ("認証トークンの実行 кэш naïve", "認証 トークン 実行 кэш naïve"),
}


@pytest.mark.parametrize("text, words", KEYWORDS.values(), ids=KEYWORDS)
def test_keywords_are_the_stems_of_words_with_a_topic(text, words):
    assert stems(text) == words.split()


@given(st.text(max_size=200))
def test_any_text_has_keywords_or_none(text):
    assert all(stem and word and " " not in stem for stem, word in keywords(text))

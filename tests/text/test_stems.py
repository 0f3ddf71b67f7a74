import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.text.stems import estimate_tokens, hangul_stem, literal_of, root, stem, tokens_of_size, utf8_size


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

"""How words are brought into a form that can be looked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.search.query.query import PREFIX, parse_query
from gitmem.search.query.words import hangul_stem, literal_of, root, stem


@pytest.mark.parametrize(
    "forms",
    [
        "paint paints painted painting",
        "story stories",
        "make makes making",
        "plan plans planned planning",
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
    ],
)
def test_particles_and_endings_are_taken_off(word, base):
    assert hangul_stem(word) == base


def test_irregular_forms_are_looked_for_too():
    (term,) = parse_query("bought").terms

    assert {needle.text for needle in term.needles} == {"bought", "buy"}
    assert term.needles[0].mode == PREFIX


def test_a_query_of_question_words_keeps_what_it_is_about():
    assert [term.needles[0].text for term in parse_query("지금은 누구의 시위인가?").terms] == ["시위"]
    assert [term.needles[0].text for term in parse_query("What was it about the cache?").terms] == ["cach"]

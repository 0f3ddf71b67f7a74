from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.stems import hangul_stem, literal_of, root, stem


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
        ("잠금으로", "잠금"),
        ("파이프라인을", "파이프라인"),
    ],
)
def test_particles_and_endings_are_taken_off(word, base):
    assert hangul_stem(word) == base

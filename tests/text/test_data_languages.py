import re

import pytest

from gitmem.text.data import form, languages, rows


@pytest.mark.parametrize(
    "phrase, found, not_found",
    [
        ("from now on", "use uv from  now on.", "from nowon"),
        ("^always", "Always use uv", "use always uv"),
        ("this $", "do this.", "this one"),
        ("we moved * from", "we moved the queue from Redis", "we moved from"),
        ("~기로 했", "쓰기로 했어", "쓰기로 해"),
        ("앞으로", "앞으로 써줘", "눈앞으로"),
    ],
)
def test_a_phrase_is_plain_words(phrase, found, not_found):
    pattern = re.compile(form(phrase), re.IGNORECASE)
    assert pattern.search(found)
    assert not pattern.search(not_found)


def test_a_language_without_a_list_has_no_rows():
    assert rows(languages()[0], "no-such-list") == ()


@pytest.mark.parametrize("language", languages())
def test_steps_grow_with_the_length_of_a_text(grows_linearly, language):
    forms = [re.compile(form(phrase), re.IGNORECASE) for row in rows(language, "cues") for phrase in row.phrases]
    pieces = [" ".join(phrase.strip("^$ ").replace("*", "a").split()[:-1]) + " " for phrase in ("we moved * from",)]

    def read(text: str) -> object:
        return [one.search(text) for one in forms]

    grows_linearly(read, lambda size: pieces[0] * (size // len(pieces[0])))

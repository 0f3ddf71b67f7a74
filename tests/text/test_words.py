"""Stems, keywords and tokens; and each row of a data file says by an example and a counter-example what it means."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.command import has_effect, works_now
from gitmem.platform.machine import table
from gitmem.text.words import (
    estimate_tokens,
    files_of,
    form,
    hangul_stem,
    keywords,
    literal_of,
    matcher,
    root,
    stem,
    tokens_of_size,
    utf8_size,
)

FORMS = [
    (path, row)
    for name in ("answers.tsv", "comparing.tsv", "outcomes.tsv", "persons.tsv", "tasks.tsv")
    for path in files_of(name)
    for row in table(path)
]


@pytest.mark.parametrize("path, row", FORMS, ids=lambda one: one if isinstance(one, str) else one[2])
def test_a_form_is_found_in_its_saidalone(path, row):
    kind, form, example, other = row
    assert re.search(form, example, re.IGNORECASE)
    assert not re.search(form, other, re.IGNORECASE)
    assert matcher(path.partition("/")[2], kind).search(example)


@pytest.mark.parametrize("row", table("wrappers.tsv"), ids=lambda row: row[1])
def test_a_wrapper_leaves_a_command_what_it_is(row):
    _, words, example, other = row
    inner = example.replace(words, "").split()[-1].strip("'\"")
    known = [one for one in ("make test", inner) if works_now(one, example)]
    assert known
    assert not any(works_now(one, other) for one in known)


@pytest.mark.parametrize("row", table("effects.tsv"), ids=lambda row: row[1])
def test_a_command_has_an_effect_on_others(row):
    assert has_effect(row[2])
    assert not has_effect(row[3])


@pytest.mark.parametrize("name", ["errors.tsv", "commands.tsv"])
def test_a_form_of_an_error_or_a_command_is_found_in_its_saidalone(name):
    for _, pattern, said, other in table(name):
        assert re.search(pattern, said, re.MULTILINE), pattern
        assert not re.search(pattern, other, re.MULTILINE), pattern


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
        ("a\ud800", 1),
    ],
)
def test_four_bytes_of_utf8_are_a_token(text, tokens):
    assert estimate_tokens(text) == tokens


@given(st.binary())
def test_bytes_that_are_no_utf8_count_as_in_the_file(data):
    text = data.decode("utf-8", "surrogateescape")
    assert utf8_size(text) == len(data)
    assert estimate_tokens(text) == tokens_of_size(len(data))


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

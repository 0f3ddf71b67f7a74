"""Each row of a data file says by an example and a counter-example what it means."""

import re

import pytest

from gitmem.sessions.outcome import has_effect, works_now
from gitmem.text.data import files_of, form, languages, matcher, rows, table

FORMS = [
    (path, row)
    for name in ("answers.tsv", "comparing.tsv", "outcomes.tsv", "persons.tsv", "tasks.tsv")
    for path in files_of(name)
    for row in table(path)
]


@pytest.mark.parametrize("path, row", FORMS, ids=lambda one: one if isinstance(one, str) else one[2])
def test_a_form_is_found_in_its_example_alone(path, row):
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


@pytest.mark.parametrize("row", table("errors.tsv"), ids=lambda row: row[2])
def test_a_form_of_an_error_is_found_in_its_example_alone(row):
    _, form, example, other = row
    assert re.search(form, example)
    assert not re.search(form, other)


@pytest.mark.parametrize("row", table("commands.tsv"), ids=lambda row: row[2])
def test_a_form_of_a_command_is_found_in_its_example_alone(row):
    _, form, example, other = row
    assert re.search(form, example, re.MULTILINE)
    assert not re.search(form, other, re.MULTILINE)


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


@pytest.mark.parametrize("language", languages())
def test_steps_grow_with_the_length_of_a_text(grows_linearly, language):
    forms = [re.compile(form(phrase), re.IGNORECASE) for row in rows(language) for phrase in row.phrases]
    pieces = [" ".join(phrase.strip("^$ ").replace("*", "a").split()[:-1]) + " " for phrase in ("we moved * from",)]

    def read(text: str) -> object:
        return [one.search(text) for one in forms]

    grows_linearly(read, lambda size: pieces[0] * (size // len(pieces[0])))

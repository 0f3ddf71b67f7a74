"""Each row of the cues has an example, and a text that looks alike and is none."""

from __future__ import annotations

import pytest

from gitmem.facts.statements import _left_of, has_subject, statements_of, without_opening
from gitmem.text.data import languages, phrases, rows

EVERY = [(language, row) for language in languages() for row in rows(language)]


def of_kind(kinds: str):
    wanted = kinds.split()
    chosen = [one for one in EVERY if one[1].kind in wanted]
    return pytest.mark.parametrize("language, row", chosen, ids=[row.phrases[0] for _, row in chosen])


@of_kind("preference decision rule label")
def test_a_statement_has_its_kind(language, row):
    kind = "rule" if row.kind == "label" else row.kind
    assert [one.kind.value for one in statements_of(row.example)] == [kind]
    assert statements_of(row.counter) == []


@of_kind("leave points back")
def test_what_makes_a_statement_none(language, row):
    assert statements_of(row.example) == []
    assert len(statements_of(row.counter)) == 1
    assert phrases(row.kind, language).search(without_opening(row.example))


@of_kind("opening")
def test_an_opening_is_left_out(language, row):
    assert without_opening(row.example) != row.example
    assert without_opening(row.counter) == row.counter


@of_kind("lead")
def test_where_a_rule_holds_stays_with_it(language, row):
    assert [one.text for one in statements_of(row.example)] == [row.example.rstrip(".")]
    assert [one.text for one in statements_of(row.counter)] == [row.counter.rstrip(".").partition(", ")[2]]


@of_kind("why")
def test_a_reason_is_parted_from_what_it_is_for(language, row):
    assert [bool(one.why) for text in (row.example, row.counter) for one in statements_of(text)] == [True, False]


@of_kind("pick ordinal")
def test_a_pick_says_nothing_but_its_option(language, row):
    left = [_left_of(text) for text in (row.example, row.counter)]
    is_key = [one.isdigit() or bool(phrases("ordinal").fullmatch(one)) for one in left]
    assert is_key == [True, False]


@of_kind("or")
def test_two_sides_of_a_question(language, row):
    assert [len(phrases("or").split(text)) for text in (row.example, row.counter)] == [2, 1]


@of_kind("hollow")
def test_a_question_that_names_no_subject(language, row):
    assert [has_subject(text) for text in (row.example, row.counter)] == [False, True]


def test_each_kind_of_row_is_tested():
    tested = "preference decision rule label leave points back opening lead why pick ordinal or hollow"
    assert {row.kind for _, row in EVERY} == {*tested.split()}


def test_a_third_language_needs_a_folder_alone():
    assert "de" in languages()
    [said] = statements_of("Repariere den Parser; ab jetzt niemals auf den Hauptzweig pushen.")
    assert said.text == "ab jetzt niemals auf den Hauptzweig pushen"

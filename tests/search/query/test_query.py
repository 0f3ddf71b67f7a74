"""Which needles a query makes of its words."""

from __future__ import annotations

from gitmem.search.query.query import PREFIX, parse_query


def test_irregular_forms_are_looked_for_too():
    (term,) = parse_query("bought").terms

    assert {needle.text for needle in term.needles} == {"bought", "buy"}
    assert term.needles[0].mode == PREFIX


def test_a_query_of_question_words_keeps_what_it_is_about():
    assert [term.needles[0].text for term in parse_query("지금은 누구의 시위인가?").terms] == ["시위"]
    assert [term.needles[0].text for term in parse_query("What was it about the cache?").terms] == ["cach"]

"""Which needles a query makes of its words."""

from gitmem.search.query import PREFIX, parse_query


def test_irregular_forms_are_looked_for_too():
    (term,) = parse_query("bought").terms

    assert {needle.text for needle in term.needles} == {"bought", "buy"}
    assert term.needles[0].mode == PREFIX


def test_a_query_of_question_words_keeps_what_it_is_about():
    assert [term.needles[0].text for term in parse_query("지금은 누구의 시위인가?").terms] == ["시위"]
    assert [term.needles[0].text for term in parse_query("What was it about the cell?").terms] == ["cell"]


def test_words_of_one_meaning_stand_for_each_other():
    def aside(text):
        return {needle.text for term in parse_query(text).terms if term.is_expansion for needle in term.needles}

    assert "lint" in aside("linter")
    assert "커밋" in aside("commits")
    assert "commit" in aside("커밋은")
    assert aside("eslint") == set()
    assert "lint" not in {needle.text for term in parse_query("linter -commit").without for needle in term.needles}
    assert parse_query("commit 커밋").terms[-1].is_expansion is False

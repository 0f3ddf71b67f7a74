"""Whatever is asked, an answer comes, soon."""

import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.search.query import MAX_TERMS, fold, parse_query
from gitmem.search.snippet import LENGTH, snippet
from gitmem.search.units import Units

TEXT = """\
# Title

Use uv, not pnpm (a.c) [x] {1,2} $HOME ^top \\d+ 한국어 텍스트 東京 ไทย

- [2026-11-21 10:00:00] **Note**: x ^a
"""
ODD = [
    *("", " ", "\0", "(", "[a-", "a{99999999}", "(?i)x(?=y)", "\\", "\\E\\Q", "*" * 50, ".*.*.*", "^$", '"', '""'),
    *('"unclosed', "-", "--", '-""', "- [", "path:", "type:", "path:[", "path:../..", "tag:#", "\ud800", "a\udfffb"),
    *(
        "\ufeff\u200b\u202e",
        "\r\n\t",
        "e\u0301",
        "\u0345",
        "İstanbul ß ſ ŉ ΐ",
        "🎉👩‍👩‍👧‍👦",
        "!?,.;:",
        "한",
        "는 은 이",
    ),
    *("ㅋㅋㅋ", "ガ" * 300, "get_user_name getUserName HTTPServer2Go"),
]


@pytest.mark.parametrize("query", ODD)
def test_odd_queries_are_answered(shelf, query):
    shelf.write("knowledge/a.md", TEXT)

    assert all((shelf.root / path).is_file() for path in shelf.paths(query))


@pytest.mark.parametrize(
    "query", ["x" * 100_000, "word " * 20_000, "( " * 50_000, "가나다 " * 25_000, '"' * 100_000, "🎉" * 25_000]
)
def test_long_queries_are_answered_by_a_bounded_number_of_terms(shelf, query):
    shelf.write("knowledge/a.md", TEXT * 50)

    shelf.search(query)

    assert len(parse_query(query).terms) <= 2 * MAX_TERMS


def test_letters_of_every_block_are_found_as_they_stand(shelf):
    letters = {}
    for code in range(0xA1, sys.maxunicode, 61):
        character = chr(code)
        if unicodedata.category(character) in {"Lo", "Ll", "Lu"}:
            letters.setdefault(code >> 8, character)
    words = [unicodedata.normalize("NFC", letter * 3) for letter in letters.values()]
    shelf.write("knowledge/a.md", "".join(f"# {number}\n\n{word}\n\n" for number, word in enumerate(words)))

    missing = [word for word in words if not shelf.search(word, limit=1)]

    assert missing == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200))
def test_any_query_is_answered(shelf, query):
    shelf.write("knowledge/a.md", TEXT)

    assert all((shelf.root / path).is_file() for path in shelf.paths(query))


@given(st.text(max_size=300))
def test_folding_keeps_each_character_in_its_place(text):
    assert len(fold(text)) == len(text)


@given(st.text(alphabet="ab -#[]:\n*^\r한`~", max_size=400))
def test_units_hold_all_the_text_that_is_no_blank(text):
    units = Units("daily/x.md", text.encode())

    told = "".join(units.text[unit.start : unit.end] for unit in map(units.unit, range(len(units))))

    assert "".join(told.split()) == "".join(text.split())
    assert units.starts == sorted(set(units.starts))


@given(st.text(max_size=1000), st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 9)), max_size=20))
def test_a_snippet_is_short_and_one_line(text, places):
    shown = snippet(text, [(min(place, len(text)), value) for place, value in places])

    assert len(shown) <= LENGTH
    assert "\n" not in shown
    assert bool(shown) == bool(text.strip()) or not shown.strip("…")

"""Exchanges are grouped by what they are about, in one commit; a concept stays small and keeps its links."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.document import Document
from gitmem.document.ids import check_path, make_id
from gitmem.model.concept import (
    MAX_FILES,
    MAX_KEYWORDS,
    affinity,
    begun,
    joined,
    line_of,
    lines_of,
    parse_concept,
    render_changed,
    render_new,
)
from gitmem.model.exchange import Exchange
from gitmem.model.similarity import overlap

LINK = "sessions/2026/01/20260115_000000-s.md"
WORDS = st.lists(st.sampled_from(["parser", "Cache", "retry", "만료", "uv", "ids"]), max_size=5, unique=True).map(tuple)
FILES = st.lists(st.sampled_from(["src/a.py", "src/b.py", "README.md", "한글 문서.md"]), max_size=4, unique=True).map(
    tuple
)


def exchange(number: int, words=(), files=(), summary="What was done.") -> Exchange:
    identifier = make_id(1_768_000_000_000 + number, number.to_bytes(7, "big"))
    at = datetime.fromtimestamp(1_768_000_000 + number / 1000, UTC)
    return Exchange(identifier, f"{at:%Y-%m-%d %H:%M:%S}", (), summary, files=files, keywords=words, at=at)


EXCHANGES = st.builds(exchange, st.integers(0, 10**9), WORDS, FILES, st.text(max_size=60).map(lambda text: f"x{text}"))


@given(EXCHANGES, EXCHANGES)
def test_affinity_is_the_overlap_of_files_and_keywords(one, other):
    """Spec V3: |A∩B| / min(|A|, |B|), 0 where one is empty, case-folded."""
    concept = begun(other)
    words = overlap(frozenset(map(str.casefold, one.keywords)), frozenset(map(str.casefold, other.keywords)))
    files = overlap(frozenset(one.files), frozenset(other.files))
    expected = words if not one.files and not other.files else (words + files) / 2
    assert affinity(one, concept) == expected
    upper = one._replace(keywords=tuple(map(str.upper, one.keywords)))
    assert affinity(upper, concept) == expected
    empty = one._replace(keywords=(), files=())
    assert affinity(empty, concept) == 0


@given(st.lists(EXCHANGES, min_size=1, max_size=12))
def test_a_concept_stays_small_and_keeps_its_links(exchanges):
    concept = begun(exchanges[0])
    for one in exchanges[1:]:
        concept = joined(concept, one)
    assert len(concept.keywords) <= MAX_KEYWORDS
    assert len(concept.files) <= MAX_FILES
    assert set(concept.exchanges) == {one.id for one in exchanges}
    assert list(concept.exchanges) == sorted(concept.exchanges)


@given(EXCHANGES, EXCHANGES)
def test_a_concept_reads_back(one, other):
    concept = begun(one)
    data = render_new(concept, [line_of(one, LINK)])
    check_path(concept.path)
    assert parse_concept(data, concept.path) == concept
    assert Document.parse(data).problem is None
    more = joined(concept, other)
    again = render_changed(data, more, [line_of(other, LINK)])
    assert parse_concept(again, concept.path) == more
    assert {found for found, _ in lines_of(Document.parse(again).body)} == set(more.exchanges)
    assert render_changed(again, more, [line_of(other, LINK)]) == again
    rest = parse_concept(again, concept.path)._replace(exchanges=(one.id,))
    assert {
        found for found, _ in lines_of(Document.parse(render_changed(again, rest, (), {other.id} - {one.id})).body)
    } == {one.id}


def test_a_concept_names_the_parts_of_the_project_its_exchanges_are_of():
    first = exchange(1, ("parser", "tokens"))._replace(tags=("in/b",))
    second = exchange(2, ("parser", "tokens"))._replace(tags=("a1b2c3d4", "in/a"))
    concept = begun(first)
    data = render_new(concept, [])
    assert parse_concept(data, concept.path).scope == ("b",)
    both = joined(concept, second)
    assert parse_concept(render_changed(data, both, []), concept.path).scope == ("a", "b")

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.search.units.units import Units
from gitmem.search.vectors.chunks import BYTES, chunks
from gitmem.text.tokens import estimate_tokens

ENTRY = "- [2026-11-20 09:00:00] **Note** #tag: {} ^01m7v7spn00wqb23tam1\n"
LINES = st.sampled_from(
    [
        *(
            "",
            " ",
            "# Title",
            "## Sub ##",
            "#",
            "---",
            "id: x",
            "```",
            "plain words",
            "단어 몇 개 🌱",
            "\t tab",
            "a" * 900,
        ),
        *(
            "- item",
            "- [10:00:00] said",
            ENTRY.format("told").strip(),
            "  continued",
            "x. " * 700,
            "끝" * 1500,
            "...",
            "\x00",
        ),
    ]
)


def cut(text: str, path: str = "knowledge/a.md"):
    return chunks(Units(path, text.encode("utf-8", "surrogatepass")))


def test_entries_and_sections_are_chunks_with_their_lines():
    text = "# 2026-11-20\n\n" + ENTRY.format("one") + ENTRY.format("two") + "  more\n\n## After\n\nwords\n"
    assert [(chunk.start, chunk.end, chunk.text) for chunk in cut(text, "daily/2026/11/2026-11-20.md")] == [
        (1, 3, "one"),
        (4, 5, "two\n  more"),
        (7, 9, "## After\n\nwords"),
    ]


def test_an_entry_is_embedded_without_what_every_entry_has():
    (chunk,) = cut(ENTRY.format("use uv"), "memory.md")
    assert chunk.text == "use uv"


def test_a_long_section_is_cut_at_lines_and_each_part_has_its_heading():
    paragraph = "many words " * 40
    found = cut("# Big\n\n" + f"{paragraph}\n\n" * 12)
    assert len(found) > 2
    assert all(chunk.text.startswith(("# Big", "Big\n")) for chunk in found)
    assert all(estimate_tokens(chunk.text) <= 400 + estimate_tokens("Big\n") for chunk in found)


def test_a_line_of_megabytes_is_many_chunks_of_one_line():
    found = cut("# One\n\n" + "word " * 400_000)
    assert {(chunk.start, chunk.end) for chunk in found[1:]} == {(3, 3)}
    assert len(found) > 1000


def test_the_same_text_has_the_same_key_wherever_it_stands():
    one = cut(ENTRY.format("the same"), "memory.md")
    other = cut("# Log\n\n" + ENTRY.format("the same").replace("09:00:00", "10:11:12"), "daily/2026/11/2026-11-20.md")
    assert one[0].key() == other[0].key()
    assert one[0].key() != cut(ENTRY.format("another"), "memory.md")[0].key()


@pytest.mark.parametrize("text", ["", "\n\n", "---\nid: a\n---\n", "***\n", "\ufeff"])
def test_what_says_nothing_has_no_chunks(text):
    assert cut(text) == []


@given(st.lists(LINES, max_size=25), st.sampled_from(["knowledge/a.md", "daily/2026/11/2026-11-20.md"]))
def test_the_lines_of_the_chunks_cover_the_text_in_order(lines, path):
    units = Units(path, "\n".join(lines).encode())
    found = chunks(units)
    covered = set()
    last = (0, 0)
    for chunk in found:
        assert 1 <= chunk.start <= chunk.end <= len(lines)
        assert (chunk.start, chunk.index) >= last or chunk.index == last[1]
        last = (chunk.start, chunk.index)
        covered |= set(range(chunk.start, chunk.end + 1))
    for index in range(len(units)):
        start, end = units.lines(units.unit(index))
        for number in range(start, end + 1):
            if re.search(
                r"\w", re.sub(r"\^[0-9a-z]{20}$|^- \[[^]]*\]( \*\*[^*]*\*\*)?( #\S+)*:?", "", lines[number - 1])
            ):
                assert number in covered, (number, lines[number - 1], found)


@given(st.text(max_size=6000))
def test_no_chunk_is_much_more_than_it_should_be(text):
    for chunk in cut(text):
        assert len(chunk.text.encode()) <= 3 * BYTES

import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitmem.document.message import SUBJECT_LENGTH, VALUE_LENGTH, Message, Op, Trailer, one_line

FORMAT = Path(__file__).parents[2] / "docs" / "format.md"
OP = (Trailer.OP.value, Op.SAVE.value)

HOSTILE = [
    *("", " ", "\0", "\x85", "x\n\nGitmem-Op: rotate", "x\r\rGitmem-Op: rotate", "x\u2028Gitmem-Op: rotate"),
    *("Gitmem-Op: rotate", "Signed-off-by: Eve <eve@example.org>", "(cherry picked from commit 1234567)"),
    *("# a comment", "#123 fix", "---", "--- a/memory.md", "---\tx", "# --- x", "----", "-- \nsignature"),
    *("diff --git a/x b/x", "From 1234567 Mon Sep 17 00:00:00 2001", "; comment", "a\0b\x1b[31mc", "한국어 " * 40),
    *("🧠" * 100, "x" * 500, ": : :", "fixup! x", "\ud800\udcff"),
]
LINES = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=90)
TEXTS = st.lists(LINES, max_size=3).map("\n".join)


@pytest.fixture(scope="session")
def parse(bare_git, tmp_path_factory):
    """Give a function that has git itself read a message's trailers."""
    folder = tmp_path_factory.mktemp("messages")

    def trailers(message):
        printed = bare_git(folder, "interpret-trailers", "--parse", stdin=message.encode())
        return [tuple(line.split(": ", 1)) for line in printed.split("\n")] if printed else []

    return trailers


def test_operations_and_trailers_are_those_of_the_format_page():
    page = FORMAT.read_text("utf-8").partition("\n## Commits\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == sorted(op.value for op in Op)
    assert set(re.findall(r"`(Gitmem-(?!Op`)\w+)`", page)) == {t.value for t in Trailer} - {Trailer.OP.value}


@given(TEXTS, st.integers(1, 80))
def test_one_line_is_one_short_line(text, length):
    line = one_line(text, length)
    assert len(line) <= length
    assert line.splitlines() in ([], [line])
    assert line == line.strip()
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in line)
    assert line.encode().decode() == line
    assert one_line(line, length) == line


@settings(max_examples=60)
@given(TEXTS, st.lists(st.tuples(st.sampled_from([t.value for t in Trailer]), TEXTS), max_size=4))
@example("--- a/memory.md", [OP])
@example("---", [OP])
@example("#\n---", [OP])
@example("Gitmem-Op: undo", [])
@example("Gitmem-Op: undo", [OP, OP])
@example("x", [(Trailer.HOST.value, "\0"), OP, (Trailer.HOST.value, "---")])
def test_git_reads_the_trailers_that_were_given_and_no_others(parse, subject, trailers):
    message = Message(subject, tuple(trailers)).render()
    expected = [(key, one_line(value, VALUE_LENGTH)) for key, value in trailers]
    assert parse(message) == [(key, value) for key, value in expected if value]
    first, *rest = message.split("\n")
    assert 0 < len(first) <= SUBJECT_LENGTH
    assert rest[0] == ""

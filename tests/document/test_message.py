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


@pytest.mark.parametrize(
    "text, length, line",
    [
        ("short", 72, "short"),
        ("  a \n\t b\u2028c\0d  ", 72, "a b c d"),
        ("x" * 72, 72, "x" * 72),
        ("x" * 73, 72, "x" * 71 + "…"),
        ("one two three", 10, "one two…"),
        ("one two three", 12, "one two…"),
        ("one, two; three", 10, "one, two…"),
        ("a incomprehensibilities", 10, "a incompr…"),
        ("......... x", 5, "…"),
        ("\ud800", 72, "?"),
        ("한글 문장입니다", 5, "한글 문…"),
        ("ab", 1, "…"),
    ],
)
def test_one_line(text, length, line):
    assert one_line(text, length) == line


@given(TEXTS, st.integers(1, 80))
def test_one_line_is_one_short_line(text, length):
    line = one_line(text, length)
    assert len(line) <= length
    assert line.splitlines() in ([], [line])
    assert line == line.strip()
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in line)
    assert line.encode().decode() == line
    assert one_line(line, length) == line


@pytest.mark.parametrize(
    "subject, line",
    [
        ("", "(no subject)"),
        ("\0 \n", "(no subject)"),
        ("#", "(no subject)"),
        ("--- #", "(no subject)"),
        ("#123 fix", "123 fix"),
        ("--- a/memory.md", "a/memory.md"),
        ("-1 is no size", "-1 is no size"),
        ("-- x", "-- x"),
    ],
)
def test_a_message_without_trailers_is_its_subject(subject, line):
    assert Message(subject, ()).render() == f"{line}\n"
    assert Message(subject, ((Trailer.HOST.value, " \0\n"),)).render() == f"{line}\n"


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


@pytest.mark.few(1)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_commit_keeps_its_subject_and_trailers_even_when_it_is_amended(hostile, bare_git, tmp_path):
    bare_git(tmp_path, "init", "-q")
    message = Message(hostile, (OP, (Trailer.SESSION.value, hostile))).render()
    (tmp_path / "message").write_bytes(message.encode())
    bare_git(tmp_path, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "message")
    asked = "%s%x00%(trailers:only,unfold,key=Gitmem-Op,valueonly,separator=%x2C)"
    before = bare_git(tmp_path, "log", "-1", f"--format={asked}")
    assert before == f"{message.partition(chr(10))[0]}\0save"
    bare_git(tmp_path, "commit", "-q", "--amend", "--allow-empty", "--cleanup=strip", env={"GIT_EDITOR": ":"})
    assert bare_git(tmp_path, "log", "-1", f"--format={asked}") == before
    assert bare_git(tmp_path, "log", "-1", "--format=%B") == message.strip()

"""Documents: byte for byte except for what was changed, and never a header lost."""

import re

import frontmatter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.document import BrokenHeaderError, Document
from gitmem.document.plain_header import YamlTextError


@pytest.mark.parametrize(
    "data, problem",
    [
        (b"---\nid: 1\ntext\n", "no closing line"),
        (b"\xef\xbb\xbf---\r\nid:\r\n", "no closing line"),
        (b"<<<<<<< HEAD\n---\na: 1\n=======\n---\na: 2\n>>>>>>> x\n---\n", "where the header should"),
    ],
)
def test_what_was_meant_as_a_header_gets_no_second_one_on_top(data, problem):
    document = Document.parse(data)

    assert document.header is None
    assert problem in document.problem
    with pytest.raises(BrokenHeaderError):
        document.set("a", 1)
    with pytest.raises(BrokenHeaderError):
        document.remove("a")


@pytest.mark.parametrize(
    "before, after",
    [
        (b"", b"---\nk: v\n---\n"),
        (b"text", b"---\nk: v\n---\ntext"),
        (b"a\r\nb\r\n", b"---\r\nk: v\r\n---\r\na\r\nb\r\n"),
        (b"\xef\xbb\xbftext\n", b"\xef\xbb\xbf---\nk: v\n---\ntext\n"),
        (b"---\n\nrule", b"---\nk: v\n---\n---\n\nrule"),
        (b"---\r\n---\r\n", b"---\r\nk: v\r\n---\r\n"),
        (b"---\na: 1\n---\nx\r\ny\r\nz\r\n", b"---\na: 1\nk: v\n---\nx\r\ny\r\nz\r\n"),
        (b"---\nk: old # c\n...\nx", b"---\nk: v # c\n...\nx"),
        (b"---\na: 1\n---", b"---\na: 1\nk: v\n---"),
        (b"--- \n# only a comment\n---\n\xff", b"--- \n# only a comment\nk: v\n---\n\xff"),
    ],
)
def test_set(before, after):
    document = Document.parse(before).set("k", "v")

    assert document.render() == after
    assert document == Document.parse(after)
    assert document.get("k") == "v"


@pytest.mark.parametrize(
    "before, after",
    [
        (b"---\nk: v\n---\nx", b"x"),
        (b"x", b"x"),
        (b"\xef\xbb\xbf---\r\nk: v\r\n---\r\n", b"\xef\xbb\xbf"),
        (b"---\nk: v\n---\n---\n\nrule", b"---\n\nrule"),
        (b"---\nk: v\n# a comment\n---\nx", b"---\n# a comment\n---\nx"),
        (b"---\nk: v\n---\n---\na: 1\n---\nx", b"---\n---\n---\na: 1\n---\nx"),
        (b"---\nk: v\n---\n---\na: 1\nx", b"---\n---\n---\na: 1\nx"),
    ],
)
def test_remove_takes_an_empty_header_away_where_the_body_has_none_of_its_own(before, after):
    assert Document.parse(before).remove("k").render() == after


# For any file ---------------------------------------------------------------------------------------------------------

PIECES = [
    *(b"\xef\xbb\xbf", b"---", b"...", b"--- ", b"----", b"\n", b"\r\n", b"\r", b"a: 1", b"b: |\n  ---", b"- x"),
    *(b"text", b"<<<<<<< HEAD", b"\xff", "잠금 🎉".encode(), b"\0", b" ", b"{"),
]
ENTRIES = [
    *("id: d001  # stays", "'title': \"Locks: flock first\"", "tags: [git, '잠금', 🎉]"),
    *("related:\n  - &first d002 # one\n  - d003", "note: |\n  # heading\n  ---\n\n  text"),
    *("why: >-\n  because it is\n  faster", "counts: {read: 3, useful: 0.5}", "when: 2026-03-01T09:00:00+09:00"),
    *("empty:", "결정: 먼저 flock", "# a comment", "# another\n"),
]


files = st.binary() | st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
newlines = st.sampled_from(["\n", "\r\n"])
bodies = st.text(st.sampled_from("ab -#*\n`한🎉"), max_size=30)


@st.composite
def written_by_a_user(draw):
    """Return a document with front matter, its entries, and its newline style."""
    entries = draw(st.permutations(ENTRIES).map(lambda all_of_them: all_of_them[: len(ENTRIES) // 2 + 2]))
    newline = draw(newlines)
    text = "".join(f"{line}\n" for line in ["---", *entries, "---"]) + draw(bodies)
    return Document.parse(text.replace("\n", newline).encode()), entries, newline


@given(files)
def test_any_bytes_come_back(data):
    document = Document.parse(data)

    assert document.render() == data
    assert data.endswith(document.body.encode("utf-8", "surrogateescape"))
    assert (document.header is None) == (document.closing == "")
    assert isinstance(document.problem, str | None)
    assert not document.metadata or document.problem is None


@given(files, st.sampled_from(["a", "key"]), st.text() | st.integers() | st.lists(st.text()))
def test_any_document_takes_a_value_or_says_why_not(data, key, value):
    document = Document.parse(data)
    if document.problem is not None:
        with pytest.raises(BrokenHeaderError, match=re.escape(document.problem)):
            document.set(key, value)
        return
    try:
        changed = document.set(key, value)
    except YamlTextError:
        return

    assert changed.get(key) == value
    assert {**document.metadata, key: value} == changed.metadata
    assert changed.body == document.body
    assert changed == Document.parse(changed.render())
    assert changed.set(key, value) == changed
    assert changed.remove(key).get(key) is None


@given(files, bodies)
def test_another_body_leaves_everything_before_it(data, body):
    document = Document.parse(data)
    changed = document.with_body(body)

    assert changed == Document.parse(changed.render())
    if document.header is not None and document.closing.endswith("\n"):
        assert (changed.body, changed.opening + changed.header + changed.closing) == (
            body,
            document.opening + document.header + document.closing,
        )


@given(written_by_a_user())
def test_front_matter_is_read_as_python_frontmatter_reads_it(made):
    document, _, _ = made
    metadata, content = frontmatter.parse(document.render())

    assert document.problem is None
    assert document.metadata == metadata
    assert document.body.replace("\r\n", "\n").strip() == content

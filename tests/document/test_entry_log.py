import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.document import entry as log
from gitmem.document.entry import (
    Entry,
    add_entry,
    clean_text,
    entry_ids,
    fences,
    find_entries,
    find_section,
    remove_entries,
    render_entry,
    restore_entries,
    section_of,
    sections,
)
from gitmem.document.ids import ALPHABET, LENGTH

A, B, C, D = (character * LENGTH for character in "abcd")


def entry(identifier, text="text"):
    return Entry(identifier, "12:00:00", "Note", text)


def line(identifier, text="text", newline="\n"):
    return render_entry(entry(identifier, text), newline)


def blocks(text):
    """Return a text's lines but for blank ones."""
    return [part for part in text.replace("\r\n", "\n").split("\n") if part.strip(" \t\r")]


def titles(text):
    return [(part.level, part.title) for part in sections(text)]


LINES = st.sampled_from(
    [
        *("", "  ", "\t", "words", "words  ", "\u3000", "a\u2028b", "  indented", "# Title", "## One", "## one"),
        *("## Two", "##  ", "### Three", "#nothing", "```", "```python", "````", "```code``` in a line", "~~~"),
        *("~~~ `x`", "- item", f"quotes an id ^{A}", f"  indented ^{B}", line(A).rstrip()),
        *(line(B, "two\nlines").rstrip(), line(B, f"quotes\n{line(C).rstrip()}").rstrip()),
    ]
)
BODIES = st.builds(
    lambda lines, newline, ended: newline.join(lines) + (newline if ended and lines else ""),
    st.lists(LINES | st.text(max_size=10), max_size=14),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
TEXTS = st.lists(LINES | st.text(max_size=10), max_size=4).map("\n".join).map(clean_text)
ENTRIES = st.builds(
    Entry,
    id=st.text(ALPHABET, min_size=LENGTH, max_size=LENGTH),
    time=st.just("12:00:00"),
    label=st.just("Note"),
    text=TEXTS,
    tags=st.just(()),
)
SECTIONS = st.sampled_from(["One", "Two", "New"])
NEWLINES = st.sampled_from(["\n", "\r\n"])


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        ("words\n", []),
        ("# A\n## B\n### C\n", [(1, "A"), (2, "B")]),
        ("## A", [(2, "A")]),
        ("##\tA  \r\n## B\r\n", [(2, "A"), (2, "B")]),
        ("##A\n#\n##\n ## B\n  ## C\n", []),
        ("## 결정 🧠\n", [(2, "결정 🧠")]),
        ("## A\u2028## B\n", [(2, "A\u2028## B")]),
        ("```\n## A\n```\n## B\n", [(2, "B")]),
        ("```python\n# A\n``` x\n# B\n```\n# C\n", [(1, "C")]),
        ("````\n# A\n```\n# B\n````\n# C\n", [(1, "C")]),
        ("```\n# A\n`````  \n# B\n", [(1, "B")]),
        ("~~~\n# A\n```\n# B\n~~~\n# C\n", [(1, "C")]),
        ("~~~ a`b\n# A\n~~~\r\n# B\r\n", [(1, "B")]),
        ("```\r\n# A\r\n```\r\n# B\r\n", [(1, "B")]),
        ("  ```\n# A\n  ```\n", [(1, "A")]),
        # no fences: code within a line, and what is never closed
        ("```a``` and ```b```\n# A\n", [(1, "A")]),
        ("```\n# A\n", [(1, "A")]),
        ("```a\n# A\n```b\n# B\n", [(1, "A"), (1, "B")]),
        ("```a``` in a line\n# A\n```\n# B\n```\n# C\n", [(1, "A"), (1, "C")]),
        ("````a\n# A\n````b\n```\n# B\n```\n# C\n", [(1, "A"), (1, "C")]),
        ("````\n# A\n```\n# B\n```\n# C\n", [(1, "A"), (1, "C")]),
        ("~~~\n# A\n```\n# B\n```\n# C\n", [(1, "A"), (1, "C")]),
    ],
)
def test_headings_outside_code(text, expected):
    assert titles(text) == expected


@given(BODIES)
def test_sections_are_the_text_without_its_beginning(text):
    parts = sections(text)
    starts = [part.start for part in parts]
    assert [part.end for part in parts] == [*starts[1:], len(text)][: len(parts)]
    assert all(part.start < part.body <= part.end for part in parts)
    assert all(text[part.start] == "#" and (part.start == 0 or text[part.start - 1] == "\n") for part in parts)
    assert not any(start <= part.start < end for part in parts for start, end in fences(text))


@given(BODIES)
def test_a_fence_is_whole_lines_with_the_same_mark_at_both_ends(text):
    position = 0
    for start, end in fences(text):
        assert position <= start < end
        first, *_, last = text[start:end].removesuffix("\n").split("\n")
        mark = first[: len(first) - len(first.lstrip(first[0]))]
        assert len(mark) >= 3
        assert last.strip() == last[0] * len(last.strip())
        assert last.startswith(mark)
        position = end


@pytest.mark.parametrize(
    "before, after",
    [
        ("", f"## One\n\n{line(A)}"),
        ("# Title\n", f"# Title\n\n## One\n\n{line(A)}"),
        ("words", f"words\n\n## One\n\n{line(A)}"),
        ("words  \n\n \n", f"words  \n\n## One\n\n{line(A)}"),
        ("## One", f"## One\n\n{line(A)}"),
        ("## One\n", f"## One\n\n{line(A)}"),
        ("## One\n\n\n", f"## One\n\n{line(A)}"),
        ("## one\n## Two\n", f"## one\n\n{line(A)}\n## Two\n"),
        ("## One\n\n## Two\n", f"## One\n\n{line(A)}\n## Two\n"),
        ("## One\n\n\n## Two\n", f"## One\n\n{line(A)}\n\n## Two\n"),
        (f"## One\n\n{line(B)}", f"## One\n\n{line(B)}{line(A)}"),
        (f"## One\n\n{line(B)}\n## Two\n", f"## One\n\n{line(B)}{line(A)}\n## Two\n"),
        (f"## One\n{line(B)}## Two\n", f"## One\n{line(B)}{line(A)}\n## Two\n"),
        (f"## One\n\n{line(B)}\n\n# End\nwords", f"## One\n\n{line(B)}{line(A)}\n\n# End\nwords"),
        ("## One\n\n### Three\n```\n# x\n```", f"## One\n\n### Three\n```\n# x\n```\n{line(A)}"),
        ("## One\nhard break  \n\u3000\n", f"## One\nhard break  \n\u3000\n{line(A)}"),
        ("## One\n```\nnever closed\n", f"## One\n```\nnever closed\n{line(A)}"),
    ],
)
def test_where_an_entry_is_added(before, after):
    assert add_entry(before, "One", entry(A)) == after


def test_an_entry_is_added_before_the_first_section_where_it_has_none():
    assert add_entry("", "", entry(A)) == line(A)
    assert add_entry("## One\n", "", entry(A)) == f"{line(A)}\n## One\n"
    assert add_entry("intro\n\n## One\n", "", entry(A)) == f"intro\n{line(A)}\n## One\n"


def test_a_fence_that_is_never_closed_does_not_multiply_sections():
    text = "## One\n```\noops\n\n## Two\n"
    for identifier in (A, B, C):
        text = add_entry(text, "Two", entry(identifier))
    assert titles(text) == [(2, "One"), (2, "Two")]


@given(BODIES, ENTRIES, SECTIONS, NEWLINES)
@example("## One\n\u3000", entry(D), "One", "\n")
@example("words\r", entry(D), "One", "\n")
def test_an_added_entry_is_there_once_and_nothing_else_changes(text, new, section, newline):
    added = add_entry(text, section, new, newline)
    assert add_entry(added, section, new, newline) == added
    if new.id in entry_ids(text):
        assert added == text
        return
    (found,) = (f for f in find_entries(added) if f.entry.id == new.id)
    assert found.entry == new
    assert added[found.start : found.end] == render_entry(new, newline)
    assert section_of(added, found).casefold() == section.casefold()
    others = [f.entry for f in find_entries(added) if f.entry.id != new.id]
    assert others == [f.entry for f in find_entries(text)]


@given(BODIES, ENTRIES, SECTIONS, NEWLINES)
def test_adding_and_removing_gives_back_what_was_there(text, new, section, newline):
    if new.id in entry_ids(text):
        return
    back = remove_entries(add_entry(text, section, new, newline), {new.id})
    kept = blocks(back)
    if find_section(text, section) is None:
        assert kept.pop() == f"## {section}"
    assert kept == blocks(f"{text}\n")  # a carriage return at the very end becomes part of the line's end


@given(BODIES, st.sets(st.sampled_from([A, B, C])))
def test_removing_leaves_everything_else(text, ids):
    left = remove_entries(text, ids)
    assert entry_ids(left) == entry_ids(text) - ids
    assert [f.entry for f in find_entries(left)] == [f.entry for f in find_entries(text) if f.entry.id not in ids]
    gone = [p for f in find_entries(text) if f.entry.id in ids for p in blocks(text[f.start : f.end])]
    assert sorted(blocks(left) + gone) == sorted(blocks(text))


@st.composite
def logs(draw):
    newline = draw(NEWLINES)
    all_entries = draw(st.lists(ENTRIES, unique_by=lambda e: e.id, max_size=8))
    text = ""
    for heading in ("", "# Title", "## One", "## Two"):
        group = [e for e in all_entries if draw(st.booleans())]
        all_entries = [e for e in all_entries if e not in group]
        head = [heading, "", draw(st.sampled_from(["", "prose"]))] if heading else []
        text += newline.join([*head, ""]) + "".join(render_entry(e, newline) for e in sorted(group, key=lambda e: e.id))
        text += newline
    return text


@given(logs(), NEWLINES, st.data())
def test_what_was_removed_is_put_back_where_it_was(text, newline, data):
    taken = [found for found in data.draw(st.permutations(find_entries(text))) if data.draw(st.booleans())]
    removed = [(section_of(text, found), found.entry) for found in taken]
    left = remove_entries(text, {found.entry.id for found in taken})
    back = restore_entries(left, removed, newline)
    assert blocks(back) == blocks(text)
    assert restore_entries(back, removed, newline) == back


@given(
    st.lists(st.tuples(st.sampled_from("0123456789"), st.sampled_from("abcdef")), unique_by=lambda pair: pair[1]),
    st.lists(
        st.tuples(st.sampled_from(["One", "two", ""]), st.sampled_from("0123456789"), st.sampled_from("abcdefgh"))
    ),
)
def test_many_are_restored_as_one_after_the_other(there, missing):
    def at(hour, letter):
        return Entry(letter * LENGTH, f"0{hour}:00:00", "Note", "text")

    text = "# Log\n\n## One\n\n" + "".join(render_entry(at(*pair)) for pair in there) + "\nwords\n\n## Two\n"
    entries = [(section, at(hour, letter)) for section, hour, letter in missing]
    one_by_one = text
    for pair in entries:
        one_by_one = restore_entries(one_by_one, [pair])
    assert restore_entries(text, entries) == one_by_one


def test_a_thousand_are_restored_with_one_look_at_the_sections(monkeypatch):
    looks = []
    monkeypatch.setattr(log, "find_section", lambda text, title: looks.append(title) or find_section(text, title))
    many = [("One", entry(f"{number:0{LENGTH}}")) for number in range(1000)]
    assert len(entry_ids(restore_entries(f"## One\n\n{line(C)}", many))) == 1001
    assert len(looks) <= 2


HOSTILE = [
    *("#", "# ", "# #", "\n#", "## a\n", "`", "```", "```\n", "```a\n", "~~~\n```\n", " ", " \n", "\n", "\r", " ^"),
    "- [",
]


@pytest.mark.parametrize("function", [sections, lambda text: add_entry(text, "New", entry(A)), entry_ids])
@pytest.mark.parametrize("piece", HOSTILE)
def test_steps_grow_with_the_length_of_hostile_text(grows_linearly, function, piece):
    assert grows_linearly(function, lambda size: piece * (size // len(piece)))


def test_steps_grow_with_the_text_where_fences_get_shorter(grows_linearly):
    def never_closed(size):
        marks = ["`" * length + "a" for length in range(int((size / 2) ** 0.5), 3, -1)]
        return "\n".join(marks) + "\n```a" * (size // 10)

    assert grows_linearly(sections, never_closed)

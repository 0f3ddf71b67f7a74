import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.document.entry import Entry, MemoryType, clean_tag, clean_text, find_entries, render_entry
from gitmem.document.event import Save, parse_event
from gitmem.document.ids import ALPHABET, LENGTH
from gitmem.platform.machine import datetime

ID = "1ksd9q2x0m3v8t5w7zab"
OTHER = "1ksd9q2x0m0000000000"

# What text can hold that looks like something else.
HOSTILE_LINES = [
    *("", " ", "\t", "  ", "  indented", "\ttab", "\t\ttwo tabs", "   three", "## Timeline", "# Title", "```"),
    *("```python", "~~~~", "---", "- a list item", f"- [12:00:00] **Note**: an entry ^{OTHER}"),
    *(f"- [2026-11-21 12:00:00] **Error Fix** #a: an entry ^{OTHER}", f"  - [12:00:00] **Note**: an entry ^{OTHER}"),
    *(f"^{OTHER}", f"text ^{OTHER}", "ends in ^", "**Note**: x", ": x", "#tag #other: x", "한국어 문장", "🧠 👩‍💻"),
    *("a\u2028b\u2029c\x85d\x0be\x0cf", "ideographic blank\u3000", "\u3000", "\xa0", "\ufeff", "carriage\rreturn"),
    *("\udcff\ud800", "\x00\x1b[31m\x9b"),
]
RAW_TEXTS = st.lists(
    st.sampled_from(HOSTILE_LINES) | st.text(st.characters(exclude_categories=()), max_size=20), max_size=6
).flatmap(lambda lines: st.sampled_from(["\n", "\r\n", "\r", " ", "\n\n"]).map(lambda end: end.join(lines)))
IDS = st.text(ALPHABET, min_size=LENGTH, max_size=LENGTH)
TIMES = st.datetimes().map(lambda t: f"{t:%H:%M:%S}") | st.datetimes().map(lambda t: f"{t.year:04d}-{t:%m-%d %H:%M:%S}")
TAGS = st.lists(st.from_regex(r"[\w/-]{1,50}", fullmatch=True), max_size=3).map(tuple)
LABELS = st.sampled_from([kind.label for kind in MemoryType] + ["User Prompt", "Ünïcode: [x]"])
ENTRIES = st.builds(Entry, id=IDS, time=TIMES, label=LABELS, text=RAW_TEXTS.map(clean_text), tags=TAGS)
NEWLINES = st.sampled_from(["\n", "\r\n"])


def entry(text, *, identifier=ID, tags=()):
    return Entry(identifier, "12:00:00", "Note", text, tags)


@given(ENTRIES, NEWLINES)
@example(entry(""), "\n")
@example(entry("", tags=("a",)), "\r\n")
@example(entry("a\n\n\nb"), "\r\n")
def test_what_was_rendered_is_found_as_it_was(given_entry, newline):
    text = render_entry(given_entry, newline)
    (found,) = find_entries(text)
    assert found.entry == given_entry
    assert (found.start, found.end) == (0, len(text))
    assert text.endswith(newline)
    assert text.count("\n") == text.count(newline) == given_entry.text.count("\n") + 1


# A block of a user's: its first line starts in the first column, so it is no part of the entry before it.
_BLOCK_STARTS = ["prose", "## Heading", "```", "- item", f"- [12:00:00] **Note** no colon ^{OTHER}", "> quote", " one"]
PROSE = st.builds(
    lambda first, rest: "\n".join([first, *rest]) + "\n",
    st.sampled_from(_BLOCK_STARTS),
    st.lists(
        st.sampled_from(["", "  ", "  indented", "\tindented", "words", "~~~", f" ^{OTHER}", "\u2028"]), max_size=4
    ),
)


@given(st.lists(ENTRIES | PROSE | st.sampled_from(["\n", "  \n", "\t\n \n"]), max_size=8), NEWLINES, st.booleans())
def test_entries_are_found_between_what_people_wrote(items, newline, ended):
    blocks = [render_entry(i, newline) if isinstance(i, Entry) else i.replace("\n", newline) for i in items]
    text = "".join(blocks)
    if not ended:
        text = text.removesuffix(newline)
    found = find_entries(text)
    assert [f.entry for f in found] == [item for item in items if isinstance(item, Entry)]
    rendered = [render_entry(f.entry, newline) for f in found]
    assert [text[f.start : f.end].removesuffix(newline) for f in found] == [r.removesuffix(newline) for r in rendered]


FIRST = f"- [12:00:00] **Note**: first ^{ID}"


@given(RAW_TEXTS)
def test_clean_text_is_what_an_entry_can_hold(raw):
    text = clean_text(raw)
    assert clean_text(text) == text
    assert text.encode().decode() == text
    assert not any((c < " " or "\x7f" <= c <= "\x9f") and c not in "\n\t" for c in text)
    assert text == text.strip(" \t\n")
    assert not any(line.endswith((" ", "\t")) for line in text.split("\n"))


@pytest.mark.parametrize("tag", ["a", "python", "#build", "ci/linux", "snake_case-2", "한국어", "x" * 50])
def test_a_tag_loses_its_hash_sign(tag):
    assert clean_tag(tag) == tag.removeprefix("#")


HOSTILE = {
    "starts": "- [",
    "starts of lines": "- [\n",
    "heads": "- [12:00:00] **a",
    "blanks": " ",
    "tabs": "\t",
    "newlines": "\n",
    "blank lines": "   \n",
    "carriage returns": "\r",
    "asterisks": "*",
    "labels": "**a**",
    "tags": " #a",
    "long tags": " #" + "a" * 50,
    "carets": " ^",
    "ids": f" ^{ID}",
    "ids not ended": f" ^{ID}.",
    "continuations": "  a\n",
    "gaps": "\n \n  a\n",
    "entries": f"{FIRST}\n",
    "entries with gaps": f"{FIRST}\n \n\n",
}


@pytest.mark.parametrize("function", [find_entries, clean_text])
@pytest.mark.parametrize("begin", ["", "- [12:00:00] **a**", "- [12:00:00] **a**: ", f"{FIRST}\n"])
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.few(40)
def test_steps_grow_with_the_length_of_hostile_text(grows_linearly, function, begin, piece):
    assert grows_linearly(function, lambda size: begin + piece * (size // len(piece)))


SAVE = Save(
    "0" * 20, datetime.fromisoformat("2026-01-11T10:11:12+09:00"), "text", MemoryType.DECISION, ("a",), "s", "cli"
)


@pytest.mark.parametrize(
    "change", [{"v": None}, {"kind": 1}, {"id": "x"}, {"text": 1}, {"tags": "a"}, {"type": "x"}, {"at": "then"}]
)
def test_a_broken_event_is_refused(change):
    with pytest.raises(ValueError):
        parse_event({**SAVE.to_event(), **change})


@pytest.mark.parametrize(
    "line",
    [
        *("- [12:00:00] **Note**: a person's item", f" {FIRST}", f"* {FIRST[2:]}", f"-{FIRST[1:].lstrip()}"),
        *(f"- [12:00] **Note**: x ^{ID}", f"- [1２:00:00] **Note**: x ^{ID}"),
        *(f"- [2026-11-21T12:00:00] **Note**: x ^{ID}", f"- [12:00:00] Note: x ^{ID}", f"- [12:00:00] ****: x ^{ID}"),
        *(f"- [12:00:00] **{'N' * 61}**: x ^{ID}", f"- [12:00:00] **Note**:x ^{ID}"),
        *(f"- [12:00:00] **Note** x ^{ID}", f"- [12:00:00] **Note** #{'t' * 51}: x ^{ID}"),
        *(f"- [12:00:00] **Note** #a,b: x ^{ID}", f"- [12:00:00] **Note**: x^{ID}"),
        *(f"- [12:00:00] **Note**: x ^{ID}.", f"- [12:00:00] **Note**: x ^{ID}0"),
        *(f"- [12:00:00] **Note**: x ^{ID[:-1]}", f"- [12:00:00] **Note**: x ^{ID.upper()}"),
        *(f"- [12:00:00] **Note**: x ^{ID[:-1]}o", f"- [12:00:00] **Note**: x\n  y ^{ID}"),
        f"- [12:00:00] **Note**: x\u2028^{ID}",
    ],
)
def test_what_belongs_to_people(line):
    assert find_entries(f"{line}\n") == []

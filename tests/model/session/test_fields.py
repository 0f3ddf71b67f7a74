"""What an entry of the daily log says of an exchange (docs/format.md, "Turns")."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.entry.entry import Entry, clean_text, find_entries, render_entry
from gitmem.model.session.fields import Fields, join_fields, render_fields, split_fields

WORDS = st.text(st.sampled_from("ab \n*:`-|#가") | st.characters(codec="utf-8"), max_size=60)
PIECES = st.lists(st.sampled_from(["**Answer:**", "**Files:** a", "**Error:**", "\n", "text", "```", "- x"]) | WORDS)
TEXTS = PIECES.map("".join).map(clean_text).map(str.strip)
LINES = TEXTS.map(lambda text: " ".join(text.split()).replace(", ", " ").removeprefix("- ").strip(", ")).filter(bool)
FIELDS = st.builds(
    Fields,
    request=TEXTS,
    answer=TEXTS,
    said=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
    errors=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
    files=st.lists(LINES, max_size=3).map(tuple),
    outcome=st.sampled_from(["", "partial", "failed"]),
)


def test_an_exchange_is_rendered_as_the_format_says() -> None:
    fields = Fields(
        request="Why does the save fail?\nIt did not yesterday.",
        answer="The lock was stale.\n\n```py\nlock.clear()\n```",
        said=("The cause: nobody removes the lock.", "- first\n\nthen"),
        errors=("`pytest`: 1 failed → then worked: `pytest -x`",),
        files=("a.py", "b.py"),
        outcome="partial",
    )
    text = """Why does the save fail?
It did not yesterday.

**Answer:** The lock was stale.

```py
lock.clear()
```

**Said:** The cause: nobody removes the lock.

**Said:**
- first

then

**Error:** `pytest`: 1 failed → then worked: `pytest -x`

**Files:** a.py, b.py

**Outcome:** partial"""
    assert render_fields(fields) == text
    assert split_fields(text) == fields


@given(FIELDS)
def test_fields_come_back_from_their_text(fields: Fields) -> None:
    text = render_fields(fields)
    entry = Entry("x4f7k2m9q0x1"[:11], "14:03:22", "Exchange", clean_text(text))
    again = split_fields(entry.text)
    assert render_fields(again) == clean_text(text)
    assert (again.files, again.outcome) == (fields.files, fields.outcome)
    assert len(again.errors) == len(fields.errors)
    assert len(again.said) == len(fields.said)
    assert bool(again.answer) == bool(fields.answer)
    assert again.request.replace("*", "").replace(":", "") == fields.request.replace("*", "").replace(":", "")


def test_a_mark_inside_an_answer_begins_no_part() -> None:
    fields = Fields(request="Summarise.", answer="Done.\n\n**Files:** two of them\n**Answer:** 42", files=("a.py",))
    again = split_fields(render_fields(fields))
    assert again.files == ("a.py",)
    assert again.answer == "Done.\n\n**Files**: two of them\n**Answer**: 42"


def test_a_text_without_parts_is_the_request() -> None:
    assert split_fields("Only a request.\n\nWith a paragraph.") == Fields(
        request="Only a request.\n\nWith a paragraph."
    )


def test_an_answer_without_a_request_stands_first() -> None:
    assert render_fields(Fields(answer="It works.")) == "**Answer:** It works."
    assert split_fields("**Answer:** It works.") == Fields(answer="It works.")


def test_two_captures_of_one_turn_lose_nothing() -> None:
    before = Fields("Fix it.", "Looking.", ("The cause is a lock.",), ("`a`: no",), ("a.py",), "partial")
    after = Fields("", "Fixed.", (), ("`b`: no",), ("a.py", "b.py"))
    assert join_fields(before, after) == Fields(
        "Fix it.", "Looking.\n\nFixed.", ("The cause is a lock.",), ("`a`: no", "`b`: no"), ("a.py", "b.py")
    )
    assert join_fields(before, before) == before


def test_an_entry_with_code_is_read_again_as_it_was() -> None:
    code = "```md\n## Heading\n\n- [14:03:22] **Decision**: no entry ^1ksd9q2x0m3v8t5w7zab\n```"
    entry = Entry("1ksd9q2x0m3v8t5w7zab", "14:03:22", "Exchange", render_fields(Fields("Show it.", code)))
    assert [found.entry for found in find_entries(render_entry(entry))] == [entry]


def test_a_merge_may_have_put_parts_into_another_order():
    parts = ("Fix it.", "**Answer:** Fixed.", "**Files:** a.py", "**Error:** `make` failed", "**Files:** b.py, a.py")
    text = "\n\n".join((*parts, "**Noted:**\n- why"))
    assert split_fields(text) == Fields(
        request="Fix it.", answer="Fixed.", said=("why",), errors=("`make` failed",), files=("a.py", "b.py")
    )

"""The summary of an archive without a model: a line a session, what was decided, what is open, concepts."""

import pytest

from gitmem.archive.extractive import digest, summarise
from gitmem.document.entry import Entry, render_entry
from gitmem.document.ids import make_id
from gitmem.model.exchange import Exchange, render

ARCHIVE = "archive/memory_20260113_112700.md"

HOSTILE = [
    "\n- [2026-01-12 09:00:00] **Exchange**: a",
    "2026-01-12 ",
    "## a\n",
    "→ ",
    "; ",
    "**Why:** ",
    "a. ",
    "|",
]  # see bench/hostile.py


def identifier(number: int) -> str:
    return make_id(1_768_000_000_000 + number, number.to_bytes(7, "big"))


def exchange(number: int, session: str, summary: str, details: str = "") -> str:
    one = Exchange(identifier(number), f"2026-01-1{number} 10:00:00", (session,), summary, details=details)
    return render_entry(render(one))


def entry(number: int, label: str, text: str) -> str:
    return render_entry(Entry(identifier(number), f"2026-01-1{number} 10:00:00", label, text))


@pytest.mark.parametrize(
    "text, lines",
    [
        ("# Notes\n\nThe loader is fast. It caches.\n\n## Deploy\n\nBy hand.\n", "Deploy: By hand."),
        ("Just a line", "Just a line."),
    ],
)
def test_an_archive_of_another_tool_is_told_by_its_sections(text, lines):
    assert lines in summarise(ARCHIVE, text).overall_summary.split("\n")


@pytest.mark.parametrize("text", ["", "\n", "##", "- [2026-01-12 09:00:00] **Exchange**:", "\udcff", "x" * 2_000_000])
def test_any_text_has_a_summary(text):
    assert summarise(ARCHIVE, text).archive == ARCHIVE
    digest(text, 5)

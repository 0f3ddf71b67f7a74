"""The summary of an archive without a model: a line a session, what was decided, what is open, concepts."""

from datetime import UTC, datetime

import pytest

from gitmem.archive.extractive import digest, summarise
from gitmem.archive.summary import RESOLVED, Theme
from gitmem.document.entry import Entry, render_entry
from gitmem.document.ids import make_id
from gitmem.model.exchange import Exchange, render
from gitmem.model.fact import FactKind, FactStatus, make_fact

ARCHIVE = "archive/memory_20260113_112700.md"
AT = datetime(2026, 1, 12, 9, tzinfo=UTC)
# What a text of many pieces is made of, for `bench/hostile.py`.
HOSTILE = ["\n- [2026-01-12 09:00:00] **Exchange**: a", "2026-01-12 ", "## a\n", "→ ", "; ", "**Why:** ", "a. ", "|"]


def identifier(number: int) -> str:
    return make_id(1_768_000_000_000 + number, number.to_bytes(7, "big"))


def exchange(number: int, session: str, summary: str, details: str = "") -> str:
    one = Exchange(identifier(number), f"2026-01-1{number} 10:00:00", (session,), summary, details=details)
    return render_entry(render(one))


def entry(number: int, label: str, text: str) -> str:
    return render_entry(Entry(identifier(number), f"2026-01-1{number} 10:00:00", label, text))


TEXT = "".join(
    [
        "# Memory\n\n## Core Decisions\n\n",
        entry(0, "Decision", "Use uv, not pnpm.\n\n**Why:** it is faster because it caches."),
        "\n## Known Issues\n\n",
        entry(1, "Issue", "Long paths fail."),
        "\n## Recent Context\n\n",
        exchange(1, "aaaaaaaa", "Add a parser → The parser reads CRLF", "It has tests."),
        exchange(1, "aaaaaaaa", "And its docs → They are in docs/parser.md"),
        exchange(2, "bbbbbbbb", "Deploy the site"),
    ]
)


def test_facts_of_these_days_and_concepts_are_told():
    facts = [
        make_fact(FactKind.RULE, "Never push tags.", AT),
        make_fact(FactKind.DECISION, "Of another month.", AT.replace(month=3)),
        make_fact(FactKind.ISSUE, "Long paths fail.", AT)._replace(status=FactStatus.RESOLVED),
    ]
    theme = Theme("parser.py", "Add a parser", ("aaaaaaaa",))
    summary = summarise(ARCHIVE, TEXT, facts, [theme])
    assert [one.decision for one in summary.key_decisions] == ["Use uv, not pnpm.", "Never push tags."]
    assert [(one.issue, one.status) for one in summary.issues] == [("Long paths fail.", RESOLVED)]
    assert summary.themes == (theme,)


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

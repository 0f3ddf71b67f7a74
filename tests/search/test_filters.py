"""What narrows a search."""

import pytest

from gitmem.errors import ExitCode
from gitmem.search.filters import FilterError

ENTRIES = [
    ("2026-11-18 09:00:00", "Decision", " #build", "cache the wheels"),
    ("2026-11-19 09:00:00", "Issue", " #5f0c2a7e", "the cache is stale"),
    ("2026-11-21 09:00:00", "Error Fix", " #build #ci", "cleared the cache of the runner"),
]


@pytest.fixture
def filled(shelf):
    lines = [
        f"- [{time}] **{label}**{tags}: {text} ^01m80m1r5d7wvtt7ft{n:02}\n"
        for n, (time, label, tags, text) in enumerate(ENTRIES)
    ]
    shelf.put("memory.md", "## Recent Context\n\n" + "".join(lines))
    shelf.put("daily/2026/11/2026-11-20.md", "## Notes\n\ncache of the day\n")
    shelf.put("knowledge/cache.md", "# About\n\nThe cache, told once.\n")
    return shelf


@pytest.mark.parametrize(
    "query, found",
    [
        ("cache type:decision", {("memory.md", 3)}),
        ("cache type:error_fix", {("memory.md", 5)}),
        ('cache type:"Error Fix"', {("memory.md", 5)}),
        ("cache tag:build", {("memory.md", 3), ("memory.md", 5)}),
        ("cache tag:#CI", {("memory.md", 5)}),
        ("cache path:daily", {("daily/2026/11/2026-11-20.md", 1)}),
        ("cache path:*.md path:nowhere since:2026-11-21", {("memory.md", 5)}),
        ("cache since:2026-11-20", {("memory.md", 5), ("daily/2026/11/2026-11-20.md", 1)}),
        ("cache since:2026-11-19 until:yesterday", {("memory.md", 4), ("daily/2026/11/2026-11-20.md", 1)}),
        ('cache until:"3 days ago"', {("memory.md", 3)}),
        ("cache session:5f0c2a7e-1111-2222", {("memory.md", 4)}),
        ("cache session:5f0c", {("memory.md", 4)}),
        ('"the cache is"', {("memory.md", 4)}),
        ('cache -"the cache"', {("memory.md", 3), ("daily/2026/11/2026-11-20.md", 1)}),
        ("cache -stale -told -wheels -day", {("memory.md", 5)}),
        ("type:decision", {("memory.md", 3)}),
        ("tag:build since:2026-11-20", {("memory.md", 5)}),
        ("nothing type:decision", set()),
    ],
)
def test_a_query_is_narrowed(filled, query, found):
    assert set(filled.places(query)) == found


def test_without_words_the_newest_come_first(filled):
    assert filled.places("since:2026-11-01 path:memory.md") == [("memory.md", 5), ("memory.md", 4), ("memory.md", 3)]


def test_a_date_that_is_none_is_said(filled):
    with pytest.raises(FilterError, match=r"since:soon is not a date") as caught:
        filled.search("cache since:soon")
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_minus_within_a_word_takes_nothing_away(filled):
    filled.put("knowledge/b.md", "# A\n\nthe two-phase commit\n")

    assert filled.paths("two-phase") == ["knowledge/b.md"]


@pytest.mark.parametrize("filters", ["tag:seldom", "type:decision", "until:2020-01-02", '"seldom told"', "-often"])
def test_what_passes_is_found_behind_however_many_files_that_do_not(shelf, filters):
    for number in range(450):
        shelf.put(
            f"sessions/2026/01/20260101_{number:06}_a.md",
            f"- [2026-01-01 10:00:00] **Note**: cache often ^x{number:010}\n",
        )
    shelf.put(
        "sessions/2020/01/20200101_000000_a.md",
        "- [2020-01-01 10:00:00] **Decision** #seldom: a cache, seldom told, "
        + "beside much else " * 40
        + "^y0000000000\n",
    )

    assert shelf.paths(f"cache {filters}") == ["sessions/2020/01/20200101_000000_a.md"]
    assert filters.startswith("-") or shelf.paths(filters) == ["sessions/2020/01/20200101_000000_a.md"]

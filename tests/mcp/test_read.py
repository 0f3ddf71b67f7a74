from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitmem.model.fact.fact import FactKind, FactStatus, make_fact
from gitmem.model.fact.file import render_fact
from gitmem.text.tokens import estimate_tokens

MEMORY = "# Memory\n\n## Core Decisions\n\n{}\n## Current State\n\n## Recent Context\n\n{}\n## Known Issues\n\n{}"


def entries(word: str, count: int) -> str:
    return "".join(
        f"- [2026-11-20 10:{n // 60:02}:{n % 60:02}] **Note**: {word} {n} {'x' * 60}\n" for n in range(count)
    )


def test_load_gives_the_memory_document_and_full_todays_log_too(memory):
    memory.put("memory.md", MEMORY.format("- we use uv\n", "", ""))
    memory.put("daily/2026/11/2026-11-21.md", "# 2026-11-21\n\n오늘의 기록\n")
    memory.put("daily/2026/11/2026-11-20.md", "yesterday\n")
    startup = memory.read("memory_load")
    assert startup.startswith("[memory.md, ")
    assert "- we use uv" in startup
    assert "오늘의 기록" not in startup
    full = memory.read("memory_load", source="full")
    assert full.startswith(startup)
    assert "[daily/2026/11/2026-11-21.md, " in full
    assert "오늘의 기록" in full
    assert "yesterday" not in full


@pytest.mark.parametrize("tokens", [500, 3000])
def test_load_keeps_within_its_budget_and_says_where_the_rest_is(memory, tokens):
    memory.put("memory.md", MEMORY.format("- we use uv\n", entries("recent", 400), "- it is slow\n"))
    memory.put("daily/2026/11/2026-11-21.md", entries("today", 400))
    text = memory.read("memory_load", source="full", max_tokens=tokens)
    assert estimate_tokens(text) <= tokens + 20  # two heads
    assert "- we use uv" in text
    assert "- it is slow" in text
    assert "all: memory_get('memory.md')" in text
    assert "all: memory_get('daily/2026/11/2026-11-21.md')" in text
    assert "recent 399" in text
    assert "today 399" in text
    assert "recent 0 " not in text


def test_load_of_nothing_says_so(memory):
    memory.put("memory.md", "")
    assert "nothing is remembered yet" in memory.read("memory_load", source="full")


def test_get_gives_lines_an_entry_or_the_whole(memory):
    memory.put("knowledge/a.md", "# One\n\nfirst\n\n# Two\n\nsecond\nthird\n")
    assert memory.read("memory_get", path="knowledge/a.md", start_line=7, end_line=8).endswith("]\nsecond\nthird")
    section = memory.read("memory_get", path="knowledge/a.md", start_line=7)
    assert section.startswith("[knowledge/a.md:5-")
    assert "# Two\n\nsecond\nthird" in section
    assert "first" not in section
    whole = memory.read("memory_get", path="knowledge/a.md")
    assert whole.startswith("[knowledge/a.md:1-8, ")
    assert memory.read("memory_get", path="knowledge/a.md", end_line=1).endswith("]\n# One")


def test_what_does_not_fit_is_told_how_to_be_got(memory):
    lines = [f"line {number} {'x' * 30}" for number in range(1, 401)]
    memory.put("knowledge/a.md", "\n".join(lines))
    collected, start = [], 1
    for _ in range(50):
        text = memory.read("memory_get", path="knowledge/a.md", start_line=start, end_line=400, max_tokens=500)
        head, _, body = text.partition("\n")
        collected += body.split("\n")
        assert estimate_tokens(body) <= 500
        if "next: " not in head:
            break
        start = int(head.partition("next: memory_get('knowledge/a.md', ")[2].split(",")[0])
    assert collected == lines


def test_a_line_longer_than_the_budget_is_paged(memory):
    whole = "".join(chr(0xAC00 + number % 5000) for number in range(4_000))
    memory.put("knowledge/a.md", f"{whole}\nlast")
    collected, column, start = "", 0, 1
    for _ in range(20):
        text = memory.read(
            "memory_get", path="knowledge/a.md", start_line=start, end_line=2, column=column, max_tokens=500
        )
        head, _, body = text.partition("\n")
        assert estimate_tokens(body) <= 500
        collected += body
        if "next: " not in head:
            break
        start, column = int(head.partition("a.md', ")[2].split(",")[0]), int(head.partition("column=")[2].rstrip("])"))
    assert collected == f"{whole}\nlast"


def test_from_and_lines_say_which_lines(memory):
    memory.put("knowledge/a.md", "one\ntwo\nthree\nfour\n")
    assert memory.read("memory_get", path="knowledge/a.md", **{"from": 2, "lines": 2}).endswith("]\ntwo\nthree")
    assert memory.read("memory_get", path="knowledge/a.md", lines=1).endswith("]\none")


def test_a_memory_is_got_by_its_id(memory):
    memory.put("facts/rule/r4f7k2m9q0x-zinc.md", "---\nid: r4f7k2m9q0x\n---\nRailings are of zinc.\n")
    assert memory.read("memory_get", path="^r4f7k2m9q0x").endswith("Railings are of zinc.")


def test_wrong_arguments_are_told_in_one_sentence(memory):
    assert memory.error("memory_get", max_tokens=10**9) == (
        "Call memory_get again with these arguments corrected: path is missing; "
        "max_tokens: input should be less than or equal to 25000."
    )


def test_a_day_is_its_log_and_a_past_version_is_read(memory):
    memory.call("memory_save", type="note", content="the first")
    assert "the first" in memory.read("memory_get", path="2026-11-21")
    assert "the first" not in memory.read("memory_get", path="memory.md", at="HEAD~1")


@pytest.mark.parametrize(
    "path",
    [
        "../outside.md",
        "daily/../../outside.md",
        "/etc/passwd",
        "{outside}",
        ".git/config",
        ".git/notes.md",
        "archive/.GIT/x.md",
        "git~1/notes.md",
        "link.md",
        "linked/outside.md",
        "a\0.md",
        "",
        ".",
        "config.yaml",
        "~/notes.md",
        "C:\\notes.md",
        "gitmem://store/memory.md",
        "x" * 100_000 + ".md",
    ],
)
def test_no_path_leads_out_of_the_store(memory, tmp_path, path):
    secret = tmp_path / "outside.md"
    secret.write_text("the secret outside")
    (memory.root / ".git" / "notes.md").write_text("the secret outside")
    (memory.root / "link.md").symlink_to(secret)
    (memory.root / "linked").symlink_to(tmp_path)
    path = path.format(outside=secret)
    for tool in ("memory_get", "memory_history"):
        said = memory.error(tool, path=path, start_line=1)
        assert "the secret" not in said
        assert "memory_search" in said
    assert memory.search("secret outside") == []


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"path": "knowledge/none.md"}, "memory_search names the paths"),
        ({"path": "memory.md", "start_line": 999}, "has 1"),
        ({"path": "memory.md", "start_line": -1}, "start_line"),
        ({"path": "memory.md", "max_tokens": 10**9}, "max_tokens"),
        ({"path": "memory.md", "at": "no such commit"}, "neither a revision of the store nor a date"),
        ({}, "path"),
    ],
)
def test_an_agent_is_told_what_to_do_next(memory, arguments, words):
    assert words in memory.error("memory_get", **arguments)


def test_get_and_load_say_what_no_longer_holds(memory):
    line = "- [2026-01-11 10:00:00] **Decision**: Use Redis. ^11111111111111111111\n"
    fact = make_fact(FactKind.DECISION, "Use Redis.", datetime(2026, 1, 1, tzinfo=UTC), status=FactStatus.RETIRED)
    memory.put(fact.path, render_fact(fact))
    memory.put("archive/memory_20260113_112700.md", f"## Core Decisions\n\n{line}")
    memory.put("memory.md", MEMORY.format(line, "", ""))
    said = "Use Redis. [retired since 2026-01-01] ^1"
    assert said in memory.read("memory_get", path="archive/memory_20260113_112700.md")
    assert said in memory.read("memory_load")

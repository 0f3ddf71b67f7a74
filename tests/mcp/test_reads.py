"""`memory_guide` and `memory_task` as a client calls them."""

import json
import re

import pytest

from gitmem.mcp.server import make_server
from gitmem.mcp.tools import ServedMemory as Served
from gitmem.record.working_memory import running
from gitmem.search.engine import SearchAnswer
from gitmem.store.init import add_scope
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.text.words import estimate_tokens


def test_a_task_is_begun_planned_and_ended(memory):
    assert memory.call("memory_task", act="show").is_error
    memory.text("memory_task", act="start", text="Fix the loader, it crashes")
    memory.text("memory_task", act="plan", steps=["write a test", "mend it"])
    memory.text("memory_task", act="note", text="empty files are read as none")
    said = memory.text("memory_task", act="hypothesis", text="The cache is stale", confidence=0.6, why="dates differ")
    assert "Hypothesis h1 (open, 0.6): The cache is stale" in said
    assert memory.call("memory_task", act="confirm", text="h9").is_error
    memory.text("memory_task", act="confirm", text="h1", confidence=0.95)
    memory.text("memory_task", act="decide", text="Drop the cache", why="it is stale")
    said = memory.text("memory_task", act="complete")
    assert "Task (bug_fix, completed): Fix the loader, it crashes" in said


def test_what_hooks_delivered_comes_before_what_the_agent_notes(memory):
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Fix the loader of empty files"}
    HookSpool(memory.reopen().private).accept("UserPromptSubmit", 0, json.dumps(payload).encode())
    memory.text("memory_task", act="note", text="empty files are read as none")
    (found,) = running(memory.reopen())
    assert (found.session, found.discoveries) == ("s1", ("empty files are read as none",))
    assert found.task.description == "Fix the loader of empty files"


def test_what_is_missing_is_said(memory):
    for arguments in ({"act": "start"}, {"act": "plan"}):
        assert memory.call("memory_task", **arguments).is_error
    assert memory.call("memory_guide").is_error
    assert memory.text("memory_guide", task="Paint the fence") == "No memory clearly matches."
    assert "The query is empty." in memory.call("memory_search", query=" ").content[0].text
    assert "Did you mean type:decision?" in memory.call("memory_search", query="type:decison").content[0].text
    assert "There is no folder" in memory.call("memory_search", query="x", stores="/no/such").content[0].text
    found = memory.call("memory_search", query="zebra").content
    assert (found[0].text, "deep=true" in found[1].text) == ('{"hits":[]}', True), "nothing found, and a way on"
    memory.write("memory.md", "")
    assert "nothing is remembered yet" in memory.read("memory_load", source="full")


def save(memory, text: str, **metadata) -> None:
    assert not memory.call("memory_save", type="decision", content=text, metadata=metadata).is_error


def line_of(memory, word: str) -> int:
    lines = (memory.root / "memory.md").read_text(encoding="utf-8").split("\n")
    return next(number for number, line in enumerate(lines, 1) if word in line)


def test_who_learned_a_line_when_and_in_which_session(memory):
    save(memory, "We use uv", session="1b4e51f0")
    text = memory.read("memory_history", path="memory.md", start_line=line_of(memory, "We use uv"))
    assert "Learned 2026-11-21 12:00 by mcp, session 1b4e51f0, commit " in text
    assert "(Save decision: We use uv)" in text
    assert "There are no earlier versions." in text


def test_an_author_who_is_not_the_user_is_named(memory, bare_git):
    save(memory, "We use uv")
    bare_git(memory.root, "commit", "-q", "--amend", "--no-edit", "--author=Mallory <m@example.com>")
    text = memory.read("memory_history", path="memory.md", start_line=line_of(memory, "We use uv"))
    assert "by Mallory with mcp, " in text


def test_what_a_line_was_before(memory):
    save(memory, "We use npm")
    for old, new in (("npm", "pnpm!"), ("pnpm!", "uv")):
        path = memory.root / "memory.md"
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        save(memory, f"{old} is out")
    number = line_of(memory, "We use uv")
    text = memory.read("memory_history", path="memory.md", start_line=number, end_line=number)
    assert text.index("Learned") < text.index("We use uv")
    before = text.index("Before that:\n- - [2026-11-21 12:00:00] **Decision**: We use pnpm!")
    assert before < text.index("We use npm")
    assert text.count("Before that:") == 2
    limited = memory.read("memory_history", path="memory.md", start_line=number, limit=1)
    assert "We use npm" not in limited
    assert "There are older versions" in limited


def test_a_long_version_is_shortened_and_can_be_got(memory):
    memory.write("knowledge/long.md", "".join(f"old {number}\n" for number in range(50)))
    save(memory, "one")
    memory.write("knowledge/long.md", "new\n")
    save(memory, "two")
    text = memory.read("memory_history", path="knowledge/long.md", start_line=1)
    assert text.count("- old ") == 20
    revision = text.partition("30 more lines: memory_get(..., at='")[2].partition("'")[0]
    assert "old 49" in memory.read("memory_get", path="knowledge/long.md", at=revision)


def test_long_ranges_are_told_in_parts(memory):
    memory.write("knowledge/long.md", "".join(f"line {number}\n" for number in range(1, 301)))
    text = memory.read("memory_history", path="knowledge/long.md", start_line=1, end_line=300)
    assert "[knowledge/long.md:1-60]" in text
    assert "Next: memory_history('knowledge/long.md', 61, 300)" in text


MEMORY = "# Memory\n\n## Core Decisions\n\n{}\n## Current State\n\n## Recent Context\n\n{}\n## Known Issues\n\n{}"


def entries(word: str, count: int) -> str:
    return "".join(
        f"- [2026-11-20 10:{n // 60:02}:{n % 60:02}] **Note**: {word} {n} {'x' * 60}\n" for n in range(count)
    )


def test_load_gives_the_memory_document_and_full_todays_log_too(memory):
    memory.write("memory.md", MEMORY.format("- we use uv\n", "", ""))
    memory.write("daily/2026/11/2026-11-21.md", "# 2026-11-21\n\n오늘의 기록\n")
    memory.write("daily/2026/11/2026-11-20.md", "yesterday\n")
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
    memory.write("memory.md", MEMORY.format("- we use uv\n", entries("recent", 400), "- it is slow\n"))
    memory.write("daily/2026/11/2026-11-21.md", entries("today", 400))
    text = memory.read("memory_load", source="full", max_tokens=tokens)
    assert estimate_tokens(text) <= tokens + 20  # two heads
    assert "- we use uv" in text
    assert "- it is slow" in text
    assert "all: memory_get('memory.md')" in text
    assert "all: memory_get('daily/2026/11/2026-11-21.md')" in text
    assert "recent 399" in text
    assert "today 399" in text
    assert "recent 0 " not in text


def test_get_gives_lines_an_entry_or_the_whole(memory):
    memory.write("knowledge/a.md", "# One\n\nfirst\n\n# Two\n\nsecond\nthird\n")
    assert memory.read("memory_get", path="knowledge/a.md", start_line=7, end_line=8).endswith("]\nsecond\nthird")
    section = memory.read("memory_get", path="knowledge/a.md", start_line=7)
    assert section.startswith("[knowledge/a.md:5-")
    assert "# Two\n\nsecond\nthird" in section
    assert "first" not in section
    assert memory.read("memory_get", path="knowledge/a.md:7") == section
    assert memory.read("memory_get", path="knowledge/a.md:7-8").endswith("]\nsecond\nthird")
    whole = memory.read("memory_get", path="knowledge/a.md")
    assert whole.startswith("[knowledge/a.md:1-8, ")
    assert memory.read("memory_get", path="knowledge/a.md", end_line=1).endswith("]\n# One")
    assert memory.read("memory_get", path="knowledge/a.md", lines=1).endswith("]\n# One")
    assert memory.read("memory_get", path="knowledge/a.md", **{"from": 7, "lines": 2}).endswith("]\nsecond\nthird")


def test_what_does_not_fit_is_told_how_to_be_got(memory):
    lines = [f"line {number} {'x' * 30}" for number in range(1, 401)]
    memory.write("knowledge/a.md", "\n".join(lines))
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
    memory.write("knowledge/a.md", f"{whole}\nlast")
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
        *("../outside.md", "daily/../../outside.md", "/etc/passwd", "{outside}", ".git/config", ".git/notes.md"),
        *("archive/.GIT/x.md", "git~1/notes.md", "link.md", "linked/outside.md", "a\0.md", "", ".", "config.yaml"),
        *("~/notes.md", "C:\\notes.md", "gitmem://store/memory.md", "x" * 100_000 + ".md"),
    ],
)
@pytest.mark.few(6)
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


def test_a_removed_file_is_read_as_it_was_last_and_said_to_be_gone(memory, bare_git):
    memory.write("knowledge/deploy.md", "Deploy with helm.\n\nOn Mondays.\n")
    for act in (
        ["add", "-A"],
        ["commit", "-qm", "Add"],
        ["rm", "-q", "knowledge/deploy.md"],
        ["commit", "-qm", "Away"],
    ):
        bare_git(memory.root, *act)
    said = memory.read("memory_get", path="knowledge/deploy.md", start_line=3)
    assert re.match(r"\[.*; knowledge/deploy.md is gone since [\d-]+: Away\. .*\]\nDeploy with helm\.", said)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"path": "knowledge/none.md"}, "memory_search names the paths"),
        ({"path": "memory.md", "start_line": 999}, "has 1"),
        ({"path": "memory.md", "at": "no such commit"}, "neither a revision of the store nor a date"),
    ],
)
def test_an_agent_is_told_what_to_do_next(memory, arguments, words):
    assert words in memory.error("memory_get", **arguments)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_hit_has_what_the_spec_says_and_no_more_than_it_knows(memory, mode):
    memory.write("knowledge/build.md", "# Build\n\nWe use uv, not pnpm.\n")
    result = memory.call("memory_search", mode, query="pnpm")
    assert (result.is_error, result.structured_content) == (False, None)
    (hit,) = memory.search("pnpm")
    assert list(hit) == ["path", "start_line", "end_line", "score", "source", "tokens", "snippet"]
    assert (hit["path"], hit["start_line"], hit["source"]) == ("knowledge/build.md", 1, "knowledge")
    assert "memory_get(path, start_line)" in result.content[1].text


def test_it_is_told_why_vectors_were_left_out(memory, monkeypatch):
    said = "openai did not answer within a second."
    monkeypatch.setattr("gitmem.mcp.reads.answer", lambda *_, **__: SearchAnswer([], said))
    result = memory.call("memory_search", query="zebra")
    assert result.content[1].text.endswith(f"Found by words alone: {said}")


def test_a_search_of_many_stores_names_the_store_of_each_hit(memory):
    memory.write("knowledge/animals.md", "The zebra eats grass.\n")
    result = memory.call("memory_search", query="zebra", stores=str(memory.root.parent))
    assert f'"store":"{memory.root}"' in result.content[0].text
    assert "zebra eats grass" in result.content[0].text


def test_a_tool_says_of_which_part_of_the_project_a_memory_is(memory):
    """Two agents have a server each, in two folders of one project."""
    project = memory.root.parent
    for part in ("packages/a", "packages/b"):
        (project / part).mkdir(parents=True)
        add_scope(memory.reopen(), str(project / part))

    def of(part: str) -> Store:
        store = memory.reopen()
        store.folder = str(project / part)
        return store

    memory.server = make_server(Served(lambda: of("packages/a")))
    save(memory, "Deploy the zebra with helm.")
    (hit,) = memory.search("zebra helm")
    assert (hit.get("status"), hit["part"]) == (None, "of packages/a")
    memory.server = make_server(Served(lambda: of("packages/b")))
    (hit,) = memory.search("zebra helm")
    assert hit["status"] == "of packages/a"
    assert "of packages/a, and shown there and above" in memory.text("memory_get", path=hit["path"])

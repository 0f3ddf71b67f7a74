import json
import time

import anyio
import pytest
from mcp import MCPError

from gitmem.errors import StoreNotFoundError
from gitmem.hosts import edits
from gitmem.mcp.server import make_server
from gitmem.mcp.tools import ServedMemory
from tests.mcp.conftest import unfenced

READS = {name.removeprefix("mcp__gitmem__") for name in edits.READS}


def tools(memory) -> dict:
    return {tool.name: tool for tool in memory.ask(lambda client: client.list_tools()).tools}


def test_the_tools_say_what_they_do(memory):
    found = tools(memory)
    assert set(found) == READS | {"memory_save", "memory_update", "memory_task"}
    for name, tool in found.items():
        assert tool.annotations.read_only_hint == (name in READS)
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False
        assert (tool.output_schema is None) == (name != "memory_save")
        assert "context" not in tool.input_schema["properties"]
        assert "  " not in tool.description


def test_what_always_stands_in_an_agents_context_is_small(memory):
    told = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools(memory).values()]
    assert len(json.dumps(told)) < 9_800


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_calls_at_once_are_all_answered_right(memory, bare_git, mode):
    for number in range(20):
        memory.write(f"knowledge/{number}.md", f"the word number{number} stands here\n")

    async def work(client):
        limit = anyio.CapacityLimiter(8)
        found: dict[int, str] = {}

        async def one(number: int):
            async with limit:
                if number % 10 == 0:
                    result = await client.call_tool("memory_save", {"type": "note", "content": f"saved{number}"})
                    assert not result.is_error, result.content
                    return
                result = await client.call_tool("memory_search", {"query": f"number{number % 20}"})
                found[number] = json.loads(unfenced(result.content[0].text))["hits"][0]["path"]

        async with anyio.create_task_group() as group:
            for number in range(80):
                group.start_soon(one, number)
        return found

    found = memory.ask(work, mode)
    assert found == {number: f"knowledge/{number % 20}.md" for number in range(80) if number % 10}
    text = (memory.root / "memory.md").read_text()
    assert all(text.count(f"saved{number} ^") == 1 for number in range(0, 80, 10))
    assert bare_git(memory.root, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "query", ["", " ", "a" * 100_000, "(" * 5_000, '"', "\0", "[\\", "since:never", "\U0001f9ea", "-"]
)
def test_hostile_queries_are_answered(memory, query):
    memory.write("knowledge/a.md", "words ( [ \\ \U0001f9ea\n")
    result = memory.call("memory_search", query=query)
    assert result.is_error == (query.strip() in {"", "since:never"})


def test_what_takes_long_says_that_it_is_alive(memory, monkeypatch):
    monkeypatch.setattr("gitmem.mcp.tools._BEAT", 0.05)
    slow = make_server(ServedMemory(lambda: time.sleep(0.4) or memory.reopen()))
    memory.server = slow
    beats = []

    async def note(progress, total, message):
        beats.append((progress, message))

    memory.ask(lambda client: client.call_tool("memory_search", {"query": "x"}, progress_callback=note))
    assert len(beats) >= 2
    assert [progress for progress, _ in beats] == sorted({progress for progress, _ in beats})
    assert beats[0][1] == "Searching: 1 s"


def test_without_a_store_the_server_runs_and_says_what_to_do(memory):
    def none():
        raise StoreNotFoundError("No store belongs to here.", "'gitmem init' makes one for this project.")

    memory.server = make_server(ServedMemory(none))
    asked = {"memory_search": {"query": "x"}, "memory_load": {}, "memory_save": {"type": "note", "content": "x"}}
    for tool, arguments in asked.items():
        assert "'gitmem init' makes one for this project." in memory.error(tool, **arguments)
    assert memory.ask(lambda client: client.list_resources()).resources == []
    for work in (
        lambda client: client.read_resource("gitmem://store/memory.md"),
        lambda client: client.get_prompt("recall", {"topic": "x"}),
    ):
        with pytest.raises(MCPError, match="gitmem init"):
            memory.ask(work)


def test_what_nobody_expected_is_in_the_log_and_its_text_stays_here(memory, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the inside of gitmem")

    monkeypatch.setattr("gitmem.mcp.reads.answer", broken)
    assert "the inside" not in memory.error("memory_search", query="x")
    journal = [path.read_text() for path in (memory.root / ".git" / "gitmem").rglob("*") if path.is_file()]
    assert any("RuntimeError: the inside of gitmem" in text and "mcp: Searching" in text for text in journal)

"""A store, and a client of its server in the same process."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import anyio
import pytest
from mcp import Client

from gitmem.mcp.server import DocumentServer, make_server
from gitmem.mcp.tools import Call
from gitmem.mcp.tools import ServedMemory as Served
from gitmem.platform.machine import Context
from gitmem.store.store import Store
from tests.copies import StoreCopies
from tests.world import NOON, World

_FENCE = re.compile(r"<gitmem-memory source='[^'<>]*'>\n[^\n]*\n(.*)\n</gitmem-memory>", re.DOTALL)


def unfenced(text: str) -> str:
    """Return the text in the fence of an answer."""
    found = _FENCE.fullmatch(text)
    assert found, text
    return found[1]


def call_on(store: Store) -> Call:
    """Return a call of a tool on a store."""
    return Call(store, store.context.clock())


_served: list[Callable[[], Store]] = []  # opens the store of the memory that is asked


@cache
def _server() -> DocumentServer:
    """Make the server for all memories once: most of a test's time would go to the schemas of its tools."""
    return make_server(Served(lambda: _served[-1]()))  # noqa: PLW0108  # the last one then


class Memory(World):
    """A store that files are put into by hand, and what its server answers."""

    def __init__(self, root: Path, context: Context) -> None:
        super().__init__(root, context)
        self.server = _server()

    def ask(self, work, mode: str = "auto"):
        """Return what a coroutine function makes of a client."""

        _served[:] = [self.reopen]

        async def run():
            async with Client(self.server, mode=mode) as client:
                try:
                    return await work(client), None
                except Exception as error:  # noqa: BLE001  # the client would wrap it
                    return None, error

        result, error = anyio.run(run)
        if error is not None:
            raise error
        return result

    def call(self, tool: str, mode: str = "auto", **arguments):
        return self.ask(lambda client: client.call_tool(tool, arguments), mode)

    def text(self, tool: str, **arguments) -> str:
        """Return the text of an answer that is no error."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        return "\n".join(block.text for block in result.content)

    def read(self, tool: str, **arguments) -> str:
        """Return the text in the fence of an answer."""
        return unfenced(self.text(tool, **arguments))

    def error(self, tool: str, **arguments) -> str:
        """Return what an agent is told that asked for something wrong."""
        result = self.call(tool, **arguments)
        assert result.is_error, result.content
        (block,) = result.content
        return block.text

    def search(self, query: str, **arguments) -> list[dict]:
        result = self.call("memory_search", query=query, **arguments)
        assert not result.is_error, result.content
        found = json.loads(unfenced(text) if "<" in (text := result.content[0].text)[:1] else text)
        assert list(found) == ["hits"], "an object: Gemini CLI rejects a bare array"
        return found["hits"]


@pytest.fixture
def memory(context: Context, tmp_path: Path, new_store: StoreCopies) -> Memory:
    project = tmp_path / "프로젝트 one"
    project.mkdir()
    new_store(project, context, NOON)
    return Memory(project / ".gitmem", context)

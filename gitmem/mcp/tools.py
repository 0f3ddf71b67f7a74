"""The tools as the SDK has them: names, what an agent is told of each, and which of them change anything.

What an agent reads is thin text, without an output schema: where a result has both, Claude Code shows the structured
one, and its keys are most of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp.types import TextContent, ToolAnnotations
from pydantic import Field

from gitmem.mcp import searching
from gitmem.mcp.calls import told

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer

    from gitmem.store.store import Store

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)

At = Annotated[str | None, Field(description="a commit, or a date as 2026-11-21 or '3 days ago': the files as of then")]


def add_tools(server: MCPServer[None], open_store: Callable[[], Store]) -> None:
    """Add the tools to a server."""

    @server.tool(title="Search memory", annotations=_READS, structured_output=False)
    def memory_search(
        query: Annotated[str, Field(description="words, in any language, in any form")],
        limit: Annotated[int, Field(ge=1, le=50, description="hits at most")] = searching.LIMIT,
        deep: Annotated[bool, Field(description="raw transcripts of sessions, too")] = False,
        history: Annotated[bool, Field(description="what only old commits hold, too")] = False,
        at: At = None,
    ) -> list[TextContent]:
        """Find what is remembered of earlier sessions, the best first.

        A query may hold "an exact phrase", -without, path:daily, type:decision, tag:build, since:2026-11-01,
        until:yesterday, session:ID. Returns a JSON array of {path, start_line, end_line, score, source, tokens (of the
        whole), snippet, ...}; [] if nothing is found. memory_get reads a hit in full.
        """
        with told("Ask in other words, or correct the filter."):
            hits, more = searching.find(open_store(), query, limit, deep=deep, history=history, at=at)
        return [TextContent(type="text", text=hits), TextContent(type="text", text=more)]

"""The tools: their names, their descriptions for agents, and which of them only read.

Results are plain text without an output schema: given both, Claude Code shows the structured result, most of which is
keys. Only the result of a save is structured; it is small, and programs read it, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context  # the SDK reads the signatures
from mcp.types import TextContent, ToolAnnotations
from pydantic import Field

from gitmem.document.entry import MemoryType  # as above
from gitmem.lessons.usage_log import GET, GivenText, note_asked
from gitmem.mcp import answers, changes
from gitmem.mcp.calls import ServedMemory, run
from gitmem.store.store import Store

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_NAMES = "memory_search names the paths and lines there are."

At = Annotated[str, Field(description="a commit, or a date like 2026-11-21 or '3 days ago': as of then")]
Path = Annotated[str, Field(description="as memory_search names it, in the store: memory.md, daily/...")]
Handle = Annotated[str, Field(description="a path as memory_search names it: memory.md, daily/...; or ^ID, one memory")]
Tokens = Annotated[int, Field(ge=500, le=25_000, description="at most; the answer says how to get the rest")]


def add_tools(server: MCPServer[None], memory: ServedMemory) -> None:
    """Add the tools to a server."""
    _add_search(server, memory)
    _add_reads(server, memory)
    _add_save(server, memory)
    _add_update(server, memory)
    _add_guide(server, memory)


def _add(
    server: MCPServer[None],
    function: Callable[..., Any],
    title: str,
    annotations: ToolAnnotations,
    *,
    structured: bool = False,
) -> None:
    server.add_tool(
        function,
        title=title,
        description=cleandoc(function.__doc__ or ""),
        annotations=annotations,
        structured_output=structured,
    )


def _add_search(server: MCPServer[None], memory: ServedMemory) -> None:
    async def memory_search(
        context: Context[None],
        *,
        query: Annotated[str, Field(description="words, in any language and form")],
        limit: Annotated[int, Field(ge=1, le=50)] = answers.SEARCH_LIMIT,
        deep: Annotated[bool, Field(description="look into raw transcripts, too")] = False,
        history: Annotated[bool, Field(description="find what was deleted or no longer holds, too")] = False,
        at: At = "",
        stores: Annotated[str, Field(description='"all": the stores of all projects here; or a folder of stores')] = "",
    ) -> list[TextContent]:
        """Find memories of earlier sessions, the best hit first.

        Returns JSON, {hits: [{path, start_line, end_line, score, source, tokens, snippet, ...}]}; tokens are those
        of the whole entry, which memory_get gives. A query may hold "an exact phrase", -without,
        path:daily, type:decision, tag:build, since:2026-11-01, until:yesterday, session:ID, author:NAME.
        """
        work = partial(
            answers.find, query=query, limit=limit, deep=deep, history=history, at=at, session=memory.session
        )
        if stores:
            work = partial(answers.find_in_stores, query=query, limit=limit, where=stores)
        texts = await run(memory, context, "Searching", work, "Correct the date or the filter.")
        return [TextContent(type="text", text=text) for text in texts]

    _add(server, memory_search, "Search memory", _READS)


def _add_reads(server: MCPServer[None], memory: ServedMemory) -> None:
    async def memory_load(
        context: Context[None],
        *,
        source: Annotated[
            Literal["startup", "full"], Field(description="startup: the memory document; full: today's log, too")
        ] = "startup",
        max_tokens: Tokens = answers.LOAD_TOKENS,
    ) -> str:
        """Load the memory of this project: decisions, current state, recent work, known issues."""
        work = partial(answers.load, full=source == "full", max_tokens=max_tokens)
        return await run(memory, context, "Loading", _noted(memory, work))

    async def memory_get(
        context: Context[None],
        *,
        path: Handle,
        start_line: Annotated[
            int, Field(ge=0, description="or `from`; alone: the entry or section it stands in; 0: the whole")
        ] = 0,
        end_line: Annotated[int, Field(ge=0)] = 0,
        lines: Annotated[int, Field(ge=0, description="how many, in place of end_line")] = 0,
        column: Annotated[int, Field(ge=0, description="where to go on in a line that is longer than max_tokens")] = 0,
        at: At = "",
        max_tokens: Tokens = answers.GET_TOKENS,
    ) -> str:
        """Read lines of one document of the memory: the lines around a hit of memory_search, or all."""
        start = start_line or (1 if lines else 0)
        end = end_line or (start + lines - 1 if lines else 0)
        work = partial(
            answers.get, path=path, start_line=start, end_line=end, column=column, at=at, max_tokens=max_tokens
        )
        return await run(memory, context, "Reading", _noted(memory, work, path), _NAMES)

    async def memory_history(
        context: Context[None],
        *,
        path: Path,
        start_line: Annotated[int, Field(ge=1, description="alone: the entry or section it stands in")],
        end_line: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=50, description="earlier versions at most")] = answers.TRACE_LIMIT,
    ) -> str:
        """Tell who wrote lines of the memory, when, in which session, and what they were before."""
        work = partial(answers.trace, path=path, start_line=start_line, end_line=end_line, limit=limit)
        return await run(memory, context, "Looking through history", _noted(memory, work), _NAMES)

    _add(server, memory_load, "Load memory", _READS)
    _add(server, memory_get, "Read memory", _READS)
    _add(server, memory_history, "History of a memory", _READS)


def _noted(memory: ServedMemory, work: Callable[[Store], str], handle: str = "") -> Callable[[Store], str]:
    """Return the same work, noting that the session read this text, of the memory of a handle `^ID`."""

    def noting(store: Store) -> str:
        began = store.context.clock()
        text = work(store)
        ids = (handle[1:],) if handle.startswith("^") else ()
        note_asked(store, GivenText(began, memory.session, GET, ids), text)
        return text

    return noting


def _add_save(server: MCPServer[None], memory: ServedMemory) -> None:
    async def memory_save(
        context: Context[None],
        *,
        type: MemoryType,  # noqa: A002  # the name in docs/spec.md J8
        content: Annotated[
            str, Field(max_length=changes.MAX_CHARACTERS, description="with the reason, in a few sentences")
        ],
        metadata: Annotated[
            dict[str, Any], Field(description="tags: [words], private: true, session: ID, any 'key: value'")
        ] = {},  # noqa: B006  # never changed
    ) -> changes.SaveResult:
        """Remember something for later sessions, as one commit.

        Save what the code does not tell: a decision and why, a lesson, an error and its fix, an open issue, a
        preference of the user's. Secrets are redacted.
        """
        client = context.request_context.session.client_params
        host = client.client_info.name if client else "mcp"

        def work(store: Store) -> changes.SaveResult:
            saved = changes.keep(store, type, content, metadata, session=memory.session, host=host)
            memory.after_save(store)
            return saved

        return await run(memory, context, "Saving", work, "Correct it and save again.")

    _add(server, memory_save, "Save to memory", _ADDS, structured=True)


def _add_update(server: MCPServer[None], memory: ServedMemory) -> None:
    async def memory_update(
        context: Context[None],
        *,
        id: Annotated[str, Field(description="of the fact: the 11 characters after ^")],  # noqa: A002  # as in a hit
        act: changes.FactAct,
        text: Annotated[
            str,
            Field(
                max_length=8_000,
                description="why (retire), how (resolve), new wording (edit), the new one's id (supersede)",
            ),
        ] = "",
    ) -> str:
        """Say that a decision, rule, preference or issue no longer holds, is resolved, or holds in other words.

        One commit, which gitmem undo takes back; later sessions are told what holds then.
        """

        def work(store: Store) -> str:
            done = changes.update(store, id, act, text)
            memory.after_save(store)
            return done

        return await run(memory, context, "Updating", work, "memory_search names the ids there are.")

    _add(server, memory_update, "Update memory", _CHANGES)


def _add_guide(server: MCPServer[None], memory: ServedMemory) -> None:
    async def memory_guide(
        context: Context[None],
        *,
        task: Annotated[str, Field(max_length=8_000, description="a task or a question, in words")] = "",
        error: Annotated[str, Field(max_length=200_000, description="what a failed command printed")] = "",
    ) -> str:
        """Tell what earlier sessions teach for a task or an error: what to try, avoid and expect, with sources.

        Ask before a task, and when a command fails in a way you do not know.
        """
        work = partial(answers.advise, task=task, error=error, session=memory.session)
        return await run(memory, context, "Looking for advice", work)

    async def memory_task(
        context: Context[None],
        *,
        act: answers.TaskAct,
        text: Annotated[str, Field(max_length=2_000, description="to confirm or reject: the hypothesis's id")] = "",
        steps: Annotated[list[str], Field(max_length=50, description="of the plan, in order")] = [],  # noqa: B006  # never changed
        confidence: Annotated[float, Field(ge=0, le=1, description="of a hypothesis")] = 0.0,
        why: Annotated[str, Field(max_length=2_000, description="evidence or reason")] = "",
    ) -> str:
        """Note what this session is at: you are told it again after a compaction."""
        work = partial(
            answers.work, act=act, text=text, steps=steps, confidence=confidence, why=why, session=memory.session
        )
        return await run(memory, context, "Noting", work)

    _add(server, memory_guide, "Ask memory for advice", _READS)
    _add(server, memory_task, "Note the task at hand", _ADDS)

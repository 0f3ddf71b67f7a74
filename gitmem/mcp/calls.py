"""Run a tool in a thread on a store of its own, report progress, and turn errors into messages for agents.

Results are plain text without an output schema: given both, Claude Code shows the structured result, most of which is
keys. Only the result of a save is structured; it is small, and programs read it, too.
"""

from __future__ import annotations

import contextlib
import inspect
import traceback
from collections.abc import Callable
from datetime import datetime
from typing import Any

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.store.findings import FailureLog, LoggedFailure
from gitmem.store.locate import NotAcceptedError
from gitmem.store.store import Store
from gitmem.text.terminal import fenced, plain
from gitmem.values import Value

_BEAT = 1.0  # seconds between two progress reports
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class ServedMemory(Value):
    """The memory to serve: `open` opens the store, once for each call, and `after_save` runs after a save.

    `session` is the host's session that started the server, or "".
    """

    open: Callable[[], Store]
    after_save: Callable[[Store], None] = lambda _: None
    session: str = ""


class Call(Value):
    """A call of a tool: the store, when it began, the session of the server, and the name of the client."""

    store: Store
    began: datetime
    session: str = ""
    host: str = "mcp"


class Tool(Value):
    """A tool: its function, which takes a `Call` and the arguments, and whose docstring is for agents.

    `doing` names the work in progress reports; `remedy` replaces the remedy of a NotFoundError or RefusedError. It is
    told whether its result is `structured`, and whether it `commits`.
    """

    function: Callable[..., Any]
    title: str
    annotations: ToolAnnotations
    doing: str
    remedy: str = ""
    structured: bool = False
    commits: bool = False

    def add_to(self, server: MCPServer[None], memory: ServedMemory) -> None:
        """Add the tool to a server, with the signature of its function."""

        async def tool(context: Context[None], **arguments: Any) -> Any:
            client = context.request_context.session.client_params
            host = client.client_info.name if client else "mcp"

            def work() -> object:
                store = memory.open()
                result = self.function(Call(store, store.context.clock(), memory.session, host), **arguments)
                if self.commits:
                    memory.after_save(store)
                return result

            return await _run(work, context, memory, self)

        signature = inspect.signature(self.function, eval_str=True)
        first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Context[None])
        every = [first, *list(signature.parameters.values())[1:]]
        vars(tool).update(__signature__=signature.replace(parameters=every))  # which the SDK reads
        name = tool.__name__ = self.function.__name__
        about, structured = inspect.cleandoc(self.function.__doc__ or ""), self.structured
        server.add_tool(tool, name, self.title, about, self.annotations, structured_output=structured)


async def _run(work: Callable[[], object], context: Context[None], memory: ServedMemory, tool: Tool) -> object:
    """Return the result of `work`, run in a thread; report progress to the client every second.

    Raises:
        ToolError: in place of a GitmemError or OSError, with a message that an agent can act on.

    """
    over = anyio.Event()
    results: list[object] = []
    failures: list[Exception] = []  # a task group would wrap them
    async with anyio.create_task_group() as group:
        group.start_soon(_beat, context, tool.doing, over)
        try:
            results.append(await anyio.to_thread.run_sync(work))
        except Exception as error:  # noqa: BLE001  # it is raised below
            failures.append(error)
        finally:
            over.set()
    if failures:
        raise _tool_error(memory, tool.doing, failures[0], tool.remedy)
    return results[0]


async def _beat(context: Context[None], task: str, over: anyio.Event) -> None:
    seconds = 0
    while not over.is_set():
        with anyio.move_on_after(_BEAT):
            await over.wait()
        seconds += 1
        if not over.is_set():
            await context.report_progress(seconds, message=f"{task}: {seconds} s")


def _tool_error(memory: ServedMemory, task: str, error: Exception, remedy: str) -> Exception:
    """Return the error to raise; log an unexpected one for `gitmem doctor` (docs/spec.md R12)."""
    if isinstance(error, GitmemError):
        of_call = isinstance(error, NotFoundError | RefusedError) and not isinstance(error, NotAcceptedError)
        hint = remedy if remedy and of_call else error.remedy
        return ToolError(client_text(f"{error.message} {hint}".strip()))
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return ToolError(
            client_text(f"{error.strerror or error}{where}. 'gitmem doctor' says what is wrong with the store.")
        )
    with contextlib.suppress(Exception):
        store = memory.open()
        trace = "".join(traceback.format_exception(error))
        words = f"{type(error).__name__}: {error}"
        FailureLog(store.private).record(LoggedFailure(store.context.clock(), f"mcp: {task}", words, trace))
    return error


def client_text(text: str, source: str = "") -> str:
    """Return a text that any client can read, without characters that JSON cannot hold; that of a `source` fenced."""
    shown = plain(text).encode("utf-8", "replace").decode()
    return fenced(shown, source) if source else shown

"""Run a call in a thread on a store of its own, report progress, and turn errors into messages for agents."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.store.findings import FailureLog, LoggedFailure
from gitmem.store.locate import NotAcceptedError
from gitmem.store.store import Store
from gitmem.text.terminal import fenced, plain
from gitmem.values import Value

T = TypeVar("T")
_BEAT = 1.0  # seconds between two progress reports


class ServedMemory(Value):
    """The memory to serve: `open` opens the store, once for each call, and `after_save` runs after a save.

    `session` is the host's session that started the server, or "".
    """

    open: Callable[[], Store]
    after_save: Callable[[Store], None] = lambda _: None
    session: str = ""


async def run(
    memory: ServedMemory, context: Context[None], task: str, work: Callable[[Store], T], remedy: str = ""
) -> T:
    """Return the result of `work`, run on the store in a thread; report progress to the client every second.

    `task` names the work in progress reports; `remedy` replaces the remedy of a NotFoundError or RefusedError.

    Raises:
        ToolError: in place of a GitmemError or OSError, with a message that an agent can act on.

    """
    over = anyio.Event()
    results: list[T] = []
    failures: list[Exception] = []  # a task group would wrap them
    async with anyio.create_task_group() as group:
        group.start_soon(_beat, context, task, over)
        try:
            results.append(await anyio.to_thread.run_sync(lambda: work(memory.open())))
        except Exception as error:  # noqa: BLE001  # it is raised below
            failures.append(error)
        finally:
            over.set()
    if failures:
        raise _tool_error(memory, task, failures[0], remedy)
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

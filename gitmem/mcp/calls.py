"""How every call is run: off the event loop, on a store of its own, with signs of life, and errors put into words."""

from __future__ import annotations

import contextlib
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver.exceptions import ToolError

from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.mcp.words import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import Context

    from gitmem.store.store import Store

T = TypeVar("T")
_BEAT = 1.0  # seconds between two signs of life


@dataclass(frozen=True, slots=True)
class Memory:
    """What is served: how its store is opened, anew for each call, and what follows a save.

    `session` is the host's session the server was started for, "" where it is not known.
    """

    open: Callable[[], Store]
    after_save: Callable[[Store], None] = lambda _: None
    session: str = ""


async def run(memory: Memory, context: Context[None], what: str, work: Callable[[Store], T], remedy: str = "") -> T:
    """Return what `work` makes of the store; it runs in a thread, and the client hears every second that it does.

    `what` is being done, in words; `remedy` is what an agent does that asked for what is not there or not allowed.

    Raises:
        ToolError: with words that an agent can act on, in place of an error of gitmem's or of the disk's.

    """
    over = anyio.Event()
    results: list[T] = []
    failures: list[Exception] = []  # a task group would wrap them
    async with anyio.create_task_group() as group:
        group.start_soon(_beat, context, what, over)
        try:
            results.append(await anyio.to_thread.run_sync(lambda: work(memory.open())))
        except Exception as error:  # noqa: BLE001  # it is raised below
            failures.append(error)
        finally:
            over.set()
    if failures:
        raise _told(memory, what, failures[0], remedy)
    return results[0]


async def _beat(context: Context[None], what: str, over: anyio.Event) -> None:
    seconds = 0
    while not over.is_set():
        with anyio.move_on_after(_BEAT):
            await over.wait()
        seconds += 1
        if not over.is_set():
            await context.report_progress(seconds, message=f"{what}: {seconds} s")


def _told(memory: Memory, what: str, error: Exception, remedy: str) -> Exception:
    """Return an error as an agent is told it; one that nobody expected goes into the log of `gitmem doctor` (R12)."""
    if isinstance(error, GitmemError):
        asked_wrong = isinstance(error, NotFoundError | RefusedError) and remedy
        return ToolError(clean(f"{error.message} {remedy if asked_wrong else error.remedy}".strip()))
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return ToolError(clean(f"{error.strerror or error}{where}. 'gitmem doctor' says what is wrong with the store."))
    with contextlib.suppress(Exception):
        from gitmem.store.upkeep.failures import Failure, FailureLog

        store = memory.open()
        trace = "".join(traceback.format_exception(error))
        words = f"{type(error).__name__}: {error}"
        FailureLog(store.private).record(Failure(store.context.clock(), f"mcp: {what}", words, trace))
    return error

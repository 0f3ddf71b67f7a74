"""The frame of all tools, and the tools that save, change facts, give advice, and note the task at hand.

A tool runs in a thread with its own store, reports progress, and turns errors into messages for agents. Results are
plain text without an output schema: given both, Claude Code shows the structured result, which is mostly keys. Only the
result of a save is structured; it is small, and programs read it, too.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from gitmem.document.entry import MemoryType, clean_tag, clean_text
from gitmem.document.ids import daily_path
from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.model.fact import FactKind
from gitmem.purge.unfinished import finish_purge
from gitmem.record.fact_edits import act_on, find_fact
from gitmem.record.read import glance
from gitmem.record.save import labelled, save_text
from gitmem.record.working_memory import apply_events, brief, change_working, find_working, requested_change
from gitmem.store.acceptance import NotAcceptedError
from gitmem.store.findings import FailureLog, failure_of
from gitmem.store.layers import store_for_session
from gitmem.store.store import Store
from gitmem.tell.guide import as_text, guide
from gitmem.text.terminal import fenced, plain
from gitmem.text.words import estimate_tokens
from gitmem.values import Value

_BEAT = 1.0  # seconds between two progress reports
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_MAX_METADATA = 10_000  # characters of all metadata, as JSON
_MAX_NAME = 100  # characters of a session's or a host's name


class ServedMemory(Value):
    """The memory to serve: `open` opens the store, once for each call, and `after_save` runs after a save.

    `session` is the host's session that started the server, or "".
    """

    open: Callable[[], Store]
    after_save: Callable[[Store], None] = lambda _: None
    session: str = ""


class Call(Value):
    """A tool call: the store, its begin, the server's session, and the client's name."""

    store: Store
    began: datetime
    session: str = ""
    host: str = "mcp"


class Tool(Value):
    """A tool: its function takes a `Call` and the arguments; the function's docstring is for agents.

    `doing` names the work in progress reports; `remedy` replaces that of a NotFoundError or RefusedError. `structured`:
    its result is a model; `commits`: it makes commits.
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
        vars(tool).update(__signature__=signature.replace(parameters=every))  # the SDK reads it
        name = tool.__name__ = self.function.__name__
        about, structured = inspect.cleandoc(self.function.__doc__ or ""), self.structured
        server.add_tool(tool, name, self.title, about, self.annotations, structured_output=structured)


async def _run(work: Callable[[], object], context: Context[None], memory: ServedMemory, tool: Tool) -> object:
    """Return the result of `work`, run in a thread; report progress to the client every second."""
    over = anyio.Event()
    results: list[object] = []
    failures: list[Exception] = []  # not raised inside, since a task group would wrap them
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
    """Return the error to raise; log an unexpected one for `gitmem doctor`."""
    if isinstance(error, GitmemError):
        of_call = isinstance(error, NotFoundError | RefusedError) and not isinstance(error, NotAcceptedError)
        hint = remedy if remedy and of_call else error.remedy
        return ToolError(client_text(f"{error.message} {hint}".strip()))
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        why = f"{error.strerror or error}{where}. 'gitmem doctor' says what is wrong with the store."
        return ToolError(client_text(why))
    with contextlib.suppress(Exception):
        store = memory.open()
        FailureLog(store.private).record(failure_of(store.context.clock(), f"mcp: {task}", error))
    return error


def client_text(text: str, source: str = "") -> str:
    """Return a text that any client can read, without characters that JSON cannot hold; fenced if it has a `source`."""
    shown = plain(text).encode("utf-8", "replace").decode()
    return fenced(shown, source) if source else shown


class SaveResult(BaseModel):
    """The result of a save."""

    id: str = Field(description="of the entry; it stands as ^id at the end of its first line")
    commit: str | None = Field(description="that holds it; null if another process committed it")
    path: str = Field(description="the daily log it is in, for memory_get")
    tokens: int
    redacted: dict[str, int] = Field(default={}, description="how many secrets of each kind were left out of the text")
    notices: list[str] = Field(default=[], description="for the user")


def memory_save(
    call: Call,
    *,
    type: MemoryType,  # noqa: A002  # the name in docs/spec.md J8
    content: Annotated[str, Field(max_length=100_000, description="with the reason, in a few sentences")],
    metadata: Annotated[
        dict[str, Any], Field(description="tags: [words], private: true, session: ID, any 'key: value'")
    ] = {},  # noqa: B006  # never changed
) -> SaveResult:
    """Remember something for later sessions, as one commit.

    Save what the code does not tell: a decision and why, a lesson, an error and its fix, an open issue, a
    preference of the user's. Secrets are redacted.
    """
    if (size := len(json.dumps(metadata, ensure_ascii=False, default=str))) > _MAX_METADATA:
        raise RefusedError(
            f"metadata has {size:,} characters; at most {_MAX_METADATA:,} are kept: put the text into content."
        )
    about = dict(metadata)
    tags = _tags(about.pop("tags", ()))
    session = _name(about.pop("session", None) or call.session)
    private = about.pop("private", False)
    if not isinstance(private, bool):  # refuse "yes", lest it be saved in the shared memory
        raise RefusedError("private is true or false.")
    store = finish_purge(store_for_session(call.store, session, private=private))
    # Further metadata stands below the text.
    kind, said = labelled(type, content)
    text = "\n".join([said, *(f"{_name(key)}: {_value(value)}" for key, value in about.items())])
    if not clean_text(content):
        raise RefusedError("There is nothing to save: content is empty.")
    path = daily_path(f"{store.context.clock():%Y-%m-%d}")
    saved = save_text(store, text, kind, tags, session=session, host=_name(call.host))
    became = f"memory.md was full and became {saved.archive}." if saved.archive else ""
    notices = [*saved.notices, *filter(None, (saved.known, became))]
    about = {"path": path, "tokens": estimate_tokens(text), "redacted": saved.redacted, "notices": notices}
    return SaveResult(id=saved.id, commit=saved.commit, **about)


def _tags(value: object) -> tuple[str, ...]:
    words = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        raise RefusedError("tags are a list of words.")
    try:
        return tuple(dict.fromkeys(clean_tag(str(word)) for word in words))
    except ValueError as error:
        raise RefusedError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None


def _name(value: object) -> str:
    return " ".join(clean_text(str(value)).split())[:_MAX_NAME]


def _value(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def memory_update(
    call: Call,
    *,
    id: Annotated[str, Field(description="of the fact: the 11 characters after ^, or its words")],  # noqa: A002  # as in a hit
    act: Literal["retire", "resolve", "edit", "confirm", "supersede"],
    text: Annotated[
        str,
        Field(
            max_length=8_000,
            description="why (retire), how (resolve), new wording (edit), the new one's id (supersede)",
        ),
    ] = "",
) -> str:
    """Say that a decision, rule, preference or issue is no longer in force, is resolved, or holds in other words.

    One commit, which gitmem undo takes back; later sessions are shown what is in force then.
    """
    fact = find_fact(call.store, id, FactKind.ISSUE if act == "resolve" else None)
    if act in ("edit", "supersede") and not text.strip():
        raise RefusedError("text is empty.", "It is the new wording, or the id of the fact that holds instead.")
    if act == "resolve" and fact.kind != FactKind.ISSUE:
        raise RefusedError(f"{fact.id} is no issue, but a {fact.kind}.", "Use retire.")
    commits = act_on(call.store, act, fact, text)
    now = find_fact(call.store, fact.id)
    state = f"{now.id} is {now.status}" + (f" by {now.superseded_by}" if now.superseded_by else "")
    return f"{state}: {now.description}" if commits else f"Nothing changed: {state}."


def memory_guide(
    call: Call,
    *,
    task: Annotated[str, Field(max_length=8_000, description="a task or a question, in words")] = "",
    error: Annotated[str, Field(max_length=200_000, description="what a failed command printed")] = "",
) -> str:
    """Tell what earlier sessions teach for a task or an error: what to try, avoid and expect, with sources.

    Ask before a task, and when a command fails in a way you do not know.
    """
    if not (task.strip() or error.strip()):
        raise RefusedError("task and error are empty.", "Give a task, a question, or the output of a failed command.")
    advice = as_text(guide(call.store, task, error=error, session=call.session))
    return client_text(advice, "memory_guide") or "No memory clearly matches."


_NEEDS_TEXT = ("start", "note", "hypothesis", "confirm", "reject", "decide")


def memory_task(
    call: Call,
    *,
    act: Literal["show", "start", "plan", "note", "hypothesis", "confirm", "reject", "decide", "complete"],
    text: Annotated[str, Field(max_length=2_000, description="to confirm or reject: the hypothesis's id")] = "",
    steps: Annotated[list[str], Field(max_length=50, description="of the plan, in order")] = [],  # noqa: B006  # never changed
    confidence: Annotated[float, Field(ge=0, le=1, description="of a hypothesis")] = 0.0,
    why: Annotated[str, Field(max_length=2_000, description="evidence or reason")] = "",
) -> str:
    """Note what this session is at: you are shown it again after a compaction."""
    store, own = call.store, call.session
    if act in _NEEDS_TEXT and not text.strip():
        raise RefusedError("text is empty.", "It is the task, note, hypothesis or decision, or a hypothesis's id.")
    if act == "plan" and not steps:
        raise RefusedError("steps is empty.", "Give the steps of the plan, in order.")
    if waiting := glance(store):  # commit earlier events before this one
        apply_events(store, waiting.events)
    try:
        own = own or find_working(store, "").session  # the last active one
    except NotFoundError:
        if act != "start":  # the only act that needs no task
            raise
        own = "mcp"
    if act == "show":
        memory = find_working(store, own)
    else:
        at = call.began.isoformat()
        change = requested_change(
            act, text, at, steps=steps, sure=confidence or None, why=why, lists="act=show lists them with their ids."
        )
        memory = change_working(store, own, change)
    return client_text(brief(memory), "memory_task") or "Nothing yet."


TOOLS = (
    Tool(memory_save, "Save to memory", ADDS, "Saving", "Correct it and save again.", structured=True, commits=True),
    Tool(memory_update, "Update memory", CHANGES, "Updating", "memory_search names the ids there are.", commits=True),
    Tool(memory_guide, "Ask memory for advice", READS, "Looking for advice"),
    Tool(memory_task, "Note the task at hand", ADDS, "Noting"),
)

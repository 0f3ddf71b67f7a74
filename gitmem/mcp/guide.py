"""`memory_guide` and `memory_task`: advice from memory, and the working memory of the running session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gitmem.errors import NotFoundError, RefusedError
from gitmem.mcp.calls import client_text
from gitmem.memory.capture.pending import glance
from gitmem.memory.guide.guide import as_text, guide
from gitmem.memory.task.working import change_working, find_working, follow
from gitmem.model.learned import working
from gitmem.model.learned.brief import brief
from gitmem.model.learned.state import HypothesisStatus, Step
from gitmem.model.learned.task import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitmem.model.learned.state import WorkingMemory
    from gitmem.store.store import Store

Act = Literal["show", "start", "plan", "note", "hypothesis", "confirm", "reject", "decide", "complete"]
_NEEDS_TEXT = ("start", "note", "hypothesis", "confirm", "reject", "decide")
_SERVER = "mcp"  # the session of a server that was started for none


def advise(store: Store, task: str, error: str, session: str) -> str:
    """Return advice from memory for a task or the error in an output.

    Raises:
        RefusedError: there is neither.

    """
    if not (task.strip() or error.strip()):
        raise RefusedError("task and error are empty.", "Give a task, a question, or the output of a failed command.")
    advice = as_text(guide(store, task, error=error, session=session))
    return client_text(advice, "memory_guide") or "No memory clearly matches."


def work(store: Store, act: Act, text: str, *, steps: Sequence[str], confidence: float, why: str, session: str) -> str:
    """Change or show the working memory of the running session, and return it in a few lines.

    Raises:
        GitmemError: the text is missing, or there is no such hypothesis or task.

    """
    if act in _NEEDS_TEXT and not text.strip():
        raise RefusedError("text is empty.", "It is the task, note, hypothesis or decision, or a hypothesis's id.")
    if act == "plan" and not steps:
        raise RefusedError("steps is empty.", "Give the steps of the plan, in order.")
    if waiting := glance(store):  # what hooks delivered comes before what the agent says now
        follow(store, waiting.events)
    own = session or _own_session(store, act)
    at = store.context.clock().isoformat()
    if act == "show":
        memory = find_working(store, own)
    else:
        memory = change_working(store, own, _change(act, text, at, steps=steps, confidence=confidence, why=why))
    return client_text(brief(memory), "memory_task") or "Nothing yet."


def _own_session(store: Store, act: Act) -> str:
    """Return the session that was active last; only `start` does without one."""
    try:
        return find_working(store, "").session
    except NotFoundError:
        if act != "start":
            raise
        return _SERVER


def _change(
    act: Act, text: str, at: str, *, steps: Sequence[str], confidence: float, why: str
) -> Callable[[WorkingMemory], WorkingMemory]:
    if act in {"confirm", "reject"}:
        status = HypothesisStatus.CONFIRMED if act == "confirm" else HypothesisStatus.REJECTED

        def settled(memory: WorkingMemory) -> WorkingMemory:
            try:
                return working.settle(memory, text.strip(), status, at, confidence or None)
            except KeyError:
                raise NotFoundError(f"There is no hypothesis {text}.", "act=show lists them with their ids.") from None

        return settled
    changes: dict[str, Callable[[WorkingMemory], WorkingMemory]] = {
        "start": lambda memory: working.start_task(memory, text, at),
        "plan": lambda memory: working.set_plan(memory, [Step(step) for step in steps]),
        "note": lambda memory: working.note(memory, text),
        "hypothesis": lambda memory: working.suppose(memory, text, confidence or 0.5, [why] if why else ()),
        "decide": lambda memory: working.decide(memory, text, at, why),
        "complete": lambda memory: working.end_task(memory, TaskStatus.COMPLETED),
    }
    return changes[act]

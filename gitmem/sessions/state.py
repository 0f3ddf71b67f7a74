"""The state of a running session, as data (docs/memory.md, "Working memory"). Pure.

Tested through `tests/sessions/test_working.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.sessions.task import TaskStatus, TaskType


class HypothesisStatus(StrEnum):
    """Whether a hypothesis was settled; a rejected one is not kept."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Task:
    """The task at hand; `turn` is the key of the turn that began it."""

    type: TaskType
    description: str
    status: TaskStatus
    started: str
    turn: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the plan, and whether it is `pending`, `in_progress` or `completed`; `key` is the host's id of it."""

    text: str
    status: str = "pending"
    key: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool call: the tool, its target, and whether it worked."""

    at: str
    tool: str
    what: str
    worked: bool


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """A failed call: its command, the error's type and message, and the command that then worked ("" if none yet).

    `files` are the last files changed before it.
    """

    at: str
    command: str
    type: str
    message: str
    mended_by: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Touched:
    """A file that was read or changed, or a symbol that was named: how often, the last act and the one before, when.

    `changes` counts the acts that changed it.
    """

    path: str
    count: int
    state: str
    previous: str = ""
    at: str = ""
    changes: int = 0


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A supposition with a confidence from 0 to 1, its evidence, and its conflicts: ids, or "a decision"."""

    id: str
    text: str
    confidence: float
    evidence: tuple[str, ...] = ()
    status: HypothesisStatus = HypothesisStatus.OPEN
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The context of a decision: files, symbols, and counts."""

    files: tuple[str, ...]
    symbols: tuple[str, ...]
    hypotheses: int
    decisions: int
    step: int


@dataclass(frozen=True, slots=True)
class TaskDecision:
    """A decision with its reason, time and context."""

    text: str
    reason: str
    at: str
    context: Snapshot


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over the session.

    `proposed` counts the calls that were to change files, `changes` those that did; `tokens` is by how much the agent's
    context grew, and `context` what it held when last looked at; both are 0 if the host does not say.
    """

    prompts: int = 0
    tools: int = 0
    errors: int = 0
    changes: int = 0
    proposed: int = 0
    tokens: int = 0
    context: int = 0


@dataclass(frozen=True, slots=True)
class EndedTask:
    """The notes of a task before the present one."""

    task: Task
    steps: tuple[Step, ...] = ()
    discoveries: tuple[str, ...] = ()
    decisions: tuple[TaskDecision, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The state of a session. Times are RFC 3339; the newest item of a buffer is the last.

    `turn` is the key of the newest turn, `cwd` the folder in which the session began; files below it are named from it.
    """

    session: str
    started: str
    task: Task | None = None
    steps: tuple[Step, ...] = ()
    results: tuple[ToolResult, ...] = ()
    errors: tuple[ErrorSeen, ...] = ()
    discoveries: tuple[str, ...] = ()
    files: tuple[Touched, ...] = ()
    symbols: tuple[Touched, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    decisions: tuple[TaskDecision, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    earlier: tuple[EndedTask, ...] = ()
    turn: str = ""
    cwd: str = ""

    @property
    def step(self) -> int:
        """Return the number of completed steps."""
        return sum(step.status == "completed" for step in self.steps)

    @property
    def failed(self) -> tuple[ErrorSeen, ...]:
        """Return the errors that came since the task began, and that nothing mended."""
        began = datetime.fromisoformat(self.task.started if self.task else self.started)
        unmended = (error for error in self.errors if not error.mended_by)
        return tuple(error for error in unmended if datetime.fromisoformat(error.at) >= began)

    @property
    def pending(self) -> tuple[str, ...]:
        """Return the open steps of the plan, then the failed commands to run again."""
        steps = [step.text for step in self.steps if step.status != "completed"]
        failed = [f"Run `{error.command}` again" for error in self.failed if error.command]
        return tuple(dict.fromkeys((*steps, *failed)))

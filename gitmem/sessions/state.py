"""The state of a running session, and the type of task a request sets (docs/memory.md, "Working memory"). Pure."""

from __future__ import annotations

from enum import StrEnum

from gitmem.platform.clock import datetime
from gitmem.text.data import matcher
from gitmem.values import Value

MAX_READ = 600  # characters of a request: the rest is pasted or explains


class TaskType(StrEnum):
    """The type of a task."""

    BUG_FIX = "bug_fix"
    FEATURE = "feature"
    REFACTOR = "refactor"
    TEST = "test"
    DOCS = "docs"
    QUESTION = "question"
    SETUP = "setup"
    REVIEW = "review"


class TaskStatus(StrEnum):
    """The state of a task."""

    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


_WORDS = "tasks.tsv"
# The least ambiguous type first: the first match wins.
_ORDER = (
    *(TaskType.REVIEW, TaskType.TEST, TaskType.BUG_FIX, TaskType.REFACTOR, TaskType.DOCS, TaskType.SETUP),
    TaskType.FEATURE,
)
_SHORT = 60  # characters: a request that begins in the middle of a talk


def classify(request: str) -> TaskType:
    """Return the type of a request's task: a question by its form, else the first match, else a feature."""
    text = _plain(request)
    rest = matcher(_WORDS, "asks_politely").sub("", text)
    asks = rest != text or _has("asks", text) or text.endswith(("?", "\N{FULLWIDTH QUESTION MARK}"))
    if asks and not _has("orders", rest):
        return TaskType.QUESTION
    return next((kind for kind in _ORDER if _has(kind, text)), TaskType.FEATURE)


def tells(request: str) -> bool:
    """Return whether a request has no word of a task, an order or a question ("my user is ann")."""
    return not any(_has(kind, _plain(request)) for kind in ("asks", "orders", *_ORDER))


def follows_up(request: str) -> bool:
    """Return whether a request continues the last task ("still broken", "2번으로", "and commit it")."""
    text = _plain(request)
    return len(text) <= _SHORT and _has("follow_up", text)


def _plain(request: str) -> str:
    return " ".join(request[:MAX_READ].split()).casefold()


def _has(kind: str, text: str) -> bool:
    return matcher(_WORDS, kind).search(text) is not None


class HypothesisStatus(StrEnum):
    """Whether a hypothesis was settled; a rejected one is not kept."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


class Task(Value):
    """The task at hand; `turn` is the key of the turn that began it."""

    type: TaskType
    description: str
    status: TaskStatus
    started: str
    turn: str = ""


class PlanStep(Value):
    """A step of the plan, and whether it is `pending`, `in_progress` or `completed`; `key` is the host's id of it."""

    text: str
    status: str = "pending"
    key: str = ""


class ToolResult(Value):
    """A tool call: the tool, its target, and whether it worked."""

    at: str
    tool: str
    what: str
    worked: bool


class ErrorSeen(Value):
    """A failed call: its command, the error's type and message, and the command that then worked ("" if none yet).

    `files` are the last files changed before it.
    """

    at: str
    command: str
    type: str
    message: str
    mended_by: str = ""
    files: tuple[str, ...] = ()


class Touched(Value):
    """A file that was read or changed, or a symbol that was named: how often, the last act and the one before, when.

    `changes` counts the acts that changed it.
    """

    path: str
    count: int
    state: str
    previous: str = ""
    at: str = ""
    changes: int = 0


class Hypothesis(Value):
    """A supposition with a confidence from 0 to 1, its evidence, and its conflicts: ids, or "a decision"."""

    id: str
    text: str
    confidence: float
    evidence: tuple[str, ...] = ()
    status: HypothesisStatus = HypothesisStatus.OPEN
    conflicts: tuple[str, ...] = ()


class Snapshot(Value):
    """The context of a decision: files, symbols, and counts."""

    files: tuple[str, ...]
    symbols: tuple[str, ...]
    hypotheses: int
    decisions: int
    step: int


class TaskDecision(Value):
    """A decision with its reason, time and context."""

    text: str
    reason: str
    at: str
    context: Snapshot


class Statistics(Value):
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


class EndedTask(Value):
    """The notes of a task before the present one."""

    task: Task
    steps: tuple[PlanStep, ...] = ()
    discoveries: tuple[str, ...] = ()
    decisions: tuple[TaskDecision, ...] = ()


class WorkingMemory(Value):
    """The state of a session. Times are RFC 3339; the newest item of a buffer is the last.

    `turn` is the key of the newest turn, `cwd` the folder in which the session began; files below it are named from it.
    """

    session: str
    started: str
    task: Task | None = None
    steps: tuple[PlanStep, ...] = ()
    results: tuple[ToolResult, ...] = ()
    errors: tuple[ErrorSeen, ...] = ()
    discoveries: tuple[str, ...] = ()
    files: tuple[Touched, ...] = ()
    symbols: tuple[Touched, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    decisions: tuple[TaskDecision, ...] = ()
    statistics: Statistics = Statistics()
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


def as_json(value: Value) -> dict[str, object]:
    """Return a value of this module as an object of JSON."""
    return {name: _json_of(field) for name, field in value._asdict().items()}


def _json_of(value: object) -> object:
    if isinstance(value, Value):
        return as_json(value)
    return [_json_of(item) for item in value] if isinstance(value, tuple) else value

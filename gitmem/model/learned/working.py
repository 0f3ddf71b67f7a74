"""Working memory: the state of a running session, from its events and the agent's notes (docs/spec.md, M1).

Pure: `apply` returns the memory after one more event, and the functions for notes return it after one more note. The
sizes of the buffers and the confidence that makes a hypothesis a decision are those of the design this follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from gitmem.model.fact.compare import contradict, says_the_same
from gitmem.model.learned.error import read_error
from gitmem.model.learned.task import TaskStatus, TaskType, classify, follows_up
from gitmem.model.message import one_line
from gitmem.model.session.cues.cues import find_cues
from gitmem.model.session.events import HookEvent, HookKind
from gitmem.model.session.noise import human_text, is_trivial
from gitmem.model.session.turns import turn_key

if TYPE_CHECKING:
    from collections.abc import Sequence

_Item = TypeVar("_Item")

MAX_RESULTS = 10
MAX_ERRORS = 5
MAX_DISCOVERIES = 10
CONFIRMED = 0.9  # confidence from which a confirmed hypothesis is a decision
_MAX_STEPS = 50
_MAX_FILES = 100
_MAX_SYMBOLS = 50
_MAX_NOTES = 50  # hypotheses and decisions, each
_LINE = 300  # characters of a note
_SYMBOL = re.compile(r"`([A-Za-z_][\w.]{2,60})(?:\(\))?`")


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
    """A step of the plan, and whether it is `pending`, `in_progress` or `completed`."""

    text: str
    status: str = "pending"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool call: the tool, its target, and whether it worked."""

    at: str
    tool: str
    what: str
    worked: bool


@dataclass(frozen=True, slots=True)
class ErrorSeen:
    """A failed call: the command, the error's type and message, and the call that then worked ("" if none yet)."""

    at: str
    command: str
    type: str
    message: str
    mended_by: str = ""


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A file that was read or changed, with its count and the last act."""

    path: str
    count: int
    state: str


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A supposition with a confidence from 0 to 1, its evidence, and the ids of those it contradicts."""

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
    """Counts over the session."""

    prompts: int = 0
    tools: int = 0
    errors: int = 0
    changes: int = 0


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The state of a session. Times are RFC 3339; the newest item of a buffer is the last."""

    session: str
    started: str
    task: Task | None = None
    steps: tuple[Step, ...] = ()
    results: tuple[ToolResult, ...] = ()
    errors: tuple[ErrorSeen, ...] = ()
    discoveries: tuple[str, ...] = ()
    files: tuple[TouchedFile, ...] = ()
    symbols: tuple[TouchedFile, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    decisions: tuple[TaskDecision, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)

    @property
    def step(self) -> int:
        """Return the number of completed steps."""
        return sum(step.status == "completed" for step in self.steps)

    @property
    def pending(self) -> tuple[str, ...]:
        """Return the open steps of the plan, then the failed commands to run again."""
        steps = [step.text for step in self.steps if step.status != "completed"]
        failed = [f"Run `{error.command}` again" for error in self.errors if error.command and not error.mended_by]
        return tuple(dict.fromkeys((*steps, *failed)))


def begin(event: HookEvent) -> WorkingMemory:
    """Return the working memory of a session that begins with this event."""
    return WorkingMemory(event.session, event.at.isoformat())


def working_of(events: Iterable[HookEvent]) -> list[WorkingMemory]:
    """Return the working memory of a session as it was at the end of each of its tasks."""
    found: list[WorkingMemory] = []
    memory: WorkingMemory | None = None
    for event in events:
        before, memory = memory, apply(memory or begin(event), event)
        if before is not None and before.task is not None and memory.task is not None:
            found += [before] if before.task.turn != memory.task.turn else []
    return [*found, memory] if memory is not None else found


def apply(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    """Return the memory after one more event of its session; those of subagents change no task."""
    if event.kind is HookKind.PROMPT and not event.agent:
        return _after_prompt(memory, event)
    if event.kind is HookKind.TOOL:
        return _after_tool(memory, event)
    if event.kind is HookKind.TOOL_FAILED and event.text:
        return _after_failure(memory, event)
    if event.kind is HookKind.STOP and event.text:
        return _after_answer(memory, event)
    return memory


def start_task(memory: WorkingMemory, description: str, at: str, *, turn: str = "") -> WorkingMemory:
    """Begin a task; plan, hypotheses, decisions and discoveries of the last one are dropped."""
    text = one_line(description, _LINE)
    task = Task(classify(description), text, TaskStatus.ACTIVE, at, turn)
    return replace(memory, task=task, steps=(), hypotheses=(), decisions=(), discoveries=())


def end_task(memory: WorkingMemory, status: TaskStatus) -> WorkingMemory:
    """End the task at hand, if there is one."""
    return memory if memory.task is None else replace(memory, task=replace(memory.task, status=status))


def set_plan(memory: WorkingMemory, steps: Sequence[Step]) -> WorkingMemory:
    """Replace the plan."""
    return replace(memory, steps=tuple(Step(one_line(step.text, _LINE), step.status) for step in steps[:_MAX_STEPS]))


def note(memory: WorkingMemory, text: str) -> WorkingMemory:
    """Add a discovery."""
    return replace(memory, discoveries=_pushed(memory.discoveries, [one_line(text, _LINE)], MAX_DISCOVERIES))


def fail(memory: WorkingMemory, output: str, at: str, *, command: str = "") -> WorkingMemory:
    """Add an error: its type and message if the output has a known form, else the beginning of the output."""
    read = read_error(output)
    kind, message = (read.type, read.message) if read else ("", output)
    seen = ErrorSeen(at, command, kind, one_line(message, _LINE))
    counts = replace(memory.statistics, errors=memory.statistics.errors + 1)
    return replace(memory, errors=_pushed(memory.errors, [seen], MAX_ERRORS), statistics=counts)


def decide(memory: WorkingMemory, text: str, at: str, reason: str = "") -> WorkingMemory:
    """Add a decision with its context; skip a decision that was made before."""
    line = one_line(text, _LINE)
    if any(says_the_same(known.text, line) for known in memory.decisions):
        return memory
    newest = tuple(file.path for file in memory.files[-MAX_RESULTS:])
    symbols = tuple(symbol.path for symbol in memory.symbols[-MAX_RESULTS:])
    context = Snapshot(newest, symbols, len(memory.hypotheses), len(memory.decisions), memory.step)
    made = TaskDecision(line, one_line(reason, _LINE), at, context)
    return replace(memory, decisions=(*memory.decisions, made)[-_MAX_NOTES:])


def suppose(memory: WorkingMemory, text: str, confidence: float, evidence: Iterable[str] = ()) -> WorkingMemory:
    """Add a hypothesis; one that was made before keeps the higher confidence, and the evidence of both."""
    said, confidence = one_line(text, _LINE), min(max(confidence, 0.0), 1.0)
    given = tuple(one_line(one, _LINE) for one in evidence)
    known = next((one for one in memory.hypotheses if says_the_same(one.text, said)), None)
    if known is not None:
        joined = tuple(dict.fromkeys((*known.evidence, *given)))
        changed = replace(known, confidence=max(known.confidence, confidence), evidence=joined)
        return replace(memory, hypotheses=tuple(changed if one is known else one for one in memory.hypotheses))
    number = 1 + max((int(one.id[1:]) for one in memory.hypotheses), default=0)
    rivals = tuple(one.id for one in memory.hypotheses if contradict(one.text, said))
    made = Hypothesis(f"h{number}", said, confidence, given, conflicts=rivals)
    others = (
        replace(one, conflicts=(*one.conflicts, made.id)) if one.id in rivals else one for one in memory.hypotheses
    )
    return replace(memory, hypotheses=(*others, made)[-_MAX_NOTES:])


def settle(
    memory: WorkingMemory, identifier: str, status: HypothesisStatus, at: str, confidence: float | None = None
) -> WorkingMemory:
    """Settle a hypothesis: a confirmed one of at least `CONFIRMED` becomes a decision, a rejected one goes.

    Raises:
        KeyError: there is no hypothesis of this id.

    """
    known = next((one for one in memory.hypotheses if one.id == identifier), None)
    if known is None:
        raise KeyError(identifier)
    changed = replace(known, status=status, confidence=known.confidence if confidence is None else confidence)
    others = tuple(
        replace(one, conflicts=tuple(rival for rival in one.conflicts if rival != identifier)) if gone else one
        for one in memory.hypotheses
        for gone in (identifier in one.conflicts and status is HypothesisStatus.REJECTED,)
        if one is not known
    )
    if status is HypothesisStatus.REJECTED:
        return replace(memory, hypotheses=others)
    if status is HypothesisStatus.CONFIRMED and changed.confidence >= CONFIRMED:
        return decide(replace(memory, hypotheses=others), changed.text, at, "; ".join(changed.evidence))
    return replace(memory, hypotheses=tuple(changed if one is known else one for one in memory.hypotheses))


def _after_prompt(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    prompt = human_text(event.text)
    counted = replace(memory, statistics=replace(memory.statistics, prompts=memory.statistics.prompts + 1))
    if not prompt or is_trivial(prompt):
        return counted
    goes_on = counted.task is not None and counted.task.status is TaskStatus.ACTIVE and follows_up(prompt)
    return counted if goes_on else start_task(counted, prompt, event.at.isoformat(), turn=turn_key(event))


def _after_tool(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    result = ToolResult(event.at.isoformat(), event.tool, _what(event), worked=True)
    counts = replace(
        memory.statistics,
        tools=memory.statistics.tools + 1,
        changes=memory.statistics.changes + bool(event.files),
    )
    files = memory.files
    for path in event.files:
        files = _touched(files, path, "changed", _MAX_FILES)
    if event.target and not event.files and event.tool == "Read":
        files = _touched(files, event.target, "read", _MAX_FILES)
    memory = replace(memory, results=_pushed(memory.results, [result], MAX_RESULTS), files=files, statistics=counts)
    if event.command:
        mended = (not error.mended_by and error.command == result.what for error in memory.errors)
        errors = zip(memory.errors, mended, strict=True)
        memory = replace(
            memory, errors=tuple(replace(one, mended_by=result.what) if now else one for one, now in errors)
        )
    return _with_steps(memory, event)


def _with_steps(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    """Return the memory with the plan that a tool wrote down: all of it, one more step, or the status of a step."""
    steps = [Step(*step) for step in event.steps]
    if not steps:
        return memory
    if event.tool == "TaskCreate":
        return set_plan(memory, [*memory.steps, *steps])
    if event.tool == "TaskUpdate":
        changed = {step.text: step.status for step in steps}
        numbered = enumerate(memory.steps, 1)
        return set_plan(memory, [Step(step.text, changed.get(f"#{number}", step.status)) for number, step in numbered])
    return set_plan(memory, steps)


def _after_failure(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    result = ToolResult(event.at.isoformat(), event.tool, _what(event), worked=False)
    counts = replace(memory.statistics, tools=memory.statistics.tools + 1)
    memory = replace(memory, results=_pushed(memory.results, [result], MAX_RESULTS), statistics=counts)
    return fail(memory, event.text, event.at.isoformat(), command=_what(event))


def _after_answer(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    stated = [one_line(cue.text, _LINE) for cue in find_cues(event.text)]
    symbols = memory.symbols
    for name in dict.fromkeys(match[1] for match in _SYMBOL.finditer(event.text)):
        symbols = _touched(symbols, name, "named", _MAX_SYMBOLS)
    return replace(memory, discoveries=_pushed(memory.discoveries, stated, MAX_DISCOVERIES), symbols=symbols)


def _what(event: HookEvent) -> str:
    return one_line(event.command or event.target or ", ".join(event.files), _LINE)


def _touched(known: tuple[TouchedFile, ...], path: str, state: str, most: int) -> tuple[TouchedFile, ...]:
    """Count a file once more, as the one that was touched last."""
    before = next((one for one in known if one.path == path), None)
    now = TouchedFile(path, (before.count if before else 0) + 1, state)
    return (*(one for one in known if one is not before), now)[-most:]


def _pushed(buffer: tuple[_Item, ...], items: Sequence[_Item], most: int) -> tuple[_Item, ...]:
    """Return a ring buffer with more items; an item it holds already moves to the end."""
    return (*(one for one in buffer if one not in items), *items)[-most:]

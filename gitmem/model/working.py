"""Working memory: the state of a running session, from its events and the agent's notes.

Pure: `apply` returns the memory after one more event, the functions for notes after one more note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from gitmem.document.message import one_line
from gitmem.model.command import has_effect, only_reads, works_now
from gitmem.model.entries import relative_files
from gitmem.model.error import read_error
from gitmem.model.events import GIVEN_UP, HookEvent, HookKind, steps_of_plan
from gitmem.model.outcome import error_line
from gitmem.model.request import TaskType, classify, follows_up
from gitmem.model.similarity import says_the_same
from gitmem.model.turns import is_trivial, turn_key
from gitmem.model.words import PLANNED, human_text
from gitmem.platform.machine import datetime
from gitmem.values import Value


class TaskStatus(StrEnum):
    """The state of a task."""

    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


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

    `files` are the last files changed before it. `times` counts its occurrences while unfixed, and `tried` are the
    changes and commands between them. `said` is its most informative line, in which nothing is masked.
    """

    at: str
    command: str
    type: str
    message: str
    fixed_by: str = ""
    files: tuple[str, ...] = ()
    times: int = 1
    tried: tuple[str, ...] = ()
    said: str = ""


class Touched(Value):
    """A file read or changed, or a symbol named: how often, the last act and the one before, and when.

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

    `proposed` counts the calls meant to change files, `changes` those that did; `tokens` is the growth of the agent's
    context, and `context` its last known size; both are 0 if the host does not report it. `hypotheses` includes removed
    ones, so that no id is used twice.
    """

    prompts: int = 0
    tools: int = 0
    errors: int = 0
    changes: int = 0
    proposed: int = 0
    tokens: int = 0
    context: int = 0
    hypotheses: int = 0


class EndedTask(Value):
    """The notes of an earlier task."""

    task: Task
    steps: tuple[PlanStep, ...] = ()
    discoveries: tuple[str, ...] = ()
    decisions: tuple[TaskDecision, ...] = ()


class WorkingMemory(Value):
    """The state of a session. Times are RFC 3339; the newest item of a buffer is the last.

    `turn` is the key of the newest turn, `cwd` the session's first folder, to which files below it are relative.
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
        """Return the unfixed errors since the task began."""
        began = datetime.fromisoformat(self.task.started if self.task else self.started)
        unfixed = (error for error in self.errors if not error.fixed_by)
        return tuple(error for error in unfixed if datetime.fromisoformat(error.at) >= began)

    @property
    def pending(self) -> tuple[str, ...]:
        """Return the open steps of the plan, then the failed commands to run again."""
        steps = [step.text for step in self.steps if step.status != "completed"]
        failed = [f"Run `{error.command}` again" for error in self.failed if error.command]
        return tuple(dict.fromkeys((*steps, *failed)))


MAX_RESULTS, MAX_ERRORS, MAX_DISCOVERIES = 10, 5, 10
_MAX_FILES, _MAX_SYMBOLS, _MAX_STEPS = 100, 50, 50
MAX_NOTES, _MAX_EARLIER = 50, 20  # hypotheses and decisions, each; tasks
_AT_ERROR = 3  # changed files noted with an error
_MAX_TRIED = 6  # of one error
LINE = 300  # characters of a note
_READERS = ("Read", "read", "read_file", "view")  # of Claude Code, OpenCode and pi, Gemini and Qwen, Copilot
_SYMBOL = re.compile(r"`([A-Za-z_][\w.]{2,60})(?:\(\))?`")


def begin(event: HookEvent) -> WorkingMemory:
    """Return the working memory of a session that begins with this event."""
    return WorkingMemory(event.session, event.at.isoformat(), cwd=event.cwd)


def working_of(events: Iterable[HookEvent]) -> list[WorkingMemory]:
    """Return the working memory of a session as it was at the end of each of its tasks."""
    tasks: list[WorkingMemory] = []
    memory: WorkingMemory | None = None
    for event in events:
        before, memory = memory, apply(memory or begin(event), event)
        if before is not None and before.task is not None and memory.task is not None:
            tasks += [before] if before.task.turn != memory.task.turn else []
    return [*tasks, memory] if memory is not None else tasks


def apply(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    """Return the memory after one more event of its session; events of subagents change no task."""
    if event.kind is HookKind.PROMPT and not event.agent:
        return _after_prompt(memory, event)
    if event.kind is HookKind.TOOL:
        return _after_tool(memory, event)
    if event.kind is HookKind.TOOL_FAILED and event.text:
        return _after_failure(memory, event)
    if event.kind is HookKind.STOP and event.text:
        return _after_answer(memory, event)
    return memory


def start_task(memory: WorkingMemory, description: str, at: str) -> WorkingMemory:
    """Begin a task in the newest turn; the last one's plan, decisions and discoveries are kept for its episode."""
    task = Task(classify(description), one_line(description, LINE), TaskStatus.ACTIVE, at, memory.turn)
    earlier = memory.earlier
    if memory.task and (memory.steps or memory.decisions or memory.discoveries):
        ended = EndedTask(memory.task, memory.steps, memory.discoveries, memory.decisions)
        earlier = (*earlier, ended)[-_MAX_EARLIER:]
    return memory._replace(task=task, steps=(), hypotheses=(), decisions=(), discoveries=(), earlier=earlier)


def end_task(memory: WorkingMemory, status: TaskStatus) -> WorkingMemory:
    """End the task at hand, if there is one."""
    return memory if memory.task is None else memory._replace(task=memory.task._replace(status=status))


def set_plan(memory: WorkingMemory, steps: Sequence[PlanStep]) -> WorkingMemory:
    """Replace the plan."""
    return memory._replace(steps=tuple(step._replace(text=one_line(step.text, LINE)) for step in steps[:_MAX_STEPS]))


def note(memory: WorkingMemory, text: str) -> WorkingMemory:
    """Add a discovery."""
    return memory._replace(discoveries=_pushed(memory.discoveries, [one_line(text, LINE)], MAX_DISCOVERIES))


def fail(memory: WorkingMemory, output: str, at: str, *, command: str = "") -> WorkingMemory:
    """Add an error: its type and message if the output has a known form, else the beginning of the output.

    The same error of the same command replaces the one before.
    """
    read = read_error(output)
    kind, message = (read.type, read.message) if read else ("", output)
    changed = tuple(file.path for file in memory.files if file.changes)[-_AT_ERROR:]
    said = error_line(output)
    said = one_line(said[max(said.find(kind), 0) :], LINE)
    seen = ErrorSeen(at, command, kind, one_line(message, LINE), files=changed, said=said)
    same = (seen.command, seen.type, seen.message)
    for before in memory.errors:
        if (before.command, before.type, before.message) == same and not before.fixed_by:
            tried = dict.fromkeys((*before.tried, *_tried_since(memory, before.at)))
            seen = seen._replace(times=before.times + 1, tried=tuple(tried)[-_MAX_TRIED:])
    others = tuple(error for error in memory.errors if (error.command, error.type, error.message) != same)
    counts = memory.statistics._replace(errors=memory.statistics.errors + 1)
    return memory._replace(errors=_pushed(others, [seen], MAX_ERRORS), statistics=counts)


def _tried_since(memory: WorkingMemory, at: str) -> list[str]:
    """Return the files changed and the effective commands run since a time."""
    files = [f"change `{file.path}`" for file in memory.files if file.state == "changed" and file.at > at]
    ran = (result.what for result in memory.results if result.worked and result.at > at)
    return [*files, *(f"`{command}`" for command in ran if has_effect(command))]


def with_context_size(memory: WorkingMemory, tokens: int) -> WorkingMemory:
    """Add the growth of the agent's context since the last look; after a compaction it is smaller."""
    counts = memory.statistics
    more = max(tokens - counts.context, 0) if counts.context else 0
    return memory._replace(statistics=counts._replace(tokens=counts.tokens + more, context=tokens))


def decide(memory: WorkingMemory, text: str, at: str, reason: str = "") -> WorkingMemory:
    """Add a decision with its context; skip a decision that was made before."""
    line = one_line(text, LINE)
    if any(says_the_same(decision.text, line) for decision in memory.decisions):
        return memory
    newest = tuple(file.path for file in memory.files[-MAX_RESULTS:])
    symbols = tuple(symbol.path for symbol in memory.symbols[-MAX_RESULTS:])
    context = Snapshot(newest, symbols, len(memory.hypotheses), len(memory.decisions), memory.step)
    made = TaskDecision(line, one_line(reason, LINE), at, context)
    return memory._replace(decisions=(*memory.decisions, made)[-MAX_NOTES:])


def _after_prompt(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    prompt = human_text(event.text)
    counts = memory.statistics._replace(prompts=memory.statistics.prompts + 1)
    memory = memory._replace(statistics=counts, turn=turn_key(event), cwd=memory.cwd or event.cwd)
    if not prompt or is_trivial(prompt):
        return memory
    if memory.task is not None and memory.task.status is TaskStatus.ACTIVE and follows_up(prompt):
        return memory
    started = start_task(memory, prompt, event.at.isoformat())
    plan = steps_of_plan(prompt) if prompt.startswith(PLANNED) else ()
    return set_plan(started, [PlanStep(*step) for step in plan])


def _with_call(memory: WorkingMemory, event: HookEvent, *, worked: bool) -> WorkingMemory:
    counts, edits = memory.statistics, bool(event.files)
    changes = counts.changes + (edits and worked)
    counts = counts._replace(tools=counts.tools + 1, proposed=counts.proposed + edits, changes=changes)
    result = ToolResult(event.at.isoformat(), event.tool, _what(memory, event), worked)
    return memory._replace(results=_pushed(memory.results, [result], MAX_RESULTS), statistics=counts)


def _after_tool(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    memory, what = _with_call(memory, event, worked=True), _what(memory, event)
    files = memory.files
    read = (event.target,) if event.target and not event.files and event.tool in _READERS else ()
    for path in relative_files(event.files or read, (memory.cwd,)):
        files = _touched(files, path, "changed" if event.files else "read", event, _MAX_FILES)
    fixed = (event.command and not failure.fixed_by and works_now(failure.command, what) for failure in memory.errors)
    listed = zip(memory.errors, fixed, strict=True)
    errors = [error._replace(fixed_by=what) if works else error for error, works in listed]
    memory = memory._replace(files=files, errors=tuple(errors))
    return memory if event.agent else _with_steps(memory, event)


def _with_steps(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    """Return the memory with a tool's change of the plan: a whole plan, one more step, or a changed step."""
    steps = [PlanStep(*step) for step in event.steps]
    if not steps:
        return memory
    if event.tool == "TaskCreate":  # a plan written step by step replaces one written at once
        known = [step for step in memory.steps if step.key]
        return set_plan(memory, [*known, *(step._replace(key=step.key or str(len(known) + 1)) for step in steps)])
    if event.tool == "TaskUpdate":
        [change] = steps
        changed = []
        for step in memory.steps:
            new = change if step.key == change.key else PlanStep("", "")
            changed.append(step._replace(text=new.text or step.text, status=new.status or step.status))
        return set_plan(memory, [step for step in changed if step.status not in GIVEN_UP])
    return set_plan(memory, steps)


def _after_failure(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    memory = _with_call(memory, event, worked=False)
    # A call refused by the user or the host, or a search without hits, is no error. For other tools than commands
    # nothing shows later whether they work.
    if not event.command or not error_line(event.text) or only_reads(event.command):
        return memory
    return fail(memory, event.text, event.at.isoformat(), command=_what(memory, event))


def _after_answer(memory: WorkingMemory, event: HookEvent) -> WorkingMemory:
    symbols = memory.symbols
    for name in dict.fromkeys(match[1] for match in _SYMBOL.finditer(event.text)):
        symbols = _touched(symbols, name, "named", event, _MAX_SYMBOLS)
    return memory._replace(symbols=symbols)


def _what(memory: WorkingMemory, event: HookEvent) -> str:
    named = relative_files(event.files or (event.target,), (memory.cwd,))
    return one_line(event.command or ", ".join(named), LINE)


def _touched(known: tuple[Touched, ...], path: str, state: str, event: HookEvent, most: int) -> tuple[Touched, ...]:
    """Count a file or a symbol once more and move it to the end."""
    before = next((file for file in known if file.path == path), None) or Touched(path, 0, "")
    changes = before.changes + (state == "changed")
    now = Touched(path, before.count + 1, state, before.state, event.at.isoformat(), changes)
    return (*(file for file in known if file.path != path), now)[-most:]


def _pushed(buffer: tuple[Any, ...], items: Sequence[object], most: int) -> tuple[Any, ...]:
    """Return a ring buffer with more items; an item already in it moves to the end."""
    return (*(item for item in buffer if item not in items), *items)[-most:]

"""Sum up the working memory of a session, or what became of it, in a few lines (docs/spec.md, M1). Pure.

Tested through `tests/sessions/test_working.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.document.message import one_line
from gitmem.lessons.episode import UNMENDED, ending
from gitmem.text.stems import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitmem.lessons.episode import Episode
    from gitmem.sessions.state import WorkingMemory


TOKENS = 300
_SHOWN = 5  # files, discoveries
_NEXT = 5  # pending steps
_FAILED = 3  # commands
_OPEN = "[ ] "  # begins a step of an episode's plan that is not done
_COMMAND, _MESSAGE = 120, 160  # characters


def brief(memory: WorkingMemory, budget: int = TOKENS) -> str:
    """Return task, plan, progress, failures and hypotheses in at most `budget` tokens; "" if there are none."""
    return _within(budget, (*_plan(memory), *_failures(memory), *_thoughts(memory), *_traces(memory)))


def brief_episode(episode: Episode, budget: int = TOKENS) -> str:
    """Return task, open steps, unmended errors and decisions of a finished task in at most `budget` tokens."""
    left = [step.removeprefix(_OPEN) for step in episode.plan if step.startswith(_OPEN)]
    said = (
        f"Task ({episode.type.value}, {ending(episode)}): {episode.task}",
        *([_listed("To do", left)] if left else ()),
        *(f"Failed: {line}" for line in episode.gotchas if line.endswith(UNMENDED)),
        *(f"Decided: {line}" for line in episode.decisions),
        *([f"Changed: {', '.join(episode.files[:_SHOWN])}"] if episode.files else ()),
        *(f"Found: {line}" for line in episode.tips),
    )
    return _within(budget, said)


def _within(budget: int, said: Iterable[str]) -> str:
    """Return the first lines that fit."""
    lines: list[str] = []
    for line in said:
        if estimate_tokens("\n".join([*lines, line])) > budget:
            break
        lines.append(line)
    return "\n".join(lines)


def _plan(memory: WorkingMemory) -> Iterator[str]:
    if memory.task:
        yield f"Task ({memory.task.type.value}, {memory.task.status.value}): {memory.task.description}"
    if memory.step or any(step.status == "in_progress" for step in memory.steps):
        current = next((step.text for step in memory.steps if step.status == "in_progress"), "")
        yield f"Plan: {memory.step} of {len(memory.steps)} steps done" + (f"; now: {current}" if current else "")
    left = [step.text for step in memory.steps if step.status == "pending"]
    if left:
        # A plan of which no step was ever begun may be one whose progress no tool tells.
        title = "Plan" if len(left) == len(memory.steps) else "To do"
        yield _listed(title, left)


def _listed(title: str, steps: Sequence[str]) -> str:
    more = f" and {len(steps) - _NEXT} more" if len(steps) > _NEXT else ""
    return f"{title}: {'; '.join(steps[:_NEXT])}{more}"


def _failures(memory: WorkingMemory) -> Iterator[str]:
    for error in memory.failed[::-1][:_FAILED]:
        said = ": ".join(filter(None, (error.type, error.message)))
        command = f"`{one_line(error.command, _COMMAND)}`: " if error.command else ""
        yield f"Failed: {command}{one_line(said, _MESSAGE)}"


def _thoughts(memory: WorkingMemory) -> Iterator[str]:
    for one in memory.hypotheses:
        rivals = f", against {', '.join(one.conflicts)}" if one.conflicts else ""
        yield f"Hypothesis {one.id} ({one.status.value}, {one.confidence:g}{rivals}): {one.text}"
    for decision in memory.decisions:
        yield f"Decided: {decision.text}" + (f" Because: {decision.reason}" if decision.reason else "")


def _traces(memory: WorkingMemory) -> Iterator[str]:
    changed = [file.path for file in memory.files if file.changes]
    if changed:
        yield f"Changed: {', '.join(changed[::-1][:_SHOWN])}"
    if memory.results:
        last = memory.results[-1]
        yield f"Last: {last.tool} {last.what}{'' if last.worked else ' (failed)'}"
    for text in memory.discoveries[::-1][:_SHOWN]:
        yield f"Found: {text}"
    for step in memory.steps:
        if step.status == "completed":
            yield f"Done: {step.text}"

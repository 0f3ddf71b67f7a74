"""Sum up the working memory of a session in a few lines (docs/spec.md, M1). Pure.

Tested through `tests/model/learned/test_working.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.model.learned.working import WorkingMemory

TOKENS = 300
_SHOWN = 5  # files, discoveries
_NEXT = 5  # pending steps


def brief(memory: WorkingMemory, budget: int = TOKENS) -> str:
    """Return task, plan, progress, failures and hypotheses in at most `budget` tokens; "" if there are none."""
    lines: list[str] = []
    for line in (*_plan(memory), *_failures(memory), *_thoughts(memory), *_traces(memory)):
        if estimate_tokens("\n".join([*lines, line])) > budget:
            break
        lines.append(line)
    return "\n".join(lines)


def _plan(memory: WorkingMemory) -> Iterator[str]:
    if memory.task:
        yield f"Task ({memory.task.type.value}, {memory.task.status.value}): {memory.task.description}"
    if memory.steps:
        current = next((step.text for step in memory.steps if step.status == "in_progress"), "")
        yield f"Plan: {memory.step} of {len(memory.steps)} steps done" + (f"; now: {current}" if current else "")
    left = [step.text for step in memory.steps if step.status == "pending"]
    if left:
        more = f" and {len(left) - _NEXT} more" if len(left) > _NEXT else ""
        yield f"To do: {'; '.join(left[:_NEXT])}{more}"


def _failures(memory: WorkingMemory) -> Iterator[str]:
    for error in memory.errors[::-1]:
        if not error.mended_by:
            command = f"`{error.command}`: " if error.command else ""
            yield f"Failed: {command}{': '.join(filter(None, (error.type, error.message)))}"


def _thoughts(memory: WorkingMemory) -> Iterator[str]:
    for one in memory.hypotheses:
        rivals = f", against {', '.join(one.conflicts)}" if one.conflicts else ""
        yield f"Hypothesis {one.id} ({one.status.value}, {one.confidence:g}{rivals}): {one.text}"
    for decision in memory.decisions:
        yield f"Decided: {decision.text}" + (f" Because: {decision.reason}" if decision.reason else "")


def _traces(memory: WorkingMemory) -> Iterator[str]:
    changed = [file.path for file in memory.files if file.state == "changed"]
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

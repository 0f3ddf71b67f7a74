"""Working memory is told from events, and from what the agent notes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.learned.task import TaskStatus, TaskType
from gitmem.model.learned.working import (
    CONFIRMED,
    MAX_DISCOVERIES,
    MAX_ERRORS,
    MAX_RESULTS,
    HypothesisStatus,
    Step,
    WorkingMemory,
    apply,
    begin,
    decide,
    end_task,
    note,
    set_plan,
    settle,
    start_task,
    suppose,
)
from gitmem.model.session.events import HookEvent, HookKind, parse_payload

START = datetime(2026, 11, 21, 10, tzinfo=UTC)
AT = START.isoformat()


def event(kind: HookKind, minute: int = 0, **more: object) -> HookEvent:
    return HookEvent(kind, "s1", START + timedelta(minutes=minute), "claude-code", **more)


def told(*events: HookEvent) -> WorkingMemory:
    memory = begin(events[0])
    for one in events:
        memory = apply(memory, one)
    return memory


def test_a_prompt_begins_a_task_and_a_follow_up_goes_on_with_it() -> None:
    memory = told(
        event(HookKind.PROMPT, text="The loader crashes on empty files, fix it"),
        event(HookKind.PROMPT, 1, text="still broken"),
        event(HookKind.PROMPT, 2, text="ok"),
    )
    assert memory.task is not None
    assert (memory.task.type, memory.task.status) == (TaskType.BUG_FIX, TaskStatus.ACTIVE)
    assert memory.task.description.startswith("The loader")
    assert memory.statistics.prompts == 3
    ended = end_task(memory, TaskStatus.COMPLETED)
    after = apply(ended, event(HookKind.PROMPT, 3, text="still broken"))
    assert after.task is not None
    assert after.task.description == "still broken"


@pytest.mark.parametrize(
    "tool, given",
    [
        ("TodoWrite", {"todos": [{"content": "read", "status": "completed"}, {"content": "mend", "status": "odd"}]}),
        ("update_plan", {"plan": [{"step": "read", "status": "completed"}, {"step": "mend"}]}),
    ],
)
def test_the_plan_is_what_the_agents_tool_wrote(tool: str, given: dict[str, object]) -> None:
    payload = {"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": tool, "tool_input": given}
    read = parse_payload(payload, START, "claude-code")
    assert read is not None
    memory = told(read)
    assert memory.steps == (Step("read", "completed"), Step("mend", "pending"))
    assert memory.step == 1


def test_a_plan_may_come_step_by_step() -> None:
    def call(tool: str, **given: str) -> HookEvent:
        payload = {"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": tool, "tool_input": given}
        read = parse_payload(payload, START, "claude-code")
        assert read is not None
        return read

    memory = told(
        call("TaskCreate", subject="read"),
        call("TaskCreate", subject="mend"),
        call("TaskUpdate", taskId="1", status="completed"),
        call("TaskUpdate", taskId="9", status="completed"),
    )
    assert memory.steps == (Step("read", "completed"), Step("mend", "pending"))


def test_buffers_hold_ten_results_five_errors_and_ten_discoveries() -> None:
    assert (MAX_RESULTS, MAX_ERRORS, MAX_DISCOVERIES, CONFIRMED) == (10, 5, 10, 0.9)
    tools = [event(HookKind.TOOL, n, tool="Bash", command=f"ls {n}") for n in range(20)]
    failures = [event(HookKind.TOOL_FAILED, n, tool="Bash", command=f"x{n}", text=f"fatal: no {n}") for n in range(20)]
    memory = told(*tools, *failures)
    for number in range(20):
        memory = note(memory, f"found {number}")
    assert [one.what for one in memory.results][-1] == "x19"
    assert [len(memory.results), len(memory.errors), len(memory.discoveries)] == [10, 5, 10]
    assert memory.errors[-1].type == "fatal"
    assert memory.discoveries[-1] == "found 19"
    assert (memory.statistics.tools, memory.statistics.errors) == (40, 20)


def test_an_error_is_mended_by_the_same_command() -> None:
    memory = told(
        event(HookKind.TOOL_FAILED, tool="Bash", command="pytest -x", text="E   KeyError: 'a'"),
        event(HookKind.TOOL, 1, tool="Edit", files=("a.py",)),
        event(HookKind.TOOL, 2, tool="Bash", command="pytest -x"),
    )
    (error,) = memory.errors
    assert (error.type, error.mended_by) == ("KeyError", "pytest -x")
    (file,) = memory.files
    assert (file.path, file.count, file.state) == ("a.py", 1, "changed")


def test_a_repeated_hypothesis_keeps_the_higher_confidence_and_joins_evidence() -> None:
    memory = suppose(begin(event(HookKind.PROMPT)), "The cache is stale.", 0.4, ["seen in the log"])
    memory = suppose(memory, "the cache is stale", 0.2, ["dates differ"])
    (one,) = memory.hypotheses
    assert (one.confidence, one.evidence) == (0.4, ("seen in the log", "dates differ"))


def test_a_confirmed_hypothesis_becomes_a_decision_and_a_rejected_one_goes() -> None:
    memory = start_task(begin(event(HookKind.PROMPT)), "fix the cache", AT)
    for text in ("The cache is stale.", "The clock is wrong.", "The disk is full."):
        memory = suppose(memory, text, 0.5)
    memory = settle(memory, "h1", HypothesisStatus.CONFIRMED, AT, 0.9)
    memory = settle(memory, "h2", HypothesisStatus.CONFIRMED, AT, 0.89)
    memory = settle(memory, "h3", HypothesisStatus.REJECTED, AT)
    assert [one.text for one in memory.decisions] == ["The cache is stale."]
    assert [one.id for one in memory.hypotheses] == ["h2"]
    with pytest.raises(KeyError):
        settle(memory, "h3", HypothesisStatus.CONFIRMED, AT)


def test_conflicting_hypotheses_are_noted() -> None:
    memory = suppose(begin(event(HookKind.PROMPT)), "Use Redis for the session cache.", 0.5)
    memory = suppose(memory, "Use Memcached for the session cache.", 0.5)
    assert [one.conflicts for one in memory.hypotheses] == [("h2",), ("h1",)]
    memory = settle(memory, "h1", HypothesisStatus.REJECTED, AT)
    assert [one.conflicts for one in memory.hypotheses] == [()]


def test_a_decision_keeps_what_was_in_view() -> None:
    memory = told(event(HookKind.PROMPT, text="fix the cache"), event(HookKind.TOOL, 1, tool="Edit", files=("a.py",)))
    memory = decide(set_plan(memory, [Step("read", "completed")]), "Use a lock", AT, "two writers")
    memory = decide(memory, "use a lock.", AT)
    (made,) = memory.decisions
    assert (made.reason, made.context.files, made.context.step) == ("two writers", ("a.py",), 1)


@given(st.lists(st.sampled_from(["prompt", "tool", "failed", "stop"]), max_size=30))
def test_events_in_any_order_keep_the_bounds(kinds: list[str]) -> None:
    made = {
        "prompt": event(HookKind.PROMPT, text="add a thing"),
        "tool": event(HookKind.TOOL, tool="Edit", files=("a", "b")),
        "failed": event(HookKind.TOOL_FAILED, tool="Bash", command="x", text="boom"),
        "stop": event(HookKind.STOP, text="Decision: use `make_store` for it because it is one call."),
    }
    memory = begin(made["prompt"])
    for kind in kinds:
        memory = apply(memory, made[kind])
    assert len(memory.results) <= MAX_RESULTS
    assert len(memory.errors) <= MAX_ERRORS
    assert len(memory.discoveries) <= MAX_DISCOVERIES

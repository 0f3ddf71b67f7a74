"""Working memory is told from events, and from what the agent notes."""

from datetime import UTC, datetime, timedelta

import pytest

from gitmem.model.events import HookEvent, HookKind
from gitmem.model.working import (
    PlanStep,
    WorkingMemory,
    apply,
    begin,
    decide,
    note,
    set_plan,
    start_task,
)
from gitmem.record.read import parse_payload
from gitmem.record.working_memory import brief

START = datetime(2026, 11, 21, 10, tzinfo=UTC)
AT = START.isoformat()


def event(kind: HookKind, minute: int = 0, **more: object) -> HookEvent:
    return HookEvent(kind, "s1", START + timedelta(minutes=minute), "claude-code", **more)


def told(*events: HookEvent) -> WorkingMemory:
    memory = begin(events[0])
    for one in events:
        memory = apply(memory, one)
    return memory


def call(tool: str, response: object = None, agent: str = "", **given: object) -> HookEvent:
    payload = {"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": tool, "tool_input": given}
    read = parse_payload(payload | {"tool_response": response, "agent_id": agent}, START, "claude-code")
    assert read is not None
    return read


@pytest.mark.parametrize("numbered", [True, False])
def test_a_plan_may_come_step_by_step(numbered: bool) -> None:
    def task(number: str) -> object:
        return {"task": {"id": number}} if numbered else None

    memory = told(
        call("TaskCreate", task("1"), subject="read"),
        call("TaskCreate", task("2"), subject="mend"),
        call("TaskCreate", task("3"), subject="measure"),
        call("TaskUpdate", taskId="1", status="completed"),
        call("TaskUpdate", taskId="1", addBlockedBy=["2"]),
        call("TaskUpdate", taskId="2", subject="mend it"),
        call("TaskUpdate", taskId="3", status="deleted"),
        call("TaskUpdate", taskId="9", status="completed"),
    )
    assert memory.steps == (PlanStep("read", "completed", "1"), PlanStep("mend it", "pending", "2"))


PLANS = {
    "numbered headings": "# Fix\n\n## Context\n\n1. It is broken\n\n### Step 1: Read `it`\n1. open\n### 2. Mend it\n",
    "numbers": "# Fix it\n\n- a remark\n\n1. **Read `it`**\n   - how\n2) Mend it\n```\n3. code\n```\n",
    "dashes": "- Read `it`\n  - how\n* Mend it\n",
    "in Korean": "## 1단계: Read `it`\n## 2단계: Mend it",
}


@pytest.mark.parametrize("form", PLANS)
def test_the_plan_of_plan_mode_is_read(form: str) -> None:
    steps = ("Read `it`", "Mend it")
    plan = PLANS[form]
    approved = f"User has approved your plan.\n\n## Approved Plan:\n{plan}"
    for one in (
        call("ExitPlanMode", plan=plan),
        call("ExitPlanMode", {"plan": plan, "filePath": "/home/me/.claude/plans/x.md"}),
        call("ExitPlanMode", approved),
        event(HookKind.PROMPT, text=f"Implement the following plan:\n\n{plan}"),
    ):
        assert tuple(step.text for step in told(one).steps) == steps


@pytest.mark.parametrize(
    "worked, fixes",
    [
        ("uv run pytest -x -q", True),
        ("pytest -q", False),
        ("cd src && pytest -x tests 2>&1", False),
        ("make lint && pytest -x", True),
        ("pytest -x | tail -3", False),
        ("pytest -x || true", False),
        ("ruff check", False),
    ],
)
def test_a_command_fixes_what_it_runs_again_and_whose_exit_code_is_known(worked: str, fixes: bool) -> None:
    memory = told(
        event(HookKind.TOOL_FAILED, tool="Bash", command="cd src && pytest -x 2>&1", text="E   KeyError: 'a'"),
        event(HookKind.TOOL, 2, tool="Bash", command=worked),
    )
    assert bool(memory.errors[0].fixed_by) == fixes
    assert bool(memory.failed) != fixes


def test_refused_calls_and_searches_without_a_result_are_no_errors_and_another_task_starts_without_old_ones() -> None:
    memory = told(
        event(HookKind.PROMPT, text="Fix the loader of empty files"),
        event(HookKind.TOOL_FAILED, 1, tool="Bash", command="git push", text="The user doesn't want to proceed"),
        event(HookKind.TOOL_FAILED, 2, tool="Bash", command="grep x a.py", text="Exit code 1"),
        event(HookKind.TOOL_FAILED, 3, tool="Edit", files=("a.py",), text="<tool_use_error>String not found"),
        event(HookKind.TOOL_FAILED, 4, tool="Bash", command="make", text="error: it broke"),
        event(HookKind.TOOL_FAILED, 5, tool="Bash", command="make", text="error: it broke"),
    )
    assert [one.command for one in memory.errors] == ["make"]
    assert [one.worked for one in memory.results] == [False] * 5
    assert (memory.statistics.tools, memory.statistics.errors, memory.statistics.proposed) == (5, 2, 1)
    assert memory.statistics.changes == 0
    later = apply(memory, event(HookKind.PROMPT, 9, text="Write the documentation of the API"))
    assert ([one.command for one in later.errors], later.failed, later.pending) == (["make"], (), ())


def test_a_file_has_its_state_the_one_before_and_its_changes() -> None:
    made = [
        event(HookKind.TOOL, 1, tool="Read", target="/p/src/a.py", cwd="/p"),
        event(HookKind.TOOL, 2, tool="Edit", files=("/p/src/a.py",), cwd="/p/src"),
        event(HookKind.TOOL, 3, tool="Read", target="/p/src/a.py"),
        event(HookKind.TOOL, 4, tool="Edit", files=("/home/me/.claude/plans/x.md",)),
        event(HookKind.TOOL_FAILED, 5, tool="Bash", command="make", text="error: it broke"),
    ]
    memory = told(*made)
    (file,) = memory.files
    assert (file.path, file.count, file.state, file.previous, file.changes) == ("src/a.py", 3, "read", "changed", 1)
    assert file.at == made[2].at.isoformat()
    assert "Changed: src/a.py" in brief(memory)
    assert memory.errors[0].files == ("src/a.py",)
    assert (memory.statistics.changes, memory.statistics.proposed) == (2, 2)


def test_notes_of_a_task_that_another_one_follows_are_kept_for_its_episode() -> None:
    memory = told(event(HookKind.PROMPT, text="Fix the loader of empty files", turn="t1"))
    memory = start_task(memory, "Fix the reader", AT)
    memory = note(memory, "it has a BOM")
    memory = apply(memory, event(HookKind.PROMPT, 5, text="Write the documentation of the API", turn="t2"))
    (ended,) = memory.earlier
    assert (ended.task.description, ended.task.turn, ended.discoveries) == ("Fix the reader", "t1", ("it has a BOM",))
    assert memory.task is not None
    assert memory.task.turn == "t2"


def test_a_decision_keeps_what_was_in_view() -> None:
    memory = told(event(HookKind.PROMPT, text="fix the cache"), event(HookKind.TOOL, 1, tool="Edit", files=("a.py",)))
    memory = decide(set_plan(memory, [PlanStep("read", "completed")]), "Use a lock", AT, "two writers")
    memory = decide(memory, "use a lock.", AT)
    (made,) = memory.decisions
    assert (made.reason, made.context.files, made.context.step) == ("two writers", ("a.py",), 1)

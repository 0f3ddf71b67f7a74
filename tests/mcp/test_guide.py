"""`memory_guide` and `memory_task` as a client calls them."""

from __future__ import annotations

import json

from gitmem.memory.task.working import running
from gitmem.store.spool.hooks import HookSpool


def test_a_task_is_begun_planned_and_ended(memory):
    assert memory.call("memory_task", act="show").is_error
    memory.text("memory_task", act="start", text="Fix the loader, it crashes")
    memory.text("memory_task", act="plan", steps=["write a test", "mend it"])
    memory.text("memory_task", act="note", text="empty files are read as none")
    said = memory.text("memory_task", act="hypothesis", text="The cache is stale", confidence=0.6, why="dates differ")
    assert "Hypothesis h1 (open, 0.6): The cache is stale" in said
    assert memory.call("memory_task", act="confirm", text="h9").is_error
    memory.text("memory_task", act="confirm", text="h1", confidence=0.95)
    memory.text("memory_task", act="decide", text="Drop the cache", why="it is stale")
    said = memory.text("memory_task", act="complete")
    assert "Task (bug_fix, completed): Fix the loader, it crashes" in said


def test_what_hooks_delivered_comes_before_what_the_agent_notes(memory):
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Fix the loader of empty files"}
    HookSpool(memory.open().private).accept("UserPromptSubmit", 0, json.dumps(payload).encode())
    memory.text("memory_task", act="note", text="empty files are read as none")
    (found,) = running(memory.open())
    assert (found.session, found.discoveries) == ("s1", ("empty files are read as none",))
    assert found.task.description == "Fix the loader of empty files"


def test_what_is_missing_is_said(memory):
    for arguments in ({"act": "start"}, {"act": "plan"}):
        assert memory.call("memory_task", **arguments).is_error
    assert memory.call("memory_guide").is_error


def test_advice_is_asked_for(memory):
    assert memory.text("memory_guide", task="Paint the fence") == "No memory clearly matches."

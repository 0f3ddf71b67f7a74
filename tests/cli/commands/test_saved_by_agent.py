"""What an agent saves in a turn carries the turn's exchange, and replaces what the rules would have found in it."""

import json
from datetime import timedelta

import pytest

from gitmem.background import process_spool
from gitmem.document.entry import MemoryType
from gitmem.document.ids import exchange_id
from gitmem.mcp.tools import Call, memory_save
from gitmem.platform.machine import now
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store

SAVED = "Package manager: uv instead of pip, because its lock file is the same on all machines."
PROMPT = "From now on we use uv instead of pip. Please set it up."
ANSWER = "Decision: we use uv instead of pip as the package manager.\n\nThe lock file is written and the tests pass."
COMMAND = f"gitmem save --type decision - <<'GITMEM'\n{SAVED}\nGITMEM"


@pytest.fixture
def world(world, bare_git, monkeypatch):
    monkeypatch.setattr("gitmem.store.store.Store.start", lambda *_: None)
    bare_git(world.project, "init", "-q")
    return world


def deliver(world, host: str, event: str, **more: object) -> None:
    payload = {"hook_event_name": event, "session_id": "s-1", "prompt_id": "t-1", **more}
    world.run("hook", host, event, stdin=json.dumps(payload).encode())


def by_tool(world, host: str, session: str) -> None:
    store = world.reopen()
    call = Call(store, store.context.clock(), session, host)
    memory_save(call, type=MemoryType.DECISION, content=SAVED)
    deliver(world, host, "PostToolUse", tool_name="mcp__gitmem__memory_save", tool_use_id="1", tool_input={})


def by_shell(world, host: str, session: str) -> None:
    variables = {"CLAUDE_CODE_SESSION_ID": session} if session else {}
    world.run("save", "--type", "decision", "-", stdin=SAVED.encode(), **variables)
    deliver(world, host, "PostToolUse", tool_name="Bash", tool_use_id="1", tool_input={"command": COMMAND})


@pytest.mark.parametrize("host, session", [("claude", "s-1"), ("codex", "")])  # Codex tells programs no session
@pytest.mark.parametrize("save", [by_tool, by_shell])
@pytest.mark.parametrize("early", [False, True])  # whether a long turn was captured before the agent saved
@pytest.mark.few(3)
def test_a_decision_that_the_agent_saves_is_one_fact_with_its_exchange(world, save, host, session, early):
    deliver(world, host, "UserPromptSubmit", prompt=PROMPT)
    if early:
        for number in range(30):
            deliver(world, host, "PostToolUse", tool_name="Read", tool_use_id=f"r{number}", tool_input={})
        later = Store(world.reopen().root, world.reopen().context._replace(clock=lambda: now() + timedelta(minutes=2)))
        process_spool(later)
        assert [one.origin.get("tool") for one in known_facts(world.reopen())] == [None]
    save(world, host, session)
    deliver(world, host, "Stop", last_assistant_message=ANSWER)
    for event in ("", "SessionEnd"):
        if event:
            deliver(world, host, event, reason="other")
        process_spool(world.reopen())
        [fact] = [one for one in known_facts(world.reopen()) if one.binds]
        assert fact.description == SAVED
        assert fact.origin["exchange"] == exchange_id("s-1", "t-1")
        assert fact.origin["session"] == "s-1"
        assert exchange_id("s-1", "t-1") in fact.sources
        told = (world.reopen().read("memory.md") or b"").decode()
        assert told.count("**Decision**") == 1
        assert fact.id in told


KOREAN = "로그 보관 기간은 30일이다, 디스크가 부족하기 때문에."


def test_korean_words_with_other_endings_are_the_same_statement(world):
    deliver(world, "claude", "UserPromptSubmit", prompt="앞으로 로그는 30일만 보관합시다. 설정을 바꿔 주세요.")
    world.run("save", "--type", "decision", KOREAN, CLAUDE_CODE_SESSION_ID="s-1")
    deliver(world, "claude", "PostToolUse", tool_name="Bash", tool_use_id="1", tool_input={"command": "gitmem save …"})
    answer = "결정: 로그는 30일만 보관합니다.\n\n설정을 바꾸고 테스트했습니다."
    deliver(world, "claude", "Stop", last_assistant_message=answer)
    deliver(world, "claude", "SessionEnd", reason="other")
    process_spool(world.reopen())
    [fact] = known_facts(world.reopen())
    assert fact.origin["exchange"] == exchange_id("s-1", "t-1")

"""The real Claude Code with gitmem's hooks: what a user asked and what was done is remembered, and given back."""

import os
import signal

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
NOTES = "${CWD}/notes.md"
FIRST = "첫 번째 요청: set up the project. 결정: 패키지 관리는 uv로 한다."
SECOND = "And the tokens?"
SCRIPT = {
    FIRST: [
        {"tool": "Bash", "input": {"command": "printf 'JWT 만료시간은 15분\\n'", "description": "Show the setting"}},
        {"tool": "Write", "input": {"file_path": NOTES, "content": "# 메모\n- use pnpm, not npm\n"}},
        {"tool": "Read", "input": {"file_path": NOTES}},
        {"tool": "Edit", "input": {"file_path": NOTES, "old_string": "pnpm", "new_string": "uv"}},
        {"tool": "Bash", "input": {"command": "ls /no/such/dir", "description": "A command that fails"}},
        {"tool": "Bash", "input": {"command": "seq 1 20000", "description": "A large output"}},
        {
            "text": "패키지 관리는 이제 **uv**로 합니다 (pnpm 대신). The failing `ls` was a typo in the path; "
            "fixed by using `src/`."
        },
    ],
    SECOND: [{"text": "Noted: tokens expire after 15 minutes."}],
}
KILLED = "세션이 죽는다: write half a file"
HANGS = {
    KILLED: [
        {"tool": "Bash", "input": {"command": "echo one", "description": "Something"}},
        {"tool": "Write", "input": {"file_path": "${CWD}/half.md", "content": "half\n"}},
        {"wait": 120, "text": "This is never said."},
    ]
}


def turns(agent) -> int:
    """Return how many commits are those of a turn."""
    return sum(subject.startswith("Exchange: ") for subject in agent.commits())


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_a_session_is_remembered_and_given_back_at_the_next(agent):
    said = agent.prompt(FIRST)
    assert "uv" in said
    agent.drained()

    daily, memory = agent.daily(), agent.memory()
    assert FIRST in daily
    assert "패키지 관리는 uv로 한다" in daily
    assert "notes.md" in daily
    assert "ls /no/such/dir" in daily
    decisions = memory.partition("## Core Decisions")[2].partition("\n## ")[0]
    assert "패키지 관리는 uv로 한다" in decisions
    assert "첫 번째 요청" in memory
    assert "notes.md" in memory
    assert turns(agent) == 1, agent.commits()
    assert any(subject.startswith("Session ") for subject in agent.commits()), agent.commits()
    assert FIRST in "".join(path.read_text(encoding="utf-8") for path in agent.store.glob("sessions/*/*/*.md"))
    assert agent.git("status", "--porcelain") == ""
    assert ".gitmem" not in agent.run("git", "status", "--porcelain")

    asked = agent.asked()
    agent.prompt(SECOND)
    request = agent.first_request(asked)
    assert "패키지 관리는 uv로 한다" in request
    assert FIRST.removesuffix(".") in request
    agent.drained()
    assert SECOND in agent.daily()
    assert "Noted: tokens expire after 15 minutes." in agent.daily()
    assert turns(agent) == 2, agent.commits()
    assert [agent.daily().count(text) for text in (FIRST, SECOND)] == [1, 1]


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_a_session_that_goes_on_is_one_commit_a_turn(agent):
    agent.prompt(FIRST)
    agent.drained()
    asked = agent.asked()
    agent.prompt(SECOND, "--continue")
    agent.drained()
    assert turns(agent) == 2, agent.commits()
    assert agent.daily().count(SECOND) == 1
    assert SECOND in agent.first_request(asked)


@pytest.mark.parametrize("agent", [HANGS], indirect=True)
def test_a_session_that_is_killed_loses_nothing_that_a_hook_delivered(agent):
    process = agent.start(KILLED)
    try:
        agent.wait(
            lambda: sum(name.startswith("PostToolUse-") for name in agent.waiting()) >= 2, "the tools were not told of"
        )
        assert all(f"-{process.pid}-" in name for name in agent.waiting()), "the host's process is in the names"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    delivered = agent.waiting()
    assert {name.partition("-")[0] for name in delivered} >= {"UserPromptSubmit", "PostToolUse"}

    asked = agent.asked()
    agent.prompt("Where were we?")
    assert KILLED in agent.first_request(asked)
    agent.drained()
    assert KILLED in agent.daily()
    assert "half.md" in agent.daily()
    assert "Where were we?" in agent.daily()

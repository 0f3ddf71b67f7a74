"""What keeps an agent from running what was installed is said by `install`, `status` and `doctor`."""

import json
import os
import time

import pytest

from gitmem.store.heard import note_heard
from tests.cli.commands.project import Runner

DAY = 86_400


@pytest.fixture
def run(project, home, environ, on_path, initialize):
    """Give a function that runs a command in the project, whose folder no agent trusts."""
    initialize(project)
    return Runner(project, environ)


def words(text: str) -> str:
    return " ".join(text.replace(">", " ").split())


def off(run) -> str:
    return " ".join(json.loads(run("status", "--json")[1])["off"])


def warnings(run, check: str) -> str:
    checks = json.loads(run("doctor", "--json")[1])["checks"]
    return " ".join(
        f"{one['message']} {one['remedy']}" for one in checks if (one["check"], one["level"]) == (check, "warning")
    )


ASKED = {
    "claude": ("Claude Code asks at its next start whether you trust this folder", "Yes, I trust this folder"),
    "codex": ("Codex asks at its next start whether you trust this folder", "Choose Yes"),
    "gemini": ("Gemini CLI asks at its next start whether you trust this folder", "Answer that you trust"),
    "copilot": ("Copilot CLI asks at its next start whether you trust this folder", "Answer that you trust"),
    "pi": ("pi asks at its next start whether you trust this folder", "Answer that you trust"),
}
TRUSTED = {
    "claude": {
        ".claude.json": '{"projects": {"PROJECT": {"hasTrustDialogAccepted": true}}}',
        ".claude/settings.json": '{"enabledMcpjsonServers": ["gitmem"]}',
    },
    "codex": {".codex/config.toml": '[projects."PROJECT"]\ntrust_level = "trusted"\n'},
    "gemini": {".gemini/trustedFolders.json": '{"PROJECT": "TRUST_FOLDER"}'},
    "copilot": {".copilot/config.json": '{"trustedFolders": ["PROJECT"]}'},
    "pi": {".pi/agent/trust.json": '{"PROJECT": true}'},
}


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ASKED)
def test_what_an_agent_asks_at_its_next_start_is_said_until_it_is_answered(run, project, home, name):
    asks, answer = ASKED[name]
    out = words(run("install", name, "--project", "--no-judge")[1])
    assert asks in out
    assert answer in out
    assert "remembered from the next one on" not in out
    assert asks in off(run)
    assert asks in warnings(run, "host")
    for path, text in TRUSTED[name].items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text.replace("PROJECT", project.as_posix()))
    if name == "codex":
        assert "runs hooks only once you trust them" in off(run)
        run("install", name, "--project", "--trust", "--no-judge")
    assert off(run) == ""
    assert warnings(run, "host") == warnings(run, "mcp") == ""


DECLINED = {
    "claude": (".claude.json", '{"projects": {"PROJECT": {"disabledMcpServers": ["gitmem"]}}}', "you switched it off"),
    "codex": (".codex/config.toml", '[projects."PROJECT"]\ntrust_level = "untrusted"\n', "does not trust this folder"),
    "gemini": (".gemini/trustedFolders.json", '{"PROJECT": "DO_NOT_TRUST"}', "does not trust this folder"),
    "qwen": (".qwen/settings.json", '{"mcp": {"excluded": ["gitmem"]}}', "leaves it out"),
    "pi": (".pi/agent/trust.json", '{"PROJECT": false}', "does not trust this folder"),
}


@pytest.mark.parametrize("name", DECLINED)
def test_what_the_user_declined_is_said(run, project, home, name):
    path, text, said = DECLINED[name]
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(text.replace("PROJECT", project.as_posix()))
    assert said in words(run("install", name, "--project", "--no-judge")[2])
    assert said in warnings(run, "mcp")


def test_a_refused_server_of_the_project_is_said(run, project):
    """Enter alone at Claude Code's question writes this, unseen."""
    run("install", "claude", "--project", "--no-judge")
    (project / ".claude" / "settings.local.json").write_text('{"disabledMcpjsonServers": ["gitmem"]}')
    assert "disabledMcpjsonServers names it" in warnings(run, "mcp")


@pytest.mark.parametrize(
    "policy", [{"allowManagedHooksOnly": True}, {"disableAllHooks": True}, {"allowedMcpServers": []}]
)
def test_a_policy_of_an_organization_is_said(run, tmp_path, monkeypatch, policy):
    managed = tmp_path / "managed.json"
    managed.write_text(json.dumps(policy))
    monkeypatch.setattr("gitmem.hosts.obstacles._managed_paths", lambda name: [str(managed)] * (name == "claude"))
    run("install", "claude", "--project", "--no-judge")
    said = warnings(run, "host") + warnings(run, "mcp")
    assert str(managed) in said
    assert "Only your organization can change that." in said


def test_an_event_since_the_installation_answers_the_question(run, project):
    run("install", "claude", "--project", "--no-judge")
    assert "trust this folder" in off(run)
    private = project / ".gitmem" / ".git" / "gitmem"
    note_heard(str(private), ["claude-code"])
    assert off(run) == ""
    late = time.time() + DAY
    os.utime(private / "hosts" / "claude-code.json", (late, late))
    assert "trust this folder" in off(run)


def test_sessions_that_no_event_told_of_are_said(run, project, home):
    run("install", "qwen", "--project", "--no-judge")
    assert "No event of Qwen Code has arrived here since the install on" in words(run("doctor")[1])
    assert not warnings(run, "host")
    folder = "".join(one if one.isascii() and one.isalnum() else "-" for one in str(project))
    chats = home / ".qwen" / "projects" / folder / "chats"
    chats.mkdir(parents=True)
    (chats / "a.jsonl").write_text("{}\n")
    os.utime(chats / "a.jsonl", (time.time() + 60,) * 2)
    assert "though 1 session of it ran here since" in warnings(run, "host")

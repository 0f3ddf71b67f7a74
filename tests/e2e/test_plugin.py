"""The plugin and the extension in the real agents: valid, installed, and with Claude Code remembering by the plugin."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.clients import in_ci

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[2]
FIRST = "Which package manager?"
SECOND = "And now?"
SCRIPT = {
    FIRST: [{"text": "Decision: use uv instead of pnpm, because the lock file is shared."}],
    SECOND: [{"text": "Nothing more."}],
}
ADD = ("plugin", "marketplace", "add", "{repository}")
# By agent: what installs the plugin, and what then has to be printed.
AGENTS = {
    "codex": (
        (ADD, ("plugin", "add", "gitmem@gitmem"), ("plugin", "list")),
        "gitmem@gitmem  installed, enabled",
    ),
    "copilot": ((ADD, ("plugin", "install", "gitmem@gitmem"), ("plugin", "list")), "gitmem@gitmem"),
    "qwen": (
        (("extensions", "install", "--consent", "{repository}:gitmem"), ("extensions", "list")),
        "project-memory",
    ),
    "droid": ((ADD, ("plugin", "install", "gitmem@repository"), ("plugin", "list")), "gitmem@repository"),
    "gemini": (
        (
            ("extensions", "validate", "{repository}/gemini-extension"),
            ("extensions", "install", "--consent", "{repository}/gemini-extension"),
            ("extensions", "list"),
        ),
        "project-memory",
    ),
}


@pytest.fixture
def repository(tmp_path, bare_git) -> Path:
    """Give a repository with what is shipped, as a user's agent would clone it."""
    folder = tmp_path / "repository"
    for name in (".claude-plugin", "plugin", "gemini-extension"):
        shutil.copytree(ROOT / name, folder / name)
    bare_git(folder, "init", "-q", "-b", "main")
    bare_git(folder, "add", "-A")
    bare_git(folder, "commit", "-q", "-m", "Ship")
    return folder


@pytest.mark.parametrize("words", [("--profile", "directory", "plugin"), (".",)], ids=["plugin", "marketplace"])
def test_claude_code_finds_it_valid(claude, repository, home, environ, words):
    command = [claude, "plugin", "validate", "--strict", *words]
    done = subprocess.run(command, cwd=repository, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", in_ci(AGENTS))
def test_the_agent_installs_it(client, repository, home, environ, name):
    commands, printed = AGENTS[name]
    start = client(name)
    path = os.pathsep.join((os.path.dirname(start[0]), environ["PATH"]))
    env = environ | {"PATH": path, "TERM": "dumb", "LANG": "C.UTF-8", "FACTORY_AIRGAP_ENABLED": "true"}
    env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"  # else it asks
    said = ""
    for words in commands:
        command = [*start, *(word.format(repository=repository) for word in words)]
        done = subprocess.run(
            command,
            cwd=home,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said = done.stdout + done.stderr
    assert printed in said


def install(agent, repository: Path) -> None:
    agent.run(agent.program, "plugin", "marketplace", "add", str(repository))
    agent.run(agent.program, "plugin", "install", "gitmem@gitmem")


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_a_session_is_remembered_by_the_plugin_alone(agent, repository):
    agent.run("gitmem", "uninstall", "claude")
    install(agent, repository)
    agent.prompt(FIRST)
    agent.drained()
    assert "use uv instead of pnpm" in agent.memory()
    asked = agent.asked()
    agent.prompt(SECOND)
    request = agent.first_request(asked)
    assert "use uv instead of pnpm" in request
    assert "gitmem:project-memory" in request, "the skill is offered"
    assert "gitmem:recall" not in request, "the commands are a person's"
    agent.drained()


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_beside_the_hooks_of_install_nothing_is_saved_or_told_twice(agent, repository):
    install(agent, repository)
    agent.prompt(FIRST)
    agent.drained()
    assert sum(subject.startswith("Exchange: ") for subject in agent.commits()) == 1
    assert agent.daily().count(FIRST) == 1
    asked = agent.asked()
    agent.prompt(SECOND)
    lines = agent.requests.read_text(encoding="utf-8").splitlines()[asked:]
    told = [json.dumps(json.loads(line)["body"], ensure_ascii=False).count("</gitmem-memory>") for line in lines]
    assert max(told) == 1
    agent.drained()

"""Every real agent in its own states: `gitmem doctor` says whether its sessions are recorded, and is right."""

import contextlib
import json
import time
from collections.abc import Mapping

import pytest

from tests.e2e.clients import CLIENTS, in_ci
from tests.e2e.test_hosts import FIRST, Machine, machine, with_command

__all__ = ["machine"]
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
# What answers Claude Code's question by its default.
ENTER = '(sleep 12; printf "\\r"; sleep 3) | script -qc "$1" /dev/null'
FOR_ALL = {"cline", "kilo"}  # gitmem installs into their user's settings only

# What makes an agent trust the project and the hooks: files of the home, and options of `gitmem install`.
TRUSTED: Mapping[str, Mapping[str, str]] = {
    "claude": {".claude.json": '{"projects": {"{project}": {"hasTrustDialogAccepted": true}}}'},
    "codex": {".codex/config.toml": '[projects."{project}"]\ntrust_level = "trusted"\n'},
    "copilot": {".copilot/config.json": '{"trustedFolders": ["{project}"]}'},
    "gemini": {".gemini/trustedFolders.json": '{"{project}": "TRUST_FOLDER"}'},
    "pi": {".pi/agent/trust.json": '{"{project}": true}'},
}
# A setting of the agent's own that runs no hooks, or where it has none, that starts no server.
DISABLED: Mapping[str, tuple[str, str]] = {
    "claude": ("home/.claude/settings.json", '{"disableAllHooks": true}'),
    "codex": ("home/.codex/config.toml", "[features]\nhooks = false\n"),
    "copilot": ("home/.copilot/settings.json", '{"disableAllHooks": true}'),
    "droid": ("home/.factory/settings.json", '{"hooks": {"hooksDisabled": true}}'),
    "gemini": ("home/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}'),
    "pi": ("project/.pi/settings.json", '{"extensions": ["-extensions/gitmem.js"]}'),
    "qwen": ("home/.qwen/settings.json", '{"disableAllHooks": true}'),
}


def put(machine: Machine, name: str, state: str) -> None:
    """Write the agent's settings of a state."""
    machine.write_settings(name)
    for below in TRUSTED.get(name, {}):
        (machine.home / below).unlink(missing_ok=True)
    if state != "untrusted":
        for below, text in TRUSTED.get(name, {}).items():
            (machine.home / below).parent.mkdir(parents=True, exist_ok=True)
            (machine.home / below).write_text(machine.filled(text))
    if state == "disabled":
        below, text = DISABLED[name]
        path = machine.folder / below
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() if path.exists() else ""
        if below.endswith(".toml"):
            path.write_text(before + text)
        else:
            path.write_text(json.dumps(json.loads(before or "{}") | json.loads(text)))


def told(machine: Machine) -> tuple[list[str], str]:
    """Return what `status` says of agents that run no hooks, and what `doctor` warns of."""
    off = json.loads(machine.run("gitmem", "status", "--json"))["off"]
    checks = json.loads(machine.run("gitmem", "doctor", "--json"))["checks"]
    return off, " ".join(one["message"] for one in checks if (one["check"], one["level"]) == ("host", "warning"))


def run(machine: Machine, name: str, program: list[str], state: str) -> None:
    """Have an agent run a command, by its own defaults: in a folder that it does not trust it may refuse to."""
    about = CLIENTS[name]
    words = [machine.filled(word, FIRST) for word in about.words if word != "--approve"]
    environ = {key: value for key, value in about.environ.items() if "TRUST" not in key}
    if (name, state) == ("claude", "untrusted"):  # with -p it runs hooks in any folder
        (machine.home / ".claude.json").write_text('{"hasCompletedOnboarding": true, "theme": "dark"}')
        said = machine.run("sh", "-c", ENTER, "sh", f"{program[0]} '{FIRST}'", **environ | {"TERM": "xterm"})
        assert "this folder isn't trusted" in said
        return
    script = {FIRST: [{"tool": about.shell[0], "input": about.shell[1]}, {"text": "Done."}]}
    with contextlib.suppress(AssertionError):
        machine.ask_as(about._replace(environ=environ), program, script, words)


@pytest.mark.parametrize("state", ["untrusted", "trusted", "disabled"])
@pytest.mark.parametrize("name", in_ci(CLIENTS))
def test_what_is_said_of_an_agent_is_what_it_does(machine, client, name, state):
    if state == "disabled" and name not in DISABLED:
        pytest.skip("it has no setting that runs no hooks")
    program = client(name)
    put(machine, name, state)
    trust = CLIENTS[name].trust if state != "untrusted" else ()
    machine.run("gitmem", "install", name, "--user" if name in FOR_ALL else "--project", "--no-judge", *trust)
    off, warned = told(machine)
    assert bool(off) == bool(warned)
    run(machine, name, program, state)
    recorded = FIRST in machine.remember(name)
    if (name, state) != ("copilot", "disabled"):  # with -p it runs hooks all the same
        assert recorded is not bool(off)
    off, warned = told(machine)
    assert recorded is not bool(off)
    assert recorded is not bool(warned)


@pytest.mark.parametrize("name", in_ci(TRUSTED))
def test_trust_that_is_withdrawn_after_a_session_is_said(machine, client, name):
    program = client(name)
    put(machine, name, "trusted")
    machine.run("gitmem", "install", name, "--project", "--no-judge", *CLIENTS[name].trust)
    run(machine, name, program, "trusted")
    daily = machine.remember(name)
    assert FIRST in daily
    assert told(machine) == ([], "")
    put(machine, name, "untrusted")
    off, warned = told(machine)
    assert off
    assert warned
    run(machine, name, program, "untrusted")
    assert machine.remember(name) == daily


def test_a_session_that_leaves_the_hooks_out_is_said_to_be_unrecorded(machine, client):
    put(machine, "claude", "trusted")
    machine.run("gitmem", "install", "claude", "--project", "--no-judge")
    for options in ([], ["--setting-sources", "user"]):
        assert told(machine) == ([], "")
        time.sleep(6)  # a session that began in the moment of the last event may be the recorded one
        words = [*machine.words("claude", FIRST), *options]
        machine.ask("claude", client("claude"), {FIRST: [{"text": "Done."}]}, words)
        assert machine.remember("claude").count(FIRST) == 1
    off, warned = told(machine)
    assert off == []
    assert "1 session of Claude Code began here after its last event" in warned


@pytest.mark.parametrize("name", in_ci(CLIENTS))
def test_what_an_agent_looks_up_by_a_command_comes_in_the_fence(machine, client, name):
    machine.write_settings(name)
    machine.run("gitmem", "save", "Use uv, never pip")
    asks = with_command(name, f"{machine.folder / 'bin' / 'gitmem'} search uv > looked-up.txt 2>&1; env > environ.txt")
    machine.ask(name, client(name), {FIRST: [asks, {"text": "Done."}]}, machine.words(name, FIRST))
    said = (machine.project / "looked-up.txt").read_text()
    assert said.startswith("<gitmem-memory source='search'>"), (machine.project / "environ.txt").read_text()
    assert "Use uv, never pip" in said
    assert not machine.run("gitmem", "search", "uv").startswith("<")

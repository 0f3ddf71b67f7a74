"""Real Codex, Gemini CLI and OpenCode with a scripted model: one session is remembered, and the next one is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.hosts, pytest.mark.timeout(300)]
MODELS = Path(__file__).resolve().parents[3] / "shared" / "e2e" / "hosts" / "mock_models.py"
ROOT = Path(__file__).resolve().parents[2]
FIRST, SECOND = "FIRST: set up the project", "SECOND: and now?"
DECIDED = "Decision: we use uv instead of pip, because it is faster."
SCRIPT = [
    {
        "when": "FIRST",
        "steps": [{"shell": "echo one"}, {"write": "notes.md", "content": "# notes\n"}, {"text": DECIDED}],
    },
    {"when": "SECOND", "steps": [{"text": "As before."}]},
]
OFFLINE = ["unshare", "-n"]  # a network of its own, in which any port is free
PORT = 8743


OPENCODE = {
    "$schema": "https://opencode.ai/config.json",  # which OpenCode would add
    "model": "mock/mock-model",
    "small_model": "mock/mock-model",
    "autoupdate": False,
    "share": "disabled",
    "permission": {"edit": "allow", "bash": "allow"},
    "provider": {
        "mock": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "mock",
            "options": {"baseURL": f"http://127.0.0.1:{PORT}/v1", "apiKey": "mock-key"},
            "models": {
                "mock-model": {"name": "mock", "limit": {"context": 200_000, "output": 8_000}, "tool_call": True}
            },
        }
    },
}
SETTINGS = {
    "codex": (".codex/config.toml", b"# mine\n"),
    "gemini": (".gemini/settings.json", b'{"security": {"auth": {"selectedType": "gemini-api-key"}}}'),
    "opencode": (".config/opencode/opencode.json", json.dumps(OPENCODE).encode()),
}


class Machine:
    """A home, a project with a store, a scripted model, and one agent, without a network."""

    def __init__(self, host: str, program: list[str], folder: Path, environ: dict[str, str]) -> None:
        self.host, self.program, self.folder = host, program, folder
        self.project, self.home = folder / "project", folder / "home"
        for path in (self.project, self.home, folder / "bin"):
            path.mkdir()
        gitmem = folder / "bin" / "gitmem"
        gitmem.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitmem "$@"\n')
        gitmem.chmod(0o755)
        node = os.path.dirname(program[0]) if program[0].endswith("node") else ""
        path = os.pathsep.join(filter(None, [str(folder / "bin"), node, environ["PATH"]]))
        self.environ = {"HOME": str(self.home), "PATH": path, "PYTHONPATH": str(ROOT)}
        self.environ |= {"TERM": "dumb", "LANG": "C.UTF-8"}
        (folder / "script.json").write_text(json.dumps(SCRIPT))
        self.requests = folder / "requests.jsonl"

    def run(self, *words: str) -> str:
        done = subprocess.run(
            words, cwd=self.project, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout.decode()

    def prompt(self, text: str) -> list[str]:
        """Give the agent a prompt; return the requests to the model. Model and agent share a network of their own."""
        before = len(self.requests.read_text().splitlines()) if self.requests.exists() else 0
        script = f"""
            ip link set lo up 2>/dev/null
            cd "{self.folder}" && export MOCK_CWD="{self.project}"
            "{sys.executable}" "{MODELS}" {PORT} script.json "{self.requests}" >mock &
            mock=$!; trap 'kill $mock' EXIT
            until [ -s mock ]; do sleep 0.1; done
            rm mock
            cd "{self.project}"
            {self.prepare()}
            "$@"
        """
        self.run(*OFFLINE, "bash", "-c", script, "sh", *self.program, *self.words(text))
        return self.requests.read_text().splitlines()[before:]

    def prepare(self) -> str:
        if self.host == "gemini":
            return (
                f"export GEMINI_API_KEY=mock-key GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:{PORT} "
                "GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_NO_RELAUNCH=true"
            )
        if self.host == "opencode":  # which looks for updates and packages of its own
            return "export npm_config_offline=true OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1"
        return "export MOCK_KEY=sk-mock"

    def words(self, text: str) -> list[str]:
        if self.host == "gemini":
            return ["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", text]
        if self.host == "opencode":
            return ["run", "--format", "json", text]
        settings = {
            "model": "gpt-5.5",
            "model_provider": "mock",
            "model_providers.mock.name": "mock",
            "model_providers.mock.base_url": f"http://127.0.0.1:{PORT}/v1",
            "model_providers.mock.env_key": "MOCK_KEY",
            "model_providers.mock.wire_api": "responses",
            "check_for_update_on_startup": False,
        }
        named = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
        return ["exec", "--sandbox", "danger-full-access", "--skip-git-repo-check", *named, text]


@pytest.fixture(params=["codex", "gemini", "opencode"])
def machine(request, tmp_path_factory, environ, bare_git, client):
    if not MODELS.exists():
        pytest.skip(f"no scripted models at {MODELS}")
    if shutil.which("unshare") is None or subprocess.run([*OFFLINE, "true"], check=False).returncode:
        pytest.skip("no network namespace can be made here")
    machine = Machine(request.param, client(request.param), tmp_path_factory.mktemp(request.param), environ)
    bare_git(machine.project, "init", "-q")
    machine.run("gitmem", "init")
    return machine


def test_a_session_is_remembered_told_to_the_next_and_nothing_stays(machine):
    name, before = SETTINGS[machine.host]
    settings = machine.home / name
    settings.parent.mkdir(parents=True)
    settings.write_bytes(before)
    trust = ["--trust"] if machine.host == "codex" else []
    machine.run("gitmem", "install", machine.host, "--user", "--only", "hooks", *trust)

    machine.prompt(FIRST)
    machine.run("gitmem", "hook", machine.host, "--drain")
    store = machine.project / ".gitmem"
    daily = "".join(path.read_text() for path in store.glob("daily/*/*/*.md"))
    assert "uv instead of pip" in daily
    assert "FIRST: set up the project" in daily
    said = machine.run("git", "-C", str(store), "log", "--format=%(trailers:key=Gitmem-Host,valueonly)").split()
    assert machine.host in said

    requests = machine.prompt(SECOND)
    told = [request for request in requests if '"tools"' in request] or requests  # one for a title has none
    assert "uv instead of pip" in told[0], "the first request of the next session holds what was decided"
    assert "gitmem-memory" in told[0]

    machine.run("gitmem", "uninstall", machine.host, "--user")
    left = settings.read_bytes()
    assert b"gitmem" not in left
    assert left.startswith(before[:10])
    assert not (machine.home / ".local" / "share" / "gitmem").exists()
    replayed = json.loads(machine.run("gitmem", "replay", "--from", machine.host, "--json"))
    assert replayed["turns"] >= 2

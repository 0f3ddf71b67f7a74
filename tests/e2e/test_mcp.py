"""The MCP server asked by programs that are not ours: the inspector, the conformance suite, the real Claude Code."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.conftest import unfenced

pytestmark = pytest.mark.e2e

INSPECTED = 60  # seconds, for a client to start, ask and go
ROOT = Path(__file__).resolve().parents[2]
# The other scenarios ask for the tools, resources and prompts of the suite's own example server.
SCENARIOS = {
    "2025-11-25": [
        *("server-initialize", "server-session-lifecycle", "ping", "tools-list", "tools-call-error", "resources-list"),
        *("prompts-list", "dns-rebinding-protection", "server-sse-multiple-streams"),
    ],
    "2026-07-28": [
        *("server-stateless", "tools-list", "tools-call-error", "resources-list", "sep-2164-resource-not-found"),
        *(
            "prompts-list",
            "dns-rebinding-protection",
            "caching",
            "http-header-validation",
            "server-sse-multiple-streams",
        ),
        *("input-required-result-unsupported-methods", "input-required-result-ignore-extra-params"),
    ],
}
# Of server-stateless: these need that server's tool `test_missing_capability`.
NOT_ASKED = {"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"}


class Project:
    """A project with a store, and gitmem as a command in it."""

    def __init__(self, folder: Path, environ: dict[str, str], clients: Path) -> None:
        self.folder = folder
        self.environ = environ | {"PATH": f"{clients}{os.pathsep}{environ['PATH']}", "PYTHONPATH": str(ROOT)}
        self.gitmem = [sys.executable, "-m", "gitmem"]

    def run(self, *words: str, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSPECTED,
            check=False,
            **options,
        )

    def inspect(self, *words: str, server: tuple[str, ...] = ()) -> dict:
        """Return what the inspector got, with nothing on standard error that it calls an error."""
        target = server or (*self.gitmem, "mcp")
        done = self.run("mcp-inspector", "--cli", *target, "--format", "json", *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)["result"]


@pytest.fixture
def project(mcp_clients, home, environ, tmp_path):
    folder = tmp_path / "프로젝트 one"
    folder.mkdir()
    project = Project(folder, environ | {"HOME": str(home)}, mcp_clients)
    assert project.run(*project.gitmem, "init").returncode == 0
    assert (
        project.run(*project.gitmem, "save", "패키지 관리는 uv로 한다, not pnpm", "--type", "decision").returncode == 0
    )
    return project


@contextlib.contextmanager
def serving(project):
    """Give address and token of `gitmem mcp --http`."""
    command = [*project.gitmem, "mcp", "--http", "--json"]
    server = subprocess.Popen(
        command, cwd=project.folder, env=project.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with server:
        try:
            yield json.loads("".join(server.stdout.readline() for _ in range(4)))
        finally:
            server.terminate()
            server.communicate()


def ask_for_everything(project, *server: str) -> None:
    def inspect(*words):
        return project.inspect(*words, server=server)

    tools = [tool["name"] for tool in inspect("--method", "tools/list", "--strict")["tools"]]
    names = ["search", "load", "get", "history", "why", "save", "update", "guide", "task"]
    assert tools == [f"memory_{name}" for name in names]

    def call(tool: str, *pairs: str):
        arguments = [word for pair in pairs for word in ("--tool-arg", pair)]
        return inspect("--method", "tools/call", "--tool-name", tool, *arguments)

    (hit,) = json.loads(unfenced(call("memory_search", "query=pnpm")["content"][0]["text"]))["hits"]
    assert hit["path"] == "memory.md"
    line = f"start_line={hit['start_line']}"
    assert "not pnpm" in call("memory_get", "path=memory.md", line)["content"][0]["text"]
    assert "not pnpm" in call("memory_load", "source=full")["content"][0]["text"]
    assert "Learned " in call("memory_history", "path=memory.md", line)["content"][0]["text"]
    saved = call("memory_save", "type=learning", "content=zebra", 'metadata={"tags":["animal"]}')["structuredContent"]
    assert "zebra" in call("memory_search", "query=tag:animal")["content"][0]["text"]
    resources = inspect("--method", "resources/list")["resources"]
    logs = [resource for resource in resources if not resource["name"].startswith("facts/")]
    assert {"memory.md", saved["path"]} == {resource["name"] for resource in logs}
    for resource in logs:
        (content,) = inspect("--method", "resources/read", "--uri", resource["uri"])["contents"]
        assert "zebra" in content["text"]
    (template,) = inspect("--method", "resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "gitmem://store/{+path}"
    (prompt,) = inspect("--method", "prompts/list")["prompts"]
    told = inspect("--method", "prompts/get", "--prompt-name", prompt["name"], "--prompt-args", "topic=pnpm")
    assert "not pnpm" in told["messages"][0]["content"]["text"]


def test_the_inspector_lists_calls_and_reads_everything(project):
    ask_for_everything(project)


def test_the_inspector_does_so_over_http(project):
    with serving(project) as said:
        header = f"Authorization: Bearer {said['token']}"
        ask_for_everything(project, said["url"], "--header", header)
        refused = project.run("mcp-inspector", "--cli", said["url"], "--method", "tools/list")
        assert refused.returncode != 0


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_two_hundred_calls_eight_at_a_time_are_answered(project, era):
    load = ("--load", "--load-requests", "200", "--load-concurrency", "8", "--protocol-era", era)
    for tool, argument in (("memory_search", "query=pnpm"), ("memory_get", "path=memory.md")):
        call = ("--method", "tools/call", "--tool-name", tool, "--tool-arg", argument)
        result = project.inspect(*call, *load)
        assert (result["ok"], result["toolErrors"], result["errors"]) == (200, 0, 0), result


@pytest.mark.parametrize("version", SCENARIOS)
def test_it_conforms(project, tmp_path, version):
    with serving(project) as said:
        port = said["url"].partition("127.0.0.1:")[2].partition("/")[0]
        proxy = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("token_proxy.py")), port, said["token"]],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = f"http://127.0.0.1:{int(proxy.stdout.readline())}/mcp"
            for scenario in SCENARIOS[version]:
                out = tmp_path / "results" / scenario
                words = ("--scenario", scenario, "--spec-version", version, "-o", str(out))
                done = project.run("conformance", "server", "--url", url, *words)
                (file,) = out.glob("*/checks.json")
                checks = json.loads(file.read_text())
                failed = [check for check in checks if check["status"] == "FAILURE" and check["id"] not in NOT_ASKED]
                assert failed == [], (scenario, done.stdout[-2000:])
                assert any(check["status"] == "SUCCESS" for check in checks), (scenario, done.stdout[-2000:])
        finally:
            proxy.kill()
            proxy.wait()
            proxy.stdout.close()


SEARCH = "mcp__gitmem__memory_search"
SCRIPT = {
    "which package manager": [
        {"tool": SEARCH, "input": {"query": "패키지 관리"}},
        {"tool": "mcp__gitmem__memory_save", "input": {"type": "learning", "content": "얼룩말 is a zebra"}},
        {"tool": SEARCH, "input": {"query": "zebra"}},
        {"text": "uv"},
    ],
}


def results(agent) -> list[str]:
    """Return what the tools answered, as the model was sent it."""
    bodies = [json.loads(line)["body"] for line in agent.requests.read_text(encoding="utf-8").splitlines()]
    parts = [part for body in bodies for part in body["messages"][-1]["content"] if isinstance(part, dict)]
    return [json.dumps(part, ensure_ascii=False) for part in parts if part.get("type") == "tool_result"]


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_the_real_claude_code_searches_and_saves(agent):
    agent.run("gitmem", "install", "claude")
    agent.run("gitmem", "save", "패키지 관리는 uv로 한다", "--type", "decision")
    agent.prompt("which package manager?", "mcp__gitmem")  # one more tool that is allowed
    first, saved, second = results(agent)
    assert "패키지 관리는 uv로 한다" in first
    assert "memory.md" in first
    assert "얼룩말 is a zebra" in second
    assert "is_error" not in first + saved + second
    tools = json.loads(agent.first_request(0))["tools"]
    assert SEARCH in {tool["name"] for tool in tools}, "the tools must be there without being searched for"
    agent.drained()
    keys = ("Gitmem-Host", "Gitmem-Session")
    form = "".join(f"%(trailers:key={key},valueonly)" for key in keys)
    host, session = agent.git("log", "--grep=Save learning", f"--format={form}").split()
    assert host == "claude-code"
    assert session in agent.git("log", "--grep=Exchange:", f"--format={form}").split(), (
        "the hooks tell the same session"
    )

    agent.run("gitmem", "uninstall", "claude")
    assert not (agent.project / ".mcp.json").exists()

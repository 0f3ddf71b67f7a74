"""The real agents: what npm brings, how one is started with a scripted model, and which settings it has before.

The tenth is a row of this table. In its texts `{model}` is the model's address, `{prompt}` the prompt, `{project}` the
folder, which the agents trust.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet

KEY = "sk-dummy-not-a-key"


class Client(NamedTuple):
    """An agent, its packages, and its program in `node_modules`, a `.js` if node has to start it.

    `settings` are the user's own files before gitmem is installed, in the form that the agent gives them. `shell` is
    its tool for commands with one that fails, `search` its name of `memory_search`, `found` the step before its use if
    the model has to look for it, and `trust` what `gitmem install` needs besides. `servers` says after which installs
    the model is offered gitmem's tools at once. One may be `told_by_a_tool`, with its first result.
    """

    packages: tuple[str, ...]
    program: str
    words: tuple[str, ...]
    shell: tuple[str, Mapping[str, object]]
    search: str
    environ: Mapping[str, str] = {}
    settings: Mapping[str, str] = {}
    trust: tuple[str, ...] = ()
    servers: tuple[str, ...] = ("user", "project")
    told_by_a_tool: bool = False
    found: tuple[Mapping[str, object], ...] = ()
    helps_at_errors: bool = True
    new_node: bool = False
    packed: bool = False  # npm lacks a package that it names and does without: the first package is only unpacked


FAILS = "ls /no/such/dir"
COMMAND = {"command": FAILS, "description": "Look"}
NODE = "node@22"


def _opencode(name: str) -> str:
    mock = {"npm": "@ai-sdk/openai-compatible", "name": "mock"}
    mock |= {"options": {"baseURL": "{model}/v1", "apiKey": KEY}}
    limits = {"name": "mock", "limit": {"context": 200_000, "output": 8_000}, "tool_call": True}
    settings = {"$schema": f"https://{name}/config.json", "model": "mock/mock-model", "small_model": "mock/mock-model"}
    settings |= {"autoupdate": False, "share": "disabled", "permission": {"edit": "allow", "bash": "allow"}}
    return json.dumps(settings | {"provider": {"mock": mock | {"models": {"mock-model": limits}}}})


CODEX_MODEL = {
    "model": "gpt-5.5",
    "model_provider": "mock",
    "model_providers.mock.name": "mock",
    "model_providers.mock.base_url": "{model}/v1",
    "model_providers.mock.env_key": "MOCK_KEY",
    "model_providers.mock.wire_api": "responses",
    "check_for_update_on_startup": False,
}
DROID_MODEL = {
    "model": "mock-model",
    "id": "custom:mock-model-0",
    "index": 0,
    "displayName": "mock",
    "baseUrl": "{model}/v1",
    "apiKey": KEY,
    "provider": "generic-chat-completion-api",
    "maxOutputTokens": 8000,
}
PI_MODEL = {"baseUrl": "{model}/v1", "api": "openai-completions", "apiKey": KEY}
PI_MODEL |= {"models": [{"id": "mock-model", "name": "mock", "contextWindow": 200_000, "maxTokens": 8000}]}
CLINE_MODEL = {"provider": "openai-compatible", "apiKey": KEY, "model": "mock-model", "baseUrl": "{model}/v1"}
CLINE_PROVIDER = {"settings": CLINE_MODEL, "updatedAt": "2026-11-22T12:00:00.000Z", "tokenSource": "manual"}
CLINE_PROVIDERS = {"version": 1, "lastUsedProvider": CLINE_MODEL["provider"], "modes": {}}
CLINE_PROVIDERS |= {"providers": {CLINE_MODEL["provider"]: CLINE_PROVIDER}}

CLIENTS = {
    "claude": Client(
        packages=("@anthropic-ai/claude-code@2.1.330",),
        program=".bin/claude",
        words=("-p", "{prompt}", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"),
        shell=("Bash", COMMAND),
        search="mcp__gitmem__memory_search",
        environ={
            "IS_SANDBOX": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MCP_CONNECT_TIMEOUT_MS": "60000",  # else it asks without our tools after five, on a busy machine
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": "{model}",
        },
        settings={".claude/settings.json": '{"includeCoAuthoredBy": false}'},
    ),
    "codex": Client(
        packages=("@openai/codex@0.169.0",),
        program=".bin/codex",
        words=(
            *("exec", "--sandbox", "danger-full-access", "--skip-git-repo-check"),
            *(word for key, value in CODEX_MODEL.items() for word in ("-c", f"{key}={json.dumps(value)}")),
            "{prompt}",
        ),
        shell=("exec_command", {"cmd": FAILS}),
        search="mcp__gitmem/memory_search",
        environ={"MOCK_KEY": KEY},
        settings={".codex/config.toml": '# mine\n[projects."{project}"]\ntrust_level = "trusted"\n'},
        trust=("--trust",),
        found=({"tool": "tool_search", "input": {"query": "memory"}, "wait": 8},),
        servers=(),
    ),
    "gemini": Client(
        packages=("@google/gemini-cli@0.61.0",),
        program="@google/gemini-cli/bundle/gemini.js",
        words=("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", "{prompt}"),
        shell=("run_shell_command", COMMAND),
        search="mcp_gitmem_memory_search",
        environ={
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": "{model}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        },
        settings={".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'},
    ),
    "opencode": Client(
        packages=("opencode-ai@1.18.33",),
        program=".bin/opencode",
        words=("run", "--format", "json", "{prompt}"),
        shell=("bash", COMMAND),
        search="gitmem_memory_search",
        environ={
            "npm_config_offline": "true",  # it looks for updates and packages of its own
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        settings={".config/opencode/opencode.json": _opencode("opencode.ai")},
    ),
    "qwen": Client(
        packages=("@qwen-code/qwen-code@0.24.4",),
        program="@qwen-code/qwen-code/cli-entry.js",
        words=("--approval-mode", "yolo", "-p", "{prompt}"),
        shell=("run_shell_command", COMMAND | {"is_background": False}),
        search="mcp__gitmem__memory_search",
        environ={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "{model}/v1", "OPENAI_MODEL": "mock-model"},
        settings={
            ".qwen/settings.json": json.dumps(
                {"security": {"auth": {"selectedType": "openai"}}, "$version": 4}, indent=2
            )
        },
        new_node=True,
    ),
    "copilot": Client(
        packages=("@github/copilot@1.0.102",),
        program=".bin/copilot",
        words=("--no-auto-update", "--yolo", "-p", "{prompt}"),
        shell=("bash", COMMAND),
        search="gitmem-memory_search",
        environ={
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": "{model}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "mock-model",
            "COPILOT_AUTO_UPDATE": "false",
        },
        settings={
            ".copilot/mcp-config.json": '{"mcpServers": {}}',
            ".copilot/config.json": '{"trustedFolders": ["{project}"]}',
        },
    ),
    "droid": Client(
        packages=("@factory/cli-linux-x64@0.225.2",),
        program="@factory/cli-linux-x64/bin/droid",
        words=("exec", "--auto", "high", "-m", "custom:mock-model-0", "{prompt}"),
        shell=("Execute", {"command": FAILS, "summary": "Look", "riskLevel": "low", "riskLevelReason": "It reads."}),
        search="gitmem___memory_search",
        environ={
            "FACTORY_API_KEY": "fk-dummy-not-a-key",
            "FACTORY_AIRGAP_ENABLED": "true",
            "FACTORY_TELEMETRY_ENABLED": "false",
        },
        settings={
            ".factory/settings.json": json.dumps(
                {"customModels": [DROID_MODEL], "cloudSessionSync": False, "autoUpdate": False}, indent=2
            )
        },
        found=({"tool": "ToolSearch", "input": {"query": "select:gitmem___memory_search"}, "wait": 12},),
        helps_at_errors=False,
        servers=(),
    ),
    "pi": Client(
        packages=("@earendil-works/pi-coding-agent@1.5.2", "jiti@2.7.0"),
        program="@earendil-works/pi-coding-agent/dist/bundle/cli.js",
        words=("--approve", "--provider", "mock", "--model", "mock-model", "-p", "{prompt}"),
        shell=("bash", COMMAND),
        search="mcp__gitmem__memory_search",
        environ={"PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        settings={
            ".pi/agent/settings.json": '{"compaction": {"keepRecentTokens": 1}}',  # else it keeps a short session whole
            ".pi/agent/models.json": json.dumps({"providers": {"mock": PI_MODEL}}),
            ".pi/agent/mcp.json": '{"mcpServers": {}}',
        },
        new_node=True,
        packed=True,
    ),
    "kilo": Client(
        packages=("@kilocode/cli@7.7.7", "@kilocode/cli-linux-x64@7.7.7"),
        program="@kilocode/cli-linux-x64/bin/kilo",
        words=("run", "--auto", "--format", "json", "{prompt}"),
        shell=("bash", COMMAND),
        search="gitmem_memory_search",
        environ={
            "npm_config_offline": "true",
            "KILO_DISABLE_AUTOUPDATE": "1",
            "KILO_DISABLE_MODELS_FETCH": "1",
            "KILO_DISABLE_LSP_DOWNLOAD": "1",
            "KILO_DISABLE_SESSION_INGEST": "1",
            "KILO_TELEMETRY_LEVEL": "off",
        },
        settings={".config/kilo/kilo.json": _opencode("app.kilo.ai")},
    ),
    "cline": Client(
        packages=("cline@3.0.65",),
        program="@cline/cli-linux-x64/bin/cline",
        words=("--json", "-t", "60", "{prompt}"),
        shell=("run_commands", {"commands": [FAILS]}),
        search="gitmem__memory_search",
        environ={"CLINE_NO_AUTO_UPDATE": "1", "CLINE_TELEMETRY_DISABLED": "1"},
        settings={
            ".cline/data/settings/providers.json": json.dumps(CLINE_PROVIDERS, indent=2),
            ".cline/data/settings/cline_mcp_settings.json": '{"mcpServers": {}}',
        },
        servers=("user",),
        told_by_a_tool=True,
    ),
}
IN_CI = ("claude", "codex", "gemini", "opencode")  # the others bring another 1.5 GB


def in_ci(names: Iterable[str]) -> list[ParameterSet]:
    """Return agents as parameters, those that `.ci/run` does without marked with `hosts`."""
    return [pytest.param(name, marks=() if name in IN_CI else pytest.mark.hosts) for name in names]


def fetch(npm: str, client: Client, folder: Path, environ: Mapping[str, str]) -> str:
    """Have npm put a client's packages into a folder; return what it said if it could not."""
    if client.packed:
        return _fetch_packed(npm, client, folder, environ)
    return install(npm, client.packages, folder, environ)


def install(npm: str, packages: tuple[str, ...], folder: Path, environ: Mapping[str, str]) -> str:
    """Have npm install packages into a folder; return what it said if it could not."""
    return _run(npm, ["install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages], folder, environ)


def _fetch_packed(npm: str, client: Client, folder: Path, environ: Mapping[str, str]) -> str:
    package, *others = client.packages
    if said := install(npm, tuple(others), folder, environ) or _run(npm, ["pack", package], folder, environ):
        return said
    (archive,) = folder.glob("*.tgz")
    target = folder / "node_modules" / package.rpartition("@")[0]
    target.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", archive, "-C", target, "--strip-components=1"], check=True)
    archive.unlink()
    return ""


def _run(npm: str, words: list[str], folder: Path, environ: Mapping[str, str]) -> str:
    done = subprocess.run([npm, *words], env=environ, cwd=folder, capture_output=True, timeout=600, check=False)
    return done.stderr.decode(errors="replace")[-300:] if done.returncode else ""

"""Agents that are known from their documentation or code alone, and tested with no real client.

Amp: a plugin, `templates/hosts/amp.ts`, which sends Claude Code's keys; its sessions are on its servers, so none can be
imported. Cursor: hooks in a list an event, an answer of one key, read in `@cursor/sdk` 1.0.32; `stop` does not
say the answer, but `afterAgentResponse` does. Crush has one event alone of those that memory needs, Roo Code and VS
Code's Copilot Chat none: they get the MCP server and words about the memory in AGENTS.md, and their sessions are not
captured.
"""

from __future__ import annotations

import os
from functools import partial

from gitmem.hosts import Host, InstallPlace, Items, Payload, Scope, named_as_claude, text_of

_UNTRIED = "Nobody has tried this with {} yet; 'gitmem status' shows whether its sessions arrive."
_TOOLS_ONLY = "Nobody has tried this with {} yet. Its sessions are not captured: it has tools for the memory only."

_AMP_TOOLS = {"shell_command": "Bash", "create_file": "Write", "edit_file": "Edit"}
_AMP_EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop"


def _amp_edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import FileEdit, skills
    from gitmem.hosts.settings import HOOKS, ServerEdit
    from gitmem.platform.machine import read_resource

    own = place.scope is Scope.USER
    folder = place.folder(os.path.join(".config", "amp") if own else ".amp")
    listing = ServerEdit(os.path.join(folder, "settings.json"), ("amp.mcpServers", "gitmem"), place.server)
    return (
        FileEdit(os.path.join(folder, "plugins", "gitmem.ts"), HOOKS, read_resource("templates", "hosts", "amp.ts")),
        listing,
        *skills(os.path.join(folder if own else os.path.join(place.project, ".agents"), "skills")),
    )


def _amp_read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's names of tools and their inputs."""
    known, given = named_as_claude(payload, _AMP_TOOLS), payload.get("tool_input")
    if isinstance(given, dict):
        known["tool_input"] = given | {"command": text_of(given, "command") or text_of(given, "cmd")}
    return known


AMP = Host(
    name="amp",
    title="Amp",
    folder=os.path.join(".config", "amp"),
    events={event: event for event in _AMP_EVENTS.split()},
    edits=_amp_edits,
    read=_amp_read,
    note=_UNTRIED.format("Amp"),
)


_CURSOR_BEGUN = '{\n  "version": 1\n}\n'
_CURSOR_TOOLS = {"Shell": "Bash", "run_terminal_cmd": "Bash", "edit_file": "Edit", "write": "Write"}
_CURSOR_EVENTS = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "afterAgentResponse": "Stop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}


def _cursor_edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import usual
    from gitmem.hosts.settings import HooksEdit

    folder = place.folder(".cursor")
    lines = {event: {"command": line} for event, line in CURSOR.commands().items()}
    hooks = HooksEdit(os.path.join(folder, "hooks.json"), lines, flat=True, begun=_CURSOR_BEGUN)
    return usual(folder, hooks, os.path.join(folder, "mcp.json"), place.server)


def _cursor_read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's keys."""
    given, tool = text_of(payload, "hook_event_name"), text_of(payload, "tool_name")
    session = text_of(payload, "session_id") or text_of(payload, "conversation_id")
    roots = payload.get("workspace_roots")
    known = payload | {
        "hook_event_name": _CURSOR_EVENTS.get(given, given),
        "session_id": session,
        "turn_id": text_of(payload, "generation_id"),
        "tool_name": _CURSOR_TOOLS.get(tool, tool),
        "last_assistant_message": text_of(payload, "text"),
        "error": text_of(payload, "error_message") or text_of(payload, "error"),
    }
    return known if "cwd" in payload or not isinstance(roots, list) else known | {"cwd": next(iter(roots), "")}


CURSOR = Host(
    name="cursor",
    title="Cursor",
    folder=".cursor",
    events=_CURSOR_EVENTS,
    edits=_cursor_edits,
    read=_cursor_read,
    answer=lambda _, text: {"additional_context": text},
    sign="",
    note=_UNTRIED.format("Cursor"),
)


def _crush_edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import skills
    from gitmem.hosts.settings import BlockEdit, ServerEdit

    server = {"type": "stdio"} | place.server
    if place.scope is Scope.USER:
        folder = os.path.join(place.environ.get("XDG_CONFIG_HOME") or os.path.join(place.home, ".config"), "crush")
        listing = ServerEdit(os.path.join(folder, "crush.json"), ("mcp", "gitmem"), server)
        return (listing, *skills(os.path.join(folder, "skills")))
    return (
        ServerEdit(os.path.join(place.project, "crush.json"), ("mcp", "gitmem"), server),
        BlockEdit(os.path.join(place.project, "AGENTS.md"), CRUSH.name),
    )


CRUSH = Host(
    name="crush",
    title="Crush",
    folder=os.path.join(".config", "crush"),
    events={},
    edits=_crush_edits,
    note=_TOOLS_ONLY.format("Crush"),
)


def _tools_edits(host: str, folder: str, servers: str, place: InstallPlace) -> Items:
    """Return what a host gets that reads a project's `mcp.json`, with its list under this key, and AGENTS.md."""
    from gitmem.hosts.settings import BlockEdit, ServerEdit

    listing = os.path.join(place.project, folder, "mcp.json")
    return (
        ServerEdit(listing, (servers, "gitmem"), place.server),
        BlockEdit(os.path.join(place.project, "AGENTS.md"), host),
    )


def _tools_only(name: str, title: str, servers: str) -> Host:
    folder = f".{name}"
    return Host(
        name=name,
        title=title,
        folder=folder,
        events={},
        edits=partial(_tools_edits, name, folder, servers),
        scopes=(Scope.PROJECT,),
        note=_TOOLS_ONLY.format(title),
    )


ROO = _tools_only("roo", "Roo Code", "mcpServers")
# https://code.visualstudio.com/docs/agents/reference/mcp-configuration
VSCODE = _tools_only("vscode", "Copilot Chat in VS Code", "servers")

"""Cursor: its events and settings, read in the source of `@cursor/sdk` 1.0.32, not tried with a real client.

An answer has one key. The reply comes with `afterAgentResponse`, not with `stop`.
"""

from __future__ import annotations

import os

from gitmem.hosts.host import Edits, Host, InstallPlace, Payload, text_of

_CURSOR_TOOLS = {"Shell": "Bash", "run_terminal_cmd": "Bash", "edit_file": "Edit", "write": "Write"}
_CURSOR_EVENTS = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "afterAgentResponse": "Stop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}


def _cursor_read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's keys."""
    event, tool = text_of(payload, "hook_event_name"), text_of(payload, "tool_name")
    session = text_of(payload, "session_id") or text_of(payload, "conversation_id")
    roots = payload.get("workspace_roots")
    known = payload | {
        "hook_event_name": _CURSOR_EVENTS.get(event, event),
        "session_id": session,
        "turn_id": text_of(payload, "generation_id"),
        "tool_name": _CURSOR_TOOLS.get(tool, tool),
        "last_assistant_message": text_of(payload, "text"),
        "error": text_of(payload, "error_message") or text_of(payload, "error"),
    }
    return known if "cwd" in payload or not isinstance(roots, list) else known | {"cwd": next(iter(roots), "")}


def _cursor(host: Host, place: InstallPlace) -> Edits:
    from gitmem.hosts.edits import BEGUN, usual_edits
    from gitmem.hosts.settings import HooksEdit

    folder = place.folder(host.folder)
    lines = {event: {"command": line} for event, line in host.commands().items()}
    hooks = HooksEdit(os.path.join(folder, "hooks.json"), lines, flat=True, begun=BEGUN)
    return usual_edits(folder, hooks, os.path.join(folder, "mcp.json"), place.server)


CURSOR = Host(
    edits=_cursor,
    name="cursor",
    programs=("cursor", "cursor-agent"),
    title="Cursor",
    folder=".cursor",
    events=_CURSOR_EVENTS,
    read=_cursor_read,
    answer=lambda _, text: {"additional_context": text},
    decide=lambda _, decision, reason: {"permission": decision, "user_message": reason, "agent_message": reason},
    sign="",
    note="Nobody has tried this with Cursor yet; 'gitmem status' shows whether its sessions arrive.",
)

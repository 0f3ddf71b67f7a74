"""Cursor: hooks in a list an event, an answer of one key. Not tested: it needs its own servers.

What stands here was read in the code of `@cursor/sdk` 1.0.32. `stop` does not say the answer, but
`afterAgentResponse` does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gitmem.hosts.host import Host, Payload, Place, text_of

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.hosts.settings import Edit, Shipped

_BEGUN = '{\n  "version": 1\n}\n'
_TOOLS = {"Shell": "Bash", "run_terminal_cmd": "Bash", "edit_file": "Edit", "write": "Write"}
_EVENTS = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "afterAgentResponse": "Stop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}


def _edits(place: Place) -> Sequence[Edit | Shipped]:
    from gitmem.hosts.settings import hooks_edit, server_edit, skills

    folder = place.folder(".cursor")
    hooks = {event: {"command": line} for event, line in HOST.commands().items()}
    server = place.server
    return (
        hooks_edit(os.path.join(folder, "hooks.json"), hooks, flat=True, begun=_BEGUN),
        server_edit(os.path.join(folder, "mcp.json"), ("mcpServers", "gitmem"), server),
        *skills(os.path.join(folder, "skills")),
    )


def _read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's keys."""
    given, tool = text_of(payload, "hook_event_name"), text_of(payload, "tool_name")
    session = text_of(payload, "session_id") or text_of(payload, "conversation_id")
    roots = payload.get("workspace_roots")
    known = payload | {
        "hook_event_name": _EVENTS.get(given, given),
        "session_id": session,
        "turn_id": text_of(payload, "generation_id"),
        "tool_name": _TOOLS.get(tool, tool),
        "last_assistant_message": text_of(payload, "text"),
        "error": text_of(payload, "error_message") or text_of(payload, "error"),
    }
    return known if "cwd" in payload or not isinstance(roots, list) else known | {"cwd": next(iter(roots), "")}


def _answer(_event: str, text: str) -> Payload:
    return {"additional_context": text}


HOST = Host(
    name="cursor",
    title="Cursor",
    label="cursor",
    folder=".cursor",
    events=_EVENTS,
    edits=_edits,
    read=_read,
    answer=_answer,
    note="Nobody has tried this with Cursor yet; 'gitmem status' shows whether its sessions arrive.",
)

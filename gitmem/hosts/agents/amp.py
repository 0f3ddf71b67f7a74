"""Amp: a plugin, `templates/hosts/amp.ts`, which sends Claude Code's keys. Not tested: it needs its servers.

What stands here was read in its documentation. Its sessions are on its servers, so none can be imported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gitmem.hosts.host import Host, Payload, Place, Scope, text_of

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.hosts.settings import Edit, Shipped

_TOOLS = {"shell_command": "Bash", "create_file": "Write", "edit_file": "Edit"}
_EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop"


def _edits(place: Place) -> Sequence[Edit | Shipped]:
    from gitmem.hosts.settings import HOOKS, Shipped, server_edit, skills
    from gitmem.platform.programs import read_resource

    own = place.scope is Scope.USER
    folder = place.folder(os.path.join(".config", "amp") if own else ".amp")
    listing = server_edit(os.path.join(folder, "settings.json"), ("amp.mcpServers", "gitmem"), place.server)
    return (
        Shipped(HOOKS, os.path.join(folder, "plugins", "gitmem.ts"), read_resource("templates", "hosts", "amp.ts")),
        listing,
        *skills(os.path.join(folder if own else os.path.join(place.project, ".agents"), "skills")),
    )


def _read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's names of tools and their inputs."""
    tool, given = text_of(payload, "tool_name"), payload.get("tool_input")
    known = payload | {"tool_name": _TOOLS.get(tool, tool), "prompt": text_of(payload, "prompt").strip()}
    if isinstance(given, dict):
        known["tool_input"] = given | {"command": text_of(given, "command") or text_of(given, "cmd")}
    return known


HOST = Host(
    name="amp",
    title="Amp",
    label="amp",
    folder=os.path.join(".config", "amp"),
    events={event: event for event in _EVENTS.split()},
    edits=_edits,
    read=_read,
    note="Nobody has tried this with Amp yet; 'gitmem status' shows whether its sessions arrive.",
)

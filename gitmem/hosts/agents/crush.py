"""Crush: the MCP server, and words about the memory in AGENTS.md. Its sessions are not captured. Not tested.

Of the events that memory needs it has one alone, before a tool.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gitmem.hosts.host import Host, Place, Scope

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.hosts.settings import Edit, Shipped


def _edits(place: Place) -> Sequence[Edit | Shipped]:
    from gitmem.hosts.settings import block_edit, server_edit, skills

    server = {"type": "stdio"} | place.server
    if place.scope is Scope.USER:
        folder = os.path.join(place.environ.get("XDG_CONFIG_HOME") or os.path.join(place.home, ".config"), "crush")
        listing = server_edit(os.path.join(folder, "crush.json"), ("mcp", "gitmem"), server)
        return (listing, *skills(os.path.join(folder, "skills")))
    return (
        server_edit(os.path.join(place.project, "crush.json"), ("mcp", "gitmem"), server),
        block_edit(os.path.join(place.project, "AGENTS.md"), HOST.name),
    )


HOST = Host(
    name="crush",
    title="Crush",
    label="crush",
    folder=os.path.join(".config", "crush"),
    events={},
    edits=_edits,
    note="Nobody has tried this with Crush yet. Its sessions are not captured: it has tools for the memory only.",
)

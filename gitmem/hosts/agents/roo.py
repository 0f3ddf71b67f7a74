"""Roo Code: the MCP server, and words about the memory in AGENTS.md. It has no hooks. Not tested."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gitmem.hosts.host import Host, Place, Scope

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.hosts.settings import Edit, Shipped


def _edits(place: Place) -> Sequence[Edit | Shipped]:
    from gitmem.hosts.settings import block_edit, server_edit

    listing = os.path.join(place.project, ".roo", "mcp.json")
    return (
        server_edit(listing, ("mcpServers", "gitmem"), place.server),
        block_edit(os.path.join(place.project, "AGENTS.md"), HOST.name),
    )


HOST = Host(
    name="roo",
    title="Roo Code",
    label="roo",
    folder=".roo",
    events={},
    edits=_edits,
    scopes=(Scope.PROJECT,),
    note="Nobody has tried this with Roo Code yet. Its sessions are not captured: it has tools for the memory only.",
)

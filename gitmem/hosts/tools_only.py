"""Crush, Roo Code and VS Code's Copilot Chat: agents with tools for the memory, whose sessions are not recorded.

Crush has one of the events that recording needs, the others none: they get the MCP server, and a block about the memory
in AGENTS.md. None was tried with a real client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from gitmem.hosts.edits import SERVER, agents_block, config_folder, skills
from gitmem.hosts.host import Host, InstallPlace, Scope
from gitmem.hosts.settings import Edit, ServerEdit


def _crush(host: Host, place: InstallPlace) -> Sequence[Edit]:
    server = {"type": "stdio"} | place.server
    if place.scope is Scope.USER:
        folder = config_folder(host, place)
        return (ServerEdit(os.path.join(folder, "crush.json"), ("mcp", SERVER), server), *skills(folder))
    return (ServerEdit(os.path.join(place.project, "crush.json"), ("mcp", SERVER), server), agents_block(host, place))


def _listed(servers: str, host: Host, place: InstallPlace) -> Sequence[Edit]:
    """Return the edits of a host that reads AGENTS.md and a project's `mcp.json`, with its servers under this key."""
    listing = os.path.join(place.project, host.folder, "mcp.json")
    return (ServerEdit(listing, (servers, SERVER), place.server), agents_block(host, place))


def _tools_only(
    name: str,
    title: str,
    folder: str,
    edits: Callable[[Host, InstallPlace], Sequence[Edit]],
    *scopes: Scope,
    programs: tuple[str, ...] = (),
) -> Host:
    note = f"Nobody has tried this with {title} yet. Its sessions are not captured: it has tools for the memory only."
    return Host(name, title, folder, {}, edits, scopes, note=note, programs=programs)


CRUSH = _tools_only("crush", "Crush", os.path.join(".config", "crush"), _crush, Scope.PROJECT, Scope.USER)
ROO = _tools_only("roo", "Roo Code", ".roo", partial(_listed, "mcpServers"), Scope.PROJECT)
# https://code.visualstudio.com/docs/agents/reference/mcp-configuration
VSCODE = _tools_only(
    "vscode",
    "Copilot Chat in VS Code",
    ".vscode",
    partial(_listed, "servers"),
    Scope.PROJECT,
    programs=("code", "codium", "code-insiders"),
)

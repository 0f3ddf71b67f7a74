"""Claude Code: the events it is asked to report, and where it keeps its settings (https://code.claude.com/docs/en/hooks)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitmem.hosts import (
    Host,
    InstallPlace,
    Items,
    Scope,
    command_hooks,
    folder_name,
    shared_server,
    text_of,
    transcripts_in,
)
from gitmem.platform.safe_open import read_json

SERVER = "gitmem"
# The tools that only read: without a permission Claude Code asks before the first use of each, and refuses it in `-p`.
READS = tuple(f"mcp__{SERVER}__memory_{name}" for name in ("search", "get", "load", "history", "guide"))
_SERVERS = "mcpServers"
_CONFIG = (".claude", "CLAUDE_CONFIG_DIR")  # the person's folder, and the variable that names another
_AUTO_MEMORY = "autoMemoryDirectory"
_AGENT_FILES = (("skills", "memory-rotate", "SKILL.md"), ("agents", "memory-summarizer.md"))
_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop"),
    *("PreCompact", "PostCompact", "SessionEnd"),
)


def _edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import FileEdit, commands, skills
    from gitmem.hosts.settings import SUMMARIES, AllowEdit, HooksEdit, ServerEdit
    from gitmem.platform.machine import read_resource

    folder = os.path.dirname(settings_file(place))
    listing, where = servers_file(place)
    return (
        HooksEdit(settings_file(place), command_hooks(HOST)),
        ServerEdit(listing, where, shared_server(place)),
        # A person's leave is no team's, and in `-p` Claude Code takes none from a project's shared settings.
        AllowEdit(settings_file(place._replace(scope=Scope.LOCAL) if place.scope is Scope.PROJECT else place), READS),
        *skills(os.path.join(folder, "skills")),
        *commands(os.path.join(folder, "commands")),
        *(
            FileEdit(os.path.join(folder, *parts), SUMMARIES, read_resource("templates", "claude", *parts))
            for parts in _AGENT_FILES
        ),
    )


HOST = Host(
    name="claude",
    title="Claude Code",
    folder=".claude",
    events={event: event for event in _EVENTS},
    scopes=(Scope.PROJECT, Scope.LOCAL, Scope.USER),
    edits=_edits,
    sessions=lambda place: transcripts_in(place.own(*_CONFIG), "projects", folder_name(place.project)),
)


def settings_file(place: InstallPlace) -> str:
    """Return the path of the settings file."""
    name = "settings.local.json" if place.scope is Scope.LOCAL else "settings.json"
    return os.path.join(place.folder(*_CONFIG), name)


def servers_file(place: InstallPlace) -> tuple[str, tuple[str, ...]]:
    """Return the path of the list of MCP servers, and where in it gitmem's stands.

    A project's list is a file of its own, which a team shares; the two of a person's are in Claude Code's own file, the
    one for a project under the top of its repository (https://code.claude.com/docs/en/mcp).
    """
    if place.scope is Scope.PROJECT:
        return os.path.join(place.project, ".mcp.json"), (_SERVERS, SERVER)
    own = os.path.join(place.environ.get("CLAUDE_CONFIG_DIR") or place.home, ".claude.json")
    return own, (_SERVERS, SERVER) if place.scope is Scope.USER else ("projects", place.project, _SERVERS, SERVER)


def memory_folder(environ: Mapping[str, str], home: str, project: str) -> str:
    """Return the folder in which Claude Code keeps its own memory of a project; it need not be there.

    That is `memory` below the project's folder of transcripts, which is named after its path, unless the user's
    settings say otherwise. A project's are not asked: a repository must not say which of a person's files are read.
    """
    config = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    settings = read_json(os.path.join(config, "settings.json"))
    if named := text_of(settings, _AUTO_MEMORY) if isinstance(settings, dict) else "":
        return os.path.join(home, named[2:]) if named.startswith("~/") else os.path.join(project, named)
    return os.path.join(config, "projects", folder_name(project), "memory")

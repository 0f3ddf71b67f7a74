"""Claude Code: the events it is asked to report, and where it keeps its settings (https://code.claude.com/docs/en/hooks)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum

from gitmem.hosts.shim import ANSWER, DELIVER, command
from gitmem.machine.resources import read_resource

NAME = "claude"
TITLE = "Claude Code"
SERVER = "gitmem"
SESSION = "CLAUDE_CODE_SESSION_ID"  # the variable that tells a server which session it was started for
_SERVERS = "mcpServers"
_AUTO_MEMORY = "autoMemoryDirectory"
_MOST_BYTES = 1_000_000  # of settings
_AGENT_FILES = (("skills", "memory-rotate", "SKILL.md"), ("agents", "memory-summarizer.md"))
# Seconds after which the host ends a hook. A delivery takes milliseconds; this is for a machine that hangs.
_TIMEOUT = 10


# By event the script of `hooks/` that is run at it: for every tool, source and reason.
EVENTS = {
    "SessionStart": ANSWER,
    "UserPromptSubmit": DELIVER,
    "PostToolUse": DELIVER,
    "PostToolUseFailure": DELIVER,
    "Stop": DELIVER,
    "SubagentStop": DELIVER,
    "PreCompact": DELIVER,
    "PostCompact": DELIVER,
    "SessionEnd": DELIVER,
}


class Scope(Enum):
    """Whose settings: the project's, which a team shares; a person's for this project; a person's for all."""

    PROJECT = "project"
    LOCAL = "local"
    USER = "user"


def hooks() -> dict[str, Mapping[str, object]]:
    """Return the hook of each event."""
    return {
        event: {"type": "command", "command": command(script, event), "timeout": _TIMEOUT}
        for event, script in EVENTS.items()
    }


def settings_file(scope: Scope, project: str, home: str, environ: Mapping[str, str]) -> str:
    """Return the path of the settings file; `project` is the top of the work tree the host is started in."""
    if scope is Scope.USER:
        return os.path.join(environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "settings.json")
    return os.path.join(project, ".claude", "settings.json" if scope is Scope.PROJECT else "settings.local.json")


def servers_file(scope: Scope, project: str, home: str, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return the path of the list of MCP servers, and where in it gitmem's stands.

    A project's list is a file of its own, which a team shares; the two of a person's are in Claude Code's own file, the
    one for a project under the top of its repository (https://code.claude.com/docs/en/mcp).
    """
    if scope is Scope.PROJECT:
        return os.path.join(project, ".mcp.json"), (_SERVERS, SERVER)
    own = os.path.join(environ.get("CLAUDE_CONFIG_DIR") or home, ".claude.json")
    return own, (_SERVERS, SERVER) if scope is Scope.USER else ("projects", project, _SERVERS, SERVER)


def agent_files(scope: Scope, project: str, home: str, environ: Mapping[str, str]) -> dict[str, bytes]:
    """Return the skill and the agent with which a session summarizes archives, by path (docs/spec.md, R6)."""
    folder = os.path.dirname(settings_file(scope, project, home, environ))
    return {os.path.join(folder, *parts): read_resource("templates", "claude", *parts) for parts in _AGENT_FILES}


def server() -> dict[str, object]:
    """Return gitmem's item in a list of MCP servers; `alwaysLoad` spares the agent a search for the tools."""
    return {"type": "stdio", "command": SERVER, "args": ["mcp"], "alwaysLoad": True}


def plugin_hooks() -> str:
    """Return `hooks/hooks.json`: the same hooks for those who install gitmem as a plugin."""
    import json

    listed = {event: [{"hooks": [hook]}] for event, hook in hooks().items()}
    return json.dumps({"description": "Remember sessions with gitmem", "hooks": listed}, indent=2)


def memory_folder(environ: Mapping[str, str], home: str, project: str) -> str:
    """Return the folder in which Claude Code keeps its own memory of a project; it need not be there.

    That is `memory` below the project's folder of transcripts, which is named after its path, unless the user's
    settings say otherwise. A project's are not asked: a repository must not say which of a person's files are read.
    """
    config = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    if named := _setting(os.path.join(config, "settings.json"), _AUTO_MEMORY):
        return os.path.join(home, named[2:]) if named.startswith("~/") else os.path.join(project, named)
    slug = "".join(character if character.isascii() and character.isalnum() else "-" for character in project)
    return os.path.join(config, "projects", slug, "memory")


def _setting(path: str, key: str) -> str:
    """Return a text from a settings file, "" if it is unreadable or has none."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            value = json.loads(file.read(_MOST_BYTES))
        text = value.get(key)
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
    return text if isinstance(text, str) else ""

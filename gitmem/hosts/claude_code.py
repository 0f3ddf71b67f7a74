"""Claude Code: the events it is asked to tell of, and where it keeps its settings (https://code.claude.com/docs/en/hooks)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from gitmem.hosts.shim import ANSWER, DELIVER, command

NAME = "claude"
TITLE = "Claude Code"
# Seconds, after which the host ends a hook. A delivery takes milliseconds; this is for a machine that stands still.
_TIMEOUT = 10


@dataclass(frozen=True, slots=True)
class Hook:
    """An event with the script of `hooks/` that is run at it; `matcher` None for every tool, source or reason."""

    event: str
    script: str = DELIVER
    matcher: str | None = None


HOOKS = (
    Hook("SessionStart", ANSWER),
    Hook("UserPromptSubmit"),
    Hook("PostToolUse"),
    Hook("PostToolUseFailure"),
    Hook("Stop"),
    Hook("SubagentStop"),
    Hook("PreCompact"),
    Hook("PostCompact"),
    Hook("SessionEnd"),
)


class Scope(Enum):
    """Which settings: the project's, which a team shares; those for this machine alone; or the person's, for all projects."""

    PROJECT = "project"
    LOCAL = "local"
    USER = "user"


def hooks() -> dict[str, Mapping[str, object]]:
    """Return by event what settings hold under it."""
    return {
        hook.event: {"type": "command", "command": command(hook.script, hook.event), "timeout": _TIMEOUT}
        for hook in HOOKS
    }


def settings_file(scope: Scope, project: str, home: str, environ: Mapping[str, str]) -> str:
    """Return the path of the settings file; `project` is the top of the work tree the host is started in."""
    if scope is Scope.USER:
        return os.path.join(environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "settings.json")
    return os.path.join(project, ".claude", "settings.json" if scope is Scope.PROJECT else "settings.local.json")

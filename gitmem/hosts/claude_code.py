"""Claude Code: its events, and where its settings are (https://code.claude.com/docs/en/hooks)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitmem.hosts.host import (
    Edits,
    Host,
    InstallPlace,
    Scope,
    command_hooks,
    folder_name,
    shared_server,
    text_of,
    transcripts_in,
)
from gitmem.hosts.subagents import called_by, files_below
from gitmem.platform.machine import read_resource
from gitmem.platform.safe_open import read_object

_CONFIG = (".claude", "CLAUDE_CONFIG_DIR")  # the user's folder, and the variable that names another
_AUTO_MEMORY = "autoMemoryDirectory"
_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop"),
    *("PreCompact", "PostCompact", "SessionEnd"),
)
_SUMMARY_FILES = (("skills", "memory-rotate", "SKILL.md"), ("agents", "memory-summarizer.md"))


def _claude(host: Host, place: InstallPlace) -> Edits:
    """Return Claude Code's edits.

    A project's servers are in a separate file, which a team shares; a user's, for all projects or for one (by the top
    of its repository), are in Claude Code's own file (https://code.claude.com/docs/en/mcp).
    """
    from gitmem.hosts.edits import READS, SERVER, SERVERS, skills, slash_commands
    from gitmem.hosts.install import FileEdit
    from gitmem.hosts.settings import SUMMARIES, AllowEdit, HooksEdit, ServerEdit

    own = os.path.join(place.environ.get("CLAUDE_CONFIG_DIR") or place.home, ".claude.json")
    listing = os.path.join(place.project, ".mcp.json") if place.scope is Scope.PROJECT else own
    above = ("projects", place.project) if place.scope is Scope.LOCAL else ()
    # A user cannot allow tools for a team, and `claude -p` takes no permission from a project's shared settings.
    allowing = place._replace(scope=Scope.LOCAL) if place.scope is Scope.PROJECT else place
    folder = os.path.dirname(_claude_settings(place))
    return (
        HooksEdit(_claude_settings(place), command_hooks(host)),
        ServerEdit(listing, (*above, SERVERS, SERVER), shared_server(place)),
        AllowEdit(_claude_settings(allowing), READS),
        *skills(folder),
        *slash_commands(folder),
        *(
            FileEdit(os.path.join(folder, *parts), SUMMARIES, read_resource("templates", "claude", *parts))
            for parts in _SUMMARY_FILES
        ),
    )


def _claude_settings(place: InstallPlace) -> str:
    name = "settings.local.json" if place.scope is Scope.LOCAL else "settings.json"
    return os.path.join(place.folder(".claude", "CLAUDE_CONFIG_DIR"), name)


HOST = Host(
    edits=_claude,
    name="claude",
    title="Claude Code",
    folder=".claude",
    events={event: event for event in _EVENTS},
    scopes=(Scope.PROJECT, Scope.LOCAL, Scope.USER),
    sessions=lambda place: transcripts_in(place.own(*_CONFIG), "projects", folder_name(place.project)),
    off_switch=(("disableAllHooks",), True),
    subagents=lambda path: [  # below the session's file, in older versions beside it
        *files_below(path.removesuffix(".jsonl"), "subagents"),
        *called_by(path, "sessionId", prefix="agent-"),
    ],
)


def memory_folder(environ: Mapping[str, str], home: str, project: str) -> str:
    """Return the folder in which Claude Code keeps its own memory of a project; it may not exist.

    It is `memory` in the project's folder of transcripts, which is named after the project's path, unless the user's
    settings name another. A project's settings are ignored: a repository must not choose which user files are read.
    """
    config = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    if named := text_of(read_object(os.path.join(config, "settings.json")), _AUTO_MEMORY):
        return os.path.join(home, named[2:]) if named.startswith("~/") else os.path.join(project, named)
    return os.path.join(config, "projects", folder_name(project), "memory")

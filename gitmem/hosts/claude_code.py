"""Claude Code: the events it is asked to report, and where it keeps its settings (https://code.claude.com/docs/en/hooks)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitmem.hosts.host import Host, Scope, folder_name, text_of, transcripts_in
from gitmem.hosts.says import Says
from gitmem.hosts.subagents import files_in
from gitmem.platform.safe_open import read_json

_CONFIG = (".claude", "CLAUDE_CONFIG_DIR")  # the user's folder, and the variable that names another
_AUTO_MEMORY = "autoMemoryDirectory"
_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop"),
    *("PreCompact", "PostCompact", "SessionEnd"),
)


HOST = Host(
    name="claude",
    title="Claude Code",
    folder=".claude",
    events={event: event for event in _EVENTS},
    scopes=(Scope.PROJECT, Scope.LOCAL, Scope.USER),
    sessions=lambda place: transcripts_in(place.own(*_CONFIG), "projects", folder_name(place.project)),
    off_switch=(("disableAllHooks",), True),
    says=Says(),
    subagents=lambda path: files_in(path.removesuffix(".jsonl"), "subagents"),
)


def memory_folder(environ: Mapping[str, str], home: str, project: str) -> str:
    """Return the folder in which Claude Code keeps its own memory of a project; it need not be there.

    It is `memory` in the project's folder of transcripts, which is named after the project's path, unless the user's
    settings name another. A project's are ignored: a repository must not choose which of a user's files are read.
    """
    config = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    settings = read_json(os.path.join(config, "settings.json"))
    if named := text_of(settings, _AUTO_MEMORY) if isinstance(settings, dict) else "":
        return os.path.join(home, named[2:]) if named.startswith("~/") else os.path.join(project, named)
    return os.path.join(config, "projects", folder_name(project), "memory")

"""GitHub Copilot CLI: Claude Code's events in a file of its own, answers without a frame, the reply in its events.

Seen with Copilot CLI 1.0.102. With Claude Code's names of events it gives their payloads, but neither a turn nor the
id of a tool call. It also runs the hooks of Claude Code's settings in a project that it trusts: the time of an event
tells which deliveries are the same. What it is told at the start is gone after a compaction, so it is told again then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial

from gitmem.hosts.host import (
    LATE,
    Host,
    InstallPlace,
    Items,
    Payload,
    Scope,
    begun_below,
    command_hooks,
    direct_command,
    shared_server,
    text_of,
)
from gitmem.sessions.transcript import Record, Role, records

_BEGUN = '{\n  "version": 1\n}\n'
_TOOLS = {"bash": "Bash", "create": "Write", "edit": "Edit", "str_replace_editor": "Edit"}
_EXIT = re.compile(r"<shellId: \S+ completed with exit code (?!0>)-?[0-9]+>\s*$")
_ADDED = re.compile(r'\n\nTool "[^"\n]*" \w+\. Additional guidance from \w+ hooks:\n.*', re.DOTALL)


def _hooks() -> dict[str, Mapping[str, object]]:
    """Return the hook of each event; on Windows, where it runs PowerShell, Copilot takes the line of that name."""
    found = command_hooks(HOST)
    return {
        event: {**hook, "powershell": direct_command(HOST.events[event], "copilot")} for event, hook in found.items()
    }


def _edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import usual
    from gitmem.hosts.settings import HooksEdit

    own = place.scope is Scope.USER
    folder = place.folder(".copilot" if own else ".github", "COPILOT_HOME")
    server = {"type": "local"} | place.server | {"tools": ["*"]}
    # A project's list is Claude Code's.
    listing = os.path.join(folder, "mcp-config.json") if own else os.path.join(place.project, ".mcp.json")
    hooks = HooksEdit(os.path.join(folder, "hooks", "gitmem.json"), _hooks(), begun=_BEGUN)
    return usual(folder, hooks, listing, server if own else shared_server(place))


def _read(payload: Payload) -> Payload | None:
    """Return a payload with the ids that Copilot does not give, and with its failures."""
    known = payload | {"prompt": text_of(payload, "prompt").strip()}
    if payload.get("hook_event_name") != "PostToolUse":
        return known
    called = text_of(payload, "tool_input", "command") or text_of(payload, "tool_input", "path")
    known["tool_use_id"] = f"{text_of(payload, 'timestamp')} {text_of(payload, 'tool_name')} {called}"
    output = text_of(payload, "tool_result", "text_result_for_llm")
    if text_of(payload, "tool_result", "result_type") in {"failure", "error"} or _EXIT.search(output):
        known |= {"hook_event_name": "PostToolUseFailure", "error": _EXIT.sub("", output).strip()}
    return known


def _read_item(item: Payload, base: Record) -> Iterator[Record]:
    kind, data = text_of(item, "type"), item.get("data")
    if not isinstance(data, dict):
        return
    key, said = text_of(data, "toolCallId"), text_of(data, "content")
    if kind == "session.start":
        yield base._replace(session=text_of(data, "sessionId"), cwd=text_of(data, "context", "cwd"))
    elif kind == "user.message":
        yield base._replace(role=Role.USER, text=said.strip())
    elif kind == "assistant.message" and said:
        yield base._replace(role=Role.ASSISTANT, text=said, model=text_of(data, "model"))
    elif kind == "tool.execution_start":
        name = text_of(data, "toolName")
        yield base.call(_TOOLS.get(name, name), key, data.get("arguments"))
    elif kind == "tool.execution_complete":
        text = _ADDED.sub("", text_of(data, "result", "content") or text_of(data, "error", "message"))
        failed = data.get("success") is False or bool(_EXIT.search(text))
        yield base.result(_EXIT.sub("", text).strip(), key, failed=failed)


def _sessions(place: InstallPlace) -> list[str]:
    """Return the events of a project's sessions; the first line says where each was."""
    top = os.path.join(place.own(".copilot", "COPILOT_HOME"), "session-state")
    paths = begun_below(place.project, top, "data", "context", "cwd")
    return [path for path in paths if os.path.basename(path) == "events.jsonl"]


HOST = Host(
    name="copilot",
    title="Copilot CLI",
    folder=".copilot",
    events={
        "SessionStart": "SessionStart",
        "UserPromptSubmit": "UserPromptSubmit",
        "PostToolUse": "PostToolUse",
        "Stop": "Stop",
        "PreCompact": f"PreCompact{LATE}",
        "SessionEnd": "SessionEnd",
    },
    edits=_edits,
    read=_read,
    answer=lambda _, text: {"additionalContext": text},
    sign="",
    records=partial(records, read=_read_item),
    sessions=_sessions,
)

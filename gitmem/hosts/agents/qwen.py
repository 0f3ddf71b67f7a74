"""Qwen Code: Claude Code's events with Gemini's tools; a prompt that a person submitted is marked.

Seen with Qwen Code 0.24.4. `UserPromptSubmit` comes again after each round of tools, without a prompt. Without a
terminal a session has no end. The transcript does not have the ids that hooks give to prompts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial

from gitmem.hosts.host import Host, InstallPlace, Items, Payload, command_hooks, folder_name, text_of, transcripts_in
from gitmem.sessions.transcript import Record, Role, records

_INJECTED = re.compile(r"<(qwen:[a-z-]+-context)>.*?</\1>\s*", re.DOTALL)
_TOOLS = {"run_shell_command": "Bash", "write_file": "Write", "edit": "Edit", "replace": "Edit"}
# The report on a command that failed, which names the command and the folder first.
_PRINTED = re.compile(
    r"^Output: (?P<output>.*?)\n?^Error: (?P<error>.*?)\n^Exit Code: (?P<code>[0-9]+)", re.DOTALL | re.MULTILINE
)
_NOTHING = {"(none)", "(empty)"}
_DEFERRED = "tool_call"  # a tool that calls another one by its name and arguments
_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "PreCompact", "SessionEnd")


def _edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import commands, skills
    from gitmem.hosts.settings import HooksEdit, ServerEdit

    folder = place.folder(".qwen")
    settings = os.path.join(folder, "settings.json")
    return (
        HooksEdit(settings, command_hooks(HOST)),
        ServerEdit(settings, ("mcpServers", "gitmem"), place.server),
        *skills(os.path.join(folder, "skills")),
        *commands(os.path.join(folder, "commands")),
    )


def _read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's names of tools; None for a prompt that nobody submitted."""
    if payload.get("hook_event_name") == "UserPromptSubmit" and not text_of(payload, "submitted_prompt"):
        return None
    tool = text_of(payload, "tool_name")
    known = payload | {"tool_name": _TOOLS.get(tool, tool), "prompt_id": ""}
    if submitted := text_of(payload, "submitted_prompt"):
        known["prompt"] = submitted.strip()
    if error := text_of(payload, "error"):
        known["error"] = _printed(error)
    return known


def _printed(said: str) -> str:
    """Return what a command printed, of the report on a command that failed; its exit code if it printed nothing."""
    match = _PRINTED.search(said)
    if not match:
        return said
    printed = "\n".join(part for part in match.group("output", "error") if part not in _NOTHING)
    return printed or f"Exit code {match['code']}"


def _read_item(item: Payload, base: Record) -> Iterator[Record]:
    kind, message = text_of(item, "type"), item.get("message")
    listed = message.get("parts") if isinstance(message, dict) else None
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    base = base._replace(cwd=text_of(item, "cwd"), model=text_of(item, "model"))
    texts = (text_of(part, "text") for part in parts if part.get("thought") is not True)
    text = _INJECTED.sub("", "\n".join(filter(None, texts))).strip()
    if text and kind == "user":
        yield base._replace(role=Role.USER, text=text, injected=item.get("provenance") != "real_user")
    elif text and kind == "assistant":
        yield base._replace(role=Role.ASSISTANT, text=text)
    for part in parts:
        yield from _tool(part, base, failed=text_of(item, "toolCallResult", "status") == "error")


def _tool(part: Payload, base: Record, *, failed: bool) -> Iterator[Record]:
    call, result = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, dict):
        name, given = text_of(call, "name"), call.get("args")
        if name == _DEFERRED and isinstance(given, dict):
            name, given = text_of(given, "name"), given.get("arguments")
        yield base.call(_TOOLS.get(name, name), text_of(call, "id"), given)
    if isinstance(result, dict):
        text = text_of(result, "response", "error") or text_of(result, "response", "output")
        yield base.result(_printed(text), text_of(result, "id"), failed=failed)


HOST = Host(
    name="qwen",
    title="Qwen Code",
    folder=".qwen",
    events={event: event for event in _EVENTS},
    edits=_edits,
    read=_read,
    records=partial(records, read=_read_item),
    sessions=lambda place: transcripts_in(place.own(".qwen"), "projects", folder_name(place.project), "chats"),
)

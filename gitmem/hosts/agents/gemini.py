"""Gemini CLI: events with names of its own, an answer before the agent's turn, transcripts that repeat their messages.

Seen with Gemini CLI 0.61.0. What is told at `SessionStart` would be put before the first prompt, where slash commands
break, so it is told at `BeforeAgent`. `PreCompress` comes before every question to the model, and is not asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from gitmem.hosts.host import LATE, Host, InstallPlace, Items, Payload, command_hooks, text_of
from gitmem.platform.safe_open import read_json
from gitmem.sessions.transcript import Record, Role, Unread, content_text, records

_TIMEOUT = 10_000  # milliseconds
_INJECTED = re.compile(r"<(hook_context|session_context)>.*?</\1>\s*", re.DOTALL)
_WRAPPED = re.compile(r"</?untrusted_context>\n?|^Process Group PGID: [0-9]+\n?", re.MULTILINE)
_EXIT = re.compile(r"^Exit Code: (?!0$)[0-9]+$", re.MULTILINE)
_PRINTED = re.compile(r"\AOutput: (?P<output>.*?)\n?^Exit Code: (?P<code>[0-9]+)", re.DOTALL | re.MULTILINE)
# Gemini's tools by the names under which files and commands are looked for.
_TOOLS = {"run_shell_command": "Bash", "write_file": "Write", "replace": "Edit"}


def _edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import as_toml, commands, skills
    from gitmem.hosts.settings import HooksEdit, ServerEdit

    folder = place.folder(".gemini")
    settings = os.path.join(folder, "settings.json")
    return (
        HooksEdit(settings, command_hooks(HOST, _TIMEOUT)),
        ServerEdit(settings, ("mcpServers", "gitmem"), place.server),
        *skills(os.path.join(folder, "skills")),
        *commands(os.path.join(folder, "commands"), as_toml),
    )


def _read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's keys."""
    given = text_of(payload, "hook_event_name")
    event = EVENTS.get(given, given).removesuffix(LATE)
    common = payload | {"hook_event_name": event}
    if event == "UserPromptSubmit":
        common["prompt"] = _INJECTED.sub("", text_of(payload, "prompt")).strip()
    elif event == "Stop":
        common["last_assistant_message"] = text_of(payload, "prompt_response")
    elif event == "PostToolUse":
        tool = text_of(payload, "tool_name")
        common["tool_name"] = _TOOLS.get(tool, tool)
        output = _WRAPPED.sub("", text_of(payload, "tool_response", "llmContent"))
        error = text_of(payload, "tool_response", "error", "message")
        if error or (tool == "run_shell_command" and _EXIT.search(output)):
            common |= {"hook_event_name": "PostToolUseFailure", "error": _printed(output)}
    return common


def _printed(said: str) -> str:
    """Return what a command printed, of the report on a command that failed; its exit code if it printed nothing."""
    match = _PRINTED.match(said)
    if not match:
        return said
    return f"Exit code {match['code']}" if match["output"] in {"", "(empty)"} else match["output"]


def _records(lines: Iterable[str], unread: Unread | None = None) -> Iterator[Record]:
    """Yield the records of a chat. A message is written again with each call it made: its parts are read once."""
    seen: set[str] = set()

    def read(item: Payload, base: Record) -> Iterator[Record]:
        kind, key = text_of(item, "type"), text_of(item, "id")
        if kind in {"user", "gemini"}:
            text = _INJECTED.sub("", content_text(item.get("content"))).strip()
            role = Role.USER if kind == "user" else Role.ASSISTANT
            if text and key not in seen:
                seen.add(key)
                # No `turn`: hooks know no id of it either, and the same turn must get the same key (turns.turn_key).
                yield base._replace(role=role, text=text, model=text_of(item, "model"))
        calls = item.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and text_of(call, "id") not in seen:
                seen.add(text_of(call, "id"))
                yield from _call(call, base)

    return records(lines, unread, read)


def _call(call: Payload, base: Record) -> Iterator[Record]:
    name, key = text_of(call, "name"), text_of(call, "id")
    results = call.get("result")
    texts = [
        text_of(part, "functionResponse", "response", "output")
        or text_of(part, "functionResponse", "response", "error")
        for part in (results if isinstance(results, list) else ())
        if isinstance(part, dict)
    ]
    text = _INJECTED.sub("", _WRAPPED.sub("", "\n".join(texts))).strip()
    failed = call.get("status") == "error" or bool(name == "run_shell_command" and _EXIT.search(text))
    yield base.call(_TOOLS.get(name, name), key, call.get("args"))
    yield base.result(_printed(text), key, failed=failed)


def _sessions(place: InstallPlace) -> list[str]:
    """Return the chats of a project, whose folder `projects.json` names."""
    top, known = place.own(".gemini"), read_json(os.path.join(place.own(".gemini"), "projects.json"))
    projects = known.get("projects") if isinstance(known, dict) else None
    name = projects.get(place.project) if isinstance(projects, dict) else None
    chats = os.path.join(top, "tmp", os.path.basename(name), "chats") if isinstance(name, str) else ""
    return [os.path.join(chats, name) for name in os.listdir(chats)] if os.path.isdir(chats) else []


EVENTS = {
    "SessionStart": f"SessionStart{LATE}",
    "BeforeAgent": "UserPromptSubmit",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "SessionEnd": "SessionEnd",
}
HOST = Host(
    name="gemini",
    title="Gemini CLI",
    folder=".gemini",
    events=EVENTS,
    edits=_edits,
    read=_read,
    records=_records,
    sessions=_sessions,
)

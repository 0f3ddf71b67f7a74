"""Factory's droid: Claude Code's events, tools with names of its own, prompts and answers in the transcript.

Seen with droid 0.225.2. `droid exec` has no event for a prompt, and no event has the answer: both are read from the
transcript, which begins with the prompt as its title. The model has to load the tools of an MCP server, and is not
told their names if the server is slower than the first question: it is told them at the start. A tool that fails has no
event either. In the interactive screen a session ends twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial

from gitmem.hosts.host import (
    Host,
    InstallPlace,
    Items,
    Payload,
    command_hooks,
    first_object,
    folder_name,
    named_as_claude,
    nested_answer,
    text_of,
    transcripts_in,
)
from gitmem.sessions.transcript import Record, Role, blocks, records

_TOOLS = {"Execute": "Bash", "Create": "Write", "ApplyPatch": "apply_patch"}
_INJECTED = ("<system-reminder>", "<system_reminder>")
_EXIT = re.compile(r"\n*\[Process exited with code (?P<code>-?[0-9]+)\]\s*$")
_FAILED = re.compile(r"\AError: Command failed \(exit code: [0-9]+\)\n")  # before what the command printed
_UNTITLED = "New Session"  # in the interactive screen, where each prompt has an event
_NAMES = ",".join(f"gitmem___memory_{name}" for name in ("search", "get", "guide", "save", "update"))
_TOOLS_HINT = f'The tools of this memory come seconds after the start: load them by ToolSearch with "select:{_NAMES}".'
_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd")


def _edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import commands, usual
    from gitmem.hosts.settings import HooksEdit

    folder = place.folder(".factory")
    hooks = HooksEdit(os.path.join(folder, "settings.json"), command_hooks(HOST))
    named = commands(os.path.join(folder, "commands"), apart="-")  # it names a command after the file alone
    return usual(folder, hooks, os.path.join(folder, "mcp.json"), {"type": "stdio"} | place.server, *named)


def _recorded(payload: Payload) -> Payload:
    """Return a payload, at a session's start with its prompt."""
    title = text_of(first_object(text_of(payload, "transcript_path")), "title")
    starts = payload.get("source") == "startup" and title != _UNTITLED
    return payload | {"prompt": title} if starts else payload


def _answer(event: str, text: str) -> Payload:
    return nested_answer(event, f"{text}\n{_TOOLS_HINT}" if event == "SessionStart" else text)


def _read_item(item: Payload, base: Record) -> Iterator[Record]:
    """Yield the records of a line; the first one has the id and the folder."""
    message = item.get("message")
    if item.get("type") == "session_start":
        yield base._replace(session=text_of(item, "id"), cwd=text_of(item, "cwd"))
    elif isinstance(message, dict) and message.get("visibility") != "user_only":
        role = Role.USER if message.get("role") == "user" else Role.ASSISTANT
        base = base._replace(role=role, model=text_of(message, "modelId"))
        yield from map(_named, blocks(message.get("content"), base))


def _named(part: Record) -> Record:
    """Return a record with Claude Code's name of the tool, and without droid's additions to texts."""
    if part.role is Role.USER:
        return part._replace(text=part.text.strip(), injected=part.text.startswith(_INJECTED))
    if part.role is Role.RESULT:
        match = _EXIT.search(part.text)
        text = _FAILED.sub("", _EXIT.sub("", part.text))
        return part._replace(text=text, failed=part.failed or bool(match and match["code"] != "0"))
    return part._replace(tool=_TOOLS.get(part.tool, part.tool))


HOST = Host(
    name="droid",
    title="droid",
    folder=".factory",
    events={event: event for event in _EVENTS},
    edits=_edits,
    read=lambda payload: named_as_claude(payload, _TOOLS),
    recorded=_recorded,
    answer=_answer,
    records=partial(records, read=_read_item),
    sessions=lambda place: transcripts_in(place.own(".factory"), "sessions", folder_name(place.project)),
    slash="/gitmem-",
)

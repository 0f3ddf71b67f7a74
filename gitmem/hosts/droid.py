"""Factory's droid: its events, settings and transcripts. Seen with 0.225.2.

`droid exec` has no event for a prompt, and no event has the answer: both are read from the transcript, whose title is
the prompt. The model has to load the tools of an MCP server, and does not see their names if the server starts too
slowly, so gitmem shows them at the start. A failed tool has no event either. In the interactive screen a session ends
twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial

from gitmem.hosts.host import (
    ASKS,
    EVENTS,
    Edits,
    Host,
    InstallPlace,
    Payload,
    answered,
    command_hooks,
    first_object,
    folder_name,
    named_as_claude,
    nested_answer,
    refused,
    text_of,
    transcripts_in,
)
from gitmem.hosts.subagents import called_by
from gitmem.model.transcript import Record, Role, blocks, records

_DROID_ANSWER = re.compile(
    r"^[0-9]+\. \[question\] (?P<question>.+)\n\[answer\] (?P<answer>.+(?:\n(?![0-9]+\. \[).+)*)", re.MULTILINE
)
_DROID_TOOLS = {"AskUser": ASKS, "Execute": "Bash", "Create": "Write", "ApplyPatch": "apply_patch"}
_DROID_INJECTED = ("<system-reminder>", "<system_reminder>")
_DROID_EXIT = re.compile(r"(?<!\n)\n*\[Process exited with code (?P<code>-?[0-9]+)\]\s*$")
_DROID_FAILED = re.compile(r"\AError: Command failed \(exit code: [0-9]+\)\n")  # before what the command printed
_DROID_REFUSED = ("Error: Tool execution cancelled by user", "Tool execution cancelled by user")
_DROID_UNTITLED = "New Session"  # the title in the interactive screen, where each prompt has an event
_DROID_NAMES = ",".join(f"gitmem___memory_{name}" for name in ("search", "get", "guide", "save", "update"))
_DROID_LOADS = f'load them by ToolSearch with "select:{_DROID_NAMES}".'
_DROID_SAYS = f"The tools of this memory come seconds after the start: {_DROID_LOADS}"


def _droid_recorded(payload: Payload) -> Payload:
    """Return a payload; at a session's start add the prompt."""
    title = text_of(first_object(text_of(payload, "transcript_path")), "title")
    starts = payload.get("source") == "startup" and title != _DROID_UNTITLED
    return payload | {"prompt": title} if starts else payload


def _droid_answer(event: str, text: str) -> Payload:
    return nested_answer(event, f"{text}\n{_DROID_SAYS}" if event == "SessionStart" else text)


def _droid_item(item: Payload, base: Record) -> Iterator[Record]:
    """Yield the records of a line; the first one has the id and the folder."""
    message = item.get("message")
    if item.get("type") == "session_start":
        caller = text_of(item, "callingSessionId")  # of a subagent's transcript
        yield base._replace(
            session=caller or text_of(item, "id"),
            cwd=text_of(item, "cwd"),
            sidechain=bool(caller),
            agent=text_of(item, "title") if caller else "",
        )
    elif isinstance(message, dict) and message.get("visibility") != "user_only":
        role = Role.USER if message.get("role") == "user" else Role.ASSISTANT
        injected = "llm_only" in (item.get("visibility"), message.get("visibility"))
        base = base._replace(role=role, model=text_of(message, "modelId"), injected=injected and role is Role.USER)
        yield from map(_droid_named, blocks(message.get("content"), base))


def _droid_named(part: Record) -> Record:
    """Return a record with Claude Code's name of the tool, and without droid's additions to texts."""
    if part.role is Role.USER:
        injected = part.injected or part.text.startswith(_DROID_INJECTED)
        return part._replace(text=part.text.strip(), injected=injected)
    if part.role is Role.RESULT and part.text.startswith(_DROID_REFUSED):
        return part._replace(text=refused(), failed=True)
    if part.role is Role.RESULT:
        match, pairs = _DROID_EXIT.search(part.text), _DROID_ANSWER.findall(part.text)
        part = part._replace(data=answered(pairs)) if pairs and part.text.startswith("1. [question]") else part
        text = _DROID_FAILED.sub("", _DROID_EXIT.sub("", part.text))
        return part._replace(text=text, failed=part.failed or bool(match and match["code"] != "0"))
    return part._replace(tool=_DROID_TOOLS.get(part.tool, part.tool))


def _droid(host: Host, place: InstallPlace) -> Edits:
    from gitmem.hosts.edits import slash_commands, usual_edits
    from gitmem.hosts.settings import HooksEdit

    folder = place.folder(host.folder)
    hooks = HooksEdit(os.path.join(folder, "settings.json"), command_hooks(host))
    named = slash_commands(folder, apart="-")  # droid names a command by its file name alone
    return usual_edits(folder, hooks, os.path.join(folder, "mcp.json"), {"type": "stdio"} | place.server, *named)


DROID = Host(
    edits=_droid,
    name="droid",
    title="droid",
    folder=".factory",
    events={event: event for event in EVENTS},
    read=lambda payload: named_as_claude(payload, _DROID_TOOLS),
    recorded=_droid_recorded,
    answer=_droid_answer,
    context_before_tools=False,
    records=partial(records, read=_droid_item),
    sessions=lambda place: transcripts_in(place.own(".factory"), "sessions", folder_name(place.project)),
    off_switch=(("hooks", "hooksDisabled"), True),
    subagents=lambda path: called_by(path, "callingSessionId"),
    slash="/gitmem-",
)

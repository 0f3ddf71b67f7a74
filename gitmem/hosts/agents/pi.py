"""pi: an extension in JavaScript, `templates/hosts/pi.js`, which sends Claude Code's keys with pi's tools.

Seen with pi 1.5.2. What it is told becomes a message of its own, which a transcript marks as `custom_message`.
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
    Scope,
    begun_below,
    named_as_claude,
    text_of,
    without_help,
)
from gitmem.sessions.transcript import Record, Role, content_text, records

_TOOLS = {"bash": "Bash", "write": "Write", "edit": "Edit"}
_EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop PreCompact SessionEnd"
_EXIT = re.compile(r"(?<=\S)\s*\nCommand exited with code [0-9]+\s*\Z")  # after what a command printed


def _edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import FileEdit, skills
    from gitmem.hosts.settings import HOOKS, ServerEdit
    from gitmem.platform.machine import read_resource

    folder = place.folder(".pi" if place.scope is not Scope.USER else os.path.join(".pi", "agent"))
    server = place.server | {"exposure": "direct"}
    return (
        FileEdit(os.path.join(folder, "extensions", "gitmem.js"), HOOKS, read_resource("templates", "hosts", "pi.js")),
        ServerEdit(os.path.join(folder, "mcp.json"), ("mcpServers", "gitmem"), server),
        *skills(os.path.join(folder, "skills")),
    )


def _read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's name of the tool, and an error without its exit code."""
    known = named_as_claude(payload, _TOOLS)
    error = _EXIT.sub("", text_of(payload, "error"))
    return known | {"error": error} if error else known


def _read_item(item: Payload, base: Record) -> Iterator[Record]:
    """Yield the records of a line; the first one has the id and the folder."""
    message = item.get("message")
    if item.get("type") == "session":
        yield base._replace(session=text_of(item, "id"), cwd=text_of(item, "cwd"))
    elif item.get("type") == "message" and isinstance(message, dict):
        yield from _parts(message, base._replace(model=text_of(message, "model")))


def _parts(message: Payload, base: Record) -> Iterator[Record]:
    role, content = text_of(message, "role"), message.get("content")
    if role == "user":
        yield base._replace(role=Role.USER, text=content_text(content).strip())
    elif role == "toolResult":
        failed, text = message.get("isError") is True, without_help(content_text(content))
        yield base.result(_EXIT.sub("", text) if failed else text, text_of(message, "toolCallId"), failed=failed)
    elif role == "assistant":
        if text := content_text(content):
            yield base._replace(role=Role.ASSISTANT, text=text)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") == "toolCall":
                tool = text_of(part, "name")
                yield base.call(_TOOLS.get(tool, tool), text_of(part, "id"), part.get("arguments"))


HOST = Host(
    name="pi",
    title="pi",
    folder=os.path.join(".pi", "agent"),
    events={event: event for event in _EVENTS.split()},
    edits=_edits,
    read=_read,
    records=partial(records, read=_read_item),
    sessions=lambda place: begun_below(place.project, os.path.join(place.home, ".pi", "agent", "sessions"), "cwd"),
    note="pi loads a project's extensions only once you trust the project.",
)

"""Cline CLI: an executable file per event, memory shown with a tool's result, one JSON file per session.

Seen with Cline CLI 3.0.65. It reads answers only of tool hooks, so memory is shown with the first tool of each prompt.
No event has the prompt, or marks the end of a session: prompts are read from its session file. Each run of the agent
begins with `TaskStart`, also at a session's second prompt. A call that a hook refuses ends the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

from gitmem.hosts.host import ASKS, DUE, LATE, Edits, Host, InstallPlace, Payload, Scope, is_below, refused, text_of
from gitmem.hosts.sessions_in_json import document_lines
from gitmem.model.transcript import Record, Role, content_text, objects, records
from gitmem.platform.machine import UTC, datetime
from gitmem.platform.safe_open import read_object, read_regular
from gitmem.values import Any

_ASKS = "ask_question"
_REFUSED = "This tool call was rejected by the user"
_TOOLS = {_ASKS: ASKS, "run_commands": "Bash", "editor": "Edit"}
_TYPED = re.compile(r"<user_input[^<>]*>((?:(?!<user_input).)*?)</user_input>", re.DOTALL)
_EXIT = re.compile(r"^\[Command exited with code [0-9]+\]\n+(\[stderr\]\n)?")
_LAST = 100_000_000_000_000  # milliseconds; a `datetime` can represent it
_MESSAGES = ".messages.json"
_MOST = 64 * 1024 * 1024  # bytes of a session that are read


def _data(environ: Mapping[str, str], home: str) -> str:
    own = environ.get("CLINE_DIR") or os.path.join(home, ".cline")
    return environ.get("CLINE_DATA_DIR") or os.path.join(own, "data")


def _transcript(environ: Mapping[str, str], home: str, session: str) -> str:
    match = re.fullmatch(r"[A-Za-z0-9_-]+", session)  # so that it is safe as a file name
    return os.path.join(_data(environ, home), "sessions", session, session + _MESSAGES) if match else ""


def _read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's keys; None for the start and the end of a subagent."""
    roots, inner = payload.get("workspaceRoots"), text_of(payload, "parent_agent_id")
    event = text_of(payload, "hook_event_name")
    known: Payload = {
        "hook_event_name": event,
        "session_id": text_of(payload, "sessionContext", "rootSessionId") or text_of(payload, "taskId"),
        "cwd": next(iter(roots), "") if isinstance(roots, list) else "",
        "agent_id": inner and text_of(payload, "agent_id"),
        "last_assistant_message": text_of(payload, "turn", "outputText"),
    }
    result = payload.get("tool_result") or payload.get("tool_call")
    if isinstance(result, dict):
        tool, (output, failed) = text_of(result, "name"), _outcome(result.get("output"))
        known |= {"tool_name": _TOOLS.get(tool, tool), "tool_use_id": text_of(result, "id")}
        known |= {"tool_input": _input(result.get("input")), "error": output}
        known["hook_event_name"] = "PostToolUseFailure" if failed and event == "PostToolUse" else event
    return None if inner and event in {"SessionStart", "Stop"} else known


def _recorded(payload: Payload) -> Payload:
    """Return a payload with the prompt: the last one in the session's file."""
    recorded = records(_lines(text_of(payload, "transcript_path")), read=_read_item)
    typed = ["", *(part.text for part in recorded if part.role is Role.USER and not part.injected)]
    return payload | {"prompt": typed[-1]}


def _input(arguments: object) -> Payload:
    """Return the arguments of a tool by Claude Code's names; a patch may be the whole input."""
    known = {"patch": arguments} if isinstance(arguments, str) else arguments if isinstance(arguments, dict) else {}
    listed = known.get("commands")
    run = "\n".join(item for item in (listed if isinstance(listed, list) else [listed]) if isinstance(item, str))
    question = {"question": known.get("question"), "options": known.get("options")}
    questions = {"questions": [question]} if "question" in known else {}
    return known | questions | {"command": run, "patch": text_of(known, "input") or text_of(known, "patch")}


def _outcome(output: object) -> tuple[str, bool]:
    """Return a tool's result, and whether it failed: a single result, one per command, or either as JSON text."""
    results = [*objects(output)] if isinstance(output, str) else output if isinstance(output, list) else [output]
    parts = [part for part in results if isinstance(part, dict)]
    texts = [text_of(part, "result") or text_of(part, "error") or content_text(part.get("content")) for part in parts]
    failed = any(part.get("success") is False or part.get("isError") is True for part in parts)
    whole = output if isinstance(output, str) and not parts else ""
    return whole or "\n".join(_EXIT.sub("", text).strip() for text in texts), failed


def _lines(path: str) -> Iterator[str]:
    """Yield a line of JSON with the session's id and folder, then its messages, up to any damage."""
    known = _about(path)
    yield json.dumps({"sessionId": known.get("session_id"), "cwd": known.get("cwd")}) + "\n"
    with contextlib.suppress(OSError):
        text = (read_regular(path, _MOST) or b"").decode("utf-8", "replace")
        yield from islice(document_lines(text), 1, None)


def _about(path: str) -> dict[str, object]:
    """Return the metadata in the file beside a session's messages."""
    return read_object(path.removesuffix(_MESSAGES) + ".json")


def _read_item(item: Payload, base: Record) -> Iterator[Record]:
    stamp, content = item.get("ts"), item.get("content")
    at = datetime.fromtimestamp(stamp / 1000, UTC) if isinstance(stamp, int) and 0 < stamp < _LAST else base.at
    base = base._replace(at=at, cwd=text_of(item, "cwd") or base.cwd)
    yield base
    base = base._replace(
        role=Role.USER if item.get("role") == "user" else Role.ASSISTANT,
        model=text_of(item, "modelInfo", "id"),
        injected=text_of(item, "metadata", "displayRole") == "system",
    )
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            yield from _part(part, base)


def _part(part: Payload, base: Record) -> Iterator[Record]:
    kind, text, tool = text_of(part, "type"), text_of(part, "text"), text_of(part, "name")
    if kind == "text" and text:
        typed = _TYPED.findall(text) if base.role is Role.USER else []
        yield base._replace(text="\n".join(typed).strip() if typed else text)
    elif kind == "tool_use":
        yield base.call(_TOOLS.get(tool, tool), text_of(part, "id"), _input(part.get("input")))
    elif kind == "tool_result":
        output, failed = _outcome(part.get("content"))
        output, failed = (refused(), True) if output.startswith(_REFUSED) else (output, failed)
        answers = {"answers": {"0": output}} if tool == _ASKS and not failed else None
        yield base._replace(data=answers).result(output, text_of(part, "tool_use_id"), failed=failed)


def _sessions(place: InstallPlace) -> list[str]:
    top = os.path.join(_data(place.environ, place.home), "sessions")
    names = os.listdir(top) if os.path.isdir(top) else []
    paths = [path for name in names if os.path.isfile(path := _transcript(place.environ, place.home, name))]
    return [path for path in paths if is_below(text_of(_about(path), "cwd"), place.project)]


_CLINE_SECONDS = 30  # by default Cline waits three for the server's first answer, too few on a busy machine


def _cline(host: Host, place: InstallPlace) -> Edits:
    """Return Cline's edits; it has no list of servers per project."""
    from gitmem.hosts.edits import SERVER, SERVERS, skills
    from gitmem.hosts.settings import ServerEdit

    folder = place.folder(host.folder, "CLINE_DIR")
    data = place.environ.get("CLINE_DATA_DIR") or os.path.join(place.own(host.folder, "CLINE_DIR"), "data")
    started = place.server | {"disabled": False, "timeout": _CLINE_SECONDS}
    server = ServerEdit(os.path.join(data, "settings", "cline_mcp_settings.json"), (SERVERS, SERVER), started)
    return (
        *_event_files(os.path.join(folder, "hooks"), host),
        *[server] * (place.scope is Scope.USER),
        *skills(folder),
    )


def _event_files(folder: str, host: Host) -> Iterator[Any]:
    """Yield an executable file per event that runs the line; none on Windows, where hosts cannot start it."""
    from gitmem.hosts.install import FileEdit
    from gitmem.hosts.settings import HOOKS

    for event, line in host.commands().items() if sys.platform != "win32" else ():
        text = f"#!/bin/sh\n# Written by 'gitmem install'. Without gitmem on the machine it does nothing.\n{line}\n"
        yield FileEdit(os.path.join(folder, event), HOOKS, text.encode(), executable=True)


HOST = Host(
    edits=_cline,
    name="cline",
    title="Cline CLI",
    folder=".cline",
    events={
        "TaskStart": f"SessionStart{LATE}",
        "PreToolUse": "PreToolUse",
        "PostToolUse": f"PostToolUse{DUE}",
        "TaskComplete": "Stop",
    },
    read=_read,
    recorded=_recorded,
    answer=lambda _event, text: {"contextModification": text},
    decide=lambda _event, _decision, reason: {"cancel": True, "errorMessage": reason},
    sign="",
    records=partial(records, read=_read_item),
    lines=_lines,
    transcript=_transcript,
    sessions=_sessions,
)

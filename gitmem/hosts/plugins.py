"""OpenCode, its fork Kilo, pi and Amp: each has a plugin in JavaScript that sends Claude Code's keys.

The plugins, `templates/hosts/opencode.js` and `pi.js`, send their hosts' names of tools. OpenCode and Kilo have their
sessions in a database, which is only read: a transcript's path is the database's with the session's id,
`…/opencode.db#ses_…`. Text shown to pi becomes a message that a transcript marks as `custom_message`. Seen with
OpenCode 1.18.33, Kilo 7.7.7, pi 1.5.2.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from functools import partial

from gitmem.hosts.host import (
    ASKS,
    WITH_FAILURES,
    Edits,
    Host,
    InstallPlace,
    Payload,
    Scope,
    answered,
    begun_below,
    is_below,
    named_as_claude,
    nested_decision,
    refused,
    text_of,
    without_help,
)
from gitmem.hosts.registry import transcript_file
from gitmem.model.events import UserWords, WordKind
from gitmem.model.transcript import Record, Role, content_text, records
from gitmem.platform.machine import UTC, datetime

_ASKS = "question"
_REFUSED = "The user rejected permission to use this specific tool call"
_REFUSED_WITH = " with the following feedback:"
_TOOLS = {
    _ASKS: ASKS,
    "bash": "Bash",
    "write": "Write",
    "edit": "Edit",
    "multiedit": "MultiEdit",
    "patch": "apply_patch",
}
_LAST = 100_000_000_000_000  # milliseconds; a `datetime` can represent it
# The message parts of a session and its subagents.
_QUESTION = """
    WITH RECURSIVE own(id) AS (SELECT ? UNION SELECT session.id FROM session JOIN own ON session.parent_id = own.id)
    SELECT part.data, message.id, message.data, part.time_created, session.directory, session.id
    FROM own JOIN part ON part.session_id = own.id
    JOIN message ON message.id = part.message_id JOIN session ON session.id = part.session_id
    ORDER BY message.time_created, message.id, part.id
"""


def _read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's names of tools; `run` puts the prompt between quotes."""
    tool, arguments = text_of(payload, "tool_name"), payload.get("tool_input")
    known = payload | {"tool_name": _TOOLS.get(tool, tool), "prompt": _unquoted(text_of(payload, "prompt"))}
    return known | {"tool_input": _input(arguments)} if isinstance(arguments, dict) else known


def _input(arguments: Payload) -> Payload:
    patch = text_of(arguments, "patchText")
    return arguments | {"file_path": text_of(arguments, "filePath")} | ({"patch": patch} if patch else {})


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1] else text


def _lines(path: str) -> Iterator[str] | None:
    """Return the parts of a session's messages as lines of JSON, in order; None for an exported session (text)."""
    return None if transcript_file(path) == path else _database_lines(path)


def _database_lines(path: str) -> Iterator[str]:
    file, _, session = path.rpartition("#")
    for part, message, info, at, folder, own in _rows(file, _QUESTION, session):
        stamp = datetime.fromtimestamp(at / 1000, UTC).isoformat() if isinstance(at, int) else ""
        about = {"timestamp": stamp, "sessionId": session, "cwd": folder, "id": message, "isSidechain": own != session}
        line = json.dumps(about)
        yield f'{line[:-1]}, "message": {info}, "part": {part}}}\n'


def _rows(path: str, question: str, *values: str) -> Iterator[tuple[object, ...]]:
    """Yield the rows that a database, opened read-only, returns; nothing if it cannot be read."""
    import sqlite3
    from pathlib import Path

    if not os.path.isfile(path):
        return
    with contextlib.suppress(sqlite3.Error):
        database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(database):
            yield from database.execute(question, values)


def _read_item(item: Payload, base: Record) -> Iterator[Record]:
    """Yield the records of a part of a message, or of an exported session's head or message."""
    info, parts = item.get("info"), item.get("parts")
    if not isinstance(info, dict):
        yield from _read_part(item, base)
    elif not isinstance(parts, list):
        yield base._replace(session=text_of(info, "id"), cwd=text_of(info, "directory"))
    else:
        for part in parts:
            at = _created(part) or _created(info) or base.at
            payload: Payload = {"id": info.get("id"), "cwd": base.cwd, "message": info, "part": part}
            yield from _read_part(payload, base._replace(at=at))


def _created(item: object) -> datetime | None:
    """Return the time of a message or a part, None if it has none."""
    times = item.get("time") if isinstance(item, dict) else None
    at = (times.get("created") or times.get("start")) if isinstance(times, dict) else None
    return datetime.fromtimestamp(at / 1000, UTC) if isinstance(at, int) and 0 < at < _LAST else None


def _read_part(item: Payload, base: Record) -> Iterator[Record]:
    """Yield the records of a part of a message; a plugin's text is marked as synthetic."""
    part = item.get("part")
    if not isinstance(part, dict) or text_of(item, "message", "mode") == "compaction":
        return
    sidechain = item.get("isSidechain") is True
    base = base._replace(cwd=text_of(item, "cwd"), model=text_of(item, "message", "modelID"), sidechain=sidechain)
    kind, text = text_of(part, "type"), text_of(part, "text")
    if kind == "text" and text_of(item, "message", "role") == "user":
        injected, turn = part.get("synthetic") is True, text_of(item, "id")
        yield base._replace(role=Role.USER, text=_unquoted(text), turn=turn, injected=injected)
    elif kind == "text" and text.strip():
        yield base._replace(role=Role.ASSISTANT, text=text)
    elif kind == "tool":
        yield from _call(part, base)


def _call(part: Payload, base: Record) -> Iterator[Record]:
    tool, key, state = text_of(part, "tool"), text_of(part, "callID"), part.get("state")
    state = state if isinstance(state, dict) else {}
    arguments, metadata = state.get("input"), state.get("metadata")
    payload = _input(arguments) if isinstance(arguments, dict) else {}
    failed = state.get("status") == "error" or bool(isinstance(metadata, dict) and metadata.get("exit"))
    text = without_help(text_of(state, "error") or text_of(state, "output"))
    answers = metadata.get("answers") if isinstance(metadata, dict) and tool == _ASKS else None
    yield base.call(_TOOLS.get(tool, tool), key, payload)
    yield base._replace(data=_answers(payload, answers)).result(_refusal(text), key, failed=failed)


def _answers(call_input: Payload, answers: object) -> Payload | None:
    """Return the answers to a call's questions, for each of which the host has a list; None for another result."""
    questions = call_input.get("questions")
    if not isinstance(questions, list) or not isinstance(answers, list):
        return None
    texts = (", ".join(map(str, answer)) if isinstance(answer, list) else "" for answer in answers)
    return answered(
        (text_of(question, "question"), text)
        for question, text in zip(questions, texts, strict=False)
        if isinstance(question, dict)
    )


def _refusal(text: str) -> str:
    """Return the result of a call; if the user refused it, in the form for all hosts."""
    if not text.startswith(_REFUSED):
        return text
    _, mark, words = text.partition(_REFUSED_WITH)
    return refused(words.strip() if mark else "")


def _sessions(name: str, place: InstallPlace) -> list[str]:
    """Return the sessions of a project in the program's database, without those of subagents."""
    folder = os.path.join(place.environ.get("XDG_DATA_HOME") or os.path.join(place.home, ".local", "share"), name)
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    query = "SELECT id, directory FROM session WHERE parent_id IS NULL ORDER BY time_created"
    paths = [os.path.join(folder, file) for file in files if file.endswith(".db")]
    rows = ((path, *row) for path in paths for row in _rows(path, query))
    return [f"{path}#{key}" for path, key, where in rows if is_below(str(where), place.project)]


def _refusing(event: str, decision: str, reason: str) -> Payload:
    """Return the answer by which a plugin stops a call; it cannot ask the user, so it tells the agent to ask."""
    message = reason if decision == "deny" else f"{reason}\nAsk the user before you do this."
    return nested_decision(event, "deny", message)


def _pi(host: Host, place: InstallPlace) -> Edits:
    from gitmem.hosts.edits import plugin_file, usual_edits

    folder = place.folder(host.folder if place.scope is Scope.USER else ".pi")
    server = place.server | {"exposure": "direct"}
    return usual_edits(
        folder, plugin_file("pi.js", folder, "extensions", "gitmem.js"), os.path.join(folder, "mcp.json"), server
    )


def _amp(host: Host, place: InstallPlace) -> Edits:
    from gitmem.hosts.edits import SERVER, plugin_file, skills
    from gitmem.hosts.settings import ServerEdit

    own = place.scope is Scope.USER
    folder = place.folder(host.folder if own else ".amp")
    return (
        plugin_file("amp.ts", folder, "plugins", "gitmem.ts"),
        ServerEdit(os.path.join(folder, "settings.json"), ("amp.mcpServers", SERVER), place.server),
        *skills(folder if own else os.path.join(place.project, ".agents")),
    )


def _opencode(host: Host, place: InstallPlace) -> Edits:
    from gitmem.hosts.edits import config_folder, plugin_file, slash_commands, usual_edits

    folder, settings = os.path.join(place.project, f".{host.name}"), os.path.join(place.project, f"{host.name}.json")
    if place.scope is Scope.USER:
        folder = config_folder(host, place)
        settings = os.path.join(folder, f"{host.name}.json")
    plugin = plugin_file("opencode.js", folder, "plugins", "gitmem.js")
    named = plugin.data.replace(b'const HOST = "opencode"', f'const HOST = "{host.name}"'.encode())
    words = place.server["args"]
    started = [place.server["command"], *(words if isinstance(words, list) else ())]
    server = {"type": "local", "command": started, "enabled": True}
    return usual_edits(folder, plugin._replace(data=named), settings, server, *slash_commands(folder), key="mcp")


def _make_host(name: str, title: str) -> Host:
    return Host(
        edits=_opencode,
        name=name,
        title=title,
        slash="/gitmem/",
        folder=os.path.join(".config", name),
        events={event: event for event in WITH_FAILURES},
        scopes=(Scope.PROJECT, Scope.USER) if name == "opencode" else (Scope.USER,),
        read=_read,
        decide=_refusing,
        context_before_tools=False,
        records=partial(records, read=_read_item),
        lines=_lines,
        sessions=partial(_sessions, name),
    )


OPENCODE = _make_host("opencode", "OpenCode")
KILO = _make_host("kilo", "Kilo")
_PI_TOOLS = {"bash": "Bash", "write": "Write", "edit": "Edit"}
_PI_EXIT = re.compile(r"(?<=\S)\s*\nCommand exited with code [0-9]+\s*\Z")  # after what a command printed


def _pi_read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's name of the tool, and an error without its exit code."""
    known = named_as_claude(payload, _PI_TOOLS)
    error = _PI_EXIT.sub("", text_of(payload, "error"))
    return known | {"error": error} if error else known


def _pi_item(item: Payload, base: Record) -> Iterator[Record]:
    """Yield the records of a line; the first one has the id and the folder."""
    message = item.get("message")
    if item.get("type") == "session":
        yield base._replace(session=text_of(item, "id"), cwd=text_of(item, "cwd"))
    elif item.get("type") == "message" and isinstance(message, dict):
        yield from _pi_parts(message, base._replace(model=text_of(message, "model")))


def _pi_parts(message: Payload, base: Record) -> Iterator[Record]:
    role, content = text_of(message, "role"), message.get("content")
    if role == "user":
        yield base._replace(role=Role.USER, text=content_text(content).strip())
    elif role == "bashExecution" and (command := text_of(message, "command")):
        words = (
            UserWords(WordKind.COMMAND, command),
            UserWords(WordKind.COMMAND, "", text_of(message, "output").strip()),
        )
        yield base._replace(role=Role.USER, text=command, words=words)
    elif role == "toolResult":
        failed, text = message.get("isError") is True, without_help(content_text(content))
        yield base.result(_PI_EXIT.sub("", text) if failed else text, text_of(message, "toolCallId"), failed=failed)
    elif role == "assistant":
        if text := content_text(content):
            yield base._replace(role=Role.ASSISTANT, text=text)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") == "toolCall":
                tool = text_of(part, "name")
                yield base.call(_PI_TOOLS.get(tool, tool), text_of(part, "id"), part.get("arguments"))


PI = Host(
    edits=_pi,
    name="pi",
    title="pi",
    folder=os.path.join(".pi", "agent"),
    events={event: event for event in WITH_FAILURES},
    read=_pi_read,
    decide=_refusing,
    context_before_tools=False,
    records=partial(records, read=_pi_item),
    sessions=lambda place: begun_below(place.project, os.path.join(place.home, ".pi", "agent", "sessions"), "cwd"),
)
_AMP_TOOLS = {"shell_command": "Bash", "create_file": "Write", "edit_file": "Edit"}
_AMP_EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop"


def _amp_read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's names of tools and their inputs."""
    known, arguments = named_as_claude(payload, _AMP_TOOLS), payload.get("tool_input")
    if isinstance(arguments, dict):
        known["tool_input"] = arguments | {"command": text_of(arguments, "command") or text_of(arguments, "cmd")}
    return known


AMP = Host(
    edits=_amp,
    name="amp",
    title="Amp",
    folder=os.path.join(".config", "amp"),
    events={event: event for event in _AMP_EVENTS.split()},
    read=_amp_read,
    note="Nobody has tried this with Amp yet; 'gitmem status' shows whether its sessions arrive.",
)

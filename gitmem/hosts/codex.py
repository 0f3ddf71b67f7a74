"""Codex CLI: its events, settings and transcripts. Seen with 0.169.0.

Codex runs a hook only once it is trusted: the user trusts it in `/hooks`, or `gitmem install codex --trust` writes the
same, the hash of the hook as Codex computes it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from gitmem.hosts.host import (
    ASKS,
    EVENTS,
    Edits,
    Host,
    InstallPlace,
    Payload,
    answered,
    begun_below,
    command_hooks,
    refused,
    text_of,
)
from gitmem.hosts.subagents import called_by
from gitmem.model.transcript import Record, Role, Unread, content_text, objects, records
from gitmem.platform.safe_open import read_end

_CODEX_INJECTED = (
    *("# AGENTS.md instructions", "<environment_context>", "<user_instructions>", "<skills_instructions>"),
    *("Warning: apply_patch was requested via ", "Warning: The maximum number of unified exec processes "),
    "Warning: Your account was flagged for ",
)
_CODEX_FAILED = "Process exited with code "
_CODEX_REFUSED = ("patch rejected by user", "exec command rejected by user", "rejected by user")
_CODEX_UNDONE = ("apply_patch verification failed", "aborted by user", "patch rejected")
_CODEX_TOOLS = {"request_user_input": ASKS}
_CODEX_SHELLS = ("exec_command", "shell", "shell_command", "local_shell")
_NEXT = timedelta(milliseconds=1)
_COPYING = timedelta(seconds=2)  # time in which Codex copies the history of a fork; the copies have that time
_CODEX_END_BYTES = 262_144  # at a rollout's end, with the last command
_CODEX_EVENTS = (*EVENTS, "SubagentStop", "PostCompact")


def trust(path: str, text: str) -> Mapping[str, Mapping[str, object]]:
    """Return the tables by which Codex trusts gitmem's hooks in the settings at `path` with this text."""
    import hashlib  # 2 ms; only an installation asks

    from gitmem.hosts.settings import hook_places

    tables: dict[str, Mapping[str, object]] = {}
    for one in hook_places(text):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one.event).lower()
        hook = one.item.node.plain()
        own_hook = hook if isinstance(hook, dict) else {}
        known = {key: own_hook.get(key) for key in ("type", "command", "timeout")} | {"async": False}
        identity = {"event_name": name, "hooks": [known]}
        serialized = json.dumps(identity, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        place = json.dumps(f"{path}:{name}:{one.group}:{one.hook}", ensure_ascii=False)
        tables[f"hooks.state.{place}"] = {"trusted_hash": f"sha256:{hashlib.sha256(serialized.encode()).hexdigest()}"}
    return tables


def _codex_read(payload: Payload) -> Payload | None:
    """Return a payload with the exit status of a failed patch; a failed command's payload has none."""
    output, tool = text_of(payload, "tool_response"), text_of(payload, "tool_name")
    if payload.get("hook_event_name") != "PostToolUse":
        return payload
    if output.startswith("Exit code: ") and output[11:12] != "0":
        return payload | {"hook_event_name": "PostToolUseFailure", "error": output}
    answers = _codex_answers(output) if tool in _CODEX_TOOLS else None
    return payload | {"tool_name": _CODEX_TOOLS[tool], "tool_response": answers} if answers else payload


def _codex_recorded(payload: Payload) -> Payload:
    """Return a payload, turned into a failure if the rollout, which alone records it, has a failed command."""
    if payload.get("hook_event_name") != "PostToolUse":
        return payload
    key = text_of(payload, "tool_use_id")
    end, _ = read_end(text_of(payload, "transcript_path"), _CODEX_END_BYTES)
    for line in reversed(end.decode("utf-8", "replace").splitlines()):
        item = next(objects(line), {}).get("payload") if key and key in line else None
        item = item.get("item") if isinstance(item, dict) else None
        if isinstance(item, dict) and item.get("id") == key and item.get("status") == "failed":
            error = text_of(payload, "tool_response")
            return payload | {"hook_event_name": "PostToolUseFailure", "error": error}
    return payload


def _codex_records(lines: Iterable[str], unread: Unread | None = None) -> Iterator[Record]:
    """Yield the records of a rollout; a fork begins with a copy of the original session, then is its own."""
    heads: list[Record] = []  # records that begin a session

    def read(item: Payload, base: Record) -> Iterator[Record]:
        for part in _codex_item(item, base):
            if item.get("type") == "session_meta":
                heads.append(part)
            is_copy = not heads or part.at - heads[-1].at <= _COPYING
            yield part if is_copy else part._replace(session=heads[0].session, sidechain=heads[0].sidechain)

    return records(lines, unread, read)


def _codex_item(item: Payload, base: Record) -> Iterator[Record]:
    payload, kind = item.get("payload"), item.get("type")
    if not isinstance(payload, dict):  # in 2025: parts without a time, after a line about the session
        kind = "session_meta" if "instructions" in item else "response_item"
        payload, base = item, base._replace(at=base.at + _NEXT)
    folder, turn = text_of(payload, "cwd") or base.cwd, text_of(payload, "turn_id") or base.turn
    base = base._replace(cwd=folder, turn=turn)
    if kind == "session_meta":
        base = _codex_about(payload, base)
    yield base
    if kind == "response_item":
        yield from _codex_parts(payload, base)


def _codex_about(payload: Payload, base: Record) -> Record:
    """Return a record with the session; a subagent's rollout belongs to the session that spawned it."""
    source, parent = payload.get("source"), text_of(payload, "parent_thread_id")
    spawned = text_of(payload, "source", "subagent", "thread_spawn", "parent_thread_id") or parent
    if not spawned and not (isinstance(source, dict) and "subagent" in source):
        return base._replace(session=text_of(payload, "id") or base.session)
    session = text_of(payload, "session_id") or spawned or text_of(payload, "id")
    return base._replace(session=session, sidechain=True, agent=text_of(payload, "agent_nickname"))


def _codex_parts(payload: Payload, base: Record) -> Iterator[Record]:
    kind, role, key = text_of(payload, "type"), text_of(payload, "role"), text_of(payload, "call_id")
    if kind == "message" and role in {"user", "assistant"}:
        text = content_text(payload.get("content"))
        who = Role.USER if role == "user" else Role.ASSISTANT
        turn = base.turn or f"{base.at.timestamp():.3f}"
        yield base._replace(role=who, text=text, turn=turn, injected=who is Role.USER and _is_codex_own(payload, text))
    elif kind in {"function_call", "custom_tool_call"}:
        yield _codex_call(payload, base, key)
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        text, failed = _codex_output(content_text(payload.get("output")))
        yield base._replace(data=_codex_answers(text)).result(text, key, failed=failed)


def _is_codex_own(payload: Payload, text: str) -> bool:
    """Return whether Codex itself wrote a user message: by the kinds of its contents, else by its beginning."""
    metadata = payload.get("internal_chat_message_metadata_passthrough")
    kinds = metadata.get("content_item_kinds") if isinstance(metadata, dict) else None
    if isinstance(kinds, list) and kinds:
        return not any(isinstance(kind, str) and kind.startswith("user.") for kind in kinds)
    return text.startswith(_CODEX_INJECTED)


def _codex_call(payload: Payload, base: Record, key: str) -> Record:
    """Return the call of a tool; a patch may be the tool's whole input, or a shell command."""
    name, arguments = text_of(payload, "name"), payload.get("arguments") or payload.get("input")
    parsed = next(objects(arguments), None) if isinstance(arguments, str) else None
    called: dict[str, object] = (
        {"command": arguments if isinstance(arguments, str) else ""} if parsed is None else parsed
    )
    words = called.get("cmd") or called.get("command")
    if isinstance(words, list):  # of older versions: ["bash", "-lc", "ls"]
        texts = [word for word in words if isinstance(word, str)]
        words = texts[-1] if texts[1:2] in (["-lc"], ["-c"]) else " ".join(texts)
    if isinstance(words, str):
        called = called | {"command": words}
        name = "Bash" if name in _CODEX_SHELLS else name
        before, patch, _ = words.partition("*** Begin Patch")
        name = "apply_patch" if patch and "apply_patch" in before else name
    return base.call(_CODEX_TOOLS.get(name, name), key, called)


def _codex_answers(text: str) -> Payload | None:
    """Return the answers in the result of a question, by the question's id; None for another result."""
    result = next(objects(text), {}).get("answers") if text.startswith('{"answers":') else None
    if not isinstance(result, dict):
        return None
    answers = {key: value.get("answers") for key, value in result.items() if isinstance(value, dict)}
    lists = ((key, value) for key, value in answers.items() if isinstance(value, list))
    return answered(
        (key, ", ".join(line.removeprefix("user_note: ") for line in value if isinstance(line, str)))
        for key, value in lists
    )


def _codex_output(text: str) -> tuple[str, bool]:
    """Return a tool's output, and whether it failed or the user refused it."""
    result = next(objects(text), {}) if text.startswith('{"output":') else {}  # of older versions
    if isinstance(result.get("output"), str):
        about = result.get("metadata")
        return text_of(result, "output"), isinstance(about, dict) and about.get("exit_code") not in (0, None)
    before, failure, after = text.partition(_CODEX_FAILED)
    failed = bool(failure) and "\nOutput:" not in before and not after.startswith("0\n")
    if text.startswith(_CODEX_REFUSED):
        return refused(), True
    return after.partition("Output:\n")[2] or text, failed or text.startswith(_CODEX_UNDONE)


_END_SECONDS = 3  # Codex's limit at the end of a session; it warns of a longer timeout
_CODEX_LINE = "gitmem hook codex {} 2>nul || exit /b 0"  # for `%COMSPEC% /C`, which reads no POSIX syntax


def _codex(host: Host, place: InstallPlace) -> Edits:
    from gitmem.hosts.edits import skills
    from gitmem.hosts.settings import TRUST, HooksEdit
    from gitmem.hosts.text_settings import TablesEdit

    folder, hooks = place.folder(".codex", "CODEX_HOME"), command_hooks(host)
    hooks["SessionEnd"]["timeout"] = _END_SECONDS
    hooks = {event: {**hook, "commandWindows": _CODEX_LINE.format(event)} for event, hook in hooks.items()}
    return (
        HooksEdit(os.path.join(folder, "hooks.json"), hooks),
        TablesEdit(os.path.join(folder, "config.toml"), {"mcp_servers.gitmem": place.server}),
        *skills(folder),
        TablesEdit(os.path.join(place.own(".codex", "CODEX_HOME"), "config.toml"), {}, TRUST),
    )


CODEX = Host(
    edits=_codex,
    name="codex",
    title="Codex",
    folder=".codex",
    events={event: event for event in _CODEX_EVENTS},
    read=_codex_read,
    recorded=_codex_recorded,
    records=_codex_records,
    # Codex keeps rollouts by day; each begins with its folder.
    sessions=lambda place: begun_below(
        place.project, os.path.join(place.own(".codex", "CODEX_HOME"), "sessions"), "payload", "cwd"
    ),
    subagents=lambda path: called_by(path, "parent_thread_id"),
    trust=trust,
)

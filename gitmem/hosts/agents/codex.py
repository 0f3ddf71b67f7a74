"""Codex: Claude Code's events and payloads, hooks that a person trusts, settings in TOML.

Seen with Codex CLI 0.169.0. A hook runs only once it is trusted: the person opens `/hooks` in Codex, or `gitmem install
codex --trust` writes what that writes, the hash of the hook as Codex computes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial

from gitmem.hosts.host import Host, InstallPlace, Items, Payload, begun_below, command_hooks, text_of
from gitmem.platform.safe_open import read_end
from gitmem.sessions.transcript import Record, Role, content_text, objects, records

_WINDOWS = "gitmem hook codex {} 2>nul || exit /b 0"  # there it is run by `%COMSPEC% /C`, which reads no shell's line
_END_SECONDS = 3  # the most that Codex gives to the end of a session; a longer one is warned of
_INJECTED = ("# AGENTS.md instructions", "<environment_context>", "<user_instructions>", "<skills_instructions>")
_FAILED = "Process exited with code "
_END_BYTES = 262_144  # of a rollout, in which the command that just ended stands
_EVENTS = "SessionStart UserPromptSubmit PostToolUse Stop SubagentStop PreCompact PostCompact SessionEnd"


def hooks() -> dict[str, Mapping[str, object]]:
    """Return the hook of each event."""
    found = command_hooks(HOST)
    found["SessionEnd"] = {**found["SessionEnd"], "timeout": _END_SECONDS}
    return {event: {**hook, "commandWindows": _WINDOWS.format(event)} for event, hook in found.items()}


def _edits(place: InstallPlace) -> Items:
    from gitmem.hosts.install import skills
    from gitmem.hosts.settings import HooksEdit, TablesEdit, TrustEdit

    folder = place.folder(".codex", "CODEX_HOME")
    return (
        HooksEdit(os.path.join(folder, "hooks.json"), hooks()),
        TablesEdit(os.path.join(folder, "config.toml"), {"mcp_servers.gitmem": place.server}),
        *skills(os.path.join(folder, "skills")),
        TrustEdit(os.path.join(place.own(".codex", "CODEX_HOME"), "config.toml"), {}),
    )


def trust(path: str, text: str) -> Mapping[str, Mapping[str, object]]:
    """Return the tables by which Codex trusts gitmem's hooks in the settings at `path` with this text."""
    from gitmem.hosts.settings import hook_places

    tables: dict[str, Mapping[str, object]] = {}
    for one in hook_places(text):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one.event).lower()
        hook = one.item.node.plain()
        given = hook if isinstance(hook, dict) else {}
        known = {key: given.get(key) for key in ("type", "command", "timeout")} | {"async": False}
        identity = {"event_name": name, "hooks": [known]}
        said = json.dumps(identity, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        place = json.dumps(f"{path}:{name}:{one.group}:{one.hook}", ensure_ascii=False)
        tables[f"hooks.state.{place}"] = {"trusted_hash": f"sha256:{hashlib.sha256(said.encode()).hexdigest()}"}
    return tables


def _read(payload: Payload) -> Payload | None:
    """Return a payload with the exit of a patch that failed; a failed command does not say so."""
    output = text_of(payload, "tool_response")
    if payload.get("hook_event_name") == "PostToolUse" and output.startswith("Exit code: ") and output[11:12] != "0":
        return payload | {"hook_event_name": "PostToolUseFailure", "error": output}
    return payload


def _recorded(payload: Payload) -> Payload:
    """Return a payload; that of a command which failed, as only the rollout tells, as a failure."""
    if payload.get("hook_event_name") != "PostToolUse":
        return payload
    key = text_of(payload, "tool_use_id")
    end, _ = read_end(text_of(payload, "transcript_path"), _END_BYTES)
    for line in reversed(end.decode("utf-8", "replace").splitlines()):
        item = next(objects(line), {}).get("payload") if key and key in line else None
        item = item.get("item") if isinstance(item, dict) else None
        if isinstance(item, dict) and item.get("id") == key and item.get("status") == "failed":
            error = text_of(payload, "tool_response")
            return payload | {"hook_event_name": "PostToolUseFailure", "error": error}
    return payload


def _read_item(item: Payload, base: Record) -> Iterator[Record]:
    payload = item.get("payload")
    if not isinstance(payload, dict):
        return
    folder, turn = text_of(payload, "cwd") or base.cwd, text_of(payload, "turn_id") or base.turn
    session = text_of(payload, "id") if item.get("type") == "session_meta" else ""
    base = base._replace(cwd=folder, turn=turn, session=session or base.session)
    yield base
    if item.get("type") == "response_item":
        yield from _parts(payload, base)


def _parts(payload: Payload, base: Record) -> Iterator[Record]:
    kind, role, key = text_of(payload, "type"), text_of(payload, "role"), text_of(payload, "call_id")
    if kind == "message" and role in {"user", "assistant"}:
        text = content_text(payload.get("content"))
        who = Role.USER if role == "user" else Role.ASSISTANT
        injected = who is Role.USER and text.startswith(_INJECTED)
        yield base._replace(role=who, text=text, turn=base.turn or f"{base.at.timestamp():.3f}", injected=injected)
    elif kind in {"function_call", "custom_tool_call"}:
        given = payload.get("arguments") or payload.get("input")
        found = next(objects(given), None) if isinstance(given, str) else None
        called: dict[str, object] = {"command": given if isinstance(given, str) else ""} if found is None else found
        if isinstance(called.get("cmd"), str):
            called = called | {"command": called["cmd"]}
        yield base.call("Bash" if text_of(payload, "name") == "exec_command" else text_of(payload, "name"), key, called)
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        text = content_text(payload.get("output"))
        before, said, after = text.partition(_FAILED)
        failed = bool(said) and "\nOutput:" not in before and not after.startswith("0\n")
        yield base.result(after.partition("Output:\n")[2] or text, key, failed=failed)


HOST = Host(
    name="codex",
    title="Codex",
    folder=".codex",
    events={event: event for event in _EVENTS.split()},
    edits=_edits,
    read=_read,
    recorded=_recorded,
    records=partial(records, read=_read_item),
    # Codex keeps rollouts by day; each says at its beginning where it was.
    sessions=lambda place: begun_below(
        place.project, os.path.join(place.own(".codex", "CODEX_HOME"), "sessions"), "payload", "cwd"
    ),
    trust=trust,
    note="Codex runs hooks only once you trust them: open /hooks in it, or install with --trust.",
)

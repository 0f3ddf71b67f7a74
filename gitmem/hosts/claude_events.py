"""Codex, Copilot CLI, droid and Cursor: Claude Code's events and payloads, each without some of what those say.

Seen with Codex CLI 0.169.0. A hook runs only once it is trusted: the person opens `/hooks` in Codex, or `gitmem install
codex --trust` writes what that writes, the hash of the hook as Codex computes it.

Seen with Copilot CLI 1.0.102. With Claude Code's names of events it gives their payloads, but neither a turn nor the
id of a tool call, and the reply stands in its transcript. It also runs the hooks of Claude Code's settings in a project
that it trusts: the time of an event tells which deliveries are the same. What it is told at the start is gone after a
compaction, so it is told again then.

Seen with Factory's droid 0.225.2. `droid exec` has no event for a prompt, and no event has the answer: both are read
from the transcript, which begins with the prompt as its title. The model has to load the tools of an MCP server, and is
not told their names if the server is slower than the first question: it is told them at the start. A tool that fails
has no event either. In the interactive screen a session ends twice.

Cursor was read in `@cursor/sdk` 1.0.32 and tried with no real client: an answer of one key, and `stop` does not say the
reply, but `afterAgentResponse` does.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial

from gitmem.hosts import (
    LATE,
    Host,
    InstallPlace,
    Payload,
    begun_below,
    first_object,
    folder_name,
    named_as_claude,
    nested_answer,
    text_of,
    transcripts_in,
)
from gitmem.model.transcript import Record, Role, blocks, content_text, objects, records
from gitmem.platform.safe_open import read_end

_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd")

_CODEX_INJECTED = ("# AGENTS.md instructions", "<environment_context>", "<user_instructions>", "<skills_instructions>")
_CODEX_FAILED = "Process exited with code "
_CODEX_END_BYTES = 262_144  # of a rollout's end, which has the last command
_CODEX_EVENTS = (*_EVENTS, "SubagentStop", "PostCompact")


def trust(path: str, text: str) -> Mapping[str, Mapping[str, object]]:
    """Return the tables by which Codex trusts gitmem's hooks in the settings at `path` with this text."""
    import hashlib  # 2 ms; only an installation asks

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


def _codex_read(payload: Payload) -> Payload | None:
    """Return a payload with the exit of a patch that failed; a failed command does not say so."""
    output = text_of(payload, "tool_response")
    if payload.get("hook_event_name") == "PostToolUse" and output.startswith("Exit code: ") and output[11:12] != "0":
        return payload | {"hook_event_name": "PostToolUseFailure", "error": output}
    return payload


def _codex_recorded(payload: Payload) -> Payload:
    """Return a payload, as a failure if the command failed, which only the rollout tells."""
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


def _codex_item(item: Payload, base: Record) -> Iterator[Record]:
    payload = item.get("payload")
    if not isinstance(payload, dict):
        return
    folder, turn = text_of(payload, "cwd") or base.cwd, text_of(payload, "turn_id") or base.turn
    session = text_of(payload, "id") if item.get("type") == "session_meta" else ""
    base = base._replace(cwd=folder, turn=turn, session=session or base.session)
    yield base
    if item.get("type") == "response_item":
        yield from _codex_parts(payload, base)


def _codex_parts(payload: Payload, base: Record) -> Iterator[Record]:
    kind, role, key = text_of(payload, "type"), text_of(payload, "role"), text_of(payload, "call_id")
    if kind == "message" and role in {"user", "assistant"}:
        text = content_text(payload.get("content"))
        who = Role.USER if role == "user" else Role.ASSISTANT
        injected = who is Role.USER and text.startswith(_CODEX_INJECTED)
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
        before, said, after = text.partition(_CODEX_FAILED)
        failed = bool(said) and "\nOutput:" not in before and not after.startswith("0\n")
        yield base.result(after.partition("Output:\n")[2] or text, key, failed=failed)


CODEX = Host(
    name="codex",
    title="Codex",
    folder=".codex",
    events={event: event for event in _CODEX_EVENTS},
    read=_codex_read,
    recorded=_codex_recorded,
    records=partial(records, read=_codex_item),
    # Codex keeps rollouts by day; each says at its beginning where it was.
    sessions=lambda place: begun_below(
        place.project, os.path.join(place.own(".codex", "CODEX_HOME"), "sessions"), "payload", "cwd"
    ),
    trust=trust,
    note="Codex runs hooks only once you trust them: open /hooks in it, or install with --trust.",
)


_COPILOT_TOOLS = {"bash": "Bash", "create": "Write", "edit": "Edit", "str_replace_editor": "Edit"}
_COPILOT_EXIT = re.compile(r"<shellId: \S+ completed with exit code (?!0>)-?[0-9]+>\s*$")
_COPILOT_ADDED = re.compile(r'\n\nTool "[^"\n]*" \w+\. Additional guidance from \w+ hooks:\n.*', re.DOTALL)


def _copilot_read(payload: Payload) -> Payload | None:
    """Return a payload with the ids that Copilot does not give, and with its failures."""
    known = payload | {"prompt": text_of(payload, "prompt").strip()}
    if payload.get("hook_event_name") != "PostToolUse":
        return known
    called = text_of(payload, "tool_input", "command") or text_of(payload, "tool_input", "path")
    known["tool_use_id"] = f"{text_of(payload, 'timestamp')} {text_of(payload, 'tool_name')} {called}"
    output = text_of(payload, "tool_result", "text_result_for_llm")
    if text_of(payload, "tool_result", "result_type") in {"failure", "error"} or _COPILOT_EXIT.search(output):
        known |= {"hook_event_name": "PostToolUseFailure", "error": _COPILOT_EXIT.sub("", output).strip()}
    return known


def _copilot_item(item: Payload, base: Record) -> Iterator[Record]:
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
        yield base.call(_COPILOT_TOOLS.get(name, name), key, data.get("arguments"))
    elif kind == "tool.execution_complete":
        text = _COPILOT_ADDED.sub("", text_of(data, "result", "content") or text_of(data, "error", "message"))
        failed = data.get("success") is False or bool(_COPILOT_EXIT.search(text))
        yield base.result(_COPILOT_EXIT.sub("", text).strip(), key, failed=failed)


def _copilot_sessions(place: InstallPlace) -> list[str]:
    """Return the events of a project's sessions; the first line says where each was."""
    top = os.path.join(place.own(".copilot", "COPILOT_HOME"), "session-state")
    paths = begun_below(place.project, top, "data", "context", "cwd")
    return [path for path in paths if os.path.basename(path) == "events.jsonl"]


COPILOT = Host(
    name="copilot",
    title="Copilot CLI",
    folder=".copilot",
    events={event: event for event in _EVENTS} | {"PreCompact": f"PreCompact{LATE}"},
    read=_copilot_read,
    answer=lambda _, text: {"additionalContext": text},
    sign="",
    records=partial(records, read=_copilot_item),
    sessions=_copilot_sessions,
)


_DROID_TOOLS = {"Execute": "Bash", "Create": "Write", "ApplyPatch": "apply_patch"}
_DROID_INJECTED = ("<system-reminder>", "<system_reminder>")
_DROID_EXIT = re.compile(r"\n*\[Process exited with code (?P<code>-?[0-9]+)\]\s*$")
_DROID_FAILED = re.compile(r"\AError: Command failed \(exit code: [0-9]+\)\n")  # before what the command printed
_DROID_UNTITLED = "New Session"  # in the interactive screen, where each prompt has an event
_DROID_NAMES = ",".join(f"gitmem___memory_{name}" for name in ("search", "get", "guide", "save", "update"))
_DROID_LOADS = f'load them by ToolSearch with "select:{_DROID_NAMES}".'
_DROID_SAYS = f"The tools of this memory come seconds after the start: {_DROID_LOADS}"


def _droid_recorded(payload: Payload) -> Payload:
    """Return a payload, at a session's start with its prompt."""
    title = text_of(first_object(text_of(payload, "transcript_path")), "title")
    starts = payload.get("source") == "startup" and title != _DROID_UNTITLED
    return payload | {"prompt": title} if starts else payload


def _droid_answer(event: str, text: str) -> Payload:
    return nested_answer(event, f"{text}\n{_DROID_SAYS}" if event == "SessionStart" else text)


def _droid_item(item: Payload, base: Record) -> Iterator[Record]:
    """Yield the records of a line; the first one has the id and the folder."""
    message = item.get("message")
    if item.get("type") == "session_start":
        yield base._replace(session=text_of(item, "id"), cwd=text_of(item, "cwd"))
    elif isinstance(message, dict) and message.get("visibility") != "user_only":
        role = Role.USER if message.get("role") == "user" else Role.ASSISTANT
        base = base._replace(role=role, model=text_of(message, "modelId"))
        yield from map(_droid_named, blocks(message.get("content"), base))


def _droid_named(part: Record) -> Record:
    """Return a record with Claude Code's name of the tool, and without droid's additions to texts."""
    if part.role is Role.USER:
        return part._replace(text=part.text.strip(), injected=part.text.startswith(_DROID_INJECTED))
    if part.role is Role.RESULT:
        match = _DROID_EXIT.search(part.text)
        text = _DROID_FAILED.sub("", _DROID_EXIT.sub("", part.text))
        return part._replace(text=text, failed=part.failed or bool(match and match["code"] != "0"))
    return part._replace(tool=_DROID_TOOLS.get(part.tool, part.tool))


DROID = Host(
    name="droid",
    title="droid",
    folder=".factory",
    events={event: event for event in _EVENTS},
    read=lambda payload: named_as_claude(payload, _DROID_TOOLS),
    recorded=_droid_recorded,
    answer=_droid_answer,
    records=partial(records, read=_droid_item),
    sessions=lambda place: transcripts_in(place.own(".factory"), "sessions", folder_name(place.project)),
    slash="/gitmem-",
)


_CURSOR_TOOLS = {"Shell": "Bash", "run_terminal_cmd": "Bash", "edit_file": "Edit", "write": "Write"}
_CURSOR_EVENTS = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "afterAgentResponse": "Stop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}


def _cursor_read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's keys."""
    given, tool = text_of(payload, "hook_event_name"), text_of(payload, "tool_name")
    session = text_of(payload, "session_id") or text_of(payload, "conversation_id")
    roots = payload.get("workspace_roots")
    known = payload | {
        "hook_event_name": _CURSOR_EVENTS.get(given, given),
        "session_id": session,
        "turn_id": text_of(payload, "generation_id"),
        "tool_name": _CURSOR_TOOLS.get(tool, tool),
        "last_assistant_message": text_of(payload, "text"),
        "error": text_of(payload, "error_message") or text_of(payload, "error"),
    }
    return known if "cwd" in payload or not isinstance(roots, list) else known | {"cwd": next(iter(roots), "")}


CURSOR = Host(
    name="cursor",
    title="Cursor",
    folder=".cursor",
    events=_CURSOR_EVENTS,
    read=_cursor_read,
    answer=lambda _, text: {"additional_context": text},
    sign="",
    note="Nobody has tried this with Cursor yet; 'gitmem status' shows whether its sessions arrive.",
)

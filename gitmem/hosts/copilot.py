"""Copilot CLI: its events, settings and transcripts. Seen with 1.0.102.

With Claude Code's event names it sends their payloads, but without turn or tool call id, and the reply is only in its
transcript. In a trusted project it also runs the hooks of Claude Code's settings: an event's time shows which
deliveries are the same. The text shown at the start is lost in a compaction, so it is shown again then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial

from gitmem.hosts.host import (
    ASKS,
    EVENTS,
    LATE,
    Edits,
    Host,
    InstallPlace,
    Payload,
    Scope,
    begun_below,
    command_hooks,
    direct_command,
    shared_server,
    text_of,
)
from gitmem.model.events import UserWords, WordKind
from gitmem.model.transcript import Record, Role, records

_COPILOT_ASKS = "ask_user"
_COPILOT_ANSWER = re.compile(r"User (?:responded|selected|answered)[^:\n]{0,40}: ")
_COPILOT_TOOLS = {_COPILOT_ASKS: ASKS, "bash": "Bash", "create": "Write", "edit": "Edit", "str_replace_editor": "Edit"}
_COPILOT_EXIT = re.compile(r"<shellId: \S+ completed with exit code (?!0>)-?[0-9]+>\s*$")
_COPILOT_ADDED = re.compile(r'\n\nTool "[^"\n]*" \w+\. Additional guidance from \w+ hooks:\n.*', re.DOTALL)


def _copilot_read(payload: Payload) -> Payload | None:
    """Return a payload with the ids that Copilot leaves out, and with its failures."""
    known = payload | {"prompt": text_of(payload, "prompt").strip()}
    if payload.get("hook_event_name") != "PostToolUse":
        return known
    called = text_of(payload, "tool_input", "command") or text_of(payload, "tool_input", "path")
    known["tool_use_id"] = f"{text_of(payload, 'timestamp')} {text_of(payload, 'tool_name')} {called}"
    output = text_of(payload, "tool_result", "text_result_for_llm")
    if text_of(payload, "tool_name") == _COPILOT_ASKS:
        known |= {"tool_name": ASKS, "tool_input": _copilot_asked(payload.get("tool_input"))}
        known["tool_response"] = _copilot_answer(output)
    if text_of(payload, "tool_result", "result_type") in {"failure", "error"} or _COPILOT_EXIT.search(output):
        known |= {"hook_event_name": "PostToolUseFailure", "error": _COPILOT_EXIT.sub("", output).strip()}
    return known


def _copilot_item(item: Payload, base: Record) -> Iterator[Record]:
    kind, data = text_of(item, "type"), item.get("data")
    if not isinstance(data, dict):
        return
    key, content, agent = text_of(data, "toolCallId"), text_of(data, "content"), text_of(item, "agentId")
    base = base._replace(sidechain=bool(agent), agent=agent)
    if kind == "session.start":
        yield base._replace(session=text_of(data, "sessionId"), cwd=text_of(data, "context", "cwd"))
    elif kind == "user.message":
        is_added = text_of(data, "delivery") == "steering"  # sent while the agent works
        words = (UserWords(WordKind.ADDITION, content.strip()),) if is_added and content.strip() else ()
        injected = text_of(data, "source") not in {"", "user"}
        yield base._replace(role=Role.USER, text=content.strip(), words=() if injected else words, injected=injected)
    elif kind == "assistant.message" and content:
        yield base._replace(role=Role.ASSISTANT, text=content, model=text_of(data, "model"))
    elif kind == "tool.execution_start":
        name = text_of(data, "toolName")
        arguments = data.get("arguments")
        yield base.call(
            _COPILOT_TOOLS.get(name, name), key, _copilot_asked(arguments) if name == _COPILOT_ASKS else arguments
        )
    elif kind == "tool.execution_complete":
        text = _COPILOT_ADDED.sub("", text_of(data, "result", "content") or text_of(data, "error", "message"))
        failed = data.get("success") is False or bool(_COPILOT_EXIT.search(text))
        yield base._replace(data=_copilot_answer(text)).result(_COPILOT_EXIT.sub("", text).strip(), key, failed=failed)


def _copilot_asked(value: object) -> Payload:
    """Return a question's input in Claude Code's form."""
    fields = value if isinstance(value, dict) else {}
    options = [{"label": choice} for choice in fields.get("choices") or () if isinstance(choice, str)]
    return {"questions": [{"question": text_of(fields, "message") or text_of(fields, "question"), "options": options}]}


def _copilot_answer(text: str) -> Payload | None:
    """Return the user's answer in the result of a question, None if there is none."""
    match = _COPILOT_ANSWER.match(text)
    return {"answers": {"0": text[match.end() :].strip()}} if match else None


def _copilot_sessions(place: InstallPlace) -> list[str]:
    """Return the event files of a project's sessions; the first line of each has its folder."""
    top = os.path.join(place.own(".copilot", "COPILOT_HOME"), "session-state")
    paths = begun_below(place.project, top, "data", "context", "cwd")
    return [path for path in paths if os.path.basename(path) == "events.jsonl"]


def _copilot(host: Host, place: InstallPlace) -> Edits:
    """Return Copilot CLI's edits; on Windows it runs the line under `powershell`."""
    from gitmem.hosts.edits import BEGUN, usual_edits
    from gitmem.hosts.settings import HooksEdit

    own = place.scope is Scope.USER
    folder = place.folder(".copilot" if own else ".github", "COPILOT_HOME")
    server = {"type": "local"} | place.server | {"tools": ["*"]}
    # A project's list is Claude Code's.
    listing = os.path.join(folder, "mcp-config.json") if own else os.path.join(place.project, ".mcp.json")
    lines = {event: {"powershell": direct_command(ours, host.name)} for event, ours in host.events.items()}
    hooks = {event: hook | lines[event] for event, hook in command_hooks(host).items()}
    edit = HooksEdit(os.path.join(folder, "hooks", "gitmem.json"), hooks, begun=BEGUN)
    return usual_edits(folder, edit, listing, server if own else shared_server(place))


COPILOT = Host(
    edits=_copilot,
    name="copilot",
    title="Copilot CLI",
    folder=".copilot",
    events={event: event for event in EVENTS} | {"PreCompact": f"PreCompact{LATE}"},
    read=_copilot_read,
    answer=lambda _, text: {"additionalContext": text},
    decide=lambda _, decision, reason: {"permissionDecision": decision, "permissionDecisionReason": reason},
    sign="",
    off_switch=(("disableAllHooks",), True),
    records=partial(records, read=_copilot_item),
    sessions=_copilot_sessions,
)

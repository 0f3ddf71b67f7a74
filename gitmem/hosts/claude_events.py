"""Codex, Copilot CLI, droid and Cursor: Claude Code's events and payloads, each without some of what those say.

Seen with Codex CLI 0.169.0. A hook runs only once it is trusted: the user opens `/hooks` in Codex, or `gitmem install
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

import os
import re
from collections.abc import Iterator
from functools import partial

from gitmem.hosts.host import (
    ASKS,
    LATE,
    Host,
    InstallPlace,
    Payload,
    answered,
    begun_below,
    first_object,
    folder_name,
    named_as_claude,
    nested_answer,
    refused,
    text_of,
    transcripts_in,
)
from gitmem.hosts.says import NOTHING_TESTED, UNTESTED, WORDLESS, Says
from gitmem.hosts.subagents import called_by
from gitmem.model.transcript import Record, Role, blocks, records
from gitmem.model.words import UserWords, WordKind

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd")


_COPILOT_ASKS = "ask_user"
_COPILOT_ANSWER = re.compile(r"User (?:responded|selected|answered)[^:\n]{0,40}: ")
_COPILOT_TOOLS = {_COPILOT_ASKS: ASKS, "bash": "Bash", "create": "Write", "edit": "Edit", "str_replace_editor": "Edit"}
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
    key, said, agent = text_of(data, "toolCallId"), text_of(data, "content"), text_of(item, "agentId")
    base = base._replace(sidechain=bool(agent), agent=agent)
    if kind == "session.start":
        yield base._replace(session=text_of(data, "sessionId"), cwd=text_of(data, "context", "cwd"))
    elif kind == "user.message":
        is_added = text_of(data, "delivery") == "steering"  # sent while the agent works
        words = (UserWords(WordKind.ADDITION, said.strip()),) if is_added and said.strip() else ()
        injected = text_of(data, "source") not in {"", "user"}
        yield base._replace(role=Role.USER, text=said.strip(), words=() if injected else words, injected=injected)
    elif kind == "assistant.message" and said:
        yield base._replace(role=Role.ASSISTANT, text=said, model=text_of(data, "model"))
    elif kind == "tool.execution_start":
        name = text_of(data, "toolName")
        given = data.get("arguments")
        yield base.call(_COPILOT_TOOLS.get(name, name), key, _copilot_asked(given) if name == _COPILOT_ASKS else given)
    elif kind == "tool.execution_complete":
        text = _COPILOT_ADDED.sub("", text_of(data, "result", "content") or text_of(data, "error", "message"))
        failed = data.get("success") is False or bool(_COPILOT_EXIT.search(text))
        yield base._replace(told=_copilot_answer(text)).result(_COPILOT_EXIT.sub("", text).strip(), key, failed=failed)


def _copilot_asked(given: object) -> Payload:
    """Return the input of a question in Claude Code's form."""
    asked = given if isinstance(given, dict) else {}
    options = [{"label": one} for one in asked.get("choices") or () if isinstance(one, str)]
    return {"questions": [{"question": text_of(asked, "message") or text_of(asked, "question"), "options": options}]}


def _copilot_answer(text: str) -> Payload | None:
    """Return the user's answer in the result of a question, None if there is none."""
    match = _COPILOT_ANSWER.match(text)
    return {"answers": {"0": text[match.end() :].strip()}} if match else None


def _copilot_sessions(place: InstallPlace) -> list[str]:
    """Return the events of a project's sessions; the first line says where each was."""
    top = os.path.join(place.own(".copilot", "COPILOT_HOME"), "session-state")
    paths = begun_below(place.project, top, "data", "context", "cwd")
    return [path for path in paths if os.path.basename(path) == "events.jsonl"]


COPILOT = Host(
    name="copilot",
    title="Copilot CLI",
    folder=".copilot",
    events={event: event for event in EVENTS} | {"PreCompact": f"PreCompact{LATE}"},
    read=_copilot_read,
    answer=lambda _, text: {"additionalContext": text},
    says=Says(queued=UNTESTED),
    decide=lambda _, decision, reason: {"permissionDecision": decision, "permissionDecisionReason": reason},
    sign="",
    off_switch=(("disableAllHooks",), True),
    records=partial(records, read=_copilot_item),
    sessions=_copilot_sessions,
)


_DROID_ANSWER = re.compile(
    r"^[0-9]+\. \[question\] (?P<question>.+)\n\[answer\] (?P<answer>.+(?:\n(?![0-9]+\. \[).+)*)", re.MULTILINE
)
_DROID_TOOLS = {"AskUser": ASKS, "Execute": "Bash", "Create": "Write", "ApplyPatch": "apply_patch"}
_DROID_INJECTED = ("<system-reminder>", "<system_reminder>")
_DROID_EXIT = re.compile(r"\n*\[Process exited with code (?P<code>-?[0-9]+)\]\s*$")
_DROID_FAILED = re.compile(r"\AError: Command failed \(exit code: [0-9]+\)\n")  # before what the command printed
_DROID_REFUSED = ("Error: Tool execution cancelled by user", "Tool execution cancelled by user")
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
        part = part._replace(told=answered(pairs)) if pairs and part.text.startswith("1. [question]") else part
        text = _DROID_FAILED.sub("", _DROID_EXIT.sub("", part.text))
        return part._replace(text=text, failed=part.failed or bool(match and match["code"] != "0"))
    return part._replace(tool=_DROID_TOOLS.get(part.tool, part.tool))


DROID = Host(
    name="droid",
    title="droid",
    folder=".factory",
    events={event: event for event in EVENTS},
    read=lambda payload: named_as_claude(payload, _DROID_TOOLS),
    recorded=_droid_recorded,
    answer=_droid_answer,
    hears_before=False,
    records=partial(records, read=_droid_item),
    sessions=lambda place: transcripts_in(place.own(".factory"), "sessions", folder_name(place.project)),
    says=Says(refusal=WORDLESS, queued=UNTESTED),
    off_switch=(("hooks", "hooksDisabled"), True),
    subagents=lambda path: called_by(path, "callingSessionId"),
    slash="/gitmem-",
)


_CURSOR_TOOLS = {"Shell": "Bash", "run_terminal_cmd": "Bash", "edit_file": "Edit", "write": "Write"}
_CURSOR_EVENTS = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
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
    decide=lambda _, decision, reason: {"permission": decision, "user_message": reason, "agent_message": reason},
    sign="",
    says=NOTHING_TESTED,
    note="Nobody has tried this with Cursor yet; 'gitmem status' shows whether its sessions arrive.",
)

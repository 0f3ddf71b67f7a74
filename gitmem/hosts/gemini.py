"""Gemini CLI and its fork Qwen Code; each has its own form of events, answers and transcripts.

Seen with Gemini CLI 0.61.0. Its events have their own names, and its transcripts repeat messages. A text shown at
`SessionStart` would precede the first prompt and break slash commands, so it is shown at `BeforeAgent`. `PreCompress`
is sent before every question to the model, so no hook is installed for it.

Seen with Qwen Code 0.24.4. It has Claude Code's events with Gemini's tools. It repeats `UserPromptSubmit`, without a
prompt, after each round of tools; a prompt that a user submitted is marked. Without a terminal a session has no end
event. The transcript lacks the ids that hooks give to prompts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial

from gitmem.hosts.host import (
    ASKS,
    LATE,
    WITH_FAILURES,
    Edits,
    Host,
    InstallPlace,
    Payload,
    answered,
    command_hooks,
    first_object,
    folder_name,
    refused,
    text_of,
    transcripts_in,
)
from gitmem.model.events import UserWords, WordKind
from gitmem.model.transcript import Record, Role, Unread, content_text, objects, records
from gitmem.platform.safe_open import read_object

_INJECTED = re.compile(r"<(hook_context|session_context)>(?:(?!<\1>).)*?</\1>\s*", re.DOTALL)
_WRAPPED = re.compile(r"</?untrusted_context>\n?|^Process Group PGID: [0-9]+\n?", re.MULTILINE)
_EXIT = re.compile(r"^Exit Code: (?!0$)[0-9]+$", re.MULTILINE)
_PRINTED = re.compile(r"\AOutput: (?P<output>.*?)\n?^Exit Code: (?P<code>[0-9]+)", re.DOTALL | re.MULTILINE)
# Claude Code's names for the tools of both, by which files and commands are found.
_ASKS = "ask_user"
_REFUSED = (
    *("[Operation Cancelled] Reason: User denied execution", "[Operation Cancelled] Reason: User did not allow"),
    *("Plan rejected. User feedback:", "Plan rejected. No feedback provided"),
)
_TOOLS = {
    _ASKS: ASKS,
    "ask_user_question": ASKS,
    "run_shell_command": "Bash",
    "write_file": "Write",
    "edit": "Edit",
    "replace": "Edit",
}


def _read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's keys."""
    host_event = text_of(payload, "hook_event_name")
    event = _EVENTS.get(host_event, host_event).removesuffix(LATE)
    common = payload | {"hook_event_name": event}
    if event == "UserPromptSubmit":
        common["prompt"] = _INJECTED.sub("", text_of(payload, "prompt")).strip()
    elif event == "Stop":
        common["last_assistant_message"] = text_of(payload, "prompt_response")
    elif event in {"PreToolUse", "PostToolUse"}:
        tool = text_of(payload, "tool_name")
        common["tool_name"] = _TOOLS.get(tool, tool)
    if event == "PostToolUse":
        output = _WRAPPED.sub("", text_of(payload, "tool_response", "llmContent"))
        if tool == _ASKS:
            common["tool_response"] = next(objects(output), None)
        error = text_of(payload, "tool_response", "error", "message")
        if error or (tool == "run_shell_command" and _EXIT.search(output)):
            common |= {"hook_event_name": "PostToolUseFailure", "error": _printed(output)}
    return common


def _printed(report: str) -> str:
    """Extract a failed command's output from the report on it; its exit code if it printed nothing."""
    match = _PRINTED.match(report)
    if not match:
        return report
    return f"Exit code {match['code']}" if match["output"] in {"", "(empty)"} else match["output"]


def _records(lines: Iterable[str], unread: Unread | None = None) -> Iterator[Record]:
    """Yield the records of a chat; a message is repeated with each of its calls, but its parts are read once."""
    seen: set[str] = set()

    def read(item: Payload, base: Record) -> Iterator[Record]:
        kind, key = text_of(item, "type"), text_of(item, "id")
        if item.get("kind") == "subagent":
            yield base._replace(sidechain=True)
        elif kind in {"user", "gemini"} and not _is_copied(item, seen):
            text = _INJECTED.sub("", content_text(item.get("content"))).strip()
            role = Role.USER if kind == "user" else Role.ASSISTANT
            if text and key not in seen:
                seen.add(key)
                # No `turn`: hooks have no id for it either, and the same turn must get the same key (turns.turn_key).
                yield base._replace(role=role, text=text, model=text_of(item, "model"))
        calls = item.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and text_of(call, "id") not in seen:
                seen.add(text_of(call, "id"))
                yield from _call(call, base)

    return records(lines, unread, read)


def _is_copied(item: Payload, seen: set[str]) -> bool:
    """Return whether a message repeats a call that was read before, in a rewritten history."""
    parts = item.get("content")
    return any(
        text_of(part, "functionCall", "id") in seen
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and "functionCall" in part
    )


def _call(call: Payload, base: Record) -> Iterator[Record]:
    name, key = text_of(call, "name"), text_of(call, "id")
    results = call.get("result")
    texts = [
        text_of(part, "functionResponse", "response", "output")
        or text_of(part, "functionResponse", "response", "error")
        for part in (results if isinstance(results, list) else ())
        if isinstance(part, dict)
    ]
    text = _INJECTED.sub("", _WRAPPED.sub("", "\n".join(texts))).strip()
    failed = call.get("status") == "error" or bool(name == "run_shell_command" and _EXIT.search(text))
    yield base.call(_TOOLS.get(name, name), key, call.get("args"))
    answers = next(objects(text), None) if name == _ASKS else None
    if (words := _refusal(text)) is not None:
        text, failed = refused(words), True
    yield base._replace(data=answers).result(_printed(text), key, failed=failed)


def _refusal(text: str) -> str | None:
    """Return the user's words on refusing a call or a plan; None if they refused nothing."""
    for beginning in _REFUSED:
        if text.startswith(beginning):
            words = text.removeprefix(beginning).partition("\n\nThe plan is stored at:")[0]
            return words.strip() if beginning.endswith(":") else ""
    return None


def _sessions(place: InstallPlace) -> list[str]:
    """Return the chats of a project, in the folder that `projects.json` names."""
    top = place.own(".gemini")
    projects = read_object(os.path.join(top, "projects.json")).get("projects")
    name = projects.get(place.project) if isinstance(projects, dict) else None
    chats = os.path.join(top, "tmp", os.path.basename(name), "chats") if isinstance(name, str) else ""
    return [os.path.join(chats, name) for name in os.listdir(chats)] if os.path.isdir(chats) else []


def _subagents(path: str) -> list[str]:
    """Return the chats of a chat's subagents, in a folder that is named after the session."""
    session = os.path.basename(text_of(first_object(path), "sessionId"))
    return transcripts_in(os.path.dirname(path), session) if session else []


_EVENTS = {
    "SessionStart": f"SessionStart{LATE}",
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "SessionEnd": "SessionEnd",
}
_TIMEOUT = 10_000  # milliseconds


def _edits(host: Host, place: InstallPlace) -> Edits:
    """Return the edits of both; Qwen Code has a hook's timeout in seconds, and commands in markdown."""
    from gitmem.hosts.edits import as_toml, slash_commands, usual_edits
    from gitmem.hosts.settings import HooksEdit

    folder = place.folder(host.folder)
    settings = os.path.join(folder, "settings.json")
    hooks, form = (command_hooks(host), None) if host.name == "qwen" else (command_hooks(host, _TIMEOUT), as_toml)
    return usual_edits(folder, HooksEdit(settings, hooks), settings, place.server, *slash_commands(folder, form))


GEMINI = Host(
    edits=_edits,
    name="gemini",
    title="Gemini CLI",
    folder=".gemini",
    events=_EVENTS,
    read=_read,
    decide=lambda _, decision, reason: {"decision": decision, "reason": reason},
    context_before_tools=False,
    records=_records,
    sessions=_sessions,
    off_switch=(("hooksConfig", "enabled"), False),
    subagents=_subagents,
)
_QWEN_INJECTED = re.compile(r"<(qwen:[a-z-]+-context)>(?:(?!<\1>).)*?</\1>\s*", re.DOTALL)
# The report on a failed command, which begins with command and folder.
_QWEN_PRINTED = re.compile(
    r"^Output: (?P<output>.*?)\n?^Error: (?P<error>.*?)\n^Exit Code: (?P<code>[0-9]+)", re.DOTALL | re.MULTILINE
)
_QWEN_NOTHING = {"(none)", "(empty)"}
_QWEN_USER, _QWEN_ADDED = "real_user", "mid_turn_user_message"
_QWEN_DEFERRED = "tool_call"  # a tool that calls another by name and arguments


def _qwen_read(payload: Payload) -> Payload | None:
    """Return a payload with Claude Code's names of tools; None for a prompt that nobody submitted."""
    if payload.get("hook_event_name") == "UserPromptSubmit" and not text_of(payload, "submitted_prompt"):
        return None
    tool = text_of(payload, "tool_name")
    known = payload | {"tool_name": _TOOLS.get(tool, tool), "prompt_id": ""}
    if submitted := text_of(payload, "submitted_prompt"):
        known["prompt"] = submitted.strip()
    if error := text_of(payload, "error"):
        known["error"] = _qwen_printed(error)
    return known


def _qwen_printed(report: str) -> str:
    """Extract a failed command's output from the report on it; its exit code if it printed nothing."""
    match = _QWEN_PRINTED.search(report)
    if not match:
        return report
    printed = "\n".join(part for part in match.group("output", "error") if part not in _QWEN_NOTHING)
    return printed or f"Exit code {match['code']}"


def _qwen_item(item: Payload, base: Record) -> Iterator[Record]:
    kind, message = text_of(item, "type"), item.get("message")
    listed = message.get("parts") if isinstance(message, dict) else None
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    agent = text_of(item, "agentId") if item.get("isSidechain") is True else ""
    base = base._replace(cwd=text_of(item, "cwd"), model=text_of(item, "model"), sidechain=bool(agent), agent=agent)
    texts = (text_of(part, "text") for part in parts if part.get("thought") is not True)
    text = _QWEN_INJECTED.sub("", "\n".join(filter(None, texts))).strip()
    if text and kind == "user":
        is_added = item.get("subtype") == _QWEN_ADDED
        injected = item.get("provenance", _QWEN_USER if item.get("subtype") is None or is_added else "") != _QWEN_USER
        words = (UserWords(WordKind.ADDITION, text),) if is_added and not injected else ()
        yield base._replace(role=Role.USER, text=text, injected=injected, words=words)
    elif text and kind == "assistant":
        yield base._replace(role=Role.ASSISTANT, text=text)
    for part in parts:
        yield from _qwen_tool(part, base, item.get("toolCallResult"))


def _qwen_tool(part: Payload, base: Record, outcome: object) -> Iterator[Record]:
    call, result = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, dict):
        name, arguments = text_of(call, "name"), call.get("args")
        if name == _QWEN_DEFERRED and isinstance(arguments, dict):
            name, arguments = text_of(arguments, "name"), arguments.get("arguments")
        yield base.call(_TOOLS.get(name, name), text_of(call, "id"), arguments)
    if isinstance(result, dict):
        text = text_of(result, "response", "error") or text_of(result, "response", "output")
        details = outcome if isinstance(outcome, dict) else {}
        refusal, failed = _refusal(text), details.get("status") == "error"
        text, failed = (_qwen_printed(text), failed) if refusal is None else (refused(refusal), True)
        yield base._replace(data=_qwen_answers(details)).result(text, text_of(result, "id"), failed=failed)


def _qwen_answers(result: Payload) -> Payload | None:
    """Return the answers in the result of a question, by question; None for another result."""
    shown = result.get("resultDisplay")
    answers = shown.get("answers") if isinstance(shown, dict) else None
    if not isinstance(answers, list):
        return None
    return answered(
        (text_of(answer, "question"), text_of(answer, "answer")) for answer in answers if isinstance(answer, dict)
    )


QWEN = Host(
    edits=_edits,
    name="qwen",
    title="Qwen Code",
    folder=".qwen",
    events={event: event for event in WITH_FAILURES},
    context_before_tools=False,
    read=_qwen_read,
    records=partial(records, read=_qwen_item),
    sessions=lambda place: transcripts_in(place.own(".qwen"), "projects", folder_name(place.project), "chats"),
    off_switch=(("disableAllHooks",), True),
    subagents=lambda path: transcripts_in(
        os.path.dirname(path), "..", "subagents", os.path.basename(path).removesuffix(".jsonl")
    ),
)

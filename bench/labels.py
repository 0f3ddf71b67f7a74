"""What the user said in a recorded session, and what was edited, read by rules of this file alone.

Each host's lines are read as that host writes them, without gitmem's readers, so that a fault of theirs does not hide
itself: a table of the ten agents' forms, as a reader of the recordings would label them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

KINDS = ("prompts", "refusals", "answers", "queued", "edits")
Item = dict[str, Any]
Label = tuple[str, str]  # a kind, and the text or the path

_HOSTS = re.compile(
    r"\s*(?:<(?!command-)[\w-]+[ >]|\[Request interrupted|\[SYSTEM|Caveat:|This session is being continued"
    r"|# AGENTS\.md instructions|Base directory for this skill)"
)
_HOOKS = re.compile(r"<(hook_context|qwen:[\w-]+)>.*?</\1>", re.DOTALL)  # what a hook of gitmem's added
_EDITS = {"Edit", "Write", "MultiEdit", "Create", "create", "edit", "write", "write_file", "editor", "replace"}
_SAID = re.compile(r"(?:the user said:|with the following feedback:|User feedback:)\s*(.*)", re.DOTALL)
_HINT = "\n\nNote: The user's next message may contain"


def labels_of(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Return what was said and edited, by kind, in the files of a recording; an edit that failed is none."""
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in paths:
        items = list(_items(path))
        failed = {key for kind, key in _labels(items) if kind == "failed"}
        for kind, label in _labels(items):
            key, _, name = label.partition("\0")
            text = _HOOKS.sub("", label).strip()
            if kind == "edits" and key not in failed:
                kinds[kind].append(name)
            elif kind in KINDS and kind != "edits" and text and not _HOSTS.match(text):
                kinds[kind].append(text)
    return kinds


def _items(path: Path) -> Iterator[Item]:
    text = path.read_text("utf-8", "replace")
    for line in [text] if path.suffix == ".json" else text.splitlines():
        try:
            item = json.loads(line)
        except ValueError:
            continue
        if isinstance(item, dict):
            yield item


def _labels(items: list[Item]) -> Iterator[Label]:
    first = items[0] if items else {}
    if "table" in first:
        yield from _opencode(_messages_of(items))
    elif "info" in first:
        yield from _opencode((message["info"], message["parts"]) for message in first["messages"])
    elif "projectHash" in first:
        yield from _gemini(items)
    elif "messages" in first:
        yield from _cline(first["messages"])
    elif first.get("type") == "session_meta":
        yield from _codex(items)
    elif first.get("type") == "session.start":
        yield from _copilot(items)
    elif first.get("type") == "session_start":
        yield from _droid(items)
    elif first.get("type") == "session":
        yield from _pi(items)
    elif any("parts" in (item.get("message") or {}) for item in items):
        yield from _qwen(items)
    else:
        for item in items:
            yield from _claude(item)


def _text(content: object) -> str:
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _blocks(content: object) -> list[Item]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())  # type: ignore[call-overload]


def _call(key: object, name: object, given: Item) -> Iterator[Label]:
    path = given.get("file_path") or given.get("filePath") or given.get("path")
    if name in _EDITS and path:
        yield "edits", f"{key}\0{path}"


def _refusal(text: str) -> Iterator[Label]:
    if match := _SAID.search(text):
        yield "refusals", match[1].partition(_HINT)[0]


def _claude(item: Item) -> Iterator[Label]:
    if item.get("type") == "queue-operation" and item.get("operation") == "enqueue":
        yield "queued", item.get("content") or ""
    message = item.get("message")
    is_message = item.get("type") in {"user", "assistant"}
    told = item.get("toolUseResult")
    for given in (told.get("answers") or {}).values() if isinstance(told, dict) else ():
        yield "answers", given
    for block in _blocks(message["content"]) if isinstance(message, dict) and is_message else ():
        marked = any(item.get(key) for key in ("isMeta", "isCompactSummary", "isSidechain"))
        marked = marked or (item.get("origin") or {}).get("kind", "human") != "human"
        if block.get("type") == "tool_use":
            yield from _call(block["id"], block["name"], block["input"])
        elif block.get("type") == "tool_result" and block.get("is_error"):
            yield "failed", block["tool_use_id"]
            text = _text(block.get("content"))
            yield from _refusal(text) if text.startswith("The user doesn't want") else ()
        elif block.get("type") == "text" and item["type"] == "user" and not marked:
            args = re.search(r"<command-args>(.*?)</command-args>", block["text"], re.DOTALL)
            yield "prompts", args[1] if args else block["text"]


def _codex(items: list[Item]) -> Iterator[Label]:
    is_sub = "subagent" in json.dumps(items[0]["payload"].get("source"))
    begun: set[str] = set()
    turn = ""
    for payload in (item["payload"] for item in items if isinstance(item.get("payload"), dict)):
        turn = payload.get("turn_id") or turn
        kind, key = payload.get("type"), payload.get("call_id")
        if kind == "message" and payload.get("role") == "user" and not is_sub:
            yield "queued" if turn in begun else "prompts", _text(payload["content"])
            begun |= {turn} if turn and not _HOSTS.match(_text(payload["content"])) else set()
        elif kind == "custom_tool_call":
            for path in re.findall(r"^\*\*\* (?:Add|Update) File: (.+)$", payload["input"], re.MULTILINE):
                yield "edits", f"{key}\0{path}"
        elif kind in {"custom_tool_call_output", "function_call_output"}:
            output = payload["output"] if isinstance(payload["output"], str) else _text(payload["output"])
            if "rejected by user" in output or "verification failed" in output:
                yield "failed", str(key)
            if output.startswith('{"answers"'):
                for given in json.loads(output)["answers"].values():
                    yield "answers", " ".join(one.removeprefix("user_note: ") for one in given["answers"])


def _copilot(items: list[Item]) -> Iterator[Label]:
    for item in items:
        kind, data = item["type"], item["data"]
        if kind == "user.message" and "agentId" not in item and data.get("source") in {None, "user"}:
            yield "queued" if data.get("delivery") == "steering" else "prompts", data["content"]
        elif kind == "human_response.recorded":
            content = data["response"].get("content")
            values = content.values() if isinstance(content, dict) else [content]
            yield from (("answers", str(value)) for value in values)
        elif kind == "permission.completed":
            yield "refusals", data["result"].get("feedback") or ""
        elif kind == "tool.execution_start":
            yield from _call(data["toolCallId"], data["toolName"], data["arguments"])
        elif kind == "tool.execution_complete" and not data["success"]:
            yield "failed", data["toolCallId"]


def _gemini(items: list[Item]) -> Iterator[Label]:
    if items[0].get("kind") == "subagent":
        begun: list[Item] = [{**item, "type": "gemini"} for item in items if item.get("type") == "gemini"]
    else:
        begun = [*items, *(items[0].get("messages") or ())]
    seen: set[object] = set()
    for item in begun:
        if item.get("type") == "user" and item["id"] not in seen:
            seen.add(item["id"])
            yield "prompts", _text(item["content"])
        for call in item.get("toolCalls") or ():
            yield from _call(call["id"], call["name"], call["args"])
            yield from [("failed", call["id"])] if call.get("status") in {"cancelled", "error"} else ()
            told = json.dumps(call.get("result"))
            answers = re.findall(r'\\"\d+\\":\s*\\"(.*?)\\"', told) if call["name"] == "ask_user" else ()
            yield from (("answers", answer) for answer in answers)


def _qwen(items: list[Item]) -> Iterator[Label]:
    for item in items:
        parts = (item.get("message") or {}).get("parts") or ()
        for part in parts:
            called, result = part.get("functionCall"), part.get("functionResponse")
            if called:
                yield from _call(called["id"], called["name"], called["args"])
            if result and "error" in result["response"]:
                yield "failed", result["id"]
            if result and result["name"] == "ask_user_question":
                answers = re.findall(r"^\*\*.+?\*\*: (.+)", result["response"].get("output", ""), re.MULTILINE)
                yield from (("answers", answer) for answer in answers)
        if item.get("type") == "user" and item.get("provenance") == "real_user" and not item.get("isSidechain"):
            yield "queued" if "mid_turn" in (item.get("subtype") or "") else "prompts", _text(parts)


def _droid(items: list[Item]) -> Iterator[Label]:
    is_sub = "callingSessionId" in items[0]
    for item in items:
        message = item.get("message") or {}
        own = is_sub or item.get("visibility") or str(item.get("id")).startswith(("context-", "task-completion:"))
        for block in _blocks(message.get("content")):
            if block["type"] == "tool_use":
                yield from _call(block["id"], block["name"], block["input"])
            elif block["type"] == "tool_result":
                yield from [("failed", block["tool_use_id"])] if block["is_error"] else ()
                answers = re.findall(r"^\[answer\] (.+)", _text(block["content"]), re.MULTILINE)
                yield from (("answers", answer) for answer in answers)
            elif message["role"] == "user" and not own:
                yield "prompts", block["text"]


def _pi(items: list[Item]) -> Iterator[Label]:
    for message in (item.get("message") or {} for item in items):
        for block in _blocks(message.get("content")):
            if block["type"] == "toolCall":
                yield from _call(block["id"], block["name"], block["arguments"])
            elif message["role"] == "user" and block["type"] == "text":
                yield "prompts", block["text"]
        if message.get("role") == "bashExecution":
            yield "prompts", message["command"]
        if message.get("role") == "toolResult" and message.get("isError"):
            yield "failed", message["toolCallId"]


def _cline(messages: list[Item]) -> Iterator[Label]:
    for message in messages:
        for block in _blocks(message["content"]):
            if block["type"] == "tool_use":
                yield from _call(block["id"], block["name"], block["input"])
            elif block["type"] == "tool_result":
                yield from [("failed", block["tool_use_id"])] if block.get("is_error") else ()
                yield from [("answers", block["content"])] if block["name"] == "ask_question" else ()
            elif message["role"] == "user":
                yield from (
                    ("prompts", text) for text in re.findall(r"<user_input[^>]*>(.*?)</user_input>", block["text"])
                )


def _messages_of(rows: list[Item]) -> Iterator[tuple[Item, list[Item]]]:
    """Yield the messages of a database's rows with their parts, as an export has them."""
    subs = {row["id"] for row in rows if row["table"] == "session" and row.get("parent_id")}
    for row in rows:
        if row["table"] == "message":
            parts = [
                json.loads(one["data"]) for one in rows if one["table"] == "part" and one["message_id"] == row["id"]
            ]
            yield {**json.loads(row["data"]), "is_sub": row["session_id"] in subs}, parts


def _opencode(messages: Iterable[tuple[Item, list[Item]]]) -> Iterator[Label]:
    for info, parts in messages:
        for part in parts:
            state = part.get("state") or {}
            if part["type"] == "text" and info["role"] == "user" and not part.get("synthetic"):
                yield "prompts" if not info.get("is_sub") else "", part["text"].removeprefix('"').removesuffix('"')
            elif part["type"] == "tool":
                yield from _call(part["callID"], part["tool"], state.get("input") or {})
                for given in (state.get("metadata") or {}).get("answers") or ():
                    yield "answers", ", ".join(given)
                if state.get("status") == "error":
                    yield "failed", part["callID"]
                    yield from _refusal(state.get("error") or "")

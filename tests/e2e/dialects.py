"""What agents' questions to a model look like, and its answers: four programming interfaces, by the end of the path.

Each dialect reads what a request says into (is it a tool's result, text), and writes an answer, whole and as a stream.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]
Said = list[tuple[bool, str]]
Event = tuple[str, Any]


class Answer(NamedTuple):
    """A text, a call of a tool, or a text before one."""

    text: str
    tool: str
    given: Json
    model: str
    tokens: int = 1000
    """What the request is said to have cost."""

    @property
    def key(self) -> str:
        return f"call_{uuid.uuid4().hex[:20]}"


class Dialect(NamedTuple):
    """One interface: what was said in a request, an answer as one object, and the events of a stream."""

    read: Callable[[Json], Said]
    whole: Callable[[Answer], Json]
    stream: Callable[[Answer], Iterator[Event]]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(map(_text, content))
    if isinstance(content, dict):
        return _text(content.get("text") or content.get("content") or "")
    return content or ""


def _read_messages(body: Json) -> Said:
    said: Said = []
    for message in body.get("messages", []):
        content = message["content"] if message["role"] == "user" else []
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        known = (part for part in parts if part.get("type") in {"text", "tool_result"})
        said += ((part["type"] == "tool_result", _text(part)) for part in known)
    return said


def _message(answer: Answer) -> Json:
    content: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.tool:
        content += [{"type": "tool_use", "id": answer.key, "name": answer.tool, "input": answer.given}]
    whole = {"id": f"msg_{uuid.uuid4().hex[:20]}", "type": "message", "role": "assistant", "model": answer.model}
    whole |= {"usage": {"input_tokens": answer.tokens, "output_tokens": 20}, "content": content}
    return whole | {"stop_sequence": None, "stop_reason": "tool_use" if answer.tool else "end_turn"}


def _message_events(answer: Answer) -> Iterator[Event]:
    whole = _message(answer)
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events = [("message_start", {"message": {**whole, "content": [], "stop_reason": None}})]
    for index, content in enumerate(whole["content"]):
        if content["type"] == "tool_use":
            said = json.dumps(answer.given, ensure_ascii=False)
            empty, delta = {**content, "input": {}}, {"type": "input_json_delta", "partial_json": said}
        else:
            empty, delta = {**content, "text": ""}, {"type": "text_delta", "text": answer.text}
        events += [
            ("content_block_start", {"index": index, "content_block": empty}),
            ("content_block_delta", {"index": index, "delta": delta}),
            ("content_block_stop", {"index": index}),
        ]
    events += [("message_delta", {"delta": stop, "usage": {"output_tokens": 20}}), ("message_stop", {})]
    for kind, data in events:
        yield kind, {"type": kind, **data}


def _read_chat(body: Json) -> Said:
    spoken = (message for message in body.get("messages", []) if message.get("role") in {"user", "tool"})
    return [(message["role"] == "tool", _text(message.get("content"))) for message in spoken]


def _chat(answer: Answer) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.tool:
        called = {"name": answer.tool, "arguments": json.dumps(answer.given, ensure_ascii=False)}
        message["tool_calls"] = [{"index": 0, "id": answer.key, "type": "function", "function": called}]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.tool else "stop"}
    usage = {"prompt_tokens": answer.tokens, "completion_tokens": 20, "total_tokens": answer.tokens + 20}
    begun = {"id": f"chatcmpl-{uuid.uuid4().hex[:20]}", "object": "chat.completion", "created": 0}
    return begun | {"model": answer.model, "choices": [choice], "usage": usage}


def _chat_events(answer: Answer) -> Iterator[Event]:
    whole = _chat(answer) | {"object": "chat.completion.chunk"}
    usage, (choice,) = whole.pop("usage"), whole.pop("choices")
    yield "", whole | {"choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
    yield "", whole | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield "", whole | {"choices": [], "usage": usage}
    yield "", "[DONE]"


def _read_responses(body: Json) -> Said:
    said = []
    for item in body.get("input") or []:
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            said.append((False, _text(item.get("content"))))
        elif kind.endswith("_output"):
            said.append((True, _text(item.get("output"))))
    return said


def _response(answer: Answer) -> Json:
    said = [{"type": "output_text", "text": answer.text}]
    item: Json = {"type": "message", "role": "assistant", "content": said}
    before = [item | {"id": f"item_{uuid.uuid4().hex}", "status": "completed"}] if answer.text and answer.tool else []
    if answer.tool == "tool_search":
        item = {"type": "tool_search_call", "call_id": answer.key, "execution": "client", "arguments": answer.given}
    elif answer.tool:
        given = json.dumps(answer.given, ensure_ascii=False)
        space, _, name = answer.tool.rpartition("/")
        item = {"type": "function_call", "call_id": answer.key, "name": name, "arguments": given}
        item |= {"namespace": space} if space else {}
    item |= {"id": f"item_{uuid.uuid4().hex}", "status": "completed"}
    usage = {"input_tokens": answer.tokens, "output_tokens": 20, "total_tokens": answer.tokens + 20}
    whole = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "created_at": 0, "model": answer.model}
    return whole | {"status": "completed", "output": [*before, item], "usage": usage}


def _response_events(answer: Answer) -> Iterator[Event]:
    whole = _response(answer)
    for kind, data in (
        ("response.created", {"response": whole | {"status": "in_progress", "output": []}}),
        *(("response.output_item.done", {"output_index": at, "item": item}) for at, item in enumerate(whole["output"])),
        ("response.completed", {"response": whole}),
    ):
        yield kind, {"type": kind, **data}


def _read_gemini(body: Json) -> Said:
    said = []
    for content in body.get("contents") or []:
        for part in content.get("parts") or []:
            if "functionResponse" in part:
                said.append((True, json.dumps(part["functionResponse"].get("response"), ensure_ascii=False)))
            elif content.get("role") != "model" and part.get("text"):
                said.append((False, part["text"]))
    return said


def _gemini(answer: Answer) -> Json:
    parts: list[Json] = [{"text": answer.text}] if answer.text else []
    if answer.tool:
        parts += [{"functionCall": {"id": answer.key, "name": answer.tool, "args": answer.given}}]
    content = {"role": "model", "parts": parts}
    usage = {"promptTokenCount": answer.tokens, "candidatesTokenCount": 20, "totalTokenCount": answer.tokens + 20}
    return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}


def _gemini_events(answer: Answer) -> Iterator[Event]:
    yield "", _gemini(answer)


DIALECTS = {
    "/messages": Dialect(_read_messages, _message, _message_events),
    "/chat/completions": Dialect(_read_chat, _chat, _chat_events),
    "/responses": Dialect(_read_responses, _response, _response_events),
    ":generateContent": Dialect(_read_gemini, _gemini, _gemini_events),
    ":streamGenerateContent": Dialect(_read_gemini, _gemini, _gemini_events),
}

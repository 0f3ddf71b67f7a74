"""A scripted model, so that a real agent can be run without a network.

    python model.py SCRIPT.json LOG.jsonl      prints the port it listens on, on the loopback address

It speaks the part of the Messages API that Claude Code needs. SCRIPT has, for words of a prompt, a list of steps:
{"tool": NAME, "input": {...}} or {"text": "..."}, with "wait" that many seconds later. LOG gets the body of each
request, in which a test sees what was injected.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

USAGE = {"input_tokens": 1000, "output_tokens": 20}


def position(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """Return the last prompt a person typed, and how many results of tools came since."""
    prompt, step = "", 0
    for message in messages:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if message["role"] != "user":
            continue
        step += sum(part.get("type") == "tool_result" for part in parts)
        typed = [part["text"] for part in parts if part.get("type") == "text" and not part["text"].startswith("<")]
        if typed:
            prompt, step = typed[-1], 0
    return prompt, step


def answer(body: dict[str, Any], script: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    if not body.get("tools"):  # the host wants a title
        return {"text": '{"title": "A run", "isNewTopic": true}'}
    prompt, step = position(body.get("messages", []))
    steps = next((steps for words, steps in script.items() if words in prompt), [{"text": "Done."}])
    chosen = steps[min(step, len(steps) - 1)]
    time.sleep(chosen.get("wait", 0))
    return chosen


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: dict[str, list[dict[str, Any]]]
    log: Path

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, payload: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def do_GET(self) -> None:
        self.reply(404)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"path": self.path, "body": body}, ensure_ascii=False) + "\n")
        if "count_tokens" in self.path:
            return self.reply(200, b'{"input_tokens": 100}')
        if not self.path.startswith("/v1/messages"):
            return self.reply(404)
        chosen = answer(body, self.script)
        if "text" in chosen:
            content, stop = {"type": "text", "text": chosen["text"]}, "end_turn"
        else:
            call = f"toolu_{uuid.uuid4().hex[:20]}"
            content, stop = (
                {"type": "tool_use", "id": call, "name": chosen["tool"], "input": chosen["input"]},
                "tool_use",
            )
        message = {"id": f"msg_{uuid.uuid4().hex[:20]}", "type": "message", "role": "assistant", "usage": USAGE}
        message["model"] = body.get("model")
        if body.get("stream"):
            return self.stream(message, content, stop)
        whole = {**message, "content": [content], "stop_reason": stop, "stop_sequence": None}
        return self.reply(200, json.dumps(whole, ensure_ascii=False).encode())

    def stream(self, message: dict[str, Any], content: dict[str, Any], stop: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        if content["type"] == "text":
            empty, delta = {**content, "text": ""}, {"type": "text_delta", "text": content["text"]}
        else:
            said = json.dumps(content["input"], ensure_ascii=False)
            empty, delta = {**content, "input": {}}, {"type": "input_json_delta", "partial_json": said}
        begun = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
        for kind, data in (
            ("message_start", {"message": begun}),
            ("content_block_start", {"index": 0, "content_block": empty}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 20}}),
            ("message_stop", {}),
        ):
            event = json.dumps({"type": kind, **data}, ensure_ascii=False)
            self.wfile.write(f"event: {kind}\ndata: {event}\n\n".encode())
        self.close_connection = True


def main() -> None:
    Handler.script = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Handler.log = Path(sys.argv[2])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()

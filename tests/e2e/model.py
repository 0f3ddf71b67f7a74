"""A scripted model, so that a real agent can be run without a network.

    python model.py SCRIPT.json LOG.jsonl [PORT]     prints the port it listens on, on the loopback address

It speaks what agents ask models in (dialects.py). SCRIPT has, for words of a prompt, a list of steps: {"tool": NAME,
"input": {...}} or {"text": "..."}, with "wait" that many seconds later, with "tokens" said to have cost so many, with
"times" so often in one answer, with "status" as an error of that number, with "bare" also where no tool is offered,
which else asks for a title. LOG gets the body of each request, in which a test sees what was injected.
"""

from __future__ import annotations

import html
import json
import re
import sys
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from dialects import DIALECTS, Answer, Event, Said

# What gitmem told names earlier prompts, and is not one.
TOLD = re.compile(r"<(gitmem-[a-z]+).*?</\1>", re.DOTALL)


def steps_of(said: Said, script: dict[str, list[dict[str, Any]]]) -> tuple[list[dict[str, Any]], int]:
    """Return the steps for the last prompt a user typed, and how many results of tools came since.

    Agents put texts of their own beside a prompt, which begin with "<": there a prompt is one of the script's.
    """
    steps, done = [{"text": "Done."}], 0
    for is_result, text in said:
        typed = TOLD.sub("", html.unescape(text)).strip()  # Gemini CLI and Qwen Code escape what they are told
        found = next((known for words, known in script.items() if words in typed), None)
        if is_result:
            done += 1
        elif found or (typed and not typed.startswith("<")):
            steps, done = found or [{"text": "Done."}], 0
    return steps, done


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: dict[str, list[dict[str, Any]]]
    log: Path

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, value: object = None) -> None:
        payload = b"" if value is None else json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def do_GET(self) -> None:
        if self.command == "GET" and self.path.partition("?")[0].endswith("/models"):
            return self.reply(200, {"object": "list", "data": [{"id": "mock-model", "object": "model"}]})
        return self.reply(404)

    do_HEAD = do_GET  # noqa: N815

    def body(self) -> dict[str, Any]:
        data = b""
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
        return json.loads(data or b"{}")

    def do_POST(self) -> None:
        body, path = self.body(), self.path.partition("?")[0]
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"path": self.path, "body": body}, ensure_ascii=False) + "\n")
        dialect = next((dialect for end, dialect in DIALECTS.items() if path.endswith(end)), None)
        if "count_tokens" in path or path.endswith(":countTokens"):
            self.reply(200, {"input_tokens": 100, "totalTokens": 100})
        elif dialect is None:
            self.reply(404)
        elif status := self.step(dialect.read(body), body).get("status"):
            self.reply(status, {"error": {"type": "error", "message": "refused", "code": status}})
        elif body.get("stream") or ":stream" in path:
            self.stream(dialect.stream(self.answer(dialect.read(body), body)))
        else:
            self.reply(200, dialect.whole(self.answer(dialect.read(body), body)))

    def step(self, said: Said, body: dict[str, Any]) -> dict[str, Any]:
        steps, done = steps_of(said, self.script)
        step = steps[min(done, len(steps) - 1)]
        if body.get("tools") or step.get("bare"):
            return step
        return {"text": '{"title": "A run", "isNewTopic": true}'}  # the host wants a title

    def answer(self, said: Said, body: dict[str, Any]) -> Answer:
        step = self.step(said, body)
        time.sleep(step.get("wait", 0))
        said = (step.get("text", "") * step.get("times", 1), step.get("tool", ""), step.get("input", {}))
        return Answer(*said, body.get("model", ""), step.get("tokens", 1000))

    def stream(self, events: Iterable[Event]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for kind, data in events:
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            self.wfile.write((f"event: {kind}\n" if kind else "").encode() + f"data: {text}\n\n".encode())
        self.close_connection = True


def main() -> None:
    Handler.script = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Handler.log = Path(sys.argv[2])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0), Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()

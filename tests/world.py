"""A project, its memory and the sessions of an agent in it: what pages of `tests/sessions` are played in.

The agent is Claude Code: each event is a payload for its hook, and a line of its transcript where it writes one. Hooks
run in this process; what would run behind them runs at the end of each answer and of each session.
"""

import io
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.cli.app import App
from gitmem.cli.commands.hook import hook
from gitmem.text.terminal import FENCE

_LIMITS = ("SECONDS", "LONGEST_SECONDS", "TOLD_SECONDS")  # after which a hook ends its process, which is this one


class World:
    """Delivers what happens in sessions, one after the other; each act returns what the agent is shown after it."""

    def __init__(self, project: Path, environ: dict[str, str], patch: pytest.MonkeyPatch) -> None:
        self.project, self.environ = project, environ
        self.session = ""
        self._turns = self._calls = 0
        for limit in _LIMITS:
            patch.setattr(f"gitmem.cli.commands.hook.{limit}", 60.0)
        patch.setattr("gitmem.store.store.Store.start", lambda *_: None)  # nothing runs in the background
        patch.delattr("os.setsid", raising=False)

    def begin(self, name: str) -> str:
        """Begin a session, after the end of the one before it."""
        self.end()
        self.session = name
        return self._deliver("SessionStart", source="startup")

    def end(self) -> None:
        if self.session:
            self._deliver("SessionEnd", reason="exit")
            self._drain()
            self.session = ""

    def compact(self, trigger: str) -> str:
        """Compact the agent's context; return what the session, which goes on, is shown then."""
        self._deliver("PreCompact", trigger=trigger)
        self._drain()
        return self._deliver("SessionStart", source="compact")

    def prompt(self, text: str) -> str:
        time.sleep(1 - time.time() % 1)  # of two exchanges of one second the ids decide which comes first
        self._turns += 1
        self._write("user", text)
        return self._deliver("UserPromptSubmit", prompt=text)

    def command(self, command: str, failure: str = "") -> str:
        return self._call("Bash", {"command": command}, failure and f"Exit code 1\n{failure}")

    def edit(self, path: str, text: str) -> str:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
        return self._call("Write", {"file_path": str(file), "content": f"{text}\n"}, "")

    def answer(self, text: str) -> str:
        self._write("assistant", [{"type": "text", "text": text}])
        shown = self._deliver("Stop", last_assistant_message=text)
        self._drain()
        return shown

    def _call(self, tool: str, given: dict[str, object], failure: str) -> str:
        self._calls += 1
        call = f"toolu_{self._calls}"
        self._write("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}])
        result = {"type": "tool_result", "tool_use_id": call, "content": failure or "ok", "is_error": bool(failure)}
        self._write("user", [result])
        about = {"tool_name": tool, "tool_use_id": call, "tool_input": given}
        before = self._deliver("PreToolUse", **about)
        more = {"error": failure} if failure else {"tool_response": "ok"}
        after = self._deliver("PostToolUseFailure" if failure else "PostToolUse", **about, **more)
        return "\n".join(filter(None, (before, after)))

    @property
    def _transcript(self) -> Path:
        return Path(self.environ["HOME"], ".claude", "projects", "world", f"{self.session}.jsonl")

    def _write(self, role: str, content: object) -> None:
        self._transcript.parent.mkdir(parents=True, exist_ok=True)
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = {"type": role, "uuid": f"{self.session}-{self._turns}-{self._calls}-{role}", "sessionId": self.session}
        line |= {"cwd": str(self.project), "timestamp": at, "promptId": f"{self.session}-{self._turns}"}
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"message": {"role": role, "content": content}}, ensure_ascii=False) + "\n")

    def _deliver(self, event: str, **more: object) -> str:
        """Hand an event to the hook, and return the text that the agent gets, without its fence."""
        payload = {"hook_event_name": event, "session_id": self.session, "cwd": str(self.project)}
        payload |= {"prompt_id": f"{self.session}-{self._turns}", "transcript_path": str(self._transcript)}
        printed = self._hook(json.dumps(payload | more, ensure_ascii=False).encode())
        output = json.loads(printed).get("hookSpecificOutput", {}) if printed else {}
        asked = [str(output[name]) for name in ("permissionDecision", "permissionDecisionReason") if name in output]
        return "\n".join((*asked, *_inside(str(output.get("additionalContext", "")))))

    def _drain(self) -> None:
        assert self._hook(b"", "--drain") == ""

    def _hook(self, data: bytes, *words: str) -> str:
        out = io.StringIO()
        app = App(self.environ, str(self.project), io.TextIOWrapper(io.BytesIO(data)), out, out)
        assert hook(["hook", "claude", *words], app) == 0
        return out.getvalue()


def _inside(text: str) -> Iterator[str]:
    """Yield the lines of a text without gitmem's fence and the sentence that begins it."""
    lines = text.split("\n")
    if not lines[0].startswith(f"<{FENCE} "):
        assert not text
        return
    assert lines[-1] == f"</{FENCE}>"
    yield from lines[1:-1]

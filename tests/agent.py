"""The sessions of an agent in a project: what its host delivers to hooks, and what it writes down.

The agent is Claude Code. Its events come in one of three ways: `deliver` puts them into the spool, as the script of
the hooks does; `hook` gives them to the command in this process; `process` to one of its own. A `Player` writes a
transcript, too, and plays the pages of `tests/sessions`; a `Recorder` makes sessions of turns that fail and are fixed.
"""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gitmem.cli.app import App
from gitmem.cli.main import main
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.tell.usage_log import ShownText, read_usage
from gitmem.text.terminal import FENCE
from tests.command_line import ROOT
from tests.world import World

BEGAN = datetime(2026, 10, 3, 9, 0, tzinfo=UTC)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LIMITS = ("SECONDS", "LONGEST_SECONDS", "ANSWER_SECONDS")  # after which a hook ends its process, which is this one


def hooks_end_no_process(patch: pytest.MonkeyPatch) -> None:
    """Have hooks run in this process: none ends it, and it stays in its session."""
    for limit in _LIMITS:
        patch.setattr(f"gitmem.cli.commands.hook.{limit}", 60.0)
    patch.delattr("os.setsid", raising=False)


class Agent:
    """Delivers events of a session as an agent's host does; `owner` is its process, which lives until it is killed."""

    def __init__(self, world: World, session: str = "sess-1", owner: int = 4711) -> None:
        self.world, self.session, self.owner = world, session, owner
        self.environ = {**world.context.environ, "PYTHONPATH": str(ROOT)}
        self.cwd, self.transcript = str(world.project), ""

    @property
    def project(self) -> Path:
        return self.world.project

    def payload(self, kind: str, turn: str = "", **more: object) -> bytes:
        payload = {"hook_event_name": kind, "session_id": self.session, "cwd": self.cwd, "prompt_id": turn}
        payload |= {"transcript_path": self.transcript} if self.transcript else {}
        text = json.dumps(payload | more, ensure_ascii=False)
        return text.encode() if not _SURROGATE.search(text) else json.dumps(payload | more).encode()

    def hook(self, data: bytes, *words: str) -> str:
        """Run a hook in this process, which takes a tenth of the time; return all it printed."""
        out = io.StringIO()
        stdin = io.TextIOWrapper(io.BytesIO(data))
        app = App(self.environ, str(self.project), stdin, out, out)
        assert main(["hook", "claude", *words], lambda: app) == 0
        return out.getvalue()

    def start(self, *args: str, cwd: Path | None = None) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-m", "gitmem", *args]
        return subprocess.Popen(command, cwd=cwd or self.project, env=self.environ, **pipes)

    def process(self, *args: str, stdin: bytes = b"", cwd: Path | None = None, seconds: int = 500) -> str:
        """Run a command as a process that succeeds; return what it printed."""
        process = self.start(*args, cwd=cwd)
        out, err = process.communicate(stdin, timeout=seconds)
        assert process.returncode == 0, (args, err.decode())
        assert b"Traceback" not in err + out
        return out.decode()

    def deliver(self, kind: str, turn: str = "", second: float = 0, **more: object) -> str:
        """Put an event into the spool, at a second of the clock; return its name there."""
        payload = self.payload(kind, turn, **more)
        spool = HookSpool(self.world.store.private)
        name = spool.accept(kind, self.owner, payload)
        at = self.world.clock.now.timestamp() + second
        os.utime(os.path.join(spool.folder, name), (at, at))
        return name

    def prompt(self, text: str, turn="t-1", second=0.0, **more):
        return self.deliver("UserPromptSubmit", turn, second, prompt=text, **more)

    def tool(self, tool_id: str, turn="t-1", second=1.0, tool="Bash", **given):
        return self.deliver("PostToolUse", turn, second, tool_name=tool, tool_use_id=tool_id, tool_input=given)

    def edit(self, name: str, turn="t-1", second=1.0, **more):
        used = {"tool_name": "Edit", "tool_use_id": f"edit {name}"}
        return self.deliver("PostToolUse", turn, second, **used, tool_input={"file_path": f"{self.cwd}/{name}"}, **more)

    def fail(self, command: str, error: str, turn="t-1", second=1.0):
        used = {"tool_name": "Bash", "tool_use_id": f"fail {second}", "tool_input": {"command": command}}
        return self.deliver("PostToolUseFailure", turn, second, **used, error=error)

    def stop(self, text="All of it is done now.", turn="t-1", second=2.0, **more):
        return self.deliver("Stop", turn, second, last_assistant_message=text, **more)

    def turn(self, text: str, turn: str, second=0.0, answer="All of it is done now."):
        self.prompt(text, turn, second)
        self.edit(f"{turn}.py", turn, second + 1)
        self.stop(answer, turn, second + 2)


class Player(Agent):
    """Delivers what happens in sessions, one after the other; each act returns what the agent is shown after it."""

    def __init__(self, world: World, patch: pytest.MonkeyPatch) -> None:
        super().__init__(world, "")
        self.acts = self._turns = self._calls = 0
        self._began = datetime.now(UTC)
        patch.setattr("gitmem.store.store.Store.start", lambda *_: None)  # nothing runs in the background
        clock = type("Clock", (datetime,), {"now": lambda _: self._now()})
        patch.setattr("gitmem.platform.machine.datetime", clock)
        accept = HookSpool.accept

        def accept_now(spool: HookSpool, *event: Any) -> str:
            name = accept(spool, *event)
            os.utime(os.path.join(spool.folder, name), (self._now().timestamp(),) * 2)
            return name

        patch.setattr(HookSpool, "accept", accept_now)
        hooks_end_no_process(patch)

    def _now(self) -> datetime:
        """Return the time of a clock that each act moves on a second: in one second ids decide what came first."""
        return self._began + timedelta(seconds=self.acts)

    def begin(self, name: str) -> str:
        """Begin a session, after the end of the one before it."""
        self.end()
        self.session = name
        return self._shown("SessionStart", source="startup")

    def end(self) -> None:
        if self.session:
            self._shown("SessionEnd", reason="exit")
            self._drain()
            self.session = ""

    def compact(self, trigger: str) -> str:
        """Compact the agent's context; return what the session, which goes on, is shown then."""
        self._shown("PreCompact", trigger=trigger)
        self._drain()
        return self._shown("SessionStart", source="compact")

    def prompt(self, text: str) -> str:
        self._turns += 1
        self._record("user", text)
        return self._shown("UserPromptSubmit", prompt=text)

    def command(self, command: str, failure: str = "") -> str:
        return self._call("Bash", {"command": command}, failure and f"Exit code 1\n{failure}")

    def write(self, path: str, text: str) -> str:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
        return self._call("Write", {"file_path": str(file), "content": f"{text}\n"}, "")

    def answer(self, text: str) -> str:
        self._record("assistant", [{"type": "text", "text": text}])
        shown = self._shown("Stop", last_assistant_message=text)
        self._drain()
        return shown

    def _call(self, tool: str, given: dict[str, object], failure: str) -> str:
        self._calls += 1
        call = f"toolu_{self._calls}"
        self._record("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}])
        result = {"type": "tool_result", "tool_use_id": call, "content": failure or "ok", "is_error": bool(failure)}
        self._record("user", [result])
        about = {"tool_name": tool, "tool_use_id": call, "tool_input": given}
        before = self._shown("PreToolUse", **about)
        more = {"error": failure} if failure else {"tool_response": "ok"}
        after = self._shown("PostToolUseFailure" if failure else "PostToolUse", **about, **more)
        return "\n".join(filter(None, (before, after)))

    @property
    def _transcript(self) -> Path:
        return Path(self.environ["HOME"], ".claude", "projects", "world", f"{self.session}.jsonl")

    def _record(self, role: str, content: object) -> None:
        self._transcript.parent.mkdir(parents=True, exist_ok=True)
        at = self._now().isoformat().replace("+00:00", "Z")
        line = {"type": role, "uuid": f"{self.session}-{self._turns}-{self._calls}-{role}", "sessionId": self.session}
        line |= {"cwd": self.cwd, "timestamp": at, "promptId": f"{self.session}-{self._turns}"}
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"message": {"role": role, "content": content}}, ensure_ascii=False) + "\n")

    def _shown(self, event: str, **more: object) -> str:
        """Hand an event to the hook, and return the text that the agent gets, without its fence."""
        more |= {"transcript_path": str(self._transcript)}
        printed = self.hook(self.payload(event, f"{self.session}-{self._turns}", **more))
        output = json.loads(printed).get("hookSpecificOutput", {}) if printed else {}
        asked = [str(output[name]) for name in ("permissionDecision", "permissionDecisionReason") if name in output]
        return "\n".join((*asked, *_inside(str(output.get("additionalContext", "")))))

    def _drain(self) -> None:
        assert self.hook(b"", "--drain") == ""


def _inside(text: str) -> Iterator[str]:
    """Yield the lines of a text without gitmem's fence and the sentence that begins it."""
    lines = text.split("\n")
    if not lines[0].startswith(f"<{FENCE} "):
        assert not text
        return
    assert lines[-1] == f"</{FENCE}>"
    yield from lines[1:-1]


class Recorder:
    """Writes what a host writes of a session: its transcript, and what its hooks deliver."""

    def __init__(self, path: Path, session="s-rec", project="/p") -> None:
        self.path = path
        self.session = session
        self.project = project
        self.lines: list[str] = []
        self.payloads: list[tuple[float, dict]] = []
        self._second = 0
        self._number = 0

    def record(self, kind: str, content: object, **more: object) -> float:
        self._second += 1
        self._number += 1
        at = BEGAN + timedelta(seconds=self._second)
        item = {"type": kind, "uuid": f"u-{self._number}", "sessionId": self.session, "cwd": self.project}
        item |= {"timestamp": at.isoformat().replace("+00:00", "Z"), "message": {"role": kind, "content": content}}
        self.lines.append(json.dumps(item | more, ensure_ascii=False))
        return at.timestamp()

    def deliver(self, kind: str, at: float, turn: str, **more: object) -> None:
        payload = {"hook_event_name": kind, "session_id": self.session, "prompt_id": turn, "cwd": self.project}
        self.payloads.append((at + 0.02, payload | {"transcript_path": str(self.path)} | more))

    def turn(self, number: int, prompt: str, answer: str, fix: str = "") -> None:
        """Record a turn in which `make` fails, a file is changed or the command `fix` is run, and `make` works."""
        turn = f"p-{number}"
        edit = ("Edit", {"file_path": f"{self.project}/f{number}.py"}, "")
        self.deliver("UserPromptSubmit", self.record("user", prompt, promptId=turn), turn, prompt=prompt)
        for index, (tool, given, error) in enumerate(
            [
                ("Bash", {"command": f"make {number}"}, "Exit code 2\nerror: the spindle broke"),
                ("Bash", {"command": fix}, "") if fix else edit,
                ("Bash", {"command": f"make {number}"}, ""),
            ]
        ):
            tool_id = f"t-{number}-{index}"
            self.record("assistant", [{"type": "tool_use", "id": tool_id, "name": tool, "input": given}])
            result = {"type": "tool_result", "tool_use_id": tool_id, "content": error or "ok", "is_error": bool(error)}
            at = self.record("user", [result], promptId=turn)
            named = {"tool_name": tool, "tool_use_id": tool_id, "tool_input": given}
            more = {"error": error} if error else {"tool_response": "ok"}
            self.deliver("PostToolUseFailure" if error else "PostToolUse", at, turn, **named, **more)
        at = self.record("assistant", [{"type": "text", "text": answer}])
        self.deliver("Stop", at, turn, last_assistant_message=answer)

    def write(self) -> str:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes("".join(f"{line}\n" for line in self.lines).encode())
        return str(self.path)

    def live(self, store: Store) -> None:
        """Deliver what the hooks did, at its own times."""
        spool = HookSpool(store.private)
        for at, payload in self.payloads:
            name = spool.accept(str(payload["hook_event_name"]), 0, json.dumps(payload).encode())
            os.utime(os.path.join(spool.folder, name), (at, at))


@pytest.fixture
def recorder(tmp_path, world) -> Recorder:
    found = Recorder(tmp_path / "transcripts of 한글" / "s-rec.jsonl", project=os.path.dirname(world.store.root))
    found.turn(1, "CRLF 파서를 추가해줘", "추가했습니다. 빌드는 pnpm 대신 uv를 사용하기로 결정했습니다.")
    found.turn(2, "ok", "Fine.")
    found.turn(3, "And write its docs", "The docs are written. Known issue: the index breaks on NFS.")
    return found


def given_texts(private: str) -> list[ShownText]:
    """Return the texts that sessions were given, without questions that had no answer."""
    return [given for given in read_usage(private).given if given.tokens]

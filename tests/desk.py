"""A store to save into, a clock that can be set, and a session that is recorded as a host does it."""

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.platform.machine import Context
from gitmem.record.save import save
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.tell.usage_log import GivenText, read_notes

SEOUL = timezone(timedelta(hours=9))
BEGAN = datetime(2026, 10, 3, 9, 0, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 14, 3, 22, tzinfo=SEOUL)

    def __call__(self) -> datetime:
        return self.now


class Desk:
    """Makes saves as a door would, each with an id of its own."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self._count = 0

    def save(self, text: str, kind: MemoryType = MemoryType.NOTE, **more: object) -> Save:
        self._count += 1
        at = more.pop("at", self.clock.now)
        identifier = make_id(int(at.timestamp() * 1000), self._count.to_bytes(7, "big"))
        return Save(identifier, at, text, kind, **more)

    def text(self, path: str) -> str:
        return (self.store.read(path) or b"").decode()


@pytest.fixture
def desk(tmp_path, home, environ, new_store) -> Desk:
    project = tmp_path / "프로젝트 with a blank"
    project.mkdir()
    clock = Clock()
    context = Context(environ, str(home), "desk-machine", clock)
    return Desk(new_store(project, context, clock.now), clock)


def saved_on(desk: Desk, day: str, text: str, kind: MemoryType = MemoryType.NOTE) -> Save:
    """Save something on that day, when that day it was; its id is that of its entry."""
    today, desk.clock.now = desk.clock.now, datetime.fromisoformat(f"{day}T10:00:00+09:00")
    what = desk.save(text, kind)
    saved = save(desk.store, what)
    desk.clock.now = today
    return what._replace(id=saved.id)


@pytest.fixture
def autumn(desk: Desk) -> Desk:
    """Give a store with days of three months."""
    desk.decision = saved_on(desk, "2026-09-28", "uv를 쓴다, pnpm이 아니라", MemoryType.DECISION)
    desk.note = saved_on(desk, "2026-09-29", "The loader reads its settings in layers.")
    desk.issue = saved_on(desk, "2026-10-20", "긴 경로에서 저장이 실패합니다", MemoryType.ISSUE)
    saved_on(desk, "2026-11-02", "The parser of the loader is faster by half since it caches tokens.")
    saved_on(desk, "2026-11-20", "Yesterday's work on the store.")
    return desk


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
def recorder(tmp_path, desk) -> Recorder:
    found = Recorder(tmp_path / "transcripts of 한글" / "s-rec.jsonl", project=os.path.dirname(desk.store.root))
    found.turn(1, "CRLF 파서를 추가해줘", "추가했습니다. 빌드는 pnpm 대신 uv를 사용하기로 결정했습니다.")
    found.turn(2, "ok", "Fine.")
    found.turn(3, "And write its docs", "The docs are written. Known issue: the index breaks on NFS.")
    return found


def given_texts(private: str) -> list[GivenText]:
    """Return the texts that sessions were given, without questions that had no answer."""
    return [given for given in read_notes(private).given if given.tokens]

"""A store to save into, and a clock that can be set."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from gitmem.memory.save import Save, save
from gitmem.model.ids import make_id
from gitmem.model.kinds import MemoryType
from gitmem.store.context import Context
from gitmem.store.init import Place, init_store

if TYPE_CHECKING:
    from gitmem.store.store import Store

SEOUL = timezone(timedelta(hours=9))


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
def desk(tmp_path, home, environ) -> Desk:
    project = tmp_path / "프로젝트 with a blank"
    project.mkdir()
    clock = Clock()
    context = Context(environ, str(home), "desk-machine", clock)
    return Desk(init_store(str(project), context, Place.PROJECT).store, clock)


def saved_on(desk: Desk, day: str, text: str, kind: MemoryType = MemoryType.NOTE) -> Save:
    """Save something on that day, when that day it was."""
    today, desk.clock.now = desk.clock.now, datetime.fromisoformat(f"{day}T10:00:00+09:00")
    what = desk.save(text, kind)
    save(desk.store, what)
    desk.clock.now = today
    return what


@pytest.fixture
def autumn(desk: Desk) -> Desk:
    """Give a store with days of three months."""
    desk.decision = saved_on(desk, "2026-09-28", "uv를 쓴다, pnpm이 아니라", MemoryType.DECISION)
    desk.note = saved_on(desk, "2026-09-29", "The loader reads its settings in layers.")
    desk.issue = saved_on(desk, "2026-10-20", "긴 경로에서 저장이 실패합니다", MemoryType.ISSUE)
    saved_on(desk, "2026-11-02", "The parser of the loader is faster by half since it caches tokens.")
    saved_on(desk, "2026-11-20", "Yesterday's work on the store.")
    return desk

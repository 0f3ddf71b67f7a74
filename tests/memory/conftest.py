"""A store to save into, and a clock that can be set."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from gitmem.memory.save import Save
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

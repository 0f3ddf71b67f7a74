"""Transcripts can be forgotten, all or the older ones, and their room is free; memory stays as it is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from gitmem.errors import RefusedError
from gitmem.git.packing import every_object
from gitmem.store.store import Store
from gitmem.store.transcripts import forget_transcripts, put, read, sessions
from tests.own_settings import own_settings

if TYPE_CHECKING:
    from tests.boxes import Box


def _fill(box: Box) -> None:
    for month in (1, 2, 3):
        lines = ['{"role": "user", "text": "said in month %d, %d"}' % (month, number) for number in range(50)]  # noqa: UP031
        put(box.store, f"session-{month}", datetime(2026, month, 5, tzinfo=UTC), lines)
    box.put({"memory.md": b"# Memory\n"})


def _holds(box: Box, text: bytes) -> bool:
    return any(text in data for _, data in every_object(box.store.repository.git))


def test_all_transcripts_are_forgotten_and_nothing_else(box: Box):
    _fill(box)
    tip = box.tip()
    planned = forget_transcripts(box.store, dry_run=True)
    assert (planned.sessions, planned.kept) == (3, 0)
    assert len(sessions(box.store)) == 3
    done = forget_transcripts(box.store)
    assert done.freed > 0
    assert sessions(box.store) == []
    assert not _holds(box, b"said in month")
    assert box.tip() == tip
    box.sound()
    put(box.store, "session-4", datetime(2026, 4, 5, tzinfo=UTC), ["{}"])
    assert len(sessions(box.store)) == 1


def test_only_the_older_ones_are_forgotten(box: Box):
    _fill(box)
    done = forget_transcripts(box.store, datetime(2026, 3, 1, tzinfo=UTC))
    assert (done.sessions, done.kept) == (2, 1)
    assert read(box.store, "session-3") is not None
    assert not _holds(box, b"said in month 1")
    assert not _holds(box, b"said in month 2")
    box.sound()
    assert forget_transcripts(box.store, datetime(2026, 3, 1, tzinfo=UTC)).sessions == 0


def test_a_transcript_that_comes_before_the_lock_is_held_stays(box: Box, monkeypatch):
    _fill(box)
    real = Store.lock

    def late(store, purpose):
        monkeypatch.undo()
        put(store, "late", datetime(2026, 4, 5, tzinfo=UTC), ["{}"])
        return real(store, purpose)

    monkeypatch.setattr(Store, "lock", late)
    done = forget_transcripts(box.store, datetime(2026, 4, 1, tzinfo=UTC))
    assert (done.sessions, done.kept) == (3, 1)
    assert [one.session for one in sessions(box.store)] == ["late"]


def test_what_is_synced_is_not_forgotten_only_to_come_back(box: Box):
    _fill(box)
    own_settings(box.context, "sync:\n  transcripts: true\n")
    box.git("config", "remote.origin.url", "/nowhere")
    with pytest.raises(RefusedError, match="bring them back"):
        forget_transcripts(box.reopen())

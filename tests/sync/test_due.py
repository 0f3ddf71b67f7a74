"""When an automatic sync is due, and what is told of one that failed."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.store.remotes import add_remote
from gitmem.store.store import Store
from gitmem.sync.records import SyncRecord, failures, is_due, read_records, sync_later, write_record
from tests.own_settings import own_settings
from tests.started import session_start


@pytest.fixture
def configured(world, tmp_path):
    """Give a function that configures when a store with a remote is synced, and returns the store."""

    def configure(auto: str, minutes: int = 15):
        if not world.store.has_remotes():
            add_remote(world.store, "origin", str(tmp_path / "remote.git"))
        text = f"sync:\n  auto: '{auto}'\n  minutes: {minutes}\n"
        own_settings(world.context, text)
        return world.reopen()

    return configure


def test_without_a_remote_no_sync_is_due(world):
    assert not is_due(world.store, session=True)


@pytest.mark.parametrize(
    "auto, session, meanwhile",
    [("off", False, False), ("session", True, False), ("interval", True, True)],
)
def test_a_sync_is_due_as_configured(configured, auto, session, meanwhile):
    store = configured(auto)
    assert is_due(store, session=True) is session
    assert is_due(store, session=False) is meanwhile


def test_between_two_syncs_of_a_session_lie_as_many_minutes_as_configured(configured):
    store = configured("interval", 15)
    now = store.context.clock()
    write_record(store.private, "origin", SyncRecord(now))
    assert not is_due(store, session=False)
    write_record(store.private, "origin", SyncRecord(now - timedelta(minutes=20)))
    assert is_due(store, session=False)


def test_it_starts_in_the_background(configured, monkeypatch):
    started = []
    monkeypatch.setattr(Store, "start", lambda store, *command: started.append(command))
    sync_later(configured("off"), session=True)
    assert started == []
    sync_later(configured("session"), session=True)
    assert started == [("sync", "--background")]


def test_the_user_s_own_store_is_synced_on_its_own(configured, monkeypatch):
    started = []
    own = configured("session")
    monkeypatch.setattr("gitmem.sync.records.open_user_store", lambda _: own)
    monkeypatch.setattr(Store, "start", lambda store, *command: started.append((store, *command)))
    project = configured("off")
    sync_later(project, session=True)
    assert started == [(own, "sync", "--background")]


def test_a_failure_is_told_at_the_next_start_and_forgotten_when_it_works_again(configured):
    store = configured("session")
    now = store.context.clock()
    write_record(store.private, "origin", SyncRecord(now, now - timedelta(days=1), "it lets nobody in."))
    (said,) = failures(store.private)
    assert said == f"Not synced with origin since {now - timedelta(days=1):%Y-%m-%d %H:%M}: it lets nobody in."
    assert said in session_start(store, (), None, ())
    write_record(store.private, "origin", SyncRecord(now, now))
    assert failures(store.private) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"remotes": {"a": {"tried": "x"}}}', '{"remotes": 5}', "[" * 5000])
def test_records_that_cannot_be_read_are_none(world, text):
    Path(world.store.private).mkdir(exist_ok=True)
    Path(world.store.private, "sync.json").write_text(text)
    assert read_records(world.store.private) == {}

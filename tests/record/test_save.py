import contextlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.errors import BusyError, RefusedError
from gitmem.record.save import drain, plan_saves, save
from gitmem.store.transact import attempt
from tests.own_settings import own_settings

TODAY = "daily/2026/11/2026-11-21.md"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def clean(world, bare_git) -> bool:
    root = Path(world.store.root)
    return bare_git(root, "status", "--porcelain") == "" and bare_git(root, "fsck", "--strict") == ""


def test_many_events_are_drained_in_order_each_its_own_commit(world, bare_git):
    what = [world.event(f"number {index}") for index in range(7)]
    for one in what:
        world.store.spool.deliver(one.to_event())
    drained = drain(world.store)
    assert len(set(drained.commits.values())) == 7
    assert world.store.spool.names() == []
    subjects = bare_git(Path(world.store.root), "log", "-7", "--format=%s", "--reverse").splitlines()
    assert subjects == [f"Save note: number {index}" for index in range(7)]
    assert "created: 2026-11-21T00:00:00Z" in world.text(TODAY), "a day begins the same on every machine"
    date = bare_git(Path(world.store.root), "log", "-1", "--format=%ad", "--date=iso")
    assert date.startswith("2026-11-21 14:03:22")


def test_secrets_and_private_text_are_nowhere_in_the_store_after_a_drain(world, bare_git):
    world.save(f"deploy with {TOKEN} <private>my diary</private> now")
    root = Path(world.store.root)
    assert "[REDACTED:" in world.text("memory.md")
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert TOKEN.encode() not in data, path
            assert b"my diary" not in data, path
    everything = bare_git(root, "cat-file", "--batch-all-objects", "--batch", "--unordered")
    assert TOKEN not in everything
    assert "my diary" not in everything


@pytest.mark.parametrize("kind", [MemoryType.NOTE, MemoryType.DECISION])
@pytest.mark.parametrize("left", [False, True])
def test_what_the_holder_of_the_lock_committed_is_saved(world, kind, left):
    """Also if the holder was killed before it took the event out of the spool."""
    own_settings(world.store.context, "lock:\n  wait_seconds: 0\n")
    holder = type(world.store)(world.store.root, world.store.context)
    what, spool = world.event("only once", kind), world.store.spool

    def hold() -> list[str]:
        with holder.lock("save").acquire(5) as lock:
            while not spool.names():
                time.sleep(0.001)
            plan = partial(plan_saves, holder)
            outcome = attempt(holder, plan, lock, [], scan=False)
            if not left:
                spool.remove(outcome.value.done)
            committed.set()
            over.wait(5)
            return list(outcome.commits)

    committed, over = threading.Event(), threading.Event()
    with ThreadPoolExecutor() as pool:
        holding = pool.submit(hold)
        store = type(world.store)(world.store.root, world.store.context)
        store.saving = lambda: _once(committed)  # waits for the lock until the holder has committed
        saved = save(store, what)
        over.set()
        [commit] = holding.result()
    assert saved.commit == commit
    assert f"^{saved.id}" in world.text("memory.md")
    drain(world.store)
    assert world.text("memory.md").count("only once") == 1


@contextlib.contextmanager
def _once(event: threading.Event):
    event.wait(5)
    yield


def test_who_waited_in_vain_for_the_lock_is_told_not_to_save_it_again(world):
    own_settings(world.store.context, "lock:\n  wait_seconds: 0\n")
    store = type(world.store)(world.store.root, world.store.context)
    with world.store.lock("long work").acquire(5), pytest.raises(BusyError, match="Not committed yet") as caught:
        save(store, world.event("only once"))
    assert "Do not save it again" in caught.value.remedy
    assert "Try again" not in caught.value.remedy
    drain(world.store)
    assert world.text("memory.md").count("only once") == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"v": 1, "kind": "save"},
        {"v": 1, "kind": "save", "id": "x", "at": "?", "text": "", "tags": []},
        {"no": "kind"},
        {"v": 1, "kind": "save", "id": "0" * 20, "at": "not a date", "text": "t", "tags": [], "type": "note"},
        {"v": 1, "kind": "save", "id": "0" * 20, "at": "2026-01-01", "text": "t", "tags": ["a b"], "type": "note"},
        {"v": 1, "kind": "save", "id": "0" * 20, "at": "2026-01-01", "text": "t", "tags": [], "type": "gossip"},
    ],
)
def test_an_event_that_makes_no_sense_is_kept_aside_and_holds_up_nobody(world, broken):
    world.store.spool.deliver(broken)
    saved = world.save("fine")
    assert any("kept aside" in notice for notice in saved.notices)
    assert len(world.store.spool.aside()) == 1
    assert "fine" in world.text("memory.md")


def test_what_was_put_aside_is_told_though_a_later_batch_fails(world, monkeypatch):
    monkeypatch.setattr("gitmem.record.save.BATCH", 1)
    world.store.spool.deliver({"no": "kind"})
    for text in ("first", "second"):
        world.store.spool.deliver(world.event(text).to_event())
    plans = [partial(plan_saves, world.store)]

    def plan(_: object, transaction: object) -> object:
        if not plans:
            raise BusyError("Somebody else is at it.", "Try again.")
        return plans.pop()(transaction)

    monkeypatch.setattr("gitmem.record.save.plan_saves", plan)
    with pytest.raises(BusyError, match="at it\\. An event that could not be parsed was kept aside"):
        drain(world.store)
    assert len(world.store.spool.names()) == 1


def test_an_event_that_no_commit_can_hold_is_kept_aside_and_holds_up_nobody(world, monkeypatch, bare_git):
    world.save("before")
    monkeypatch.setattr("gitmem.store.transaction.MAX_FILE_BYTES", 2000)
    large, fine = world.event("much " * 500), world.event("fine")
    for what in (large, fine):
        world.store.spool.deliver(what.to_event())
    drained = drain(world.store)
    assert len(drained.commits) == 1
    assert any("more than gitmem handles" in notice and "kept aside" in notice for notice in drained.notices)
    assert [len(names) for names in (world.store.spool.names(), world.store.spool.aside())] == [0, 1]
    assert fine.id in world.text("memory.md")
    assert large.id not in world.text("memory.md")
    assert drain(world.store).notices == []
    with pytest.raises(RefusedError, match="more than gitmem handles") as caught:
        world.save("again " * 500)
    assert "Not committed yet" not in caught.value.message
    assert "kept aside" in caught.value.remedy
    assert clean(world, bare_git)


def test_an_event_of_a_day_whose_log_cannot_be_read_waits_and_holds_up_nobody(world, tmp_path, bare_git):
    world.save("before")
    elsewhere, log = tmp_path / "elsewhere.md", Path(world.store.root, TODAY)
    log.rename(elsewhere)
    log.symlink_to(elsewhere)
    today = world.event("today")
    tomorrow = today._replace(id=world.event("").id, at=today.at + timedelta(days=1), text="tomorrow")
    for what in (today, tomorrow):
        world.store.spool.deliver(what.to_event())
    drained = drain(world.store)
    assert any("symbolic link" in notice for notice in drained.notices)
    assert (len(world.store.spool.names()), world.store.spool.aside()) == (1, [])
    assert tomorrow.id in world.text("memory.md")
    with pytest.raises(RefusedError, match="Not committed yet"):
        world.save("later")
    log.unlink()
    elsewhere.rename(log)
    assert len(drain(world.store).commits) == 2
    assert today.id in world.text(TODAY)
    assert clean(world, bare_git)


def test_an_event_of_a_newer_gitmem_stays(world):
    name = world.store.spool.deliver({"v": 2, "kind": "dream", "text": "from the future"})
    drain(world.store)
    assert world.store.spool.names() == [name]


def test_events_survive_json_with_lone_surrogates_and_control_characters(world, bare_git):
    what = world.event("half \ud83d and \x00 and \x1b[31m and 한글 🎉 and \u2028 end")
    save(world.store, what)
    assert json.dumps(world.text("memory.md"))
    assert "한글 🎉" in world.text("memory.md")
    assert "\x1b" not in world.text("memory.md")
    assert clean(world, bare_git)

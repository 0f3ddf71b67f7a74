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


def clean(desk, bare_git) -> bool:
    root = Path(desk.store.root)
    return bare_git(root, "status", "--porcelain") == "" and bare_git(root, "fsck", "--strict") == ""


def test_a_save_stands_in_the_daily_log_and_in_memory_under_one_id_and_is_one_commit(desk, bare_git):
    what = desk.save("Use uv\n\nnot pnpm", MemoryType.DECISION, tags=("build",), session="s-1", host="claude-code")
    saved = save(desk.store, what)
    assert f"- [14:03:22] **Decision** #build: Use uv ^{saved.id}\n\n  not pnpm\n" in desk.text(TODAY)
    assert "created: 2026-11-21T00:00:00Z" in desk.text(TODAY), "a day begins the same on every machine"
    assert f"- [2026-11-21 14:03:22] **Decision** #build: Use uv ^{saved.id}\n" in desk.text("memory.md")
    assert saved.commit == desk.store.tip
    subject, date, *trailers = bare_git(
        Path(desk.store.root), "log", "-1", "--format=%s%n%ad%n%(trailers)", "--date=iso"
    ).splitlines()
    assert (subject, date) == ("Save decision: Use uv not pnpm", "2026-11-21 14:03:22 +0900")
    written = ("Op: save", "Session: s-1", "Host: claude-code", "Machine: desk-machine")
    assert {f"Gitmem-{one}" for one in written} <= {*trailers}
    assert clean(desk, bare_git)


def test_many_events_are_drained_in_order_each_its_own_commit(desk, bare_git):
    what = [desk.save(f"number {index}") for index in range(7)]
    for one in what:
        desk.store.spool.deliver(one.to_event())
    drained = drain(desk.store)
    assert len(set(drained.commits.values())) == 7
    assert desk.store.spool.names() == []
    subjects = bare_git(Path(desk.store.root), "log", "-7", "--format=%s", "--reverse").splitlines()
    assert subjects == [f"Save note: number {index}" for index in range(7)]


def test_secrets_and_private_text_are_nowhere_in_the_store_after_a_drain(desk, bare_git):
    save(desk.store, desk.save(f"deploy with {TOKEN} <private>my diary</private> now"))
    root = Path(desk.store.root)
    assert "[REDACTED:" in desk.text("memory.md")
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
def test_what_the_holder_of_the_lock_committed_is_saved(desk, kind, left):
    """Also if the holder was killed before it took the event out of the spool."""
    own_settings(desk.store.context, "lock:\n  wait_seconds: 0\n")
    holder = type(desk.store)(desk.store.root, desk.store.context)
    what, spool = desk.save("only once", kind), desk.store.spool

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
        store = type(desk.store)(desk.store.root, desk.store.context)
        store.saving = lambda: _once(committed)  # waits for the lock until the holder has committed
        saved = save(store, what)
        over.set()
        [commit] = holding.result()
    assert saved.commit == commit
    assert f"^{saved.id}" in desk.text("memory.md")
    drain(desk.store)
    assert desk.text("memory.md").count("only once") == 1


@contextlib.contextmanager
def _once(event: threading.Event):
    event.wait(5)
    yield


def test_who_waited_in_vain_for_the_lock_is_told_not_to_save_it_again(desk):
    own_settings(desk.store.context, "lock:\n  wait_seconds: 0\n")
    store = type(desk.store)(desk.store.root, desk.store.context)
    with desk.store.lock("long work").acquire(5), pytest.raises(BusyError, match="Not committed yet") as caught:
        save(store, desk.save("only once"))
    assert "Do not save it again" in caught.value.remedy
    assert "Try again" not in caught.value.remedy
    drain(desk.store)
    assert desk.text("memory.md").count("only once") == 1


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
def test_an_event_that_makes_no_sense_is_kept_aside_and_holds_up_nobody(desk, broken):
    desk.store.spool.deliver(broken)
    saved = save(desk.store, desk.save("fine"))
    assert any("kept aside" in notice for notice in saved.notices)
    assert len(desk.store.spool.aside()) == 1
    assert "fine" in desk.text("memory.md")


def test_what_was_put_aside_is_told_though_a_later_batch_fails(desk, monkeypatch):
    monkeypatch.setattr("gitmem.record.save.BATCH", 1)
    desk.store.spool.deliver({"no": "kind"})
    for text in ("first", "second"):
        desk.store.spool.deliver(desk.save(text).to_event())
    plans = [partial(plan_saves, desk.store)]

    def plan(_: object, transaction: object) -> object:
        if not plans:
            raise BusyError("Somebody else is at it.", "Try again.")
        return plans.pop()(transaction)

    monkeypatch.setattr("gitmem.record.save.plan_saves", plan)
    with pytest.raises(BusyError, match="at it\\. An event that could not be parsed was kept aside"):
        drain(desk.store)
    assert len(desk.store.spool.names()) == 1


def test_an_event_that_no_commit_can_hold_is_kept_aside_and_holds_up_nobody(desk, monkeypatch, bare_git):
    save(desk.store, desk.save("before"))
    monkeypatch.setattr("gitmem.store.transaction.MAX_FILE_BYTES", 2000)
    large, fine = desk.save("much " * 500), desk.save("fine")
    for what in (large, fine):
        desk.store.spool.deliver(what.to_event())
    drained = drain(desk.store)
    assert len(drained.commits) == 1
    assert any("more than gitmem handles" in notice and "kept aside" in notice for notice in drained.notices)
    assert [len(names) for names in (desk.store.spool.names(), desk.store.spool.aside())] == [0, 1]
    assert fine.id in desk.text("memory.md")
    assert large.id not in desk.text("memory.md")
    assert drain(desk.store).notices == []
    with pytest.raises(RefusedError, match="more than gitmem handles") as caught:
        save(desk.store, desk.save("again " * 500))
    assert "Not committed yet" not in caught.value.message
    assert "kept aside" in caught.value.remedy
    assert clean(desk, bare_git)


def test_an_event_of_a_day_whose_log_cannot_be_read_waits_and_holds_up_nobody(desk, tmp_path, bare_git):
    save(desk.store, desk.save("before"))
    elsewhere, log = tmp_path / "elsewhere.md", Path(desk.store.root, TODAY)
    log.rename(elsewhere)
    log.symlink_to(elsewhere)
    today = desk.save("today")
    tomorrow = today._replace(id=desk.save("").id, at=today.at + timedelta(days=1), text="tomorrow")
    for what in (today, tomorrow):
        desk.store.spool.deliver(what.to_event())
    drained = drain(desk.store)
    assert any("symbolic link" in notice for notice in drained.notices)
    assert (len(desk.store.spool.names()), desk.store.spool.aside()) == (1, [])
    assert tomorrow.id in desk.text("memory.md")
    with pytest.raises(RefusedError, match="Not committed yet"):
        save(desk.store, desk.save("later"))
    log.unlink()
    elsewhere.rename(log)
    assert len(drain(desk.store).commits) == 2
    assert today.id in desk.text(TODAY)
    assert clean(desk, bare_git)


def test_an_event_of_a_newer_gitmem_stays(desk):
    name = desk.store.spool.deliver({"v": 2, "kind": "dream", "text": "from the future"})
    drain(desk.store)
    assert desk.store.spool.names() == [name]


def test_events_survive_json_with_lone_surrogates_and_control_characters(desk, bare_git):
    what = desk.save("half \ud83d and \x00 and \x1b[31m and 한글 🎉 and \u2028 end")
    save(desk.store, what)
    assert json.dumps(desk.text("memory.md"))
    assert "한글 🎉" in desk.text("memory.md")
    assert "\x1b" not in desk.text("memory.md")
    assert clean(desk, bare_git)

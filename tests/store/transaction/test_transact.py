"""Transactions: what one commits, races with a person's git, and locks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gitmem.errors import BusyError
from gitmem.git.locks.choose import open_lock
from gitmem.model.message import Message
from gitmem.store.transaction import transact as transacting
from gitmem.store.transaction.transact import transact
from tests.own_settings import own_settings
from tests.store.conftest import listing

ROOT = Path(__file__).resolve().parents[3]

# Committing


def test_a_transaction_is_commits_files_index_and_mark(box):
    outcome = box.put({"daily/2026/11/2026-11-21.md": b"day\r\n", "memory.md": b"new", "config.yaml": None})
    assert outcome.value is True
    assert outcome.notices == ()
    assert outcome.commits == (box.tip(),)
    assert box.files()["daily/2026/11/2026-11-21.md"] == b"day\r\n"
    assert box.files()["memory.md"] == b"new"
    assert not (box.root / "config.yaml").exists()
    box.sound()


def test_several_commits_in_one_transaction(box):
    def plan(transaction):
        for number in range(5):
            data = (transaction.read("log.md") or b"") + b"%d\n" % number
            assert transaction.commit(Message(f"number {number}", ()), {"log.md": data, f"{number}.md": b"x"})
        assert transaction.commit(Message("nothing", ()), {"log.md": transaction.read("log.md")}) is False
        return "value"

    before = box.tip()
    outcome = transact(box.store, plan, purpose="test")
    assert outcome.value == "value"
    assert box.git("rev-list", "--reverse", f"{before}..").split() == list(outcome.commits)
    assert box.subjects(f"{before}..") == [f"number {number}" for number in reversed(range(5))]
    assert box.tree(outcome.commits[2])["log.md"] == b"0\n1\n2\n"
    box.sound()


def test_a_plan_that_asks_for_nothing_changes_nothing(box):
    box.settle()
    before = listing(box.root)
    outcome = transact(box.store, lambda transaction: transaction.read("memory.md"), purpose="test", scan=True)
    assert outcome.commits == ()
    assert outcome.value == (box.root / "memory.md").read_bytes()
    box.put({"memory.md": outcome.value})
    after = listing(box.root)
    private = str(box.root / ".git" / "gitmem")
    assert {k: v for k, v in after.items() if k.startswith(private)}.keys() == {
        k for k in before if k.startswith(private)
    }
    for found in (before, after):
        for name in [name for name in found if name.startswith(private) or name == str(box.root / ".git")]:
            del found[name]  # the lock's record
        for name in [name for name in found if "/objects" in name or name.endswith("COMMIT_EDITMSG")]:
            found[name] = ()
    assert after == before


def test_a_plan_that_fails_changes_nothing(box):
    tip, files = box.tip(), box.files()

    def plan(transaction):
        transaction.commit(Message("never", ()), {"memory.md": b"never"})
        raise ZeroDivisionError

    for scan in (False, True):
        with pytest.raises(ZeroDivisionError):
            transact(box.store, plan, purpose="test", scan=scan)
    assert (box.tip(), box.files()) == (tip, files)
    box.settle()
    box.sound()


def test_messages_dates_and_people(box):
    when = box.context.clock().replace(year=2025)
    message = Message("Save note: x", (("Gitmem-Op", "save"), ("Gitmem-Session", "s1")))
    transact(box.store, lambda t: t.commit(message, {"a": b"a"}, when=when), purpose="test")
    form = "%s|%an|%ae|%cn|%ad|%(trailers:key=Gitmem-Op,valueonly,separator=;)|%(trailers:key=Gitmem-Machine,valueonly)"
    said = box.git("log", "-1", "--date=iso-strict", f"--format={form}").strip()
    date = when.isoformat()
    assert said.replace("Z|", "+00:00|") == f"Save note: x|gitmem|gitmem@localhost|gitmem|{date}|save|box"
    assert "2026" in box.git("log", "-1", "--format=%cI")


def test_who_the_user_is(box, home):
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    box.put({"a": b"a"})
    assert box.git("log", "-1", "--format=%an <%ae> %cn <%ce>") == "Ada <ada@example.org> Ada <ada@example.org>"


def test_who_commits_is_asked_once_and_again_where_no_answer_came(box, home, monkeypatch):
    (home / ".gitconfig").write_text("[user]\n\tname = First\n\temail = a@b\n")
    box.put({"memory.md": b"1\n"})
    first = box.store._identity
    box.put({"memory.md": b"2\n"})
    assert box.store._identity is first
    first.expired = True
    box.put({"memory.md": b"3\n"})
    assert box.store._identity is not first


def test_executables_stay_executable(box):
    box.write("run.sh", b"one\n")
    (box.root / "run.sh").chmod(0o755)
    box.git("add", "run.sh")
    box.git("commit", "-qm", "by hand")
    box.put({"run.sh": b"two\n"})
    assert box.git("ls-tree", "HEAD", "run.sh").startswith("100755")
    assert (box.root / "run.sh").stat().st_mode & 0o111
    box.sound()


def test_a_user_s_commit_during_a_transaction_is_built_upon(box):
    tries = []

    def plan(transaction):
        tries.append(transaction.read("memory.md"))
        if len(tries) == 1:
            box.write("memory.md", b"raced\n")
            box.write("race.md", b"r\n")
            box.git("add", "race.md")
            box.git("commit", "-qam", "race")
        return transaction.commit(Message("ours", ()), {"memory.md": transaction.read("memory.md") + b"ours\n"})

    outcome = transact(box.store, plan, purpose="test")
    assert len(tries) == 2
    assert box.subjects()[:2] == ["ours", "race"]
    assert box.files()["memory.md"] == b"raced\nours\n"
    assert outcome.notices == ()
    box.sound()


def test_a_reset_during_a_transaction_is_built_upon(box):
    box.put({"memory.md": b"one\n"})
    box.put({"memory.md": b"two\n"})
    tries = []

    def plan(transaction):
        content = transaction.read("memory.md")
        tries.append(content)
        if len(tries) == 1:
            box.git("reset", "-q", "--hard", "HEAD~1")
        return transaction.commit(Message("ours", ()), {"memory.md": content + b"ours\n"})

    transact(box.store, plan, purpose="test")
    assert tries == [b"two\n", b"one\n"]
    assert box.files()["memory.md"] == b"one\nours\n"
    box.sound()


def test_a_race_that_is_lost_many_times_is_won_when_the_others_pause(box, monkeypatch):
    pauses = []
    pause = transacting._pause

    def note(number):
        pauses.append(pause(number))
        return 0.0

    monkeypatch.setattr(transacting, "_pause", note)

    def plan(transaction):
        if sum(pauses) < 1:  # a burst of a second
            box.git("commit", "-q", "--allow-empty", "-m", "again")
        return transaction.commit(Message("ours", ()), {"memory.md": b"ours\n"})

    transact(box.store, plan, purpose="test")
    assert len(pauses) < transacting.ATTEMPTS / 2
    assert len(set(pauses)) > len(pauses) / 2, "not in step"
    assert pauses[0] < 0.01
    assert max(pauses) < 0.5
    assert box.subjects()[: len(pauses) + 1] == ["ours"] + ["again"] * len(pauses)
    box.sound()


def test_a_branch_that_is_moved_for_ever_is_given_up(box, monkeypatch):
    monkeypatch.setattr(transacting, "ATTEMPTS", 3)

    def plan(transaction):
        box.git("commit", "-q", "--allow-empty", "-m", "again")
        return transaction.commit(Message("ours", ()), {"memory.md": b"ours\n"})

    with pytest.raises(BusyError, match="moved the branch 3 times") as caught:
        transact(box.store, plan, purpose="test")
    assert "Nothing was lost" in caught.value.remedy
    assert box.subjects()[:3] == ["again"] * 3
    box.settle()
    box.sound()


@pytest.mark.timeout(120)
def test_processes_that_save_while_a_person_commits(box):
    code = (
        "import os, sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from datetime import datetime, UTC\n"
        "from gitmem.model.message import Message\n"
        "from gitmem.machine.context import Context\n"
        "from gitmem.store.store import Store\n"
        "from gitmem.store.transaction.transact import transact\n"
        f"store = Store({str(box.root)!r}, Context(os.environ, os.environ['HOME'], 'box', lambda: datetime.now(UTC)))\n"
        "for number in range(6):\n"
        "    line = f'{sys.argv[1]} {number}\\n'.encode()\n"
        "    def plan(t): t.commit(Message('m', (('Gitmem-Op', 'save'),)), {'log': (t.read('log') or b'') + line})\n"
        "    assert not transact(store, plan, purpose='test').notices\n"
    )
    savers = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for number in range(2)]
    made = 0
    while any(saver.poll() is None for saver in savers):
        time.sleep(0.1)
        if made == 30:  # on a busy machine; a save gives up when the branch has moved 50 times before it
            continue
        box.write(f"mine/{made}.md", b"x")
        try:
            box.git("add", f"mine/{made}.md")
            box.git("commit", "-qm", "by hand", "--only", f"mine/{made}.md")
            made += 1
        except AssertionError:
            pass  # the index or the branch was being written by somebody else
    assert [saver.wait() for saver in savers] == [0, 0]
    assert sorted(box.files()["log"].decode().splitlines()) == sorted(f"{a} {b}" for a in range(2) for b in range(6))
    box.settle()
    assert len([name for name in box.tree() if name.startswith("mine/")]) >= made
    box.sound()


# Locks


def test_a_lock_that_is_held_is_waited_for_and_named(box):
    own_settings(box.context, "lock:\n  wait_seconds: 0\n")
    box.reopen()
    with box.store.lock("a long rotation").acquire(5), pytest.raises(BusyError, match="a long rotation"):
        box.put({"a": b"a"})
    box.put({"a": b"a"})
    box.sound()


def test_a_lock_that_was_lost_meanwhile_commits_nothing(box, monkeypatch):
    tip = box.tip()

    def plan(transaction):
        private = box.root / ".git" / "gitmem"
        for path in private.glob("lock*"):
            path.unlink()
        lock = open_lock(box.store.repository.git, str(private), purpose="thief", machine="box")
        lock.acquire(5)
        thieves.append(lock)
        return transaction.commit(Message("m", ()), {"memory.md": b"x\n"})

    thieves = []
    with pytest.raises(BusyError, match="took over the lock"):
        transact(box.store, plan, purpose="test")
    for lock in thieves:
        lock.release()
    assert box.tip() == tip
    box.settle()
    box.sound()


@pytest.mark.parametrize("name", ["refs/heads/gitmem.lock", "HEAD.lock"])
def test_a_lock_of_a_git_that_was_killed_is_cleared(box, name):
    lock = box.root / ".git" / name
    lock.touch()
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    box.put({"a": b"a"})
    assert not lock.exists()
    box.sound()


def test_a_lock_of_a_git_that_lives_is_waited_for(box):
    lock = box.root / ".git" / "refs" / "heads" / "gitmem.lock"
    lock.touch()
    timer = threading.Timer(0.5, lock.unlink)
    timer.start()
    box.put({"a": b"a"})
    timer.join()
    assert box.tree()["a"] == b"a"
    box.sound()


def test_a_lock_that_stays_is_named(box, monkeypatch):
    monkeypatch.setattr(transacting, "ATTEMPTS", 2)
    lock = box.root / ".git" / "HEAD.lock"
    lock.touch()
    tip = box.tip()
    with pytest.raises(BusyError, match=r"HEAD\.lock"):
        box.put({"a": b"a"})
    lock.unlink()
    assert box.tip() == tip
    box.settle()
    box.sound()


@pytest.mark.parametrize("age", [0, 3600])
def test_an_index_lock_that_was_left_behind(box, age):
    lock = box.root / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - age, time.time() - age))
    outcome = box.put({"memory.md": b"x\n", "new/a.md": b"a\n", "config.yaml": None})
    assert outcome.notices == ()
    lock.unlink(missing_ok=True)
    box.sound()

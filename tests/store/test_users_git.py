"""The user's own git between two saves, and operations they left unfinished."""

import contextlib
import threading
import time

import pytest

from gitmem.errors import UnfinishedError

# The user's own git, between two saves


ONE, TWO = {"memory.md": b"one\n"}, {"memory.md": b"two\n"}
# What gitmem commits (a mapping), a user writes into memory.md (bytes) and does with git; then memory.md, and the
# commit below the next save.
ACTS = {
    "a commit": ([b"mine\n", "add -A", "commit -qm mine"], b"mine\n", "mine"),
    "a commit that is undone in the files": (
        [ONE, b"mine\n", "commit -qam mine", "checkout HEAD~1 -- memory.md"],
        b"one\n",
        "Edit by hand: memory.md",
    ),
    "an amended commit": ([ONE, b"one\nmine\n", "commit -qa --amend -m amended"], b"one\nmine\n", "amended"),
    "a hard reset": ([ONE, TWO, "reset -q --hard HEAD~1"], b"one\n", "put"),
    "a revert": ([ONE, TWO, "revert --no-edit HEAD"], b"one\n", 'Revert "put"'),
    "a stash": (
        [ONE, b"one\nmine\n", "stash", {"other.md": b"x\n"}, "stash pop"],
        b"one\nmine\n",
        "Edit by hand: memory.md",
    ),
    "a checkout of a file": ([ONE, b"never mind\n", "checkout -- memory.md"], b"one\n", "put"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("acts, memory, below", ACTS.values(), ids=ACTS)
def test_a_save_builds_on_what_the_user_did_with_git(world, acts, memory, below):
    for act in acts:
        if isinstance(act, dict):
            world.commit(act)
        elif isinstance(act, bytes):
            world.write("memory.md", act)
        else:
            world.git(*act.split())
    world.append("memory.md", b"saved\n", scan=True)
    assert world.subjects()[:2] == ["append", below]
    assert world.files()["memory.md"] == memory + b"saved\n"
    world.sound()


def test_an_index_entry_that_went_astray_is_brought_back_by_a_scan(world):
    """Else the user's next plain commit would take memory back."""
    world.commit({"memory.md": b"one\n", "x.md": b"x\n"})
    stale = world.git("rev-parse", "HEAD~1:memory.md")
    world.git("update-index", "--cacheinfo", f"100644,{stale},memory.md")
    world.git("rm", "-q", "--cached", "x.md")
    assert world.status() != ""
    assert world.settle().commits == ()
    world.sound()


# Operations of the user's that are unfinished


@pytest.mark.parametrize(
    "begin, end",
    [
        ("merge other", "merge --abort"),
        ("rebase other", "rebase --abort"),
        ("cherry-pick other", "cherry-pick --abort"),
        ("revert HEAD~1", "revert --abort"),
        ("bisect start HEAD HEAD~2", "bisect reset"),
        ("checkout -q --detach", "switch -q gitmem"),
        ("switch -q other", "switch -q gitmem"),
    ],
)
@pytest.mark.few(3)
def test_nothing_is_written_while_an_operation_of_the_user_s_is_unfinished(world, begin, end):
    world.git("config", "merge.gitmem.driver", "false")  # it would leave nothing to be finished
    world.commit({"memory.md": b"one\n"})
    world.git("switch", "-q", "-c", "other")
    world.write("memory.md", b"theirs\n")
    world.git("commit", "-qam", "theirs")
    world.git("switch", "-q", "gitmem")
    world.commit({"memory.md": b"two\n"})
    world.commit({"memory.md": b"three\n"})
    with contextlib.suppress(AssertionError):  # a conflict
        world.git(*begin.split())
    world.store.spool.deliver({"waits": True})
    before, tip = world.files(), world.tip
    for scan in (False, True):
        with pytest.raises(UnfinishedError) as caught:
            world.commit({"new.md": b"x"}, scan=scan)
        assert caught.value.exit_code == 7
        assert caught.value.remedy
    assert (world.files(), world.tip) == (before, tip)
    assert len(world.store.spool.names()) == 1
    world.git(*end.split())
    world.commit({"new.md": b"x"}, scan=True)
    assert world.files()["memory.md"] == b"three\n"
    world.sound()


def test_an_operation_that_begins_while_one_waits_for_the_lock(world):
    lock = world.store.lock("somebody else").acquire(5)
    failed = []

    def wait() -> None:
        try:
            world.commit({"new.md": b"x"})
        except UnfinishedError as error:
            failed.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    world.git("checkout", "-q", "--detach")
    time.sleep(0.2)
    lock.release()
    waiter.join()
    assert len(failed) == 1
    assert "new.md" not in world.files()

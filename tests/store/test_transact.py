"""Edits by hand: each becomes a commit of its own and none is overwritten."""

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.document.message import Message
from gitmem.errors import BusyError, RefusedError
from gitmem.git.locking import open_lock
from gitmem.store import transact as transacting
from gitmem.store.transact import transact
from tests.as_root import as_nobody, give, root_needed
from tests.world import World, forget_private, listing

SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"

# Edits by hand


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("scan", [False, True])
def test_an_edit_of_a_file_that_is_changed_is_a_commit_of_its_own(world, scan, staged):
    world.commit({"memory.md": b"one\n"})
    world.write("memory.md", b"one\nby hand\n")
    if staged:
        world.git("add", "memory.md")
    outcome = world.append("memory.md", b"saved\n", scan=scan)
    assert len(outcome.commits) == 2
    assert world.subjects()[:2] == ["append", "Edit by hand: memory.md"]
    assert world.tree("HEAD~1")["memory.md"] == b"one\nby hand\n"
    assert world.files()["memory.md"] == b"one\nby hand\nsaved\n"
    assert "Gitmem-Op: edit" in world.git("log", "-1", "--format=%b", "HEAD~1")
    world.sound()


def test_an_edit_of_the_line_of_a_fact_whose_header_is_broken_is_kept(world):
    line = "- [2026-01-13 11:27:00] **Rule**: Use {} ^r2gw8y9ey5e\n"
    memory = "# Memory\n\n## Core Decisions\n\n" + line
    world.commit(
        {"memory.md": memory.format("uv").encode(), "facts/rule/r2gw8y9ey5e-uv.md": b"---\nid: [\n---\nUse uv\n"}
    )
    world.write("memory.md", memory.format("pixi").encode())
    world.append("memory.md", b"saved\n")
    assert world.files()["memory.md"].decode() == memory.format("pixi") + "saved\n"


def test_many_edits_have_a_short_subject(world):
    for number in range(5):
        world.write(f"{number}.md", b"x")
    world.settle()
    assert world.subjects()[0] == "Edit by hand: 5 files"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_modes_that_mean_nothing_here_are_left_as_they_are(world):
    world.git("config", "core.fileMode", "false")
    (world.root / "memory.md").chmod(0o777)
    world.append("memory.md", b"x\n")
    assert world.git("ls-tree", "HEAD", "memory.md").startswith("100644")
    world.sound()


def test_a_secret_written_by_hand_is_redacted_in_the_file_too(world):
    world.commit({"memory.md": b"one\ntwo\n"})
    world.write("memory.md", f"one\ntwo\nthe token is {SECRET}\nand more\n".encode())
    outcome = world.settle()
    (notice,) = outcome.notices
    assert notice.startswith("memory.md, line 3: ")
    assert SECRET not in notice
    assert b"the token is [REDACTED:" in world.files()["memory.md"]
    assert SECRET.encode() not in world.files()["memory.md"]
    world.sound()
    assert world.git("log", "--all", "-S", SECRET, "--format=%h") == ""
    assert world.settle().notices == ()


def test_a_secret_that_was_redacted_and_is_written_again(world):
    """The commit would be empty; the file has to be put right all the same."""
    contents = []
    for commits in (1, 0):
        world.write("notes.md", f"token {SECRET}\n".encode())
        outcome = world.settle()
        assert (len(outcome.commits), len(outcome.notices)) == (commits, 1)
        contents.append(world.files()["notes.md"])
    assert contents[0] == contents[1]
    world.sound()


def test_what_cannot_be_kept_is_said_and_keeps_nothing_else_from_being_saved(world, bare_git):
    (world.root / "link.md").symlink_to("memory.md")
    bare_git(world.root, "init", "-q", "inner")
    world.write("inner/file", b"x")
    bare_git(world.root / "inner", "add", "file")
    bare_git(world.root / "inner", "commit", "-qm", "x")
    world.write("good.md", b"good\n")
    outcome = world.append("memory.md", b"saved\n", scan=True)
    assert len(outcome.commits) == 2
    assert sorted(outcome.notices) == [
        "Not kept: link.md is a symbolic link; gitmem follows none. Put a file in its place.",
        "inner/ is a git repository of its own and is not kept in the store.",
    ]
    assert {"link.md", "inner", "inner/file"}.isdisjoint(world.tree())
    (world.root / "link.md").unlink()
    shutil.rmtree(world.root / "inner")
    world.sound()


@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_files_under_names_that_gitmem_would_not_use_are_kept(world):
    names = ["a b", "back\\slash", 'q"uote', "CON", "trailing.", "e\u0301.md", "\udcff.md", "x" * 200]
    names += [" at both ends ", "-rf", ":(top)x", "*.md", "hash#", "->", "x -> y", "? x", "1 A. N..."]
    for name in names:
        world.write(name, f"{name!a}".encode())
    world.settle()
    assert {name: world.tree()[name] for name in names} == {name: f"{name!a}".encode() for name in names}
    world.sound()
    for name in names:
        (world.root / name).unlink()
    world.settle()
    assert set(names).isdisjoint(world.tree())
    world.sound()


@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_files_that_a_file_system_would_take_for_git_s_own_are_not_kept(world):
    for name in (".GIT/config", "git~1", "a/.Git/x"):
        world.write(name, b"x")
    outcome = world.settle()
    for path in (".git", "git~1", "a"):
        assert not any(name.split("/")[0].lower() == path for name in world.tree())
    assert outcome.commits == ()


def test_files_and_folders_that_took_each_other_s_place_by_hand(world):
    world.commit({"x/a.md": b"1", "x/b.md": b"2", "y": b"3"})
    shutil.rmtree(world.root / "x")
    world.write("x", b"a file now")
    (world.root / "y").unlink()
    world.write("y/z.md", b"in a folder now")
    outcome = world.settle()
    assert outcome.notices == ()
    assert world.tree()["x"] == b"a file now"
    assert world.tree()["y/z.md"] == b"in a folder now"
    world.sound()


def test_a_link_that_a_user_committed_and_then_replaced(world):
    (world.root / "x.md").symlink_to("memory.md")
    world.git("add", "x.md")
    world.git("commit", "-qm", "a link")
    with pytest.raises(RefusedError, match=r"x\.md"):
        world.commit({"x.md": b"through a link"})
    assert world.settle().commits == ()
    (world.root / "x.md").unlink()
    world.write("x.md", b"a file\n")
    world.settle()
    assert world.git("ls-tree", "HEAD", "x.md").startswith("100644")
    world.sound()
    (world.root / "memory.md").unlink()
    (world.root / "memory.md").symlink_to("x.md")
    with pytest.raises(RefusedError):
        world.append("memory.md", b"x")
    assert (world.root / "x.md").read_bytes() == b"a file\n"


@pytest.mark.parametrize("content", [None, b"", b"rubbish\n", b"\xff\xfe", b"0" * 39, b"f" * 40 + b"\n"])
@pytest.mark.few(2)
def test_the_private_folder_can_be_deleted_and_its_mark_be_damaged(world, content):
    world.commit({"memory.md": b"one\n"})
    if content is None:
        forget_private(world.root / ".git" / "gitmem")
    else:
        (world.root / ".git" / "gitmem" / "checkout").write_bytes(content)
    world.append("memory.md", b"two\n", scan=True)
    assert world.files()["memory.md"] == b"one\ntwo\n"
    world.sound()


# Committing


def test_several_commits_in_one_transaction(world):
    def plan(transaction):
        for number in range(5):
            data = (transaction.read("log.md") or b"") + b"%d\n" % number
            assert transaction.commit(Message(f"number {number}", ()), {"log.md": data, f"{number}.md": b"x"})
        assert transaction.commit(Message("nothing", ()), {"log.md": transaction.read("log.md")}) is False
        return "value"

    before = world.tip
    outcome = transact(world.store, plan, purpose="test")
    assert outcome.value == "value"
    assert world.git("rev-list", "--reverse", f"{before}..").split() == list(outcome.commits)
    assert world.subjects(f"{before}..") == [f"number {number}" for number in reversed(range(5))]
    assert world.tree(outcome.commits[2])["log.md"] == b"0\n1\n2\n"
    world.sound()


def test_a_plan_that_asks_for_nothing_changes_nothing(world):
    world.settle()
    before = listing(world.root)
    outcome = transact(world.store, lambda transaction: transaction.read("memory.md"), purpose="test", scan=True)
    assert outcome.commits == ()
    assert outcome.value == (world.root / "memory.md").read_bytes()
    world.commit({"memory.md": outcome.value})
    after = listing(world.root)
    private = str(world.root / ".git" / "gitmem")
    assert {k: v for k, v in after.items() if k.startswith(private)}.keys() == {
        k for k in before if k.startswith(private)
    }
    for found in (before, after):
        for name in [name for name in found if name.startswith(private) or name == str(world.root / ".git")]:
            del found[name]  # the lock's record
        for name in [name for name in found if "/objects" in name or name.endswith("COMMIT_EDITMSG")]:
            found[name] = ()
    assert after == before


def test_a_plan_that_fails_changes_nothing(world):
    tip, files = world.tip, world.files()

    def plan(transaction):
        transaction.commit(Message("never", ()), {"memory.md": b"never"})
        raise ZeroDivisionError

    for scan in (False, True):
        with pytest.raises(ZeroDivisionError):
            transact(world.store, plan, purpose="test", scan=scan)
    assert (world.tip, world.files()) == (tip, files)
    world.settle()
    world.sound()


def commit_by_hand(world):
    world.write("memory.md", b"raced\n")
    world.git("commit", "-qam", "race")


@pytest.mark.parametrize(
    "act, left",
    [(commit_by_hand, b"raced\n"), (lambda world: world.git("reset", "-q", "--hard", "HEAD~1"), b"one\n")],
    ids=["a commit", "a reset"],
)
def test_what_a_user_does_with_git_during_a_transaction_is_built_upon(world, act, left):
    world.commit({"memory.md": b"one\n"})
    world.commit({"memory.md": b"two\n"})
    tries = []

    def plan(transaction):
        tries.append(transaction.read("memory.md"))
        if len(tries) == 1:
            act(world)
        return transaction.commit(Message("ours", ()), {"memory.md": tries[-1] + b"ours\n"})

    assert transact(world.store, plan, purpose="test").notices == ()
    assert tries == [b"two\n", left]
    assert world.files()["memory.md"] == left + b"ours\n"
    world.sound()


def test_a_branch_that_is_moved_for_ever_is_given_up(world, monkeypatch):
    monkeypatch.setattr(transacting, "ATTEMPTS", 3)

    def plan(transaction):
        world.git("commit", "-q", "--allow-empty", "-m", "again")
        return transaction.commit(Message("ours", ()), {"memory.md": b"ours\n"})

    with pytest.raises(BusyError, match="moved the branch 3 times") as caught:
        transact(world.store, plan, purpose="test")
    assert "Nothing was lost" in caught.value.remedy
    assert world.subjects()[:3] == ["again"] * 3
    world.settle()
    world.sound()


# Locks


def test_a_lock_that_was_lost_meanwhile_commits_nothing(world, monkeypatch):
    tip = world.tip

    def plan(transaction):
        private = world.root / ".git" / "gitmem"
        for path in private.glob("lock*"):
            path.unlink()
        lock = open_lock(world.store.repository.git, str(private), purpose="thief", machine="box")
        lock.acquire(5)
        thieves.append(lock)
        return transaction.commit(Message("m", ()), {"memory.md": b"x\n"})

    thieves = []
    with pytest.raises(BusyError, match="took over the lock"):
        transact(world.store, plan, purpose="test")
    for lock in thieves:
        lock.release()
    assert world.tip == tip
    world.settle()
    world.sound()


@pytest.mark.parametrize("name", ["refs/heads/gitmem.lock", "HEAD.lock"])
def test_a_lock_of_a_git_that_was_killed_is_cleared(world, name):
    lock = world.root / ".git" / name
    lock.touch()
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    world.commit({"a": b"a"})
    assert not lock.exists()
    world.sound()


def test_a_lock_of_a_git_that_lives_is_waited_for(world):
    lock = world.root / ".git" / "refs" / "heads" / "gitmem.lock"
    lock.touch()
    timer = threading.Timer(0.5, lock.unlink)
    timer.start()
    world.commit({"a": b"a"})
    timer.join()
    assert world.tree()["a"] == b"a"
    world.sound()


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["refs/heads/gitmem.lock", "HEAD.lock"])
def test_a_lock_that_stays_is_named(world, monkeypatch, name):
    monkeypatch.setattr(transacting, "ATTEMPTS", 2)
    lock = world.root / ".git" / name
    lock.touch()
    tip = world.tip
    with pytest.raises(BusyError, match=re.escape(name)):
        world.commit({"a": b"a"})
    lock.unlink()
    assert world.tip == tip
    world.settle()
    world.sound()


# Files that belong to others


@pytest.fixture
def nobodys(folder_for_all, context) -> Callable[[Path], World]:
    """Give a function that opens the store of another user, who has a home of their own and accepted the store."""

    def open_it(root: Path) -> World:
        home = folder_for_all / "home"
        home.mkdir()
        world = World(root, context._replace(home=str(home))).accept()
        give(home)
        give(root)
        return world

    return open_it


@root_needed
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_files_that_cannot_be_read_keep_nothing_else_from_being_saved(world, opened, nobodys, folder_for_all):
    world.commit({"mine.md": b"one\n", "other.md": b"o\n"})
    root = shutil.copytree(world.root, folder_for_all / "store")
    (root / "mine.md").write_bytes(b"edited\n")
    (root / "new.md").write_bytes(b"new\n")
    theirs = nobodys(root)
    for name in ("mine.md", "new.md"):
        (root / name).chmod(0)
    result = as_nobody(lambda: repr(theirs.append("other.md", b"saved\n", scan=True).notices))
    assert result == repr(
        tuple(f"Not kept: {name} cannot be read: Permission denied." for name in ("mine.md", "new.md"))
    )
    result = as_nobody(lambda: repr(theirs.append("mine.md", b"saved\n").notices))
    assert result.startswith("NotSavedError: Nothing was saved to ")
    assert "mine.md" in result
    give(root, 0)
    after = opened(root)
    assert after.tree()["other.md"] == b"o\nsaved\n"
    for name in ("mine.md", "new.md"):
        (root / name).chmod(0o644)
    after.settle()
    assert after.tree()["mine.md"] == b"edited\n"
    after.sound()

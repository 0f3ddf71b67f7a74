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
from tests.boxes import Box, forget_private, listing

SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"

# Edits by hand


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("scan", [False, True])
def test_an_edit_of_a_file_that_is_changed_is_a_commit_of_its_own(box, scan, staged):
    box.put({"memory.md": b"one\n"})
    box.write("memory.md", b"one\nby hand\n")
    if staged:
        box.git("add", "memory.md")
    outcome = box.append("memory.md", b"saved\n", scan=scan)
    assert len(outcome.commits) == 2
    assert box.subjects()[:2] == ["append", "Edit by hand: memory.md"]
    assert box.tree("HEAD~1")["memory.md"] == b"one\nby hand\n"
    assert box.files()["memory.md"] == b"one\nby hand\nsaved\n"
    assert "Gitmem-Op: edit" in box.git("log", "-1", "--format=%b", "HEAD~1")
    box.sound()


def test_an_edit_of_the_line_of_a_fact_whose_header_is_broken_is_kept(box):
    line = "- [2026-01-13 11:27:00] **Rule**: Use {} ^r2gw8y9ey5e\n"
    memory = "# Memory\n\n## Core Decisions\n\n" + line
    box.put({"memory.md": memory.format("uv").encode(), "facts/rule/r2gw8y9ey5e-uv.md": b"---\nid: [\n---\nUse uv\n"})
    box.write("memory.md", memory.format("pixi").encode())
    box.append("memory.md", b"saved\n")
    assert box.files()["memory.md"].decode() == memory.format("pixi") + "saved\n"


def test_many_edits_have_a_short_subject(box):
    for number in range(5):
        box.write(f"{number}.md", b"x")
    box.settle()
    assert box.subjects()[0] == "Edit by hand: 5 files"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_modes_that_mean_nothing_here_are_left_as_they_are(box):
    box.git("config", "core.fileMode", "false")
    (box.root / "memory.md").chmod(0o777)
    box.append("memory.md", b"x\n")
    assert box.git("ls-tree", "HEAD", "memory.md").startswith("100644")
    box.sound()


def test_a_secret_written_by_hand_is_redacted_in_the_file_too(box):
    box.put({"memory.md": b"one\ntwo\n"})
    box.write("memory.md", f"one\ntwo\nthe token is {SECRET}\nand more\n".encode())
    outcome = box.settle()
    (notice,) = outcome.notices
    assert notice.startswith("memory.md, line 3: ")
    assert SECRET not in notice
    assert b"the token is [REDACTED:" in box.files()["memory.md"]
    assert SECRET.encode() not in box.files()["memory.md"]
    box.sound()
    assert box.git("log", "--all", "-S", SECRET, "--format=%h") == ""
    assert box.settle().notices == ()


def test_a_secret_that_was_redacted_and_is_written_again(box):
    """The commit would be empty; the file has to be put right all the same."""
    contents = []
    for commits in (1, 0):
        box.write("notes.md", f"token {SECRET}\n".encode())
        outcome = box.settle()
        assert (len(outcome.commits), len(outcome.notices)) == (commits, 1)
        contents.append(box.files()["notes.md"])
    assert contents[0] == contents[1]
    box.sound()


def test_what_cannot_be_kept_is_said_and_keeps_nothing_else_from_being_saved(box, bare_git):
    (box.root / "link.md").symlink_to("memory.md")
    bare_git(box.root, "init", "-q", "inner")
    box.write("inner/file", b"x")
    bare_git(box.root / "inner", "add", "file")
    bare_git(box.root / "inner", "commit", "-qm", "x")
    box.write("good.md", b"good\n")
    outcome = box.append("memory.md", b"saved\n", scan=True)
    assert len(outcome.commits) == 2
    assert sorted(outcome.notices) == [
        "Not kept: link.md is a symbolic link; gitmem follows none. Put a file in its place.",
        "inner/ is a git repository of its own and is not kept in the store.",
    ]
    assert {"link.md", "inner", "inner/file"}.isdisjoint(box.tree())
    (box.root / "link.md").unlink()
    shutil.rmtree(box.root / "inner")
    box.sound()


@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_files_under_names_that_gitmem_would_not_use_are_kept(box):
    names = ["a b", "back\\slash", 'q"uote', "CON", "trailing.", "e\u0301.md", "\udcff.md", "x" * 200]
    names += [" at both ends ", "-rf", ":(top)x", "*.md", "hash#", "->", "x -> y", "? x", "1 A. N..."]
    for name in names:
        box.write(name, f"{name!a}".encode())
    box.settle()
    assert {name: box.tree()[name] for name in names} == {name: f"{name!a}".encode() for name in names}
    box.sound()
    for name in names:
        (box.root / name).unlink()
    box.settle()
    assert set(names).isdisjoint(box.tree())
    box.sound()


@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_files_that_a_file_system_would_take_for_git_s_own_are_not_kept(box):
    for name in (".GIT/config", "git~1", "a/.Git/x"):
        box.write(name, b"x")
    outcome = box.settle()
    for path in (".git", "git~1", "a"):
        assert not any(name.split("/")[0].lower() == path for name in box.tree())
    assert outcome.commits == ()


def test_files_and_folders_that_took_each_other_s_place_by_hand(box):
    box.put({"x/a.md": b"1", "x/b.md": b"2", "y": b"3"})
    shutil.rmtree(box.root / "x")
    box.write("x", b"a file now")
    (box.root / "y").unlink()
    box.write("y/z.md", b"in a folder now")
    outcome = box.settle()
    assert outcome.notices == ()
    assert box.tree()["x"] == b"a file now"
    assert box.tree()["y/z.md"] == b"in a folder now"
    box.sound()


def test_a_link_that_a_user_committed_and_then_replaced(box):
    (box.root / "x.md").symlink_to("memory.md")
    box.git("add", "x.md")
    box.git("commit", "-qm", "a link")
    with pytest.raises(RefusedError, match=r"x\.md"):
        box.put({"x.md": b"through a link"})
    assert box.settle().commits == ()
    (box.root / "x.md").unlink()
    box.write("x.md", b"a file\n")
    box.settle()
    assert box.git("ls-tree", "HEAD", "x.md").startswith("100644")
    box.sound()
    (box.root / "memory.md").unlink()
    (box.root / "memory.md").symlink_to("x.md")
    with pytest.raises(RefusedError):
        box.append("memory.md", b"x")
    assert (box.root / "x.md").read_bytes() == b"a file\n"


@pytest.mark.parametrize("content", [None, b"", b"rubbish\n", b"\xff\xfe", b"0" * 39, b"f" * 40 + b"\n"])
def test_the_private_folder_can_be_deleted_and_its_mark_be_damaged(box, content):
    box.put({"memory.md": b"one\n"})
    if content is None:
        forget_private(box.root / ".git" / "gitmem")
    else:
        (box.root / ".git" / "gitmem" / "checkout").write_bytes(content)
    box.append("memory.md", b"two\n", scan=True)
    assert box.files()["memory.md"] == b"one\ntwo\n"
    box.sound()


# Committing


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


def commit_by_hand(box):
    box.write("memory.md", b"raced\n")
    box.git("commit", "-qam", "race")


@pytest.mark.parametrize(
    "act, left",
    [(commit_by_hand, b"raced\n"), (lambda box: box.git("reset", "-q", "--hard", "HEAD~1"), b"one\n")],
    ids=["a commit", "a reset"],
)
def test_what_a_user_does_with_git_during_a_transaction_is_built_upon(box, act, left):
    box.put({"memory.md": b"one\n"})
    box.put({"memory.md": b"two\n"})
    tries = []

    def plan(transaction):
        tries.append(transaction.read("memory.md"))
        if len(tries) == 1:
            act(box)
        return transaction.commit(Message("ours", ()), {"memory.md": tries[-1] + b"ours\n"})

    assert transact(box.store, plan, purpose="test").notices == ()
    assert tries == [b"two\n", left]
    assert box.files()["memory.md"] == left + b"ours\n"
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


# Locks


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


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["refs/heads/gitmem.lock", "HEAD.lock"])
def test_a_lock_that_stays_is_named(box, monkeypatch, name):
    monkeypatch.setattr(transacting, "ATTEMPTS", 2)
    lock = box.root / ".git" / name
    lock.touch()
    tip = box.tip()
    with pytest.raises(BusyError, match=re.escape(name)):
        box.put({"a": b"a"})
    lock.unlink()
    assert box.tip() == tip
    box.settle()
    box.sound()


# Files that belong to others


@pytest.fixture
def nobodys(folder_for_all, context, bare_git) -> Callable[[Path], Box]:
    """Give a function that opens the store of another user, who has a home of their own and accepted the store."""

    def open_it(root: Path) -> Box:
        home = folder_for_all / "home"
        home.mkdir()
        box = Box(root, context._replace(home=str(home)), bare_git)
        give(home)
        give(root)
        return box

    return open_it


@root_needed
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_files_that_cannot_be_read_keep_nothing_else_from_being_saved(box, boxes, nobodys, folder_for_all):
    box.put({"mine.md": b"one\n", "other.md": b"o\n"})
    root = shutil.copytree(box.root, folder_for_all / "store")
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
    after = boxes(root)
    assert after.tree()["other.md"] == b"o\nsaved\n"
    for name in ("mine.md", "new.md"):
        (root / name).chmod(0o644)
    after.settle()
    assert after.tree()["mine.md"] == b"edited\n"
    after.sound()

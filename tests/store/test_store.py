from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from gitmem.errors import (
    BusyError,
    GitmemError,
    NotSavedError,
    RefusedError,
    StoreFormatError,
    StoreNotFoundError,
    UnfinishedError,
)
from gitmem.git.commit.fast_import import Writer
from gitmem.git.locks.choose import open_lock
from gitmem.model.message import Message
from gitmem.store.setup.init import Place, init_store
from gitmem.store.store import Store, format_version
from gitmem.store.transaction import transact as transacting
from gitmem.store.transaction.transact import transact
from tests.own_settings import own_settings

SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
ROOT = Path(__file__).resolve().parents[2]
root_needed = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else, or mount"
)


def listing(folder: Path) -> dict[str, tuple[int, ...]]:
    """What a folder holds, with everything that writing would change."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


# Opening


def test_opening_starts_nothing_and_writes_nothing(box, monkeypatch):
    before = listing(box.root)
    monkeypatch.setattr(subprocess, "Popen", None)
    store = box.reopen()
    assert store.read("FORMAT.md").startswith(b"---\n")
    assert store.spool.names() == []
    assert listing(box.root) == before


@pytest.mark.parametrize("what", ["nothing", "folder", "file", "damaged"])
def test_what_is_no_store(tmp_path, context, what):
    folder = tmp_path / "x"
    if what == "file":
        folder.touch()
    elif what != "nothing":
        folder.mkdir()
    if what == "damaged":
        (folder / ".git").mkdir()
    with pytest.raises(StoreNotFoundError, match="no store"):
        Store(str(folder), context)


def test_the_user_s_settings_count_below_the_store_s(box, home):
    own_settings(box.context, "lock:\n  wait_seconds: 3\nrotation:\n  max_archives: 7\n")
    (box.root / "config.yaml").write_text("lock:\n  wait_seconds: 5\n")
    config = box.reopen().config
    assert (config.lock.wait_seconds, config.rotation.max_archives) == (5, 7)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_a_settings_file_holds_nobody_up(box):
    for name in ("config.yaml", "FORMAT.md"):
        (box.root / name).unlink()
        os.mkfifo(box.root / name)
    assert box.reopen().config.lock.wait_seconds == 10


# Versions

VERSIONS = {
    b"---\nversion: 1\n---\n": 1,
    b"---\nid: format\nversion: 2\n---\n": 2,
    b"---\r\nversion: 3\r\n---\r\n": 3,
    b"---\nversion: '4'  # newer\n---\n": 4,
    b'---\nversion: "12"\n---\n': 12,
    b"\xef\xbb\xbf---\nversion: 5\n---\n": 5,
    b"": None,
    b"---\nid: format\n---\n# version\nversion: 7\n": None,
    b"---\nversions: 8\n---\n": None,
    b"---\n  version: 9\n---\n": None,
    b"---\nversion:\n---\n": None,
    b"---\nversion: one\n---\n": None,
    b"\xff\xfe\0": None,
}


@pytest.mark.parametrize("document, version", VERSIONS.items())
def test_the_version_of_a_format(document, version):
    assert format_version(document) == version


@pytest.mark.parametrize("version", [b"2", b"0", b"99"])
def test_a_store_of_another_version_is_not_touched(box, version):
    content = (box.root / "FORMAT.md").read_bytes().replace(b"version: 1", b"version: " + version)
    (box.root / "FORMAT.md").write_bytes(content)
    box.git("commit", "-qam", "migrated")
    (box.root / "memory.md").write_bytes(b"edited\n")
    before = listing(box.root)
    with pytest.raises(StoreFormatError, match=f"version {version.decode()}; this gitmem knows version 1") as caught:
        box.reopen()
    assert "Nothing was touched" in caught.value.remedy
    assert listing(box.root) == before


def test_a_store_that_was_migrated_while_one_waited_is_not_touched(box):
    content = (box.root / "FORMAT.md").read_bytes().replace(b"version: 1", b"version: 2")
    store = box.store  # opened before
    box.write("FORMAT.md", content)
    box.git("commit", "-qam", "migrated")
    tip, files = box.tip(), box.files()
    with pytest.raises(StoreFormatError):
        transact(store, lambda _: pytest.fail("planned"), purpose="test", scan=True)
    assert (box.tip(), box.files()) == (tip, files)


def test_a_migration_that_was_cut_off_is_left_to_the_newer_gitmem(box):
    """The branch is at version 2 already, the work tree is not."""
    box.put({"a": b"a"})
    content = (box.root / "FORMAT.md").read_bytes()
    box.write("FORMAT.md", content.replace(b"version: 1", b"version: 2"))
    box.git("commit", "-qam", "migrated\n\nGitmem-Op: migrate")
    box.git("reset", "-q", "--hard", "HEAD~1")
    box.git("update-ref", "refs/heads/gitmem", "HEAD@{1}")
    box.git("read-tree", "HEAD~1")
    files = box.files()
    with pytest.raises(StoreFormatError):
        box.put({"b": b"b"}, scan=True)
    assert box.files() == files


def test_a_store_without_a_format_is_of_the_first_version(box):
    (box.root / "FORMAT.md").unlink()
    box.reopen()
    assert box.put({"a": b"a"}, scan=True).value
    assert "FORMAT.md" not in box.tree()
    box.sound()


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
    assert said == f"Save note: x|gitmem|gitmem@localhost|gitmem|{when.isoformat()}|save|box"
    assert "2026" in box.git("log", "-1", "--format=%cI")


def test_who_the_user_is(box, home):
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    box.put({"a": b"a"})
    assert box.git("log", "-1", "--format=%an <%ae> %cn <%ce>") == "Ada <ada@example.org> Ada <ada@example.org>"


def test_executables_stay_executable(box):
    box.write("run.sh", b"one\n")
    (box.root / "run.sh").chmod(0o755)
    box.git("add", "run.sh")
    box.git("commit", "-qm", "by hand")
    box.put({"run.sh": b"two\n"})
    assert box.git("ls-tree", "HEAD", "run.sh").startswith("100755")
    assert (box.root / "run.sh").stat().st_mode & 0o111
    box.sound()


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


@pytest.mark.parametrize("staged", [False, True])
def test_edits_elsewhere_wait_for_a_scan(box, staged):
    box.put({"a.md": b"a\n", "b.md": b"b\n", "c/d.md": b"d\n"})
    box.write("a.md", b"a, edited\n")
    (box.root / "b.md").unlink()
    box.write("new/one.md", b"new\n")
    if staged:
        box.git("add", "-A")
    expected = box.files()
    box.append("memory.md", b"saved\n")
    assert box.tree()["a.md"] == b"a\n"
    status = box.status()
    assert sorted(line.split()[-1].rstrip("/") for line in status.splitlines()) == ["a.md", "b.md", "new/one.md"] or (
        "new/" in status
    )
    assert {name: data for name, data in box.files().items() if name != "memory.md"} == {
        name: data for name, data in expected.items() if name != "memory.md"
    }
    outcome = box.settle()
    assert len(outcome.commits) == 1
    assert box.subjects()[0] == "Edit by hand: a.md, b.md, new/one.md"
    box.sound()
    assert "b.md" not in box.tree()


def test_many_edits_have_a_short_subject(box):
    for number in range(5):
        box.write(f"{number}.md", b"x")
    box.settle()
    assert box.subjects()[0] == "Edit by hand: 5 files"
    box.sound()


def test_a_file_that_was_removed_by_hand_and_is_written_again(box):
    (box.root / "memory.md").unlink()
    box.append("memory.md", b"saved\n")
    assert box.subjects()[:2] == ["append", "Edit by hand: memory.md"]
    assert "memory.md" not in box.tree("HEAD~1")
    assert box.files()["memory.md"] == b"saved\n"
    box.sound()


def test_a_file_that_was_made_by_hand_where_one_is_to_be_written(box):
    box.write("daily.md", b"mine\n")
    box.append("daily.md", b"saved\n")
    assert box.tree("HEAD~1")["daily.md"] == b"mine\n"
    assert box.files()["daily.md"] == b"mine\nsaved\n"
    box.sound()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_a_mode_that_was_changed_by_hand_is_an_edit(box):
    box.put({"run.sh": b"x"})
    (box.root / "run.sh").chmod(0o755)
    box.write("new.sh", b"y")
    (box.root / "new.sh").chmod(0o755)
    box.settle()
    assert [line[:6] for line in box.git("ls-tree", "HEAD", "run.sh", "new.sh").splitlines()] == ["100755", "100755"]
    box.sound()
    (box.root / "run.sh").chmod(0o644)
    box.append("run.sh", b"more")
    assert box.git("ls-tree", "HEAD", "run.sh").startswith("100644")
    box.sound()
    assert box.settle().commits == ()


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
    box.write("notes.md", f"token {SECRET}\n".encode())
    box.settle()
    redacted = box.files()["notes.md"]
    box.write("notes.md", f"token {SECRET}\n".encode())
    outcome = box.settle()
    assert outcome.commits == ()
    assert len(outcome.notices) == 1
    assert box.files()["notes.md"] == redacted
    box.sound()


def test_a_secret_in_a_new_file_by_hand_that_is_then_changed(box):
    box.write("notes.md", f"token {SECRET}\n".encode())
    outcome = box.append("notes.md", b"saved\n")
    assert len(outcome.notices) == 1
    assert SECRET.encode() not in box.files()["notes.md"]
    assert box.files()["notes.md"].endswith(b"\nsaved\n")
    box.sound()
    assert box.git("log", "--all", "-S", SECRET, "--format=%h") == ""


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
    names = ["a b", "back\\slash", 'q"uote', "line\nbreak", "CON", "trailing.", "e\u0301.md", "\udcff.md", "x" * 200]
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


def test_twins_made_by_hand_are_kept_as_they_are(box):
    box.write("Memory.md", b"mine\n")
    if (box.root / "memory.md").read_bytes() == b"mine\n":
        pytest.skip("this file system does not tell them apart")
    box.settle()
    assert box.tree()["Memory.md"] == b"mine\n"
    box.sound()


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


def test_a_link_that_a_person_committed_and_then_replaced(box):
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


def test_an_edit_while_it_is_being_saved_is_not_overwritten(box, monkeypatch):
    """Between reading and renaming a few milliseconds go by, in which an editor may save."""
    box.put({"memory.md": b"one\ntwo\nthree\n", "other.md": b"o\n"})
    finish = Writer.finish

    def slow(writer):
        commits = finish(writer)
        box.write("memory.md", b"zero\none\ntwo\nthree\n")
        return commits

    monkeypatch.setattr(Writer, "finish", slow)
    outcome = box.put({"memory.md": b"one\ntwo\nthree\nsaved\n", "other.md": b"p\n"})
    monkeypatch.undo()
    assert outcome.notices == ("memory.md was edited by hand while it was being changed; both were kept.",)
    assert box.files()["memory.md"] == b"zero\none\ntwo\nthree\nsaved\n"
    assert box.tree()["memory.md"] == b"one\ntwo\nthree\nsaved\n"
    assert box.status() == "M memory.md"
    box.settle()
    assert box.tree()["memory.md"] == b"zero\none\ntwo\nthree\nsaved\n"
    box.sound()


# The user's own git, between two saves


def test_a_commit_of_the_user_s(box):
    box.write("memory.md", b"mine\n")
    box.write("new.md", b"new\n")
    box.git("add", "-A")
    box.git("commit", "-qm", "mine")
    outcome = box.append("memory.md", b"saved\n", scan=True)
    assert len(outcome.commits) == 1
    assert box.subjects()[:2] == ["append", "mine"]
    assert box.files()["memory.md"] == b"mine\nsaved\n"
    box.sound()


def test_a_commit_of_the_user_s_and_a_later_edit_on_top(box):
    """What differs from their commit is an edit of theirs, not something to be merged with it."""
    for again in (b"mine, again\n", b"mine\nand more\n"):
        box.write("memory.md", b"mine\n")
        box.git("commit", "-qam", "mine")
        box.write("memory.md", again)
        box.git("add", "memory.md")
        outcome = box.append("memory.md", b"saved\n")
        assert outcome.notices == ()
        assert box.tree("HEAD~1")["memory.md"] == again
        assert box.files()["memory.md"] == again + b"saved\n"
        box.sound()


def test_a_commit_of_the_user_s_that_they_then_undo_in_the_files(box):
    box.put({"memory.md": b"one\n"})
    box.write("memory.md", b"mine\n")
    box.git("commit", "-qam", "mine")
    box.git("checkout", "HEAD~1", "--", "memory.md")
    box.append("memory.md", b"saved\n")
    assert box.files()["memory.md"] == b"one\nsaved\n"
    box.sound()


def test_an_amended_commit(box):
    box.put({"memory.md": b"one\n"})
    box.write("memory.md", b"one\nmine\n")
    box.git("commit", "-qa", "--amend", "-m", "amended")
    box.append("memory.md", b"saved\n", scan=True)
    assert box.subjects()[:2] == ["append", "amended"]
    assert box.files()["memory.md"] == b"one\nmine\nsaved\n"
    box.sound()


@pytest.mark.parametrize("how", ["--soft", "--mixed"])
def test_a_reset_that_keeps_the_files(box, how):
    box.put({"memory.md": b"one\n", "x.md": b"x\n"})
    before = box.tip()
    box.put({"memory.md": b"two\n", "x.md": None, "new.md": b"n\n"})
    box.git("reset", "-q", how, before)
    outcome = box.append("memory.md", b"saved\n", scan=True)
    assert outcome.notices == ()
    assert box.subjects()[:3] == ["append", "Edit by hand: memory.md, new.md, x.md", "put"]
    assert box.files()["memory.md"] == b"two\nsaved\n"
    assert box.files()["new.md"] == b"n\n"
    box.sound()


def test_a_hard_reset(box):
    box.put({"memory.md": b"one\n"})
    box.put({"memory.md": b"two\n"})
    box.git("reset", "-q", "--hard", "HEAD~1")
    box.append("memory.md", b"saved\n", scan=True)
    assert box.files()["memory.md"] == b"one\nsaved\n"
    assert box.subjects()[:2] == ["append", "put"]
    box.sound()


def test_a_revert(box):
    box.put({"memory.md": b"one\n"})
    box.put({"memory.md": b"two\n"})
    box.git("revert", "--no-edit", "HEAD")
    box.append("memory.md", b"saved\n", scan=True)
    assert box.files()["memory.md"] == b"one\nsaved\n"
    box.sound()


def test_a_checkout_of_a_file(box):
    box.put({"memory.md": b"one\n"})
    box.write("memory.md", b"never mind\n")
    box.git("checkout", "--", "memory.md")
    assert len(box.append("memory.md", b"saved\n", scan=True).commits) == 1
    assert box.files()["memory.md"] == b"one\nsaved\n"
    box.sound()


def test_a_stash(box):
    box.put({"memory.md": b"one\n"})
    box.write("memory.md", b"one\nstashed\n")
    box.git("stash")
    box.put({"other.md": b"x\n"}, scan=True)
    box.git("stash", "pop")
    box.settle()
    assert box.files()["memory.md"] == b"one\nstashed\n"
    box.sound()


def test_a_pull(box, tmp_path, boxes, bare_git):
    box.put({"memory.md": b"one\n"})
    bare_git(tmp_path, "clone", "-q", "-b", "gitmem", str(box.root), "other")
    other = boxes(tmp_path / "other")
    other.append("memory.md", b"theirs\n", scan=True)
    other.sound()
    box.git("pull", "-q", "--ff-only", str(other.root), "gitmem")
    box.append("memory.md", b"ours\n", scan=True)
    assert box.files()["memory.md"] == b"one\ntheirs\nours\n"
    box.sound()
    other.put({"theirs.md": b"t\n"})
    box.git("pull", "-q", "--no-rebase", "--no-edit", str(other.root), "gitmem")
    box.append("memory.md", b"more\n", scan=True)
    assert box.files()["theirs.md"] == b"t\n"
    box.sound()


def test_an_index_entry_that_went_astray_is_brought_back_by_a_scan(box):
    """Else the user's next plain commit would take memory back."""
    box.put({"memory.md": b"one\n", "x.md": b"x\n"})
    stale = box.git("rev-parse", "HEAD~1:memory.md")
    box.git("update-index", "--cacheinfo", f"100644,{stale},memory.md")
    box.git("rm", "-q", "--cached", "x.md")
    assert box.status() != ""
    assert box.settle().commits == ()
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

    with pytest.raises(BusyError, match="moved by others 3 times") as caught:
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
        f"store = Store({str(box.root)!r}, Context(os.environ, '/none', 'box', lambda: datetime.now(UTC)))\n"
        "for number in range(6):\n"
        "    line = f'{sys.argv[1]} {number}\\n'.encode()\n"
        "    def plan(t): t.commit(Message('m', (('Gitmem-Op', 'save'),)), {'log': (t.read('log') or b'') + line})\n"
        "    assert not transact(store, plan, purpose='test').notices\n"
    )
    savers = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for number in range(2)]
    made = 0
    while any(saver.poll() is None for saver in savers):
        box.write(f"mine/{made}.md", b"x")
        try:
            box.git("add", f"mine/{made}.md")
            box.git("commit", "-qm", "by hand", "--only", f"mine/{made}.md")
            made += 1
        except AssertionError:
            pass  # the index or the branch was being written by somebody else
        time.sleep(0.1)
    assert [saver.wait() for saver in savers] == [0, 0]
    assert sorted(box.files()["log"].decode().splitlines()) == sorted(f"{a} {b}" for a in range(2) for b in range(6))
    box.settle()
    assert len([name for name in box.tree() if name.startswith("mine/")]) >= made
    box.sound()


# Operations of the user's that are unfinished


def _merge(box):
    box.git("merge", "other")


def _rebase(box):
    box.git("rebase", "other")


def _cherry_pick(box):
    box.git("cherry-pick", "other")


def _revert(box):
    box.git("revert", "HEAD~1")


def _bisect(box):
    box.git("bisect", "start", "HEAD", "HEAD~2")


def _detach(box):
    box.git("checkout", "-q", "--detach")


def _switch(box):
    box.git("switch", "-q", "other")


@pytest.mark.parametrize(
    "begin, end",
    [
        (_merge, ("merge", "--abort")),
        (_rebase, ("rebase", "--abort")),
        (_cherry_pick, ("cherry-pick", "--abort")),
        (_revert, ("revert", "--abort")),
        (_bisect, ("bisect", "reset")),
        (_detach, ("switch", "-q", "gitmem")),
        (_switch, ("switch", "-q", "gitmem")),
    ],
)
def test_nothing_is_written_while_an_operation_of_the_user_s_is_unfinished(box, begin, end):
    box.git("config", "merge.gitmem.driver", "false")  # it would leave nothing to be finished
    box.put({"memory.md": b"one\n"})
    box.git("switch", "-q", "-c", "other")
    box.write("memory.md", b"theirs\n")
    box.git("commit", "-qam", "theirs")
    box.git("switch", "-q", "gitmem")
    box.put({"memory.md": b"two\n"})
    box.put({"memory.md": b"three\n"})
    with contextlib.suppress(AssertionError):  # a conflict
        begin(box)
    box.store.spool.deliver({"waits": True})
    before, tip = box.files(), box.tip()
    for scan in (False, True):
        with pytest.raises(UnfinishedError) as caught:
            box.put({"new.md": b"x"}, scan=scan)
        assert caught.value.exit_code == 7
        assert caught.value.remedy
    assert (box.files(), box.tip()) == (before, tip)
    assert len(box.store.spool.names()) == 1
    box.git(*end)
    box.put({"new.md": b"x"}, scan=True)
    assert box.files()["memory.md"] == b"three\n"
    box.sound()


def test_an_operation_that_begins_while_one_waits_for_the_lock(box):
    lock = box.store.lock("somebody else").acquire(5)
    failed = []

    def wait() -> None:
        try:
            box.put({"new.md": b"x"})
        except UnfinishedError as error:
            failed.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    box.git("checkout", "-q", "--detach")
    time.sleep(0.2)
    lock.release()
    waiter.join()
    assert len(failed) == 1
    assert "new.md" not in box.files()


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
    with pytest.raises(BusyError, match="took the lock over"):
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


# Configurations, environments and hooks


@pytest.fixture
def code(tmp_path, bare_git):
    """Give a repository with the user's own code."""
    folder = tmp_path / "code"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    (folder / "main.py").write_bytes(b"print()\n")
    bare_git(folder, "add", "-A")
    bare_git(folder, "commit", "-qm", "code")
    (folder / "main.py").write_bytes(b"print(1)\n")
    return folder


def test_variables_of_a_hook_lead_nowhere(box, code, environ, bare_git):
    before = listing(code)
    leaked = {
        "GIT_DIR": str(code / ".git"),
        "GIT_WORK_TREE": str(code),
        "GIT_INDEX_FILE": str(code / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(code / ".git" / "objects"),
        "GIT_COMMON_DIR": str(code / ".git"),
        "GIT_PREFIX": "sub/",
        "GIT_NAMESPACE": "x",
        "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(code / ".git" / "objects"),
        "GIT_QUARANTINE_PATH": "/nowhere",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_TRACE": str(code / "trace"),
    }
    box.context = box.context._replace(environ={**environ, **leaked})
    box.reopen()
    box.write("by-hand.md", b"x\n")
    outcome = box.put({"memory.md": b"saved\n"}, scan=True)
    assert len(outcome.commits) == 2
    assert listing(code) == before
    assert box.git("log", "-1", "--format=%an %ad", "--date=format:%Y") == "gitmem 2026"
    box.sound()


HOOKS = ("reference-transaction", "pre-commit", "commit-msg", "post-commit", "post-index-change", "update", "pre-push")


def test_nothing_of_a_user_s_configuration_bites(box, home, tmp_path):
    hooks = tmp_path / "hooks"
    for folder in (hooks, box.root / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/fired'\nexit 1\n")
            (folder / name).chmod(0o755)
    settings = f"""
[commit]
    gpgSign = true
[gpg]
    program = false
[core]
    hooksPath = {hooks}
    autocrlf = true
    safecrlf = true
    fileMode = false
    excludesFile = {tmp_path}/ignore
    attributesFile = {tmp_path}/attributes
    fsmonitor = false
[init]
    defaultBranch = odd
    templateDir = {tmp_path}/template
[user]
    useConfigOnly = true
[filter "evil"]
    clean = false
    smudge = false
    required = true
[gc]
    auto = 1
[transfer]
    unpackLimit = 1
[fastimport]
    unpackLimit = 1000
[status]
    showUntrackedFiles = no
    relativePaths = false
[index]
    version = 4
[feature]
    manyFiles = true
"""
    (tmp_path / "ignore").write_text("*\n")
    (tmp_path / "attributes").write_text("* filter=evil text eol=crlf ident\n")
    (home / ".gitconfig").write_text(settings)
    box.write("by-hand.md", b"x\n$Id$\n")
    outcome = box.put({"memory.md": b"a\r\nb\n$Id$\n", "new.md": b"c\n"}, scan=True)
    assert len(outcome.commits) == 2
    (home / ".gitconfig").unlink()
    shutil.rmtree(box.root / ".git" / "hooks")
    assert box.files()["memory.md"] == b"a\r\nb\n$Id$\n"
    assert not (tmp_path / "fired").exists()
    box.sound()


def test_nothing_of_the_repository_s_configuration_bites(box, tmp_path):
    for key, value in {
        "commit.gpgSign": "true",
        "core.hooksPath": str(tmp_path / "hooks"),
        "core.autocrlf": "true",
        "core.splitIndex": "true",
        "core.untrackedCache": "true",
        "core.quotePath": "true",
        "core.logAllRefUpdates": "false",
        "fastimport.unpackLimit": "1000",
        "transfer.fsckObjects": "true",
        "status.branch": "true",
        "color.ui": "always",
        "core.sparseCheckout": "true",
        "submodule.recurse": "true",
    }.items():
        box.git("config", key, value)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "reference-transaction").write_text(f"#!/bin/sh\ntouch '{tmp_path}/fired'\nexit 1\n")
    (tmp_path / "hooks" / "reference-transaction").chmod(0o755)
    box.write("결정.md", b"x\r\n")
    box.put({"memory.md": b"a\r\nb\n", "new.md": b"c\n"}, scan=True)
    assert not (tmp_path / "fired").exists()
    (tmp_path / "hooks" / "reference-transaction").unlink()
    for key in ("color.ui", "core.autocrlf", "status.branch"):
        box.git("config", "--unset", key)
    box.sound()


@root_needed
def test_a_repository_that_belongs_to_somebody_else(box):
    box.put({"memory.md": b"one\n"})
    for path in (box.root, *box.root.rglob("*")):
        os.lchown(path, 65534, 65534)
    box.put({"memory.md": b"two\n"}, scan=True)
    assert box.tree()["memory.md"] == b"two\n"
    for path in (box.root, *box.root.rglob("*")):
        os.lchown(path, 0, 0)
    box.sound()


def test_a_store_with_sha256_ids(tmp_path, boxes, bare_git, context):
    bare_git(tmp_path, "init", "-q", "-b", "gitmem", "--object-format=sha256", "long")
    box = boxes(tmp_path / "long")
    box.put({"memory.md": b"one\n"})
    box.write("memory.md", b"by hand\n")
    box.append("memory.md", b"saved\n", scan=True)
    assert box.files()["memory.md"] == b"by hand\nsaved\n"
    assert len(box.tip()) == 64
    box.sound()


def test_a_repository_somebody_made_with_plain_git_begins_like_every_store(tmp_path, boxes, bare_git):
    bare_git(tmp_path, "init", "-q", "-b", "odd/name", "plain")
    box = boxes(tmp_path / "plain")
    box.write("mine.md", b"mine\n")
    box.put({"memory.md": b"one\n"}, scan=True)
    assert box.subjects() == ["put", "Edit by hand: mine.md", "Begin a memory"]
    assert box.git("symbolic-ref", "HEAD") == "refs/heads/odd/name"
    box.sound()


def test_a_branch_that_was_deleted_begins_again_with_what_the_files_hold(box):
    box.put({"memory.md": b"one\n"})
    box.git("update-ref", "-d", "refs/heads/gitmem")
    box.put({"new.md": b"n\n"}, scan=True)
    assert box.subjects()[-1] == "Begin a memory"
    assert box.files()["memory.md"] == b"one\n"
    box.sound()


def test_a_branch_that_is_damaged_is_not_begun_again(box):
    box.put({"memory.md": b"one\n"})
    tip = box.tip()
    (box.root / ".git" / "refs" / "heads" / "gitmem").write_bytes(b"")
    with pytest.raises(GitmemError, match="damaged") as caught:
        box.put({"memory.md": b"two\n"}, scan=True)
    log = (box.root / ".git" / "logs" / "refs" / "heads" / "gitmem").read_text()
    assert str(box.root / ".git" / "logs") in caught.value.remedy
    (box.root / ".git" / "refs" / "heads" / "gitmem").write_text(log.splitlines()[-1].split()[1] + "\n")
    assert box.tip() == tip
    box.sound()


def test_the_private_folder_can_be_deleted(box):
    box.put({"memory.md": b"one\n"})
    shutil.rmtree(box.root / ".git" / "gitmem")
    box.append("memory.md", b"two\n", scan=True)
    assert box.files()["memory.md"] == b"one\ntwo\n"
    box.sound()


@pytest.mark.parametrize("content", [b"", b"rubbish\n", b"\xff\xfe", b"0" * 39, b"f" * 40 + b"\n"])
def test_a_mark_that_is_damaged_is_none(box, content):
    box.put({"memory.md": b"one\n"})
    (box.root / ".git" / "gitmem" / "checkout").write_bytes(content)
    box.append("memory.md", b"two\n", scan=True)
    assert box.files()["memory.md"] == b"one\ntwo\n"
    box.sound()


# Disks


@root_needed
@pytest.mark.parametrize("room", [0, 2, 20])
def test_a_full_disk_loses_nothing(box, tmp_path, boxes, room):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "none", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        shutil.copytree(box.root, disk / "store")
        full = boxes(disk / "store")
        full.put({"memory.md": b"one\n"})
        tip = full.tip()
        with (disk / "filler").open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                file.truncate(max(file.tell() - room * 4096, 0))
        with pytest.raises(NotSavedError) as caught:
            full.put({"memory.md": os.urandom(60_000)})
        assert "no space left on device" in caught.value.message.lower()
        assert "Make room" in caught.value.remedy
        assert full.tip() == tip
        assert (disk / "store" / "memory.md").read_bytes() == b"one\n"
        (disk / "filler").unlink()
        full.sound()
        full.append("memory.md", b"two\n", scan=True)
        assert full.files()["memory.md"] == b"one\ntwo\n"
        full.sound()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@root_needed
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("closed", ["", ".git", ".git/objects/pack", ".git/refs/heads", ".git/gitmem", ".tmp", "daily"])
def test_a_folder_that_is_not_ours_to_write(box, boxes, closed):
    box.put({"daily/day.md": b"one\n"})
    folder = Path(tempfile.mkdtemp(prefix="gitmem-"))
    folder.chmod(0o755)
    try:
        shutil.copytree(box.root, folder / "store")
        (folder / "store" / ".tmp").mkdir(exist_ok=True)
        for path in (folder / "store", *(folder / "store").rglob("*")):
            os.chown(path, 65534, 65534)
        target = folder / "store" / closed
        target.chmod(0o555)
        if closed == ".git/gitmem":
            for path in target.iterdir():
                path.chmod(0o444)
        said = _as_nobody(lambda: repr(boxes(folder / "store").put({"daily/day.md": b"two\n"}).notices))
        target.chmod(0o755)
        for path in (folder / "store" / ".git" / "gitmem").iterdir():
            path.chmod(0o644)
        for path in (folder / "store", *(folder / "store").rglob("*")):
            os.chown(path, 0, 0)
        after = boxes(folder / "store")
        if said.startswith("NotSavedError"):
            assert "ermission denied" in said
            assert after.tree()["daily/day.md"] == b"one\n"
        elif closed:  # the files could not follow: said, and made up for
            assert closed == "daily"
            assert "What was saved is committed" in said
        after.settle()
        after.sound()
    finally:
        shutil.rmtree(folder)


@root_needed
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_files_that_cannot_be_read_keep_nothing_else_from_being_saved(box, boxes):
    box.put({"mine.md": b"one\n", "other.md": b"o\n"})
    folder = Path(tempfile.mkdtemp(prefix="gitmem-"))
    folder.chmod(0o755)
    try:
        shutil.copytree(box.root, folder / "store")
        (folder / "store" / "mine.md").write_bytes(b"edited\n")
        (folder / "store" / "new.md").write_bytes(b"new\n")
        for path in (folder / "store", *(folder / "store").rglob("*")):
            os.chown(path, 65534, 65534)
        for name in ("mine.md", "new.md"):
            (folder / "store" / name).chmod(0)
        said = _as_nobody(lambda: repr(boxes(folder / "store").append("other.md", b"saved\n", scan=True).notices))
        assert said == repr(
            tuple(f"Not kept: {name} cannot be read: Permission denied." for name in ("mine.md", "new.md"))
        )
        said = _as_nobody(lambda: repr(boxes(folder / "store").append("mine.md", b"saved\n").notices))
        assert said.startswith("NotSavedError: Nothing was saved to ")
        assert "mine.md" in said
        for path in (folder / "store", *(folder / "store").rglob("*")):
            os.chown(path, 0, 0)
        after = boxes(folder / "store")
        assert after.tree()["other.md"] == b"o\nsaved\n"
        for name in ("mine.md", "new.md"):
            (folder / "store" / name).chmod(0o644)
        after.settle()
        assert after.tree()["mine.md"] == b"edited\n"
        after.sound()
    finally:
        shutil.rmtree(folder)


def _as_nobody(work) -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            said = work()
        except BaseException as error:  # noqa: BLE001  # all of it is what the parent wants to know
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        said = file.read().decode()
    os.waitpid(pid, 0)
    return said


# Branch mode


@pytest.fixture
def branch_box(tmp_path, boxes, bare_git, context):
    project = tmp_path / "branch project"
    project.mkdir()
    bare_git(project, "init", "-q")
    (project / "main.py").write_bytes(b"print()\n")
    bare_git(project, "add", "-A")
    bare_git(project, "commit", "-qm", "code")
    return boxes(init_store(str(project), context, Place.BRANCH).store.root)


def test_the_rest_cannot_tell_a_branch_from_a_repository(branch_box, bare_git):
    box, project = branch_box, branch_box.root.parent
    head, config = bare_git(project, "rev-parse", "main"), (project / ".git" / "config").read_bytes()
    (project / "main.py").write_bytes(b"print(1)\n")
    bare_git(project, "add", "main.py")
    box.write("memory.md", b"by hand\n")
    box.write("notes.md", f"{SECRET}\n".encode())
    outcome = box.append("memory.md", b"saved\n", scan=True)
    assert len(outcome.commits) == 2
    assert box.files()["memory.md"] == b"by hand\nsaved\n"
    box.sound()
    assert bare_git(project, "status", "--porcelain") == "M  main.py"
    assert bare_git(project, "rev-parse", "main") == head
    assert (project / ".git" / "config").read_bytes() == config
    assert bare_git(project, "log", "--format=%s", "main") == "code"


def test_what_the_project_is_in_the_middle_of_is_nothing_to_its_memory(branch_box, bare_git):
    project = branch_box.root.parent
    bare_git(project, "switch", "-qc", "other")
    (project / "main.py").write_bytes(b"theirs\n")
    bare_git(project, "commit", "-qam", "theirs")
    bare_git(project, "switch", "-q", "main")
    (project / "main.py").write_bytes(b"ours\n")
    bare_git(project, "commit", "-qam", "ours")
    with pytest.raises(AssertionError):
        bare_git(project, "merge", "other")
    branch_box.put({"memory.md": b"x\n"}, scan=True)
    branch_box.sound()
    assert (project / ".git" / "MERGE_HEAD").exists()


def test_who_commits_is_asked_once_and_again_where_no_answer_came(box, home, monkeypatch):
    (home / ".gitconfig").write_text("[user]\n\tname = First\n\temail = a@b\n")
    box.put({"memory.md": b"1\n"})
    first = box.store._asked
    box.put({"memory.md": b"2\n"})
    assert box.store._asked is first
    first.expired = True
    box.put({"memory.md": b"3\n"})
    assert box.store._asked is not first

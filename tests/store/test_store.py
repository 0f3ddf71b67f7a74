"""Opening a store, and the version of its format."""

import os
import subprocess
import sys

import pytest

from gitmem.errors import GitmemError, StoreFormatError, StoreNotFoundError
from gitmem.store.store import Store
from gitmem.store.transact import transact
from tests.boxes import listing

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


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_a_settings_file_holds_nobody_up(box):
    for name in ("config.yaml", "FORMAT.md"):
        (box.root / name).unlink()
        os.mkfifo(box.root / name)
    assert box.reopen().config.lock.wait_seconds == 10


# Versions


@pytest.mark.parametrize("version", [b"1", b"3", b"0", b"99"])
def test_a_store_of_another_version_is_not_touched(box, version):
    content = (box.root / "FORMAT.md").read_bytes().replace(b"version: 2", b"version: " + version)
    (box.root / "FORMAT.md").write_bytes(content)
    box.git("commit", "-qam", "migrated")
    (box.root / "memory.md").write_bytes(b"edited\n")
    before = listing(box.root)
    with pytest.raises(StoreFormatError, match=f"version {version.decode()}; this gitmem knows version 2") as caught:
        box.reopen()
    assert "Nothing was touched" in caught.value.remedy
    assert listing(box.root) == before


def test_a_store_that_was_migrated_while_one_waited_is_not_touched(box):
    content = (box.root / "FORMAT.md").read_bytes().replace(b"version: 2", b"version: 3")
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
    box.write("FORMAT.md", content.replace(b"version: 2", b"version: 3"))
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


# Stores in every kind of repository


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

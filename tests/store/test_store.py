"""Opening a store, and the version of its format."""

import os
import subprocess
import sys

import pytest

from gitmem.errors import GitmemError, StoreFormatError, StoreNotFoundError
from gitmem.store.store import Store
from gitmem.store.transact import transact
from tests.world import listing

# Opening


def test_opening_starts_nothing_and_writes_nothing(world, monkeypatch):
    before = listing(world.root)
    monkeypatch.setattr(subprocess, "Popen", None)
    store = world.reopen()
    assert store.read("FORMAT.md").startswith(b"---\n")
    assert store.spool.names() == []
    assert listing(world.root) == before


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
def test_a_pipe_in_place_of_a_settings_file_holds_nobody_up(world):
    for name in ("config.yaml", "FORMAT.md"):
        (world.root / name).unlink()
        os.mkfifo(world.root / name)
    assert world.reopen().config.lock.wait_seconds == 10


# Versions


@pytest.mark.parametrize("version", [b"1", b"3", b"0", b"99"])
def test_a_store_of_another_version_is_not_touched(world, version):
    content = (world.root / "FORMAT.md").read_bytes().replace(b"version: 2", b"version: " + version)
    (world.root / "FORMAT.md").write_bytes(content)
    world.git("commit", "-qam", "migrated")
    (world.root / "memory.md").write_bytes(b"edited\n")
    before = listing(world.root)
    with pytest.raises(StoreFormatError, match=f"version {version.decode()}; this gitmem knows version 2") as caught:
        world.reopen()
    assert "Nothing was touched" in caught.value.remedy
    assert listing(world.root) == before


def test_a_store_that_was_migrated_while_one_waited_is_not_touched(world):
    content = (world.root / "FORMAT.md").read_bytes().replace(b"version: 2", b"version: 3")
    store = world.store  # opened before
    world.write("FORMAT.md", content)
    world.git("commit", "-qam", "migrated")
    tip, files = world.tip, world.files()
    with pytest.raises(StoreFormatError):
        transact(store, lambda _: pytest.fail("planned"), purpose="test", scan=True)
    assert (world.tip, world.files()) == (tip, files)


def test_a_migration_that_was_cut_off_is_left_to_the_newer_gitmem(world):
    """The branch is at version 2 already, the work tree is not."""
    world.commit({"a": b"a"})
    content = (world.root / "FORMAT.md").read_bytes()
    world.write("FORMAT.md", content.replace(b"version: 2", b"version: 3"))
    world.git("commit", "-qam", "migrated\n\nGitmem-Op: migrate")
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.git("update-ref", "refs/heads/gitmem", "HEAD@{1}")
    world.git("read-tree", "HEAD~1")
    files = world.files()
    with pytest.raises(StoreFormatError):
        world.commit({"b": b"b"}, scan=True)
    assert world.files() == files


def test_a_store_without_a_format_is_of_the_first_version(world):
    (world.root / "FORMAT.md").unlink()
    world.reopen()
    assert world.commit({"a": b"a"}, scan=True).value
    assert "FORMAT.md" not in world.tree()
    world.sound()


# Stores in every kind of repository


def test_a_store_with_sha256_ids(tmp_path, opened, bare_git, context):
    bare_git(tmp_path, "init", "-q", "-b", "gitmem", "--object-format=sha256", "long")
    world = opened(tmp_path / "long")
    world.commit({"memory.md": b"one\n"})
    world.write("memory.md", b"by hand\n")
    world.append("memory.md", b"saved\n", scan=True)
    assert world.files()["memory.md"] == b"by hand\nsaved\n"
    assert len(world.tip) == 64
    world.sound()


def test_a_repository_somebody_made_with_plain_git_begins_like_every_store(tmp_path, opened, bare_git):
    bare_git(tmp_path, "init", "-q", "-b", "odd/name", "plain")
    world = opened(tmp_path / "plain")
    world.write("mine.md", b"mine\n")
    world.commit({"memory.md": b"one\n"}, scan=True)
    assert world.subjects() == ["put", "Edit by hand: mine.md", "Begin a memory"]
    assert world.git("symbolic-ref", "HEAD") == "refs/heads/odd/name"
    world.sound()


def test_a_branch_that_was_deleted_begins_again_with_what_the_files_hold(world):
    world.commit({"memory.md": b"one\n"})
    world.git("update-ref", "-d", "refs/heads/gitmem")
    world.commit({"new.md": b"n\n"}, scan=True)
    assert world.subjects()[-1] == "Begin a memory"
    assert world.files()["memory.md"] == b"one\n"
    world.sound()


def test_a_branch_that_is_damaged_is_not_begun_again(world):
    world.commit({"memory.md": b"one\n"})
    tip = world.tip
    (world.root / ".git" / "refs" / "heads" / "gitmem").write_bytes(b"")
    with pytest.raises(GitmemError, match="damaged") as caught:
        world.commit({"memory.md": b"two\n"}, scan=True)
    log = (world.root / ".git" / "logs" / "refs" / "heads" / "gitmem").read_text()
    assert str(world.root / ".git" / "logs") in caught.value.remedy
    (world.root / ".git" / "refs" / "heads" / "gitmem").write_text(log.splitlines()[-1].split()[1] + "\n")
    assert world.tip == tip
    world.sound()


def test_the_store_s_own_repository_is_not_the_project_s(world, bare_git):
    """The work behind hooks may run in the store: a fact learned there named the store's branch and commit."""
    project = world.root.parent
    bare_git(project, "init", "-q", "-b", "main")
    store = Store(str(world.root), world.context)
    for folder in (world.root, project):
        store.folder = str(folder)
        code = store.code()
        assert code is not None
        assert code.root == str(project)

"""Stores in every kind of repository: SHA-256, plain git's, damaged, a project's own."""

import pytest

from gitmem.errors import GitmemError


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

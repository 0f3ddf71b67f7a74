"""Edits by hand: each becomes a commit of its own and none is overwritten."""

from __future__ import annotations

import shutil
import sys

import pytest

from gitmem.errors import RefusedError
from gitmem.git.commit.fast_import import Writer

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
    assert outcome.notices == ("memory.md was edited by hand during a save; both versions were merged.",)
    assert box.files()["memory.md"] == b"zero\none\ntwo\nthree\nsaved\n"
    assert box.tree()["memory.md"] == b"one\ntwo\nthree\nsaved\n"
    assert box.status() == "M memory.md"
    box.settle()
    assert box.tree()["memory.md"] == b"zero\none\ntwo\nthree\nsaved\n"
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

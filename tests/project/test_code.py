"""Where the project is, its files, its state, and its past as its git tells it; its configuration runs nothing."""

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.project.code import (
    MAX_BYTES,
    ProjectHistory,
    ProjectQuestions,
    ProjectState,
    is_file,
    list_files,
    project_code,
    read_project_file,
)
from tests.patient import _patient  # noqa: F401

NOW = datetime.now(UTC) + timedelta(hours=1)
AS_ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")


def ask(folder: Path | str, environ) -> ProjectState | None:
    with ProjectQuestions(str(folder), environ) as questions:
        return questions.answer()


@pytest.fixture
def project(tmp_path, bare_git, home) -> Path:
    folder = tmp_path / "프로젝트 one"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    for number in range(5):
        bare_git(folder, "commit", "-q", "--allow-empty", "-m", f"커밋 {number}")
    return folder


def test_a_project(project, environ, bare_git):
    state = ask(project, environ)
    assert (state.root, state.branch, state.changed) == (str(project), "main", 0)
    assert [commit.split(" ", 1)[1] for commit in state.commits] == ["커밋 4", "커밋 3", "커밋 2"]
    assert state.lines()[0] == f"{project}, on main"
    (project / "가 b.txt").write_text("x")
    bare_git(project, "add", ".")
    (project / "not added").write_text("x")
    assert ask(project, environ).changed == 1
    bare_git(project, "branch", "-q", "up/one")
    bare_git(project, "branch", "-q", "-u", "up/one")
    assert ask(project, environ).lines()[0] == f"{project}, on main; changed since the last commit: 가 b.txt"


def test_from_a_folder_within_and_from_a_linked_work_tree(project, environ, bare_git, tmp_path):
    (project / "src" / "deep").mkdir(parents=True)
    assert ask(project / "src" / "deep", environ).root == str(project)
    bare_git(project / "src", "init", "-q")
    assert ask(project / "src" / "deep", environ).root == str(project / "src"), "the nearest"
    bare_git(project, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked one"))
    state = ask(tmp_path / "linked one", environ)
    assert (state.root, state.branch) == (str(tmp_path / "linked one"), "other")


def test_a_detached_head(project, environ, bare_git):
    bare_git(project, "checkout", "-q", "--detach")
    assert ask(project, environ).branch == ""
    assert "no branch" in ask(project, environ).lines()[0]


def test_a_repository_without_a_commit(tmp_path, environ, bare_git):
    bare_git(tmp_path, "init", "-q")
    state = ask(tmp_path, environ)
    assert (state.branch, state.commits) == ("main", ())
    code = project_code(str(tmp_path), environ)
    assert (code.as_of(NOW), code.past()) == (("", frozenset()), ProjectHistory())


@pytest.mark.parametrize("folder", ["/a\0b", "\ud800", "/" + "x" * 5_000, "/no/such", "/dev/null"])
def test_a_folder_of_any_name(folder, environ):
    assert ask(folder, environ) is None


@AS_ROOT
def test_a_project_of_another_user(project, environ, bare_git):
    os.lchown(project / ".git", 65534, 65534)
    assert ask(project, environ) is project_code(str(project), environ) is None
    bare_git(project.parent, "config", "--global", "--add", "safe.directory", str(project))
    assert ask(project, environ).branch == "main"
    assert project_code(str(project), environ).root == str(project)


def test_a_git_that_does_not_answer_is_left(project, environ, tmp_path, monkeypatch):
    monkeypatch.setattr("gitmem.project.code.SECONDS", 0.3)
    if os.name != "posix":
        pytest.skip("a stand-in for git is a shell script")
    (tmp_path / "bin").mkdir()
    stand_in = tmp_path / "bin" / "git"
    stand_in.write_text("#!/bin/sh\nexec sleep 600\n")
    stand_in.chmod(0o755)
    slow = {**environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{environ['PATH']}"}
    with ProjectQuestions(str(project), slow) as questions:
        assert questions.answer() is None
        asked = [process.pid for process in questions._processes]
    for pid in asked:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.fixture
def changed(tmp_path, bare_git, home) -> Path:
    folder = tmp_path / "프로젝트 one"
    (folder / "src").mkdir(parents=True)
    bare_git(folder, "init", "-q")
    (folder / "src" / "한글 a.py").write_text("one\n")
    bare_git(folder, "add", "-A")
    bare_git(folder, "commit", "-qm", "Add a\n\nMore text.")
    (folder / "b.py").write_text("one\n")
    (folder / "src" / "한글 a.py").write_text("two\n")
    bare_git(folder, "add", "-A")
    bare_git(folder, "commit", "-qm", "Change a, add b")
    return folder


def test_files_and_commits(changed, environ, bare_git):
    code = project_code(str(changed), environ)
    past = code.past()
    assert past.files == ("b.py", "src/한글 a.py")
    assert [one.files for one in past.commits] == [("b.py", "src/한글 a.py"), ("src/한글 a.py",)]
    assert bare_git(changed, "rev-parse", "HEAD").startswith(past.commit)


def test_files_are_read_within_bounds(changed):
    root = str(changed)
    assert read_project_file(root, "b.py") == "one\n"
    (changed / "large").write_bytes(b"x" * (MAX_BYTES + 1))
    assert [read_project_file(root, name) for name in ("large", "none", "src", "src/../b.py", "a\0b")] == [""] * 5
    assert list_files(root) == ("b.py", "large", "src/한글 a.py")
    named = ("b.py", "src/한글 a.py", "B.py", "src", "none/a.py", "src/../b.py", "a\0b")
    assert [is_file(root, name) for name in named] == [True, True, *[False] * 5]


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes as POSIX has them")
def test_links_are_not_followed_and_pipes_keep_nobody_waiting(changed):
    outside = changed.parent / "secret"
    outside.mkdir()
    (outside / "package.json").write_text("{}")
    (changed / "package.json").symlink_to(outside / "package.json")
    (changed / "linked").symlink_to(outside)
    os.mkfifo(changed / "go.mod")
    root = str(changed)
    assert [read_project_file(root, name) for name in ("package.json", "linked/package.json", "go.mod")] == [""] * 3
    assert not any(is_file(root, name) for name in ("package.json", "linked/package.json", "go.mod"))
    assert "linked/package.json" not in list_files(root)

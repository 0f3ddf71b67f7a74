import os
from pathlib import Path

import pytest

from gitmem.project.state import ProjectQuestions, ProjectState


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
    assert ask(project, environ).lines()[0] == f"{project}, on main; changed since the last commit: 가 b.txt"


def test_from_a_folder_within_and_from_a_linked_work_tree(project, environ, bare_git, tmp_path):
    (project / "src" / "deep").mkdir(parents=True)
    assert ask(project / "src" / "deep", environ).root == str(project)
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


def test_no_repository(tmp_path, environ):
    assert ask(tmp_path, environ) is None


@pytest.mark.parametrize("folder", ["/a\0b", "\ud800", "/" + "x" * 5_000, "/no/such", "/dev/null"])
def test_a_folder_of_any_name(folder, environ):
    assert ask(folder, environ) is None


def test_a_repository_that_is_broken(project, environ):
    (project / ".git" / "HEAD").write_bytes(b"\0garbage")
    state = ask(project, environ)
    assert state is None or state.commits == ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_project_of_another_user(project, environ, bare_git):
    os.lchown(project / ".git", 65534, 65534)
    assert ask(project, environ) is None
    bare_git(project.parent, "config", "--global", "--add", "safe.directory", str(project))
    assert ask(project, environ).branch == "main"


def test_a_leaked_git_environment_is_not_asked(project, environ, tmp_path, bare_git):
    other = tmp_path / "other"
    other.mkdir()
    bare_git(other, "init", "-q")
    bare_git(other, "commit", "-q", "--allow-empty", "-m", "not ours")
    leaked = {**environ, "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    assert "not ours" not in "".join(ask(project, leaked).commits)


def test_a_git_that_does_not_answer_is_left(project, environ, tmp_path, monkeypatch):
    monkeypatch.setattr("gitmem.project.state.SECONDS", 0.3)
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

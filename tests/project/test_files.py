"""Where the project is, and its files at a time."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.project.files import project_code, work_tree_of

NOW = datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture
def project(tmp_path, bare_git, home) -> Path:
    folder = tmp_path / "프로젝트 one"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    for name in ("src 한글.py", "other.py"):
        (folder / name).write_text("one\n")
    commit_all(folder, bare_git)
    return folder


def commit_all(project: Path, bare_git) -> str:
    bare_git(project, "add", "-A")
    bare_git(project, "commit", "-qm", "Go on")
    return bare_git(project, "rev-parse", "HEAD").strip()


def test_files_as_of_a_time_are_those_without_changes(project, environ):
    code = project_code(str(project), environ)
    assert code.as_of(NOW)[1] == {"src 한글.py", "other.py"}
    (project / "src 한글.py").write_text("two\n")
    assert code.as_of(NOW)[1] == {"other.py"}


def test_nothing_is_asked_before_the_first_commit(tmp_path, environ, bare_git, home):
    bare_git(tmp_path, "init", "-q")
    assert project_code(str(tmp_path), environ).as_of(NOW) == ("", frozenset())


def test_a_folder_in_no_work_tree(tmp_path, environ):
    assert project_code(str(tmp_path), environ) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_project_of_another_user(project, environ, bare_git):
    os.lchown(project / ".git", 65534, 65534)
    assert project_code(str(project), environ) is None
    bare_git(project.parent, "config", "--global", "--add", "safe.directory", str(project))
    assert project_code(str(project), environ).root == str(project)


def test_the_nearest_work_tree_is_returned(tmp_path, bare_git, home):
    outer, inner = tmp_path / "outer 한글", tmp_path / "outer 한글" / "inner"
    (inner / "src").mkdir(parents=True)
    bare_git(outer, "init", "-q")
    assert work_tree_of(str(inner / "src")) == (str(outer), str(outer / ".git"))
    bare_git(inner, "init", "-q")
    assert work_tree_of(str(inner / "src")) == (str(inner), str(inner / ".git"))


def test_a_linked_work_tree_has_its_own_git_dir(tmp_path, bare_git, home):
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    bare_git(main, "init", "-q")
    bare_git(main, "commit", "-q", "--allow-empty", "-m", "first")
    bare_git(main, "worktree", "add", "-q", "-b", "other", str(linked))
    assert work_tree_of(str(linked)) == (str(linked), os.path.join(main, ".git", "worktrees", "linked"))


@pytest.mark.parametrize("name", ["", "no/such", ".git"])
def test_no_work_tree(tmp_path, name):
    assert work_tree_of(str(tmp_path / name)) == ("", "")

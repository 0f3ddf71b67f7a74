"""Repositories of other users: what git refuses is refused, what git takes is taken."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from gitmem.errors import RefusedError
from gitmem.git import trust
from gitmem.git.repository import find_layout
from gitmem.git.trust import ask_git, check_layout, check_owner

if TYPE_CHECKING:
    from pathlib import Path

root_needed = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)
STRANGER = 65534


@pytest.fixture(autouse=True)
def _nothing_agreed(monkeypatch):
    monkeypatch.setattr(trust, "_agreed", set())


@pytest.fixture
def project(tmp_path, bare_git, home) -> Path:
    folder = tmp_path / "it's a 프로젝트"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    bare_git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def give(*paths: Path, to: int = STRANGER) -> None:
    for path in paths:
        os.lchown(path, to, to)


def check(folder: Path, environ) -> None:
    check_layout(find_layout(str(folder)), environ)


def test_what_is_ours_is_taken_and_git_is_not_asked(project, environ):
    check(project, environ | {"PATH": "/nowhere"} if os.name == "posix" else environ)


@root_needed
@pytest.mark.parametrize("foreign", [".", ".git"])
def test_what_is_anothers_is_refused_with_the_remedy_of_git(project, environ, bare_git, foreign):
    give(project / foreign)
    with pytest.raises(RefusedError, match="belongs to another user") as caught:
        check(project, environ)
    assert str(project) in caught.value.message
    line = caught.value.remedy.removeprefix("If you trust it: ")
    assert line.startswith("git config --global --add safe.directory ")
    with pytest.raises(AssertionError, match="dubious ownership"):
        bare_git(project, "status")
    assert os.system(line) == 0  # as a person does who follows it
    check(project, environ)
    bare_git(project, "status")


@root_needed
@pytest.mark.parametrize(
    "values, taken",
    [
        (["*"], True),
        (["{0}"], True),
        (["/elsewhere", "{0}"], True),
        (["{0}/"], None),  # as git has it
        (["{1}/*"], None),  # since git 2.46
        (["*", ""], False),
        (["{0}", "", "/elsewhere"], False),
        (["/elsewhere"], False),
    ],
)
@pytest.mark.parametrize("scope", ["--global", "--system", "environment"])
def test_safe_directory_as_git_reads_it(project, environ, bare_git, tmp_path, *, values, taken, scope):
    values = [value.format(project, project.parent) for value in values]
    if scope == "environment":
        environ["GIT_CONFIG_COUNT"] = str(len(values))
        for number, value in enumerate(values):
            environ |= {f"GIT_CONFIG_KEY_{number}": "safe.directory", f"GIT_CONFIG_VALUE_{number}": value}
    else:
        if scope == "--system":
            environ |= {"GIT_CONFIG_NOSYSTEM": "0", "GIT_CONFIG_SYSTEM": str(tmp_path / "system")}
        for value in values:
            bare_git(tmp_path, "config", scope, "--add", "safe.directory", value, env=environ)
    give(project)
    if taken is None:
        try:
            bare_git(project, "status", env=environ)
            taken = True
        except AssertionError:
            taken = False
    if taken:
        check(project, environ)
    else:
        with pytest.raises(RefusedError):
            check(project, environ)


@root_needed
def test_what_the_repository_says_of_itself_does_not_count(project, environ, bare_git):
    bare_git(project, "config", "safe.directory", "*")
    give(project, project / ".git", project / ".git" / "config")
    with pytest.raises(RefusedError):
        check(project, environ)


@root_needed
@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG", "GIT_CEILING_DIRECTORIES"])
def test_leaked_variables_do_not_change_it(project, environ, name):
    give(project, project / ".git")
    with pytest.raises(RefusedError):
        check(project, environ | {name: str(project / ".git")})


@root_needed
def test_root_by_sudo_is_also_the_user_who_called_it(project, environ):
    give(project, project / ".git")
    with pytest.raises(RefusedError):
        check(project, environ | {"SUDO_UID": "12345"})
    check(project, environ | {"SUDO_UID": str(STRANGER)})


@root_needed
def test_a_linked_work_tree_and_each_part_of_it(project, tmp_path, environ, bare_git):
    bare_git(project, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    layout = find_layout(str(tmp_path / "linked"))
    check_layout(layout, environ)
    for part in (layout.work_tree, os.path.join(layout.work_tree, ".git"), layout.git_dir, layout.common_dir):
        os.lchown(part, STRANGER, STRANGER)
        with pytest.raises(RefusedError):
            check_layout(layout, environ)
        os.lchown(part, 0, 0)
    check_layout(layout, environ)


@root_needed
def test_a_common_folder_of_another_user_is_taken_where_that_project_is(project, tmp_path, environ, bare_git):
    bare_git(project, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    give(project, project / ".git")
    with pytest.raises(RefusedError):
        check(tmp_path / "linked", environ)
    bare_git(tmp_path, "config", "--global", "--add", "safe.directory", str(project))
    check(tmp_path / "linked", environ)


@root_needed
def test_a_bare_repository(tmp_path, home, environ, bare_git):
    bare_git(tmp_path, "init", "-q", "--bare", "bare.git")
    check_owner(environ, str(tmp_path / "bare.git"))
    give(tmp_path / "bare.git")
    with pytest.raises(RefusedError):
        check_owner(environ, str(tmp_path / "bare.git"))


def test_a_bare_repository_that_git_is_not_to_find(tmp_path, home, environ, bare_git):
    bare_git(tmp_path, "init", "-q", "--bare", "bare.git")
    ask_git(environ, str(tmp_path / "bare.git"))
    trust._agreed.clear()
    bare_git(tmp_path, "config", "--global", "safe.bareRepository", "explicit")
    with pytest.raises(RefusedError, match="cannot use bare repository"):
        ask_git(environ, str(tmp_path / "bare.git"))


@root_needed
def test_the_repository_around_is_not_asked_about(project, environ, bare_git):
    inner = project / "inner"
    inner.mkdir()
    bare_git(inner, "init", "-q")
    layout = find_layout(str(inner))
    give(inner)
    shutil.rmtree(inner / ".git" / "refs")  # no repository any more
    with pytest.raises(RefusedError, match="Git does not use"):
        check_layout(layout, environ)

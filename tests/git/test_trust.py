"""Repositories of other users: what git refuses is refused, what git takes is taken."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from gitmem.errors import RefusedError
from gitmem.git import trust
from gitmem.git import trust as module
from gitmem.git.layout import find_layout
from gitmem.git.trust import GITMEM, Identity, IdentityLookup, check_layout, check_owner
from tests.copies import new_repository

root_needed = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)
STRANGER = 65534


@pytest.fixture(autouse=True)
def _nothing_agreed(monkeypatch):
    monkeypatch.setattr(trust, "_agreed", set())


@pytest.fixture
def project(tmp_path, home) -> Path:
    return new_repository(tmp_path / "it's a 프로젝트", {})


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
    assert os.system(line) == 0  # as a user does who follows it
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


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "store")


def ask(store: Path, **more: str) -> Identity:
    return IdentityLookup(str(store / ".git"), str(store), {**os.environ, **more}).result()


def configure(home: Path, text: str | bytes) -> None:
    (home / ".gitconfig").write_bytes(text.encode() if isinstance(text, str) else text)


CONFIGURATIONS = {
    "both": ("[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n", ("Ada Lovelace", "ada@example.org")),
    "a name only": ("[user]\n\tname = Ada\n", ("Ada", "gitmem@localhost")),
    "an address only": ("[user]\n\temail = ada@example.org\n", ("gitmem", "ada@example.org")),
    "the last one wins": ("[user]\n\tname = A\n\tname = B\n\temail = b@b\n", ("B", "b@b")),
    "empty": ('[user]\n\tname = ""\n\temail =\n', ("gitmem", "gitmem@localhost")),
    "no values": ("[user]\n\tname\n\temail\n", ("gitmem", "gitmem@localhost")),
    "blanks": ('[user]\n\tname = "  Ada  "\n\temail = " "\n', ("Ada", "gitmem@localhost")),
    "unicode": ("[user]\n\tname = 김에이다\n\temail = 김@예.한국\n", ("김에이다", "김@예.한국")),
    "a newline": ('[user]\n\tname = "Ada\\nEve"\n\temail = a@a\n', ("Ada\nEve", "a@a")),
    "an equals sign": ("[user]\n\tname = a=b\n\temail = c=d@e\n", ("a=b", "c=d@e")),
    "other keys": ("[user]\n\tnames = x\n\tsigningKey = y\n\tuseConfigOnly = true\n", ("gitmem", "gitmem@localhost")),
    "not utf-8": (b"[user]\n\tname = Ad\xe4\n\temail = a@a\n", ("Ad\ufffd", "a@a")),
    "broken": ("[user\nname = Ada\n", ("gitmem", "gitmem@localhost")),
}


@pytest.mark.parametrize("text, expected", CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
def test_configurations(store, home, text, expected):
    configure(home, text)
    assert ask(store) == Identity(*expected)


def test_the_repository_s_configuration_comes_first(store, home, bare_git):
    configure(home, "[user]\n\tname = Ada\n\temail = ada@example.org\n")
    bare_git(store, "config", "user.name", "Here")
    assert ask(store) == Identity("Here", "ada@example.org")


def test_a_configuration_that_is_included_for_a_folder(store, home):
    (home / "work").write_text("[user]\n\tname = Worker\n\temail = w@w\n")
    configure(home, f'[includeIf "gitdir:{store.parent.as_posix()}/"]\n\tpath = {(home / "work").as_posix()}\n')
    assert ask(store) == Identity("Worker", "w@w")


def test_a_configuration_elsewhere(store, home, tmp_path):
    (tmp_path / "config").write_text("[user]\n\tname = Elsewhere\n\temail = e@e\n")
    assert ask(store, GIT_CONFIG_GLOBAL=str(tmp_path / "config")) == Identity("Elsewhere", "e@e")
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "config").write_text("[user]\n\tname = XDG\n\temail = x@x\n")
    assert ask(store) == Identity("XDG", "x@x")


def test_it_is_asked_once_and_leaves_no_process(store, home):
    lookup = IdentityLookup(str(store / ".git"), str(store), os.environ)
    first = lookup.result()
    configure(home, "[user]\n\tname = Later\n")
    assert lookup.result() is first
    process = lookup._process
    assert process.returncode is not None
    assert all(pipe.closed for pipe in (process.stdin, process.stdout, process.stderr))


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for git")
@pytest.mark.slow
def test_a_git_that_does_not_answer_is_not_waited_for_for_ever(store, home, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "git"
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    script.chmod(0o755)
    monkeypatch.setattr(module, "_IDENTITY_SECONDS", 0.2)
    path = os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"]))  # where `sleep` is
    lookup = IdentityLookup(str(store / ".git"), str(store), {**os.environ, "PATH": path})
    assert lookup.result() == GITMEM
    assert lookup.expired
    assert lookup._process.returncode is not None

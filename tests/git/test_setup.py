import os
import shutil
from pathlib import Path

import pytest

from gitmem.errors import GitFailedError, GitmemError, RefusedError
from gitmem.git.layout import find_layout
from gitmem.git.process import Git
from gitmem.git.root import make_root, seed_branch
from gitmem.git.setup import (
    add_linked_work_tree,
    exclude,
    make_repository,
    remote_memory,
    unexcluded,
)
from tests.conftest import RunsGit
from tests.copies import new_repository

# docs/format.md, "Commits": the same first commit on every machine, for ever.
ROOT = "2095db24769db9317474e619655ebe957eb19dc8"


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "project", {"main.py": b"print()\n"})


def seeded(git: Git, bare_git: RunsGit, cwd: Path, files: dict[str, bytes]) -> str:
    """Make a branch `gitmem` with files on top of the root commit; returns its tip."""
    seed_branch(git)
    parent = bare_git(cwd, "rev-parse", "refs/heads/gitmem")
    for name, data in files.items():
        blob = bare_git(cwd, "hash-object", "-w", "--stdin", stdin=data)
        tree = bare_git(cwd, "mktree", stdin=f"100644 blob {blob}\t{name}\n".encode())
        parent = bare_git(cwd, "commit-tree", "-p", parent, "-m", name, tree)
        bare_git(cwd, "update-ref", "refs/heads/gitmem", parent)
    return parent


# Repositories of their own


def test_every_store_begins_with_the_same_commit(tmp_path, environ, home, bare_git):
    make_repository(str(tmp_path / "one"), environ)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = a@a\n[i18n]\n\tcommitEncoding = latin1\n[commit]\n\tgpgSign = true\n"
    )
    elsewhere = {**environ, "TZ": "Asia/Seoul", "LANG": "ko_KR.UTF-8", "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z"}
    make_repository(str(tmp_path / "two"), elsewhere)
    roots = {bare_git(tmp_path / name, "rev-parse", "gitmem") for name in ("one", "two")}
    assert roots == {bare_git(tmp_path / "one", "rev-parse", "gitmem")}
    assert roots == {ROOT}


# Branches


def test_seeding_a_branch_that_is_there_changes_nothing(project, environ, bare_git):
    git = Git(project / ".git", None, environ)
    seed_branch(git)
    assert bare_git(project, "rev-parse", "gitmem") == make_root(git)
    bare_git(project, "update-ref", "refs/heads/gitmem", "main")
    seed_branch(git)
    assert bare_git(project, "rev-parse", "gitmem") == bare_git(project, "rev-parse", "main")


def outside(project: Path, bare_git: RunsGit) -> dict[str, object]:
    """What of a project its memory has no business with."""
    hooks, exclude_file = project / ".git" / "hooks", project / ".git" / "info" / "exclude"
    return {
        "status": bare_git(project, "status", "--porcelain"),
        "head": bare_git(project, "symbolic-ref", "HEAD"),
        "refs": [
            line
            for line in bare_git(project, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
            if not line.startswith("refs/heads/gitmem ")
        ],
        "config": (project / ".git" / "config").read_bytes(),
        "hooks": listing(hooks) if hooks.exists() else {},
        "exclude": exclude_file.read_bytes() if exclude_file.exists() else b"",
        "index": bare_git(project, "ls-files", "-s"),
        "main": bare_git(project, "log", "--format=%H", "main"),
        "files": {name: data for name, data in listing(project).items() if not name.startswith((".git", ".gitmem"))},
    }


@pytest.fixture
def watched(project: Path, bare_git: RunsGit):
    exclude(str(project / ".git"), "/.gitmem/")
    (project / "main.py").write_bytes(b"print(1)\n")
    before = outside(project, bare_git)
    yield project
    assert outside(project, bare_git) == before
    assert bare_git(project, "fsck", "--strict", "--no-dangling") == ""


def add(project: Path, environ: dict[str, str]) -> Path:
    start = remote_memory(Git(project / ".git", None, environ))
    add_linked_work_tree(str(project / ".git"), str(project / ".gitmem"), environ, start)
    store = project / ".gitmem"
    assert find_layout(str(store)).common_dir == str(project / ".git")
    return store


def test_a_remote_branch_that_is_no_memory_is_refused(project, tmp_path, environ, bare_git):
    bare_git(project, "update-ref", "refs/heads/gitmem", "main")
    bare_git(tmp_path, "clone", "-q", str(project), "clone")
    with pytest.raises(GitmemError, match="refs/remotes/origin/gitmem"):
        add_linked_work_tree(str(tmp_path / "clone" / ".git"), str(tmp_path / "clone" / ".gitmem"), environ)


def test_a_tag_of_the_same_name_is_something_else(watched, environ, bare_git):
    bare_git(watched, "tag", "gitmem", "main")
    store = add(watched, environ)
    assert bare_git(store, "symbolic-ref", "HEAD") == "refs/heads/gitmem"
    assert not (store / "main.py").exists()
    bare_git(watched, "tag", "-d", "gitmem")


def test_a_memory_that_is_checked_out_elsewhere_is_refused(watched, tmp_path, environ, bare_git):
    seed_branch(Git(watched / ".git", None, environ))
    bare_git(watched, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "gitmem")
    with pytest.raises(GitFailedError, match="elsewhere"):
        add_linked_work_tree(str(watched / ".git"), str(watched / ".gitmem"), environ)
    assert not (watched / ".gitmem").exists()


@pytest.mark.parametrize(
    "state",
    [
        *("locked", "no work tree", "no .git", "no head", "no head, not locked"),
        *("an empty .git and no head", "no .git and no head"),
    ],
)
@pytest.mark.few(3)
def test_one_that_git_did_not_live_to_make_is_added_again(watched, environ, bare_git, state):
    seeded(Git(watched / ".git", None, environ), bare_git, watched, {"memory.md": b"x\n"})
    store = add(watched, environ)
    (record,) = (watched / ".git" / "worktrees").iterdir()
    (record / "index").unlink()
    (store / "memory.md").unlink()
    if state != "no head, not locked":
        (record / "locked").write_text("initializing\n")
    if state == "no work tree":
        shutil.rmtree(store)
    elif state == "no .git":
        (store / ".git").unlink()
    elif state in {"an empty .git and no head", "no .git and no head"}:
        (record / "HEAD").unlink()
        (store / ".git").unlink()
        if state.startswith("an empty"):
            (store / ".git").touch()
    elif state.startswith("no head"):
        (record / "HEAD").write_text("0" * 40 + "\n")
    assert find_layout(str(store)) is None
    store = add(watched, environ)
    assert (store / "memory.md").read_bytes() == b"x\n"
    assert bare_git(store, "status", "--porcelain") == ""
    assert len(list((watched / ".git" / "worktrees").iterdir())) == 1


@pytest.mark.parametrize("filled", [False, True])
def test_one_whose_files_a_power_cut_emptied_is_connected_or_added_again(watched, environ, bare_git, filled):
    seeded(Git(watched / ".git", None, environ), bare_git, watched, {"memory.md": b"x\n"})
    store = add(watched, environ)
    (record,) = (watched / ".git" / "worktrees").iterdir()
    for path in (record / "HEAD", record / "gitdir", record / "commondir", store / ".git"):
        path.write_text("")
    (store / "memory.md").write_bytes(b"edited\n") if filled else (store / "memory.md").unlink()
    store = add(watched, environ)
    assert (store / "memory.md").read_bytes() == (b"edited\n" if filled else b"x\n")
    assert bare_git(store, "status", "--porcelain").split() == (["M", "memory.md"] if filled else [])


def test_a_folder_with_files_is_not_taken_over(watched, environ):
    (watched / ".gitmem").mkdir()
    (watched / ".gitmem" / "mine.md").write_bytes(b"mine\n")
    with pytest.raises(GitmemError, match="is there already"):
        add_linked_work_tree(str(watched / ".git"), str(watched / ".gitmem"), environ)
    assert (watched / ".gitmem" / "mine.md").read_bytes() == b"mine\n"


# Exclusion

BY = b"# by gitmem:\n"
EXCLUDES = {
    "none": (None, BY + b"/.gitmem/\n"),
    "empty": (b"", BY + b"/.gitmem/\n"),
    "others": (b"*.o\n", b"*.o\n" + BY + b"/.gitmem/\n"),
    "no final newline": (b"*.o", b"*.o\n" + BY + b"/.gitmem/\n"),
    "there": (b"/.gitmem/\n*.o\n", b"/.gitmem/\n*.o\n"),
    "there, no final newline": (b"*.o\n/.gitmem/", b"*.o\n/.gitmem/"),
    "there, crlf": (b"*.o\r\n/.gitmem/\r\n", b"*.o\r\n/.gitmem/\r\n"),
    "a longer one": (b"/.gitmem/x\n#/.gitmem/\n", b"/.gitmem/x\n#/.gitmem/\n" + BY + b"/.gitmem/\n"),
    "no utf-8": (b"\xff\xfe\n", b"\xff\xfe\n" + BY + b"/.gitmem/\n"),
    "large": (b"x\n" * 100_000 + b"/.gitmem/\n", b"x\n" * 100_000 + b"/.gitmem/\n"),
}


@pytest.mark.parametrize("before, after", EXCLUDES.values(), ids=EXCLUDES.keys())
def test_the_line_is_there_once(tmp_path, before, after):
    if before is not None:
        (tmp_path / "info").mkdir()
        (tmp_path / "info" / "exclude").write_bytes(before)
    for _ in range(2):
        exclude(str(tmp_path), "/.gitmem/")
        assert (tmp_path / "info" / "exclude").read_bytes() == after
    lost = after.replace(BY + b"/.gitmem/\n", b"")
    assert unexcluded(after) == lost
    assert lost.rstrip(b"\n") == (before or b"").rstrip(b"\n")


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_an_exclude_file_that_leads_elsewhere_is_not_written(tmp_path):
    (tmp_path / "git" / "info").mkdir(parents=True)
    (tmp_path / "git" / "info" / "exclude").symlink_to(tmp_path / "file")
    with pytest.raises(RefusedError, match="is a link"):
        exclude(str(tmp_path / "git"), "/.gitmem/")
    assert not (tmp_path / "file").exists()

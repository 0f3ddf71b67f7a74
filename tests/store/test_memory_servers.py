"""Sync over servers that let nobody in, and in a project's own repository."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.errors import GitmemError, UnreachableError
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
from gitmem.store.remotes import add_remote, find_remote, remotes
from gitmem.store.store import Store
from tests.conftest import RunsGit
from tests.store.servers import password_server
from tests.world import sync_store


@pytest.fixture
def web() -> Iterator[str]:
    with password_server() as port:
        yield f"127.0.0.1:{port}/memory.git"


def test_a_web_server_that_lets_nobody_in_is_said_at_once_and_nobody_is_asked(machine, web, environ, tmp_path):
    asked = tmp_path / "asked"
    program = tmp_path / "ask"
    program.write_text(f"#!/bin/sh\ntouch '{asked}'\necho wrong\n")
    program.chmod(0o755)
    environ.update(GIT_ASKPASS=str(program), SSH_ASKPASS=str(program), DISPLAY=":0")
    first = machine("laptop", url=f"http://{web}")
    with pytest.raises(GitmemError, match="let nobody in"):
        first.sync()
    wrong = machine("desktop", url=f"http://ada:wr0ng@{web}")
    with pytest.raises(GitmemError, match="let nobody in") as caught:
        wrong.sync()
    assert "wr0ng" not in f"{caught.value}{caught.value.remedy}"
    assert not asked.exists()


def test_ssh_is_started_so_that_it_asks_nothing(machine, environ, tmp_path):
    said = tmp_path / "said"
    program = tmp_path / "ssh"
    program.write_text(
        f"#!/bin/sh\necho \"$@\" > '{said}'\necho 'ssh: Could not resolve hostname nowhere' >&2\nexit 255\n"
    )
    program.chmod(0o755)
    environ["PATH"] = f"{tmp_path}{os.pathsep}{environ['PATH']}"
    first = machine("laptop", url="git@nowhere.invalid:memory.git")
    with pytest.raises(UnreachableError):
        first.sync()
    assert "-o BatchMode=yes" in said.read_text()
    environ["GIT_SSH_COMMAND"] = f"{program} -i /key"
    with pytest.raises(UnreachableError):
        first.sync()
    assert said.read_text().startswith("-i /key -o BatchMode=yes")


# In the project's own repository


@pytest.fixture
def project(tmp_path: Path, bare_git: RunsGit, environ: dict[str, str], home: Path) -> tuple[Path, Path, Store]:
    """A project with a remote, hooks and settings of its own, and memory on a branch of it."""
    upstream, root = tmp_path / "upstream.git", tmp_path / "project"
    bare_git(tmp_path, "init", "-q", "--bare", str(upstream))
    bare_git(tmp_path, "init", "-q", str(root))
    bare_git(root, "remote", "add", "origin", str(upstream))
    bare_git(root, "config", "push.default", "current")
    bare_git(root, "config", "fetch.prune", "true")
    (root / "code.py").write_text("1\n")
    bare_git(root, "add", "code.py")
    bare_git(root, "commit", "-qm", "Begin")
    bare_git(root, "tag", "-a", "v1", "-m", "v1")
    bare_git(root, "push", "-q", "-u", "origin", "main")
    bare_git(root, "config", "push.followTags", "true")
    for name in ("pre-push", "reference-transaction", "post-checkout", "post-merge"):
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> '{tmp_path}/hooks'\n")
        hook.chmod(0o755)
    (tmp_path / "hooks").unlink(missing_ok=True)
    context = Context(environ, str(home), "laptop", lambda: datetime.now(UTC))
    return root, upstream, init_store(str(root), context, Place.BRANCH).store


def _theirs(root: Path, bare_git: RunsGit) -> dict[str, str]:
    """Return everything of the user's that gitmem must leave as it is."""
    refs = bare_git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return {
        "config": (root / ".git" / "config").read_text(),
        "refs": "\n".join(line for line in refs if not line.startswith(("refs/heads/gitmem ", "refs/gitmem/"))),
        "branches": bare_git(root, "branch", "-a", "--format=%(refname)").replace("refs/heads/gitmem\n", ""),
        "hooks": "".join(path.read_text() for path in sorted((root / ".git" / "hooks").iterdir())),
        "head": bare_git(root, "rev-parse", "HEAD"),
        "status": bare_git(root, "status", "-sb"),
        "fetched": (root / ".git" / "FETCH_HEAD").read_text() if (root / ".git" / "FETCH_HEAD").exists() else "",
    }


def test_the_users_repository_behaves_as_before(project, bare_git, tmp_path, environ, home):
    root, upstream, store = project
    before = _theirs(root, bare_git)
    with pytest.raises(GitmemError):
        find_remote(store, None)
    add_remote(store, "origin", None)
    Path(store.root, "knowledge.md").write_text("# Known\n")
    sync_store(store)
    assert _theirs(root, bare_git) == before
    assert not (tmp_path / "hooks").exists(), "no hook of the user's runs"
    assert bare_git(upstream, "for-each-ref", "--format=%(refname)") == "refs/heads/gitmem\nrefs/heads/main"

    # What they type does what it did: nothing more is pushed, fetched or listed.
    (root / "code.py").write_text("2\n")
    bare_git(root, "commit", "-qam", "Go on")
    bare_git(root, "push", "-q")
    assert bare_git(upstream, "rev-parse", "main") == bare_git(root, "rev-parse", "HEAD")
    assert bare_git(upstream, "for-each-ref", "--format=%(refname)").count("\n") == 2  # and their tag
    bare_git(root, "fetch", "-q")
    assert bare_git(root, "branch", "--format=%(refname:short)") == "gitmem\nmain"
    assert (tmp_path / "hooks").read_text().count("pre-push") == 1

    # Another machine clones the project and takes its memory from there.
    other = tmp_path / "other"
    bare_git(tmp_path, "clone", "-q", str(upstream), str(other))
    context = Context(environ, str(home), "desktop", store.context.clock)
    second = init_store(str(other), context, Place.BRANCH).store
    add_remote(second, "origin", None)
    sync_store(second)
    assert Path(second.root, "knowledge.md").read_text() == "# Known\n"
    assert bare_git(other, "rev-parse", "gitmem") == bare_git(upstream, "rev-parse", "gitmem")


def test_memory_is_not_pushed_to_the_projects_remote_unless_that_is_said(project, bare_git):
    root, upstream, store = project
    assert remotes(store) == []
    assert not store.has_remotes()
    bare_git(root, "push", "-q", "--all")  # which says it
    assert "refs/heads/gitmem" in bare_git(upstream, "for-each-ref")

"""A store that came with a project records nothing and sends nothing until the user said yes to it."""

import os
import shutil
from pathlib import Path

import pytest

from gitmem.errors import ExitCode, RefusedError
from gitmem.platform.machine import Context
from gitmem.store.acceptance import Acceptance, NotAcceptedError
from gitmem.store.init import Place, init_store
from gitmem.store.remotes import add_remote, added_remotes, remotes
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.sync.fetch import Options
from gitmem.sync.rounds import sync_in_background, sync_remote
from tests.conftest import RunsGit
from tests.copies import new_repository


@pytest.fixture(params=[Place.PROJECT, Place.BRANCH])
def project(request: pytest.FixtureRequest, tmp_path: Path, context: Context, bare_git: RunsGit) -> Path:
    """A project with a store of its own, or on a branch of its repository, and a remote of the store."""
    root = tmp_path / "project"
    bare_git(tmp_path, "init", "-q", str(root))
    bare_git(tmp_path, "init", "-q", "--bare", str(tmp_path / "remote.git"))
    store = init_store(str(root), context, request.param).store
    add_remote(store, "origin", str(tmp_path / "remote.git"))
    return root


def opened(root: Path, context: Context) -> Store:
    return Store(str(root / ".gitmem"), context)


def elsewhere(project: Path, context: Context, home: Path) -> Store:
    """Return the project's store as another machine has it: an archive that was unpacked at the same place."""
    (home / "other").mkdir()
    return opened(project, context._replace(home=str(home / "other")))


def test_what_came_from_elsewhere_is_not_written_to_and_sends_nothing(
    project: Path, context: Context, home: Path, tmp_path: Path, bare_git: RunsGit
):
    store = elsewhere(project, context, home)
    before = bare_git(project / ".gitmem", "rev-parse", "HEAD")
    for work in (
        lambda: transact(store, lambda _: None, purpose="test", scan=True),
        lambda: sync_remote(store, remotes(store)[0], Options(), asks=False),
        lambda: add_remote(store, "second", str(tmp_path / "remote.git")),
    ):
        with pytest.raises(NotAcceptedError) as caught:
            work()
        assert caught.value.exit_code == ExitCode.REFUSED
        assert "gitmem trust" in caught.value.remedy
    assert list(sync_in_background(store, Options())) == []
    assert bare_git(project / ".gitmem", "rev-parse", "HEAD") == before
    assert bare_git(tmp_path / "remote.git", "for-each-ref") == ""
    store.acceptance.accept(())
    transact(store, lambda _: None, purpose="test", scan=True)
    assert list(sync_in_background(store, Options())) == [], "its remote was not added here"
    assert bare_git(tmp_path / "remote.git", "for-each-ref") == ""
    store.acceptance.accept(tuple(one.url for one in remotes(store)))
    assert list(sync_in_background(store, Options())) == []
    assert bare_git(tmp_path / "remote.git", "for-each-ref") != ""


def test_a_remote_that_somebody_else_put_there_is_not_synced_with_by_itself(
    project: Path, context: Context, tmp_path: Path, bare_git: RunsGit
):
    store = opened(project, context)
    bare_git(tmp_path, "init", "-q", "--bare", str(tmp_path / "theirs.git"))
    where = () if store.has_separate_repository else ("--file", str(Path(store.private, "remotes")))
    for name in ("origin", "added"):  # another address of a known name, and another name
        bare_git(project / ".gitmem", "config", *where, f"remote.{name}.url", str(tmp_path / "theirs.git"))
    assert added_remotes(store) == []
    assert list(sync_in_background(store, Options())) == []
    assert bare_git(tmp_path / "theirs.git", "for-each-ref") == ""


def test_a_clone_of_a_project_brings_no_store(project: Path, context: Context, tmp_path: Path, bare_git: RunsGit):
    """Not even as a submodule of that name."""
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    for folder in (inner, outer):
        new_repository(folder, {"FORMAT.md": b"---\nversion: 2\n---\n"})
    local = ("-c", "protocol.file.allow=always")
    bare_git(outer, *local, "submodule", "--quiet", "add", str(inner), ".gitmem")
    bare_git(outer, "commit", "-qam", "two")
    cloned = tmp_path / "cloned"
    bare_git(tmp_path, *local, "clone", "-q", "--recurse-submodules", str(outer), str(cloned))
    with pytest.raises(NotAcceptedError):
        opened(cloned, context).acceptance.check()


def test_a_moved_project_is_known_and_a_copied_one_is_asked_about(project: Path, context: Context, tmp_path: Path):
    if not opened(project, context).has_separate_repository:
        pytest.skip("a linked work tree is connected again first")
    copy, moved = tmp_path / "copy", tmp_path / "deep" / "moved"
    shutil.copytree(project, copy, symlinks=True)
    assert not opened(copy, context).acceptance.is_accepted()
    moved.parent.mkdir()
    project.rename(moved)
    assert opened(moved, context).acceptance.is_accepted()
    assert [one.name for one in added_remotes(opened(moved, context))] == ["origin"]
    copy.rename(project)  # an archive in the place of the one that was moved away
    assert not opened(project, context).acceptance.is_accepted()


def test_another_store_in_its_place_is_not_taken_for_it(project: Path, context: Context, home: Path, tmp_path: Path):
    store = opened(project, context)
    (home / "other").mkdir()
    theirs = init_store(str(tmp_path / "theirs"), context._replace(home=str(home / "other")), Place.PROJECT).store
    repository = Path(store.repository.layout.common_dir)
    shutil.copytree(repository, tmp_path / "theirs.git", symlinks=True)
    shutil.copyfile(Path(theirs.private, "machine"), tmp_path / "theirs.git" / "gitmem" / "machine")
    repository.rename(tmp_path / "away")
    (tmp_path / "theirs.git").rename(repository)
    assert not opened(project, context).acceptance.is_accepted()
    (repository / "gitmem" / "machine").unlink()
    assert not opened(project, context).acceptance.is_accepted()


@pytest.mark.parametrize("lost", ["private folder", "token"])
def test_a_lost_private_folder_or_token_costs_one_question(project: Path, context: Context, lost: str):
    """A store without its token may be another one, whose folder has the number on the disk of one that was deleted."""
    store = opened(project, context)
    token = Path(store.private, "machine")
    if lost == "token":
        token.write_bytes(b"")  # as on a full disk
    else:
        shutil.rmtree(store.private)
    assert not opened(project, context).acceptance.is_accepted()
    store.acceptance.accept(())
    assert opened(project, context).acceptance.is_accepted()
    assert len(token.read_text().strip()) == 32
    assert os.listdir(store.private).count("machine") == len([*Path(store.private).glob("machine*")])


def test_a_file_that_leads_to_another_store_is_not_gone_by(project: Path, context: Context, tmp_path: Path):
    """An archive may bring `.gitmem/.git` as a file, which would tell that memory here and record into it."""
    target = opened(project, context).repository.layout.git_dir
    evil = tmp_path / "evil"
    shutil.copytree(project / ".gitmem", evil / ".gitmem", symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for path in (target, os.path.relpath(target, evil / ".gitmem")):
        (evil / ".gitmem" / ".git").write_text(f"gitdir: {path}\n")
        with pytest.raises(RefusedError, match="is not its own"):
            opened(evil, context)


@pytest.mark.parametrize("place", [Place.USER, Place.HOME])
def test_what_is_under_the_users_home_is_theirs(place: Place, context: Context, tmp_path: Path):
    (tmp_path / "project").mkdir()
    made = init_store(str(tmp_path / "project"), context, place).store
    assert not (Path(context.home) / ".local" / "share" / "gitmem" / "stores").exists()
    made.acceptance.check()


def _forget(home: Path) -> None:
    shutil.rmtree(home / ".local" / "share" / "gitmem" / "stores")


def test_a_home_that_cannot_be_written_stops_nobody(project: Path, context: Context, home: Path):
    _forget(home)
    (home / ".local" / "share" / "gitmem" / "stores").write_text("in the way")
    assert not opened(project, context).acceptance.is_accepted()


def test_what_a_killed_init_left_is_known_to_the_next(
    tmp_path: Path, context: Context, monkeypatch: pytest.MonkeyPatch
):
    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Acceptance, "accept", kill)
        with pytest.raises(KeyboardInterrupt):
            init_store(str(tmp_path), context, Place.PROJECT)
    made = init_store(str(tmp_path), context, Place.PROJECT)
    assert made.store.acceptance.is_accepted()
    assert opened(tmp_path, context).acceptance.is_accepted()

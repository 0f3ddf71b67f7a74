"""The memory of another project, at an address that was mistaken, is merged only if that is meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitmem.errors import ExitCode, RefusedError
from gitmem.store.purge import plan_purge, purge
from gitmem.store.setup.init import Place, init_store
from gitmem.store.setup.remotes import add_remote, remove_remote
from gitmem.store.sync.guard import Accept
from gitmem.store.sync.lease import alone
from tests.store.machines import NOON, Machine, converge

if TYPE_CHECKING:
    from gitmem.machine.context import Context
    from tests.conftest import RunsGit


@pytest.fixture
def stranger(tmp_path: Path, context: Context, bare_git: RunsGit, remote: Path) -> Machine:
    """A store of another project, made in the same second by the same person, with this project's remote."""
    root = tmp_path / "stranger"
    root.mkdir()
    made = init_store(str(root), context._replace(clock=lambda: NOON), Place.PROJECT).store
    add_remote(made, "origin", str(remote))
    return Machine(Path(made.root), "stranger", context, bare_git)


def test_another_projects_memory_is_not_merged_unasked(machine, stranger: Machine, remote: Path, bare_git: RunsGit):
    first = machine("laptop")
    first.save("of the first")
    first.sync()
    before, refs = stranger.tip, bare_git(remote, "for-each-ref")
    with pytest.raises(RefusedError, match="another project's") as caught:
        stranger.sync()
    assert caught.value.exit_code == ExitCode.REFUSED
    assert "--accept other-project" in caught.value.remedy
    assert (stranger.tip, bare_git(remote, "for-each-ref")) == (before, refs)
    with alone(stranger.store, "consolidate") as mine:
        assert mine
    assert bare_git(remote, "for-each-ref") == refs, "no lease is pushed there, either"
    stranger.save("of the stranger")
    stranger.sync(Accept.OTHER_PROJECT)
    for each in (first, stranger, first, stranger):
        each.sync()  # nobody is asked again
    assert first.tip == stranger.tip
    assert sorted(first.entries()) == sorted(first.ids | stranger.ids)


def test_a_purge_of_another_project_is_not_followed(machine, stranger: Machine):
    first = machine("laptop")
    first.save("the fish is swordfish-1234-blue")
    first.sync()
    purge(first.store, plan_purge(first.store, "swordfish-1234-blue"))
    first.sync()
    stranger.save("the fish is swordfish-1234-blue")
    with pytest.raises(RefusedError, match="another project's"):
        stranger.sync()
    assert "swordfish-1234-blue" in stranger.read("memory.md")


def test_a_store_without_a_commit_of_its_own_takes_any_memory(machine, stranger: Machine):
    first = machine("laptop")
    first.save("one")
    first.sync()
    stranger.git("update-ref", "HEAD", stranger.git("rev-list", "--max-parents=0", "HEAD"))
    stranger.git("reset", "-q", "--hard")
    assert stranger.sync().commit == first.tip


def test_stores_from_before_projects_had_ids_go_on(machine, remote: Path, context: Context, tmp_path: Path, bare_git):
    """They have commits in common, made by `init` without the trailer, and are not asked, nor is a second remote."""
    first, second = machine("laptop"), machine("desktop")
    message = first.git("log", "-1", "--format=%B", "HEAD").replace("Gitmem-Project", "X-Not")
    old = first.git("commit-tree", "HEAD^{tree}", "-p", "HEAD^", "-m", message)
    for each in (first, second):
        each.git("fetch", "-q", str(first.root), old)
        each.git("update-ref", "HEAD", old)
    first.save("one")
    first.sync()
    second.save("two")
    converge(first, second)
    bare_git(tmp_path, "init", "-q", "--bare", str(tmp_path / "spare.git"))
    first.git("push", "-q", str(tmp_path / "spare.git"), "HEAD:gitmem")
    remove_remote(second.store, "origin")
    add_remote(second.store, "origin", str(tmp_path / "spare.git"))
    second.sync()

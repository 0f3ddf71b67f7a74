"""A merge that nothing points to yet is kept from git's clean-up, and by nothing once the branch has moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gitmem.git.refs import read_refs
from gitmem.git.remote.connection import Connection
from gitmem.store.setup.init import Place
from gitmem.store.setup.remotes import add_remote, find_remote
from gitmem.store.sync.clone import clone_store
from gitmem.store.sync.memory import sync
from gitmem.store.sync.retry import Options, SyncStep
from gitmem.store.upkeep.maintenance import maintain
from gitmem.store.upkeep.pending import new_pending_ref, remove_abandoned

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunsGit
    from tests.store.conftest import Box


def _sync(box: Box, progress: object = lambda _: None) -> None:
    connection = Connection(box.store.repository.layout, box.context.environ, own=box.store.own_repository)
    sync(box.store, find_remote(box.store, None), connection, Options(progress=progress))


@pytest.mark.parametrize("place", [Place.PROJECT, Place.BRANCH])
def test_a_clean_up_at_each_step_of_a_sync(box, boxes, context, bare_git: RunsGit, tmp_path: Path, place: Place):  # noqa: PLR0917
    remote, other = tmp_path / "remote.git", tmp_path / "other"
    bare_git(tmp_path, "init", "-q", "--bare", str(remote))
    bare_git(tmp_path, "init", "-q", str(other))
    add_remote(box.store, "origin", str(remote))
    box.append("memory.md", b"- first\n")
    _sync(box)
    made = boxes(clone_store(str(other), context, place, str(remote), asks=False, options=Options()).root)
    box.append("memory.md", b"- here\n")
    _sync(box)
    made.append("knowledge/there.md", b"there\n")
    steps: list[str] = []

    def collect(step: str) -> None:
        steps.append(step)
        made.git("gc", "--quiet", "--prune=now")

    _sync(made, collect)
    assert {SyncStep.MERGE, SyncStep.PUSH, SyncStep.FILES} <= set(steps)
    assert b"- here\n" in made.files()["memory.md"]
    assert read_refs(made.store.repository.git, "refs/gitmem/pending/") == {}
    made.sound()


def test_what_a_killed_sync_left_goes_after_a_day(box):
    git, tip = box.store.repository.git, box.tip()
    old, new = new_pending_ref(box.store).replace("/1", "/0"), new_pending_ref(box.store)
    for ref in (old, new):
        git.run("update-ref", ref, tip)
    maintain(box.store)
    assert list(read_refs(git, "refs/gitmem/pending/")) == [new]
    remove_abandoned(box.store)
    assert list(read_refs(git, "refs/gitmem/pending/")) == [new]

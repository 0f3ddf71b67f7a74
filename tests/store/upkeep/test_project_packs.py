"""In a project's repository gitmem's packs stay few, and whatever else is there stays as it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gitmem.store.setup.init import Place, init_store
from gitmem.store.upkeep.project_packs import join_listed, listed_packs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunsGit


@pytest.fixture
def project(tmp_path: Path, bare_git: RunsGit) -> Path:
    folder = tmp_path / "theirs"
    folder.mkdir()
    bare_git(folder, "init", "-q", "-b", "main")
    for name in ("one", "two"):
        (folder / name).write_text(name)
        bare_git(folder, "add", name)
        bare_git(folder, "commit", "-qm", name)
        bare_git(folder, "repack", "-dq")
    (folder / "loose").write_text("loose")
    bare_git(folder, "add", "loose")
    return folder


def _packs(project: Path) -> set[str]:
    names = os.listdir(project / ".git" / "objects" / "pack")
    return {name.removesuffix(".pack") for name in names if name.endswith(".pack")}


def test_gitmems_packs_are_joined_and_no_other_is_touched(project, context, boxes, bare_git):
    theirs = _packs(project)
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    for number in range(25):
        box.append("memory.md", b"- %d\n" % number)
    assert set(listed_packs(box.store)) == _packs(project) - theirs
    assert box.store.spare_packs() > 0
    loose = bare_git(project, "count-objects")
    join_listed(box.store)
    assert bare_git(project, "count-objects") == loose
    assert theirs < _packs(project)
    assert set(listed_packs(box.store)) == _packs(project) - theirs
    assert len(listed_packs(box.store)) == 1
    assert box.store.spare_packs() <= 0
    box.append("memory.md", b"- after\n")
    assert len(listed_packs(box.store)) == 2
    box.sound()


def test_packs_that_git_has_packed_again_are_no_longer_listed(project, context, boxes, bare_git):
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    box.append("memory.md", b"- one\n")
    bare_git(project, "gc", "--quiet", "--prune=now")
    assert listed_packs(box.store) == []
    join_listed(box.store)
    box.append("memory.md", b"- two\n")
    assert len(listed_packs(box.store)) == 1
    box.sound()


def test_an_index_over_several_packs_stays_right(project, context, boxes, bare_git):
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    for number in range(3):
        box.append("memory.md", b"- %d\n" % number)
    bare_git(project, "multi-pack-index", "write")
    packs = _packs(project)
    join_listed(box.store)
    assert _packs(project) == packs
    bare_git(project, "multi-pack-index", "verify")


def test_what_a_killed_save_left_beside_its_pack_goes(project, context, boxes):
    """A person's own fast-import, whose file looks the same, is left alone."""
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    box.append("memory.md", b"- one\n")
    folder = project / ".git" / "objects" / "pack"
    (name,) = listed_packs(box.store)[-1:]
    ours, theirs = folder / f"{name}.keep", folder / "pack-1234.keep"
    for keep in (ours, theirs):
        keep.write_bytes(b"fast-import")
    box.append("memory.md", b"- two\n")
    assert (ours.exists(), theirs.exists()) == (False, True)
    os.utime(theirs, (1, 1))  # its pack has not come
    box.append("memory.md", b"- three\n")
    assert not theirs.exists()

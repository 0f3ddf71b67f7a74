"""Files are counted tree by tree, however often a tree stands somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gitmem.git.objects.extent import most_files
from gitmem.git.objects.reader import Objects
from gitmem.git.process.run import Git
from tests.property.hostile import Objects as Written
from tests.property.hostile import Said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RunsGit


@pytest.fixture
def written(tmp_path: Path, bare_git: RunsGit) -> Written:
    bare_git(tmp_path, "init", "-q", "--bare", "repository")
    return Written(tmp_path / "repository")


@pytest.fixture
def objects(written: Written, environ: dict[str, str]) -> Iterator[Objects]:
    with Objects(Git(str(written.folder), None, environ)) as objects:
        yield objects


def test_the_files_of_the_largest_commit_are_counted(written: Written, objects: Objects):
    blob = (b"100644", written.write("blob", b"x"))
    small = written.tree({(b"a",): blob})
    large = written.tree({(b"a",): blob, (b"b", b"c"): blob, (b"b", b"d", b"e"): blob, (b"f", b"d", b"e"): blob})
    first = written.commit(small, [], Said())
    second = written.commit(large, [first], Said())
    third = written.commit(small, [second, first], Said())
    assert most_files(objects, first, without=()) == 1
    assert most_files(objects, third, without=()) == 4
    assert most_files(objects, third, without=[second]) == 1
    assert most_files(objects, third, without=[third]) == 0


def test_trees_in_themselves_over_and_over_are_counted_at_once(written: Written, objects: Objects):
    commit = written.commit(written.endless(10, 12), [], Said())
    assert most_files(objects, commit, without=()) == 10**12


def test_what_is_no_tree_of_gits_is_not_counted(written: Written, objects: Objects):
    deep = written.commit(written.endless(1, 1_200), [], Said())
    missing = written.commit("1" * 40, [], Said())
    twice = written.write("tree", (b"100644 a\0" + b"1" * 20) * 2)
    for commit in (deep, missing, written.commit(twice, [], Said())):
        assert most_files(objects, commit, without=()) is None

"""Files are counted tree by tree, however often a tree stands somewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.git import objects as trees
from gitmem.git.objects import Objects, most_files
from gitmem.git.process import Git
from tests.conftest import RunsGit
from tests.property.hostile import Objects as Written
from tests.property.hostile import Said


@pytest.fixture
def written(tmp_path: Path, bare_git: RunsGit) -> Written:
    bare_git(tmp_path, "init", "-q", "--bare", "repository")
    return Written(tmp_path / "repository")


@pytest.fixture
def objects(written: Written, environ: dict[str, str]) -> Iterator[Objects]:
    with Objects(Git(str(written.folder), None, environ)) as objects:
        yield objects


@pytest.fixture
def git(written: Written, environ: dict[str, str]) -> Git:
    return Git(str(written.folder), None, environ)


def test_the_files_of_the_largest_commit_are_counted(written: Written, git: Git, objects: Objects):
    blob = (b"100644", written.write("blob", b"x"))
    small = written.tree({(b"a",): blob})
    large = written.tree({(b"a",): blob, (b"b", b"c"): blob, (b"b", b"d", b"e"): blob, (b"f", b"d", b"e"): blob})
    first = written.commit(small, [], Said())
    second = written.commit(large, [first], Said())
    third = written.commit(small, [second, first], Said())
    assert most_files(git, objects, first, without=(), limit=0, most=1000) == 1
    assert most_files(git, objects, third, without=(), limit=0, most=1000) == 4
    assert most_files(git, objects, third, without=[second], limit=0, most=1000) == 1
    assert most_files(git, objects, third, without=[third], limit=0, most=1000) == 0
    assert most_files(git, objects, third, without=(), limit=0, most=0) is None, "a file is too large"


def test_trees_in_themselves_over_and_over_are_counted_at_once(written: Written, git: Git, objects: Objects):
    commit = written.commit(written.endless(10, 12), [], Said())
    assert most_files(git, objects, commit, without=(), limit=0, most=1000) == 10**12


def test_what_is_no_tree_of_gits_is_not_counted(written: Written, git: Git, objects: Objects):
    deep = written.commit(written.endless(1, 1_200), [], Said())
    missing = written.commit("1" * 40, [], Said())
    twice = written.write("tree", (b"100644 a\0" + b"1" * 20) * 2)
    for commit in (deep, missing, written.commit(twice, [], Said())):
        assert most_files(git, objects, commit, without=(), limit=0, most=1000) is None


def test_trees_without_folders_are_parsed_only_near_the_limit(
    written: Written, git: Git, objects: Objects, monkeypatch: pytest.MonkeyPatch
):
    blob, zeros = (b"100644", written.write("blob", b"x")), (b"100644", "00" * 20)
    commit, parsed = "", []
    for number in range(20):
        files = {(b"facts", b"%d.md" % place): blob for place in range(number + 1)}
        tree = written.tree({(b"a",): blob, (b"facts", b"zeros.md"): zeros} | files)
        commit = written.commit(tree, [commit] if commit else [], Said())
    parse = trees.parse_tree
    monkeypatch.setattr(trees, "parse_tree", lambda data, oid: parsed.append(oid) or parse(data, oid))
    assert 22 <= (most_files(git, objects, commit, without=(), limit=100, most=1000) or 0) <= 50
    assert len(parsed) == 20  # the roots
    assert most_files(git, objects, commit, without=(), limit=30, most=1000) == 22
    assert len(parsed) == 20 + 20 + 40

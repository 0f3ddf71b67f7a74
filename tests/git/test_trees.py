"""Files are counted tree by tree, however often a tree stands somewhere."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from gitmem.git import objects as trees
from gitmem.git.objects import Objects, most_files
from gitmem.git.process import Git
from gitmem.git.repository import Repository, find_layout
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


NAMES = st.sampled_from(["a", "a.b", "a-", "b", "한", "e\u0301", " ", "a\n", '"', "*", "Z", "ü"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
MODES = st.sampled_from(["100644", "100755", "120000", "160000"])
TREES = st.dictionaries(PATHS, st.tuples(MODES, st.integers(1, 3)), max_size=8)


@pytest.fixture
def repository(tmp_path, bare_git, environ) -> Repository:
    bare_git(tmp_path, "init", "-q", "store")
    layout = find_layout(str(tmp_path / "store"))
    assert layout is not None
    return Repository(layout, environ)


def write_tree(repository: Repository, files: dict[str, tuple[str, int]]) -> str:
    """Write a tree; where a name is a file's and a folder's, it is the folder's."""
    folders = {path[:place] for path in files for place, letter in enumerate(path) if letter == "/"}
    index = {"GIT_INDEX_FILE": f"{repository.layout.git_dir}/index-{os.urandom(4).hex()}"}
    lines = [f"{mode} {number:040d}\t{path}\0" for path, (mode, number) in files.items() if path not in folders]
    repository.git.run("update-index", "-z", "--index-info", stdin="".join(lines).encode(), env=index)
    return repository.git.run("write-tree", "--missing-ok", env=index).decode().strip()


def mktree(repository: Repository, lines: str) -> str:
    return repository.git.run("mktree", "-z", "--missing", stdin=lines.encode()).decode().strip()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, TREES)
def test_the_same_as_git(repository, one, other):
    old, new = write_tree(repository, one), write_tree(repository, {**one, **other})
    wanted = [repository.changes(old, new), repository.changes(new, old)]
    with Objects(repository.git) as objects:
        assert [trees.tree_changes(objects, old, new), trees.tree_changes(objects, new, old)] == wanted


def test_what_is_odd_is_left_to_git(repository, monkeypatch):
    blob = repository.git.run("hash-object", "-w", "--stdin", stdin=b"").decode().strip()
    raw = b"100644 a\0" + bytes.fromhex(blob)

    def tree(data: bytes) -> str:
        said = repository.git.run("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=data)
        return said.decode().strip()

    empty, plain = mktree(repository, ""), tree(raw)
    with Objects(repository.git) as objects:
        assert [change.path for change in trees.tree_changes(objects, empty, plain) or ()] == ["a"]
        for odd in (raw + raw, raw[:-1], b"x" + raw, raw + b"100644 b"):
            assert trees.tree_changes(objects, empty, tree(odd)) is None
        assert trees.tree_changes(objects, empty, "0" * 40) is None
        monkeypatch.setattr(trees, "_MOST_TREES", 2)
        assert trees.tree_changes(objects, empty, mktree(repository, f"040000 tree {plain}\ta\0")) is not None
        deep = plain
        for _ in range(3):  # each has the next one twice: 2 ** 3 paths
            deep = mktree(repository, f"040000 tree {deep}\ta\x00040000 tree {deep}\tb\0")
        assert trees.tree_changes(objects, empty, deep) is None


def test_an_old_mode_is_shown_as_git_shows_it(repository):
    blob = repository.git.run("hash-object", "-w", "--stdin", stdin=b"").decode().strip()
    data = b"100664 a\0" + bytes.fromhex(blob)
    said = repository.git.run("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=data)
    old, new = mktree(repository, ""), said.decode().strip()
    with Objects(repository.git) as objects:
        assert trees.tree_changes(objects, old, new) == repository.changes(old, new)

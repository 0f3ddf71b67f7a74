from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.errors import GitFailedError
from gitmem.git import blob_id
from gitmem.git import objects as trees
from gitmem.git.objects import Objects, most_files, read_objects
from gitmem.git.process import Git
from tests.conftest import RunsGit
from tests.property.hostile import Objects as Written
from tests.property.hostile import Said


@pytest.mark.parametrize("content", [b"", b"x", b"\r\n\0\xff" * 1000, b"0123456789abcdef" * (1 << 16)])
@pytest.mark.parametrize("kind, digits", [("sha1", 40), ("sha256", 64)])
def test_the_id_of_a_blob_is_gits(tmp_path, bare_git, kind, digits, content):
    bare_git(tmp_path, "init", "-q", f"--object-format={kind}")
    assert blob_id(content, "0" * digits) == bare_git(tmp_path, "hash-object", "--stdin", stdin=content)


@pytest.fixture
def git(tmp_path, bare_git, environ) -> Git:
    bare_git(tmp_path, "init", "-q", "store")
    return Git(tmp_path / "store" / ".git", tmp_path / "store", environ)


def stored(git: Git, data: bytes) -> str:
    return git.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def test_contents_and_infos_come_in_order_and_none_for_what_is_missing(git):
    texts = [b"", b"\n", "한글 🙂\r\n".encode(), b"0" * 40 + b" blob 3\nabc\n", b"x" * 1_000_000]
    oids = [stored(git, text) for text in texts]
    names = [oids[0], "0" * 40, *oids[1:], "no such name", oids[0]]
    with Objects(git) as objects:
        assert list(objects.contents(names)) == [texts[0], None, *texts[1:], None, texts[0]]
        infos = objects.infos(names)
        assert [None if info is None else info.size for info in infos] == [
            0, None, *map(len, texts[1:]), None, 0,
        ]  # fmt: skip
        assert [info.oid for info in infos if info] == [*oids, oids[0]]


def test_a_missing_object_is_an_error_where_all_have_to_exist(git):
    oids = [stored(git, text) for text in (b"one", b"two")]
    assert list(read_objects(git, [*oids, oids[0]])) == [b"one", b"two", b"one"]
    assert list(read_objects(git, [])) == []
    with pytest.raises(GitFailedError, match="0000 is missing"):
        list(read_objects(git, [oids[0], "0" * 40]))
    with Objects(git) as objects, pytest.raises(GitFailedError, match="is missing"):
        objects.sizes([oids[0], "0" * 40])


def test_what_comes_later_is_found_also_in_a_new_pack(git, bare_git, tmp_path):
    with Objects(git) as objects:
        assert objects.infos(["0" * 40]) == [None]
        oid = stored(git, b"later")
        git.run("pack-objects", f"{git.git_dir}/objects/pack/pack", stdin=f"{oid}\n".encode())
        git.run("prune-packed")
        assert list(objects.contents([oid])) == [b"later"]


def test_it_starts_again_after_it_was_closed_or_killed(git):
    oid = stored(git, b"text")
    with Objects(git) as objects:
        assert list(objects.contents([oid])) == [b"text"]
        objects.close()
        assert list(objects.contents([oid])) == [b"text"]
        objects.kill()
        objects.start()._process.wait()
        with pytest.raises(GitFailedError):
            objects.infos([oid])
        assert list(objects.contents([oid])) == [b"text"]


def test_a_damaged_object_is_an_error_and_not_the_next_answer(git, tmp_path):
    oid, other = stored(git, b"text" * 100), stored(git, b"other")
    path = tmp_path / "store" / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-8])
    with Objects(git) as objects:
        with pytest.raises(GitFailedError):
            list(objects.contents([oid, other]))
        assert list(objects.contents([other])) == [b"other"]


def test_a_name_of_two_lines_would_be_two_questions(git):
    with Objects(git) as objects, pytest.raises(ValueError, match="one line"):
        objects.infos(["HEAD\ncontents HEAD"])


# Files are counted tree by tree, however often a tree stands somewhere


@pytest.fixture
def written(tmp_path: Path, bare_git: RunsGit) -> Written:
    bare_git(tmp_path, "init", "-q", "--bare", "repository")
    return Written(tmp_path / "repository")


@pytest.fixture
def largest(written: Written, environ: dict[str, str]) -> Iterator[Callable[..., int | None]]:
    """Give a function that counts the files of the largest commit."""
    git = Git(str(written.folder), None, environ)
    with Objects(git) as objects:
        yield lambda tip, without=(), *, limit=0, most=1000: most_files(
            git, objects, tip, without=without, limit=limit, most=most
        )


def test_the_files_of_the_largest_commit_are_counted(written: Written, largest):
    blob = (b"100644", written.write("blob", b"x"))
    small = written.tree({(b"a",): blob})
    large = written.tree({(b"a",): blob, (b"b", b"c"): blob, (b"b", b"d", b"e"): blob, (b"f", b"d", b"e"): blob})
    first = written.commit(small, [], Said())
    second = written.commit(large, [first], Said())
    third = written.commit(small, [second, first], Said())
    assert largest(first) == 1
    assert largest(third) == 4
    assert largest(third, [second]) == 1
    assert largest(third, [third]) == 0
    assert largest(third, most=0) is None, "a file is too large"


def test_trees_in_themselves_over_and_over_are_counted_at_once(written: Written, largest):
    commit = written.commit(written.endless(10, 12), [], Said())
    assert largest(commit) == 10**12


def test_what_is_no_tree_of_gits_is_not_counted(written: Written, largest):
    deep = written.commit(written.endless(1, 1_200), [], Said())
    missing = written.commit("1" * 40, [], Said())
    twice = written.write("tree", (b"100644 a\0" + b"1" * 20) * 2)
    for commit in (deep, missing, written.commit(twice, [], Said())):
        assert largest(commit) is None


def test_trees_without_folders_are_parsed_only_near_the_limit(
    written: Written, largest, monkeypatch: pytest.MonkeyPatch
):
    blob, zeros = (b"100644", written.write("blob", b"x")), (b"100644", "00" * 20)
    commit, parsed = "", []
    for number in range(20):
        files = {(b"facts", b"%d.md" % place): blob for place in range(number + 1)}
        tree = written.tree({(b"a",): blob, (b"facts", b"zeros.md"): zeros} | files)
        commit = written.commit(tree, [commit] if commit else [], Said())
    parse = trees.parse_tree
    monkeypatch.setattr(trees, "parse_tree", lambda data, oid: parsed.append(oid) or parse(data, oid))
    assert 22 <= (largest(commit, limit=100) or 0) <= 50
    assert len(parsed) == 20  # the roots
    assert largest(commit, limit=30) == 22
    assert len(parsed) == 20 + 20 + 40

import pytest

from gitmem.errors import GitFailedError
from gitmem.git.objects import Objects, read_objects
from gitmem.git.process import Git
from gitmem.git.repository import blob_id


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

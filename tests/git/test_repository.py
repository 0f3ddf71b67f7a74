import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.errors import GitFailedError, GitmemError, NotFoundError, UnfinishedError
from gitmem.git import objects as trees
from gitmem.git.layout import find_layout
from gitmem.git.objects import Objects, most_files, read_objects
from gitmem.git.process import Git
from gitmem.git.repository import Repository, TreeEntry, blob_id, is_object_id
from tests.conftest import RunsGit
from tests.copies import new_repository
from tests.property.hostile import Objects as Written
from tests.property.hostile import Said

REF = "refs/heads/gitmem"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "store", None, "-b", "gitmem")


@pytest.fixture
def repository(folder: Path, environ: dict[str, str]) -> Repository:
    layout = find_layout(str(folder))
    assert layout is not None
    return Repository(layout, environ)


@pytest.fixture
def save(folder: Path, bare_git: RunsGit):
    def commit(files: dict[str, bytes | None], message: str = "saved") -> str:
        for name, content in files.items():
            path = folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        bare_git(folder, "add", "-A")
        bare_git(folder, "commit", "-q", "--allow-empty", "-m", message)
        return bare_git(folder, "rev-parse", "HEAD")

    return commit


def test_object_ids():
    others = ("0" * 39, "0" * 41, "", "A" * 40, "g" * 40, "^" + "0" * 39, "\u0660" * 40)
    assert [text for text in ("0" * 40, "abcdef0123456789" * 4, *others) if is_object_id(text)] == [
        "0" * 40,
        "abcdef0123456789" * 4,
    ]


# The branch and what is unfinished


def _conflict(folder: Path, save, bare_git) -> str:
    """Make a branch `other` that conflicts with the tip in three commits."""
    base = save({"a": b"base\n"})
    for number in (1, 2, 3):
        save({"a": b"theirs %d\n" % number}, f"theirs {number}")
    bare_git(folder, "branch", "other")
    bare_git(folder, "reset", "-q", "--hard", base)
    save({"a": b"ours\n"})
    return base


def _fails(bare_git, folder: Path, *args: str) -> None:
    with pytest.raises(AssertionError):
        bare_git(folder, *args)


@pytest.mark.parametrize(
    "command, words, remedy",
    [
        (("merge", "other"), "A merge", "git merge --abort"),
        (("rebase", "other"), "A rebase", "git rebase --abort"),
        (("rebase", "--apply", "other"), "A rebase", "git rebase --abort"),
        (("cherry-pick", "other"), "A cherry-pick", "git cherry-pick --abort"),
        (("revert", "other~1"), "A revert", "git revert --abort"),
        (("am", "../patch"), "'git am'", "git am --abort"),
    ],
)
def test_an_operation_that_waits_for_the_user(folder, save, bare_git, environ, *, command, words, remedy):
    repository = Repository(find_layout(str(folder)), environ)
    _conflict(folder, save, bare_git)
    (folder.parent / "patch").write_text(bare_git(folder, "format-patch", "--stdout", "-1", "other") + "\n")
    _fails(bare_git, folder, *command)
    with pytest.raises(UnfinishedError, match=words) as caught:
        repository.branch()
    assert remedy in caught.value.remedy
    bare_git(folder, *caught.value.remedy.split("'")[3].split()[1:])
    assert repository.branch() == REF


def test_between_two_picks_of_a_series(folder, repository, save, bare_git):
    _conflict(folder, save, bare_git)
    _fails(bare_git, folder, "cherry-pick", "other~2", "other~1", "other")
    (folder / "a").write_bytes(b"theirs 1\n")
    bare_git(folder, "commit", "-qam", "resolved")
    assert not (folder / ".git" / "CHERRY_PICK_HEAD").exists()
    with pytest.raises(UnfinishedError, match="cherry-pick or revert"):
        repository.branch()
    bare_git(folder, "cherry-pick", "--continue")
    assert repository.branch() == REF


def test_what_another_work_tree_is_in_the_middle_of_is_nothing_to_this_one(folder, save, bare_git, tmp_path, environ):
    _conflict(folder, save, bare_git)
    bare_git(folder, "worktree", "add", "-q", str(tmp_path / "linked"), "other")
    _fails(bare_git, tmp_path / "linked", "merge", "gitmem")
    assert Repository(find_layout(str(folder)), environ).branch() == REF
    with pytest.raises(UnfinishedError):
        Repository(find_layout(str(tmp_path / "linked")), environ).branch()


# Tips and revisions


def test_a_tip(folder, repository, save, bare_git):
    assert repository.tip(REF) is None
    first = save({"a": b"a"})
    assert repository.tip(REF) == first
    bare_git(folder, "pack-refs", "--all")
    assert not (folder / ".git" / REF).exists()
    assert repository.tip(REF) == first
    second = save({"a": b"b"})
    assert repository.tip(REF) == second
    bare_git(folder, "symbolic-ref", "refs/heads/alias", REF)
    assert repository.tip("refs/heads/alias") == second
    assert repository.tip("refs/heads/none") is None


@pytest.mark.parametrize("damage", [b"", b"\0" * 41, b"nonsense\n", b"0" * 40 + b"\n", b"f" * 39])
def test_a_branch_that_is_damaged_is_not_taken_for_one_that_is_not_born(folder, repository, save, damage):
    save({"a": b"a"})
    (folder / ".git" / REF).write_bytes(damage)
    with pytest.raises(GitmemError, match="damaged"):
        repository.tip(REF)


def test_revisions(folder, repository, save, bare_git):
    first = save({"a": b"a"})
    second = save({"a": b"b"})
    bare_git(folder, "tag", "-a", "-m", "t", "v1", first)
    for revision, oid in {
        "HEAD": second,
        "HEAD~1": first,
        "gitmem": second,
        "v1": first,
        first[:8]: first,
        second: second,
        "@{0}": second,
    }.items():
        assert repository.resolve(revision) == oid


@pytest.mark.parametrize(
    "revision",
    [
        *("", "nothing", "HEAD~5", "-1", "--all", "HEAD..gitmem", "^HEAD", "HEAD^@", "HEAD^!", "HEAD:a"),
        *("HEAD^{tree}", "a\0b", "a\nb", "\n", "HEAD@{junk}", "한국"),
        "f" * 40,
        "\udcff",
        "x" * 5000,
        "HEAD" + "^" * 100_000,
    ],
)
def test_what_is_no_revision(repository, save, revision):
    save({"a": b"a"})
    with pytest.raises(NotFoundError) as caught:
        repository.resolve(revision)
    assert "gitmem log" in caught.value.remedy
    assert len(caught.value.message) < 5_000


# What stands where

ODD = ["a b", "tab\t", "line\nbreak", '"quoted"', "back\\slash", "결정.md", os.fsdecode(b"\xff.md"), ":(top)x", "*.md"]


def test_reading_at_a_revision(repository, save):
    files = {name: f"content of {name!a}".encode() for name in ODD}
    first = save({**files, "deep/er/file": b"\0\r\n", "empty": b""})
    second = save({"deep/er/file": None, "empty": b"not any more"})
    for name, content in files.items():
        assert repository.read(first, name) == content
    assert repository.read(first, "deep/er/file") == b"\0\r\n"
    assert repository.read(first, "empty") == b""
    assert repository.read(second, "deep/er/file") is None
    assert repository.read(second, "empty") == b"not any more"


def test_a_link_and_a_submodule_are_no_files(folder, repository, save):
    (folder / "link").symlink_to("a")
    commit = save({"a": b"a"})
    assert repository.read(commit, "link") is None
    assert [entry.mode for entry in repository.files(commit)] == ["100644", "120000"]


def test_listing_files(folder, repository, save):
    (folder / "run.sh").write_bytes(b"x")
    (folder / "run.sh").chmod(0o755)
    commit = save({"a/one": b"1", "a/two": b"22", "b": b"", **dict.fromkeys(ODD, b"odd")})
    listed = {entry.path: entry for entry in repository.files(commit)}
    assert set(listed) == {"a/one", "a/two", "b", "run.sh", *ODD}
    assert (listed["a/two"].mode, listed["a/two"].size) == ("100644", 2)
    assert listed["run.sh"].mode == "100755"
    assert isinstance(listed["b"], TreeEntry)
    assert [entry.path for entry in repository.files(commit, "a")] == ["a/one", "a/two"]
    assert [entry.path for entry in repository.files(commit, "*.md")] == ["*.md"]
    assert repository.files(commit, "none") == []
    assert repository.blob(listed["a/one"].oid) == b"1"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "store", {}, "-b", "gitmem")


@pytest.mark.parametrize("name", ["linked", "with a blank ", "gelinkt\u00e9", "line\nbreak"])
def test_the_layout_of_a_linked_work_tree(top, bare_git, tmp_path, name):
    linked = tmp_path / name
    bare_git(top, "worktree", "add", "-q", "--detach", str(linked))
    layout = find_layout(str(linked))
    assert layout.work_tree == str(linked)
    assert layout.common_dir == str(top / ".git")
    assert Path(layout.git_dir).parent == top / ".git" / "worktrees"


@pytest.mark.parametrize(
    "dot_git", [None, b"", b"gitdir:", b"gitdir: /nowhere/at/all\n", b"\xff\xfe", b"something else\n", "folder"]
)
def test_what_is_no_repository_has_no_layout(tmp_path, dot_git):
    if dot_git == "folder":
        (tmp_path / ".git").mkdir()
    elif dot_git is not None:
        (tmp_path / ".git").write_bytes(dot_git)
    assert find_layout(str(tmp_path)) is None
    assert find_layout(str(tmp_path / "missing")) is None


def test_a_linked_work_tree_that_was_never_filled_has_no_layout(top, bare_git, tmp_path):
    bare_git(top, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    lock = top / ".git" / "worktrees" / "linked" / "locked"
    lock.write_text("initializing\n")
    assert find_layout(str(tmp_path / "linked")) is not None, "it was filled, and the lock was left"
    (lock.parent / "index").unlink()
    assert find_layout(str(tmp_path / "linked")) is None
    lock.write_text("on a stick\n")  # a lock of the user's own is something else
    assert find_layout(str(tmp_path / "linked")) is not None


# Objects


@pytest.mark.parametrize("content", [b"", b"x", b"\r\n\0\xff" * 1000, b"0123456789abcdef" * (1 << 16)])
@pytest.mark.parametrize("kind, digits", [("sha1", 40), ("sha256", 64)])
def test_the_id_of_a_blob_is_gits(tmp_path, bare_git, kind, digits, content):
    bare_git(tmp_path, "init", "-q", f"--object-format={kind}")
    assert blob_id(content, "0" * digits) == bare_git(tmp_path, "hash-object", "--stdin", stdin=content)


@pytest.fixture
def git(tmp_path, environ) -> Git:
    new_repository(tmp_path / "store")
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


def test_an_object_of_any_size_is_not_read(written: Written, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    small, large = written.write("blob", b"x"), written.write("blob", b"x" * 200)
    monkeypatch.setattr(trees, "MOST_OUTPUT", 100)
    with Objects(Git(str(written.folder), None, environ)) as objects:
        with pytest.raises(GitFailedError, match="has 200 bytes, more than gitmem reads"):
            list(objects.contents([large]))
        assert list(objects.contents([small])) == [b"x"]


def test_a_message_or_a_folder_of_any_size_is_not_read(written: Written, largest, monkeypatch: pytest.MonkeyPatch):
    tree = written.tree({(b"a",): (b"100644", written.write("blob", b"x"))})
    long = written.commit(tree, [], Said(message=b"x" * (1 << 16)))
    assert largest(long) == 1
    monkeypatch.setattr(trees, "_LARGE_COMMITS", 1 << 15)
    assert largest(long) is None
    assert largest(written.commit(tree, [], Said())) == 1
    monkeypatch.setattr(trees, "_LARGEST_TREE", 8)
    assert largest(written.commit(tree, [], Said())) is None


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

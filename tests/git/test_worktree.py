import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gitmem.errors import GitFailedError, RefusedError, UnfinishedError
from gitmem.git.index import IndexUpdate
from gitmem.git.process import Git
from gitmem.git.worktree import Staged, WorkTree
from gitmem.platform.safe_open import MAX_FILE_BYTES
from tests.conftest import RunsGit
from tests.copies import new_repository

posix = pytest.mark.skipif(sys.platform == "win32", reason="names, modes and links as POSIX has them")
ODD_NAMES = [
    *("a b.md", " at both ends ", '"quoted"', "back\\slash", "line\nbreak", "tab\t", "결정/일지.md", "e\u0301.md"),
    os.fsdecode(b"\xff\xfe.md"),
    *("-rf", ":(top)x", "*.md", "#hash#", "->", "x -> y", "? x", "1 A. N..."),
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    files = {".gitignore": b"/.tmp/\n*.ignored\n", "memory.md": b"one\n", "daily/day.md": b"day\r\n"}
    return new_repository(tmp_path / "store", files, "-b", "gitmem")


@pytest.fixture
def git(store: Path, environ: dict[str, str]) -> Git:
    return Git(store / ".git", store, environ)


@pytest.fixture
def tree(store: Path, git: Git) -> WorkTree:
    return WorkTree(str(store), git, ".tmp")


def put(tree: WorkTree, changes: Mapping[str, bytes | None]) -> list[str]:
    for path in changes:
        tree.read(path)
    staged = [tree.stage(path, content) for path, content in changes.items()]
    return tree.publish(staged)


def files(folder: Path) -> dict[str, bytes]:
    """Every file of the work tree; links are shown as what they are."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == ".git" or name.startswith(".git" + os.sep):
            continue
        if path.is_symlink():
            found[name] = b"-> " + os.fsencode(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


# Reading


@posix
@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_read_written_and_removed(store, tree, name):
    assert put(tree, {name: b"x"}) == []
    assert tree.read(name) == b"x"
    assert files(store)[name] == b"x"
    put(tree, {name: None})
    assert name not in files(store)
    assert tree.read(name) is None


@posix
def test_what_is_no_regular_file_is_refused(store, tree):
    os.mkfifo(store / "fifo")
    (store / "link").symlink_to("memory.md")
    (store / "dangling").symlink_to("/nowhere")
    (store / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(store)  # the name of a socket is short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
    for name in ("fifo", "link", "dangling", "loop", "socket"):
        with pytest.raises(RefusedError, match=name):
            tree.read(name)


def test_a_file_that_is_too_large_is_refused_unread(store, tree):
    with (store / "huge").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(RefusedError, match="more than gitmem handles"):
        tree.read("huge")


@pytest.mark.parametrize(
    "name",
    [
        *("", "/etc/passwd", "../outside", "daily/../../outside", "daily/./day.md", "daily//day.md", "daily/"),
        *(".git/config", ".GIT/config", "daily/.git/config", "a\0b", "\ud800.md", ".", ".."),
    ],
)
def test_a_name_that_leads_out_of_the_store_is_refused(store, tree, name):
    (store.parent / "outside").write_bytes(b"secret")
    before = files(store.parent)
    with pytest.raises(RefusedError):
        tree.read(name)
    with pytest.raises(RefusedError):
        tree.stage(name, b"x")
    with pytest.raises(RefusedError):
        tree.publish([Staged(name, None)])
    assert files(store.parent) == before


@posix
@pytest.mark.parametrize("target", ["outside", "inside", "nowhere", "file"])
def test_a_folder_that_is_a_link_is_not_followed(store, tree, tmp_path, target):
    places = {"outside": tmp_path / "outside", "inside": store / "daily", "nowhere": Path("/no/where")}
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "day.md").write_bytes(b"not ours")
    (store / "linked").symlink_to(places.get(target, store / "memory.md"))
    before = files(tmp_path)
    for name in ("linked/day.md", "linked/new.md", "linked/deep/er.md"):
        with pytest.raises(RefusedError, match="linked"):
            tree.read(name)
        with pytest.raises(RefusedError, match="linked"):
            tree.stage(name, b"x")
        with pytest.raises(RefusedError, match="linked"):
            tree.publish([Staged(name, None)])
    with pytest.raises(RefusedError, match="linked"):
        tree.names("linked")
    assert files(tmp_path) == before


@posix
def test_a_folder_that_becomes_a_link_after_it_was_seen_is_not_followed(store, tree, tmp_path):
    staged = [tree.stage("daily/day.md", b"changed")]
    (tmp_path / "outside").mkdir()
    (store / "daily").rename(store / "moved")
    (store / "daily").symlink_to(tmp_path / "outside")
    with pytest.raises(RefusedError, match="daily"):
        tree.publish(staged)
    assert list((tmp_path / "outside").iterdir()) == []


@posix
def test_a_link_is_replaced_and_not_written_through(store, tree, tmp_path):
    (tmp_path / "outside").write_bytes(b"not ours")
    staged = [tree.stage("memory.md", b"two\n")]
    (store / "memory.md").unlink()
    (store / "memory.md").symlink_to(tmp_path / "outside")
    tree.publish(staged)
    assert (tmp_path / "outside").read_bytes() == b"not ours"
    assert not (store / "memory.md").is_symlink()


# The temporary folder


@posix
@pytest.mark.parametrize("link", [True, False])
def test_a_temporary_folder_that_is_a_link_or_a_file_is_neither_written_nor_cleaned(store, tree, tmp_path, link):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    (store / ".tmp").symlink_to(outside) if link else (store / ".tmp").write_bytes(b"x")
    tree.clean_temporary()
    with pytest.raises(RefusedError, match=r"\.tmp"):
        tree.stage("memory.md", b"x")
    assert files(outside) == {"precious": b"x"}


@posix
def test_no_room_leaves_no_temporary_file(store, tree):
    import resource  # not on Windows
    import signal

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            tree.stage("memory.md", b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert list((store / ".tmp").iterdir()) == []


# Publishing


@pytest.mark.parametrize("order", [1, -1])
def test_a_file_takes_the_place_of_a_folder(store, tree, order):
    staged = [Staged("daily/day.md", None)]
    tree.publish(staged)
    put(tree, {"daily": b"a file now"})
    assert (store / "daily").read_bytes() == b"a file now"
    (store / "x").mkdir()
    (store / "x" / "y").write_bytes(b"y")
    items = [tree.stage("x", b"file"), tree.stage("x/y", None)][::order]
    assert tree.publish(items) == []
    assert (store / "x").read_bytes() == b"file"


def test_an_edit_between_read_and_publish_is_left_alone(store, tree):
    (store / "gone.md").write_bytes(b"to be removed")
    for path in ("memory.md", "daily/day.md", "new.md", "gone.md"):
        tree.read(path)
    staged = [tree.stage(path, b"ours") for path in ("memory.md", "new.md", "gone.md")]
    staged.append(tree.stage("daily/day.md", None))
    (store / "gone.md").unlink()
    (store / "memory.md").write_bytes(b"theirs")
    (store / "new.md").write_bytes(b"theirs, too")
    (store / "daily" / "day.md").write_bytes(b"still needed")
    assert sorted(tree.publish(staged)) == ["daily/day.md", "gone.md", "memory.md", "new.md"]
    assert not (store / "gone.md").exists()
    assert (store / "memory.md").read_bytes() == b"theirs"
    assert (store / "new.md").read_bytes() == b"theirs, too"
    assert (store / "daily" / "day.md").read_bytes() == b"still needed"
    assert list((store / ".tmp").iterdir()) == []


@pytest.mark.parametrize("again", [False, True])
def test_what_is_written_into_a_file_while_it_is_being_replaced_is_not_lost(store, tree, monkeypatch, again):
    """Whoever opened it before writes into a file without a name; it is put beside one that is edited `again`."""
    assert tree.read("memory.md") == b"one\n"
    staged = [tree.stage("memory.md", b"one\ntwo\n"), tree.stage("new.md", b"new\n")]
    replace = os.replace
    with (store / "memory.md").open("ab", buffering=0) as by_hand:

        def at_this_moment(source: str, target: str, **folders: int) -> None:
            replace(source, target, **folders)
            if source == staged[0].temporary:
                by_hand.write(b"by hand\n")
                if again:
                    with (store / "memory.md").open("ab") as another:
                        another.write(b"and again\n")

        monkeypatch.setattr(os, "replace", at_this_moment)
        published = tree.publish(staged)
    assert published == ["memory.md"]
    assert (store / "memory.md").read_bytes() == (b"one\ntwo\nand again\n" if again else b"one\nby hand\n")
    assert [path.read_bytes() for path in store.glob("memory.edited-*.md")] == [b"one\nby hand\n"] * again
    assert (store / "new.md").read_bytes() == b"new\n"
    assert list((store / ".tmp").iterdir()) == []


@posix
def test_an_edit_of_the_same_size_and_time_by_rename_is_seen(store, tree):
    tree.read("memory.md")
    staged = [tree.stage("memory.md", b"ours")]
    before = (store / "memory.md").stat()
    (store / "other").write_bytes(b"two\n")
    os.utime(store / "other", ns=(before.st_atime_ns, before.st_mtime_ns))
    (store / "other").replace(store / "memory.md")
    assert tree.publish(staged) == ["memory.md"]


# Modes


def test_whether_modes_mean_something_here(store, tree, git, bare_git):
    assert tree.trusts_modes() is (sys.platform != "win32")
    bare_git(store, "config", "core.fileMode", "false")
    assert WorkTree(str(store), git, ".tmp").trusts_modes() is False
    bare_git(store, "config", "--unset", "core.fileMode")
    assert WorkTree(str(store), git, ".tmp").trusts_modes() is True


# What was edited


def test_conflicts_left_in_the_index_are_for_the_user(store, tree, bare_git):
    bare_git(store, "stash", "list")
    (store / "memory.md").write_bytes(b"stashed\n")
    bare_git(store, "stash")
    (store / "memory.md").write_bytes(b"committed\n")
    bare_git(store, "commit", "-qam", "second")
    with pytest.raises(AssertionError):
        bare_git(store, "stash", "pop")
    with pytest.raises(UnfinishedError, match=r"memory\.md"):
        tree.edited()


# The index


def status(bare_git: RunsGit, store: Path) -> str:
    return bare_git(store, "status", "--porcelain")


def started(tree: WorkTree) -> IndexUpdate:
    index = tree.open_index()
    index.start()
    return index


def test_a_path_that_changed_nothing_changes_nothing(store, tree, bare_git):
    tree.open_index().finish(["memory.md", "never/was.md"])
    assert status(bare_git, store) == ""
    tree.open_index().finish([])
    with tree.open_index() as index:
        index.start()
    assert status(bare_git, store) == ""
    assert not (store / ".git" / "index.lock").exists()


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("when", ["before", "between"])
@pytest.mark.parametrize("age", [0, 3600])
def test_a_lock_that_was_left_behind(store, tree, bare_git, when, age):
    lock = store / ".git" / "index.lock"

    def leave() -> None:
        lock.write_bytes(b"an index, as while an editor is open")
        os.utime(lock, (time.time() - age, time.time() - age))

    if when == "before":
        leave()
    index = started(tree)
    if when == "between":
        index.finish(())
        leave()
        index = started(tree)
    put(tree, {"memory.md": b"two\n", "new.md": b"n"})
    index.finish(["memory.md", "new.md"])
    assert lock.exists()  # whose it is, we cannot know
    lock.unlink()
    assert status(bare_git, store) == "M  memory.md\nA  new.md"
    assert [path.name for path in (store / ".git").glob("index*")] == ["index"]


@pytest.mark.parametrize("age, stays", [(5, True), (3600, False)])
def test_an_empty_lock_that_was_left_behind_goes(store, tree, bare_git, age, stays):
    lock = store / ".git" / "index.lock"
    lock.write_bytes(b"")  # git fills it before it opens an editor
    os.utime(lock, (time.time() - age, time.time() - age))
    put(tree, {"memory.md": b"two\n"})
    tree.open_index().finish(["memory.md"])
    assert lock.exists() is stays
    lock.unlink(missing_ok=True)
    assert status(bare_git, store) == "M  memory.md"


def test_a_lock_that_is_released_soon_is_waited_for(store, tree, bare_git):
    lock = store / ".git" / "index.lock"
    lock.write_bytes(b"")
    index = started(tree)
    put(tree, {"memory.md": b"two\n"})
    timer = threading.Timer(0.2, lock.unlink)
    timer.start()
    index.finish(["memory.md"])
    timer.join()
    assert not lock.exists()
    assert status(bare_git, store) == "M  memory.md"


@pytest.mark.parametrize("damage", [b"", b"\0" * 64, b"DIRC"])
def test_a_damaged_index_is_made_anew(store, tree, bare_git, damage):
    def harm() -> None:
        (store / ".git" / "index").write_bytes(damage)

    harm()
    assert tree.edited() == []
    harm()
    index = started(tree)
    put(tree, {"memory.md": b"two\n"})
    index.finish(["memory.md"])
    assert status(bare_git, store) == "M  memory.md"


def test_a_failure_is_an_error_and_leaves_no_process(store, tree):
    (store / ".git" / "HEAD").unlink()
    with pytest.raises(GitFailedError):
        tree.edited()
    with pytest.raises(GitFailedError):
        tree.open_index().finish(["memory.md"])


# The filters of a configuration


def test_no_configuration_changes_what_the_index_gets(store, tree, bare_git, home):
    (home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n\tsafecrlf = true\n\texcludesFile = ~/ignore\n")
    (home / "ignore").write_text("*\n")
    index = started(tree)
    put(tree, {"memory.md": b"a\r\nb\n", "new.md": b"c\r\n"})
    index.finish(["memory.md", "new.md"])
    for name, content in {"memory.md": b"a\r\nb\n", "new.md": b"c\r\n"}.items():
        blob = subprocess.run(["git", "cat-file", "blob", f":{name}"], cwd=store, capture_output=True, check=True)
        assert blob.stdout == content
    assert sorted(tree.edited()) == ["memory.md", "new.md"]


def test_many_files_are_staged_at_once_or_none_is(store, tree):
    files = [(f"folder/{number}.md", b"%d\n" % number, number == 7) for number in range(50)]
    assert tree.publish(tree.stage_all(files)) == []
    assert [(store / path).read_bytes() for path, _, _ in files] == [data for _, data, _ in files]
    assert os.name == "nt" or [os.access(store / path, os.X_OK) for path, _, _ in files].index(True) == 7
    (store / "way").write_text("a file where a folder should be")
    with pytest.raises(RefusedError):
        tree.stage_all([*files, ("way/x.md", b"x", False), *files])
    assert list((store / ".tmp").iterdir()) == []


def test_what_is_staged_is_not_seen_and_can_be_discarded(store, tree):
    before = files(store)
    staged = [tree.stage("memory.md", b"x"), tree.stage("new/one.md", b"y"), tree.stage("daily/day.md", None)]
    assert {name: data for name, data in files(store).items() if not name.startswith(".tmp")} == before
    tree.discard(staged)
    tree.discard(staged)
    assert files(store) == before

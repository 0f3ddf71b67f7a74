"""Stores whose project was copied or moved: no save goes into another project's memory, and `init` fixes them."""

import os
import shutil
import subprocess

import pytest

from gitmem.errors import GitmemError, RefusedError
from gitmem.store.init import Place, complete_store, make_store
from gitmem.store.locate import find_project, find_store, home_store
from gitmem.store.store import Store
from tests.copies import new_repository


@pytest.fixture
def project(tmp_path):
    return new_repository(tmp_path / "프로젝트 one", {"main.py": b"print(1)\n"})


@pytest.fixture
def init(context):
    """Connect a store, say yes to it where it is a copy, and add what it lacks."""

    def make(folder, place=Place.BRANCH):
        made = make_store(str(folder), context, place)
        made.store.acceptance.accept(())
        complete_store(made.store)
        return made

    return make


@pytest.fixture
def original(project, init, opened):
    """Give a store on a branch with an edit by hand that is not committed and an event that waits."""
    world = opened(init(project).store.root)
    world.commit({"memory.md": b"first\n", "daily/day.md": b"day\n"})
    world.write("daily/day.md", b"day\nby hand\n")
    world.store.spool.deliver({"v": 1, "kind": "test", "id": "waits"})
    return world


def branch(bare_git, folder) -> str:
    return bare_git(folder, "rev-parse", "refs/heads/gitmem")


def copied(project):
    copy = project.parent / "copy"
    shutil.copytree(project, copy, symlinks=True)
    return copy


def waiting(world) -> list[str]:
    return [event.content["id"] for event in world.store.spool.events()]


def test_a_save_in_a_copy_is_refused_and_moves_no_branch(original, project, bare_git, context, home):
    copy, before = copied(project), branch(bare_git, project)
    found = find_store(str(copy), str(home))
    assert found == str(copy / ".gitmem")
    with pytest.raises(RefusedError, match="copied or moved") as caught:
        Store(found, context)
    assert "gitmem init" in caught.value.remedy
    assert str(copy) in caught.value.remedy
    assert branch(bare_git, project) == before
    original.append("memory.md", b"still here\n")


@pytest.mark.parametrize("place", [Place.BRANCH, Place.PROJECT])
@pytest.mark.parametrize("start", ["", ".gitmem", ".gitmem/daily"])
@pytest.mark.few(2)
def test_init_gives_a_copy_a_work_tree_of_its_own(original, project, bare_git, init, *, opened, place, start):
    copy = copied(project)
    made = init(copy / start, place)
    assert made.store.root == str(copy / ".gitmem")
    world = opened(made.store.root)
    assert (copy / ".gitmem" / "daily" / "day.md").read_bytes() == b"day\nby hand\n"
    world.append("memory.md", b"copied\n", scan=True)
    original.append("memory.md", b"original\n", scan=True)
    assert world.files() == {**original.files(), "memory.md": b"first\ncopied\n"}
    assert original.files()["memory.md"] == b"first\noriginal\n"
    assert original.files()["daily/day.md"] == b"day\nby hand\n"
    assert waiting(world) == waiting(original) == ["waits"]
    for one in (world, original):
        one.sound()
    assert branch(bare_git, copy) != branch(bare_git, project)
    assert str(copy) in bare_git(copy, "worktree", "list")
    assert str(copy) not in bare_git(project, "worktree", "list")
    assert bare_git(copy, "status", "--porcelain") == bare_git(project, "status", "--porcelain") == ""


@pytest.mark.few(1)
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("place", [Place.BRANCH, Place.PROJECT, None])
def test_init_and_any_command_connect_a_moved_project_again(  # noqa: PLR0917
    original, project, bare_git, init, context, opened, place, pruned
):
    if place is None and pruned:
        pytest.skip("only init makes a new record")
    moved = project.parent / "moved"
    project.rename(moved)
    if pruned:
        bare_git(moved, "worktree", "prune", "--expire=now")
    world = opened((init(moved, place).store if place else Store(find_store(str(moved), context.home), context)).root)
    assert (moved / ".gitmem" / "daily" / "day.md").read_bytes() == b"day\nby hand\n"
    world.append("memory.md", b"moved\n", scan=True)
    assert world.files()["memory.md"] == b"first\nmoved\n"
    assert world.files()["daily/day.md"] == b"day\nby hand\n"
    assert waiting(world) == ["waits"]
    world.sound()
    assert bare_git(moved, "status", "--porcelain") == ""


@pytest.mark.parametrize("there", ["pruned", "back", "alone", "another branch"])
@pytest.mark.few(2)
def test_else_it_says_what_to_run_and_changes_nothing(original, project, bare_git, context, there):
    moved = project.parent / "moved"
    project.rename(moved)
    [record] = (moved / ".git" / "worktrees").iterdir()
    if there == "pruned":
        bare_git(moved, "worktree", "prune", "--expire=now")
    elif there == "back":
        (project / ".gitmem").mkdir(parents=True)
        (project / ".gitmem" / ".git").write_text("another\n")
    elif there == "alone":
        (moved / ".git").rename(project.parent / "elsewhere.git")
    else:
        (record / "HEAD").write_text("ref: refs/heads/main\n")
    before = {path: path.read_bytes() for path in project.parent.rglob("*") if path.is_file()}
    found = find_store(str(moved), context.home)
    with pytest.raises(RefusedError, match="nothing is recorded") as caught:
        Store(found, context)
    assert f"'gitmem init' in {moved}" in caught.value.remedy
    assert {path: path.read_bytes() for path in project.parent.rglob("*") if path.is_file()} == before


@pytest.mark.few(1)
@pytest.mark.parametrize("again", ["copy", "clone", "nothing", "file"])
def test_a_moved_project_with_another_one_in_its_old_place(
    original, project, tmp_path, bare_git, init, *, opened, again
):
    moved = tmp_path / "moved"
    project.rename(moved)
    if again == "copy":
        shutil.copytree(moved, project, symlinks=True)
    elif again == "clone":
        bare_git(tmp_path, "clone", "-q", str(moved), project.name)
        opened(init(project).store.root).append("memory.md", b"another\n")
    elif again == "file":
        project.write_text("a file")
    world = opened(init(moved).store.root)
    world.append("memory.md", b"moved\n", scan=True)
    world.sound()
    assert world.files()["memory.md"] == b"first\nmoved\n"
    if again in {"copy", "clone"}:
        other = opened(init(project).store.root)
        other.settle()
        assert other.files()["memory.md"] != world.files()["memory.md"]
        other.sound()


def test_a_store_that_was_moved_into_another_project(original, project, tmp_path, bare_git, init, *, context, opened):
    bare_git(tmp_path, "init", "-q", "other")
    shutil.copytree(project / ".gitmem", tmp_path / "other" / ".gitmem", symlinks=True)
    before = branch(bare_git, project)
    store = str(tmp_path / "other" / ".gitmem")
    with pytest.raises(RefusedError):
        Store(store, context)
    world = opened(init(tmp_path / "other").store.root)
    world.append("memory.md", b"other\n", scan=True)
    assert world.files()["daily/day.md"] == b"day\nby hand\n"
    assert branch(bare_git, project) == before


def test_a_store_without_the_repository_it_belonged_to(original, project, tmp_path, init):
    (tmp_path / "plain").mkdir()
    shutil.copytree(project / ".gitmem", tmp_path / "plain" / ".gitmem", symlinks=True)
    with pytest.raises(GitmemError, match="belonged to the repository") as caught:
        init(tmp_path / "plain")
    assert str(tmp_path / "plain" / ".gitmem" / ".git") in caught.value.remedy
    (tmp_path / "plain" / ".gitmem" / ".git").unlink()
    assert init(tmp_path / "plain", Place.PROJECT).new


def test_a_copy_that_shares_its_git_folder_with_the_original(tmp_path, bare_git, init, opened, context):
    bare_git(tmp_path, "init", "-q", f"--separate-git-dir={tmp_path}/elsewhere", "one")
    world = opened(init(tmp_path / "one").store.root)
    shutil.copytree(tmp_path / "one", tmp_path / "two", symlinks=True)
    with pytest.raises(RefusedError):
        Store(str(tmp_path / "two" / ".gitmem"), context)
    with pytest.raises(GitmemError, match=r"checked out at .*one"):
        init(tmp_path / "two")
    world.append("memory.md", b"kept\n")
    shutil.rmtree(tmp_path / "one")
    opened(init(tmp_path / "two").store.root).sound()


def test_a_copy_that_git_has_noted_in_place_of_the_original(original, project, context, init, opened):
    copy = copied(project)
    [record] = (project / ".git" / "worktrees").iterdir()
    (record / "gitdir").write_text(f"{copy}/.gitmem/.git\n")  # as git does once a day, when it is used in the copy
    with pytest.raises(RefusedError):
        Store(str(project / ".gitmem"), context)
    world = opened(init(project).store.root)
    world.append("memory.md", b"original\n", scan=True)
    world.sound()
    opened(init(copy).store.root).append("memory.md", b"copied\n")
    assert world.files()["memory.md"] == b"first\noriginal\n"


def test_init_that_was_cut_off_as_it_connected(original, project, init, opened, monkeypatch):
    copy = copied(project)
    replace = os.replace

    def cut(source, target):
        if os.fspath(target).endswith(f"copy{os.sep}.gitmem{os.sep}.git"):
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("gitmem.git.setup.os.replace", cut)
        with pytest.raises(KeyboardInterrupt):
            init(copy)
    world = opened(init(copy).store.root)
    world.settle()
    world.sound()
    assert world.files()["daily/day.md"] == b"day\nby hand\n"
    assert not [name for name in os.listdir(copy / ".gitmem") if name.startswith(".git.new")]


# What only looks like a copy


def test_a_project_that_is_mounted_in_another_place_too(original, project, tmp_path, opened, home):
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    if not shutil.which("mount") or subprocess.run(["mount", "--bind", project, mounted], check=False).returncode:
        pytest.skip("only root can mount a folder, where it may")
    try:
        assert find_store(str(mounted), str(home)) == str(mounted / ".gitmem")
        opened(mounted / ".gitmem").append("memory.md", b"by the mount\n")
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=True)
    assert original.files()["memory.md"] == b"first\nby the mount\n"


def test_links_that_are_relative(original, project, context, opened):
    [record] = (project / ".git" / "worktrees").iterdir()
    (project / ".gitmem" / ".git").write_text(f"gitdir: ../.git/worktrees/{record.name}\n")
    (record / "gitdir").write_text("../../../.gitmem/.git\n")
    copy = copied(project)
    Store(str(copy / ".gitmem"), context).acceptance.accept(())
    opened(copy / ".gitmem").append("memory.md", b"copied\n")
    assert b"copied" not in original.files()["memory.md"]


def test_a_link_and_a_record_that_both_lie(original, project, tmp_path, context):
    mine = tmp_path / "evil" / ".gitmem" / ".git"
    mine.mkdir(parents=True)
    (mine / "HEAD").write_text("ref: refs/heads/gitmem\n")
    (mine / "commondir").write_text(f"{project / '.git'}\n")
    (mine / "gitdir").write_text(f"{mine}\n")
    with pytest.raises(RefusedError):
        Store(str(mine.parent), context)


# Linked work trees of the project


@pytest.fixture
def linked(project, tmp_path, bare_git):
    bare_git(project, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    return tmp_path / "linked"


@pytest.mark.parametrize("place", [Place.BRANCH, Place.PROJECT, Place.HOME])
def test_a_linked_work_tree_and_one_that_was_moved(project, linked, init, home, place):
    root = init(project, place).store.root
    assert find_store(str(linked), str(home)) == root
    linked.rename(linked.parent / "moved")
    assert find_store(str(linked.parent / "moved"), str(home)) == root


def test_a_copy_of_a_linked_work_tree_is_refused(original, linked, home, init):
    shutil.copytree(linked, linked.parent / "copy", symlinks=True)
    with pytest.raises(RefusedError, match="copy of the linked work tree") as caught:
        find_store(str(linked.parent / "copy"), str(home))
    assert "git worktree add" in caught.value.remedy
    with pytest.raises(RefusedError):
        init(linked.parent / "copy")


@pytest.mark.parametrize("git", [True, False])
def test_a_project_with_its_store_at_home_that_was_moved(tmp_path, project, init, home, git):
    if not git:
        project = tmp_path / "plain"
        project.mkdir()
    old = init(project, Place.HOME).store.root
    init(project, Place.HOME)
    moved = tmp_path / "moved"
    project.rename(moved)
    with pytest.raises(GitmemError, match="which is gone") as caught:
        init(moved, Place.HOME)
    assert str(project) in caught.value.message
    new = home_store(find_project(str(moved), str(home)), str(home))
    assert f"rename {old} to {new}" in caught.value.remedy
    os.rename(old, new)
    made = init(moved, Place.HOME)
    assert (made.store.root, made.new) == (new, False)
    shutil.copytree(moved, project, symlinks=True)
    assert init(project, Place.HOME).new  # a copy is another project
    os.unlink(os.path.join(new, ".git", "gitmem", "project"))
    moved.rename(tmp_path / "again")
    assert init(tmp_path / "again", Place.HOME).new  # as said: it is another project

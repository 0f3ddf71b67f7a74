import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.errors import GitmemError, NotSavedError, RefusedError
from gitmem.store.init import Place, init_store
from gitmem.store.locate import find_project, find_store, home_store
from gitmem.store.store import Store
from tests.as_root import give, root_needed
from tests.copies import new_repository

ROOT = Path(__file__).resolve().parents[2]
FILES = {".gitattributes", ".gitignore", "FORMAT.md", "README.md", "config.yaml", "memory.md"}
_OF_A_PROJECT = [place for place in Place if place is not Place.PRIVATE]  # that one is given its folder: test_layers.py


@pytest.fixture
def project(tmp_path):
    folder = new_repository(tmp_path / "project", {"src/main.py": b"print()\n"})
    (folder / "src" / "main.py").write_bytes(b"print(1)\n")
    (folder / "new.py").touch()
    return folder


@pytest.fixture
def init(context):
    return lambda start, place=Place.PROJECT: init_store(str(start), context, place)


# A store in its project


@pytest.mark.few(1)
@pytest.mark.parametrize("place", _OF_A_PROJECT)
def test_a_second_time_nothing_changes(project, init, opened, home, place):
    first = init(project, place)
    world = opened(first.store.root)
    world.commit({"memory.md": b"mine\n"})
    tip, files, left = world.tip, world.files(), sorted(str(path) for path in home.rglob("*"))
    exclude = (project / ".git" / "info" / "exclude").read_bytes()
    inside = [] if place is Place.HOME else [Path(first.store.root)]  # that folder is no project's
    for start in (project, project / "src", *inside):
        again = init(start, place)
        assert (again.new, again.store.root) == (False, first.store.root)
    assert (world.tip, world.files()) == (tip, files)
    assert (project / ".git" / "info" / "exclude").read_bytes() == exclude
    assert sorted(str(path) for path in home.rglob("*")) == left
    world.sound()


@pytest.mark.few(1)
@pytest.mark.parametrize("bare", ["proj.git", ".bare"])
@pytest.mark.parametrize("place", [Place.PROJECT, Place.BRANCH])
def test_bare_repositories(project, tmp_path, init, opened, bare_git, *, bare, place):
    folder = tmp_path / "layout"
    folder.mkdir()
    bare_git(folder, "clone", "-q", "--bare", str(project), bare)
    bare_git(folder / bare, "worktree", "add", "-q", "--detach", str(folder / "feature"))
    made = init(folder / "feature" / "src", place)
    assert made.store.root == str((folder if bare == ".bare" else folder / bare) / ".gitmem")
    world = opened(made.store.root)
    world.append("memory.md", b"saved\n", scan=True)
    world.sound()
    assert bare_git(folder / "feature", "status", "--porcelain") == ""
    assert (folder / bare / "info" / "exclude").read_text().splitlines().count("/.gitmem/") == 1


def test_the_home_folder_is_no_project(home, init, bare_git):
    for _ in range(2):
        for place in (Place.PROJECT, Place.BRANCH):
            with pytest.raises(GitmemError, match="your home folder") as caught:
                init(home, place)
            assert "--user" in caught.value.remedy
        assert not (home / ".gitmem").exists()
        if not (home / ".git").exists():
            bare_git(home, "init", "-q")


def test_the_top_folder_of_the_system_is_no_project(init, monkeypatch):
    monkeypatch.setattr("gitmem.store.init.user_store", lambda _: pytest.fail("nothing is to be made"))
    with pytest.raises(GitmemError, match="folder of the whole system"):
        init(Path(os.path.abspath(os.sep)), Place.PROJECT)


@pytest.mark.parametrize("place", [Place.PROJECT, Place.BRANCH])
def test_a_home_that_cannot_be_written_leaves_no_store_behind(project, init, home, place):
    (home / ".local").touch()  # in place of a folder
    before = sorted(project.rglob("*"))
    for _ in range(2):
        with pytest.raises(NotSavedError, match=r"which stores are yours, cannot be written"):
            init(project, place)
    assert sorted(project.rglob("*")) == before
    (home / ".local").unlink()
    assert init(project, place).store.acceptance.is_accepted()


# At home


def test_a_store_at_home(project, init, opened, home, bare_git):
    exclude = (project / ".git" / "info" / "exclude").read_bytes()
    made = init(project / "src", Place.HOME)
    assert made.store.root == home_store(find_project(str(project), str(home)), str(home))
    opened(made.store.root).sound()
    assert bare_git(project, "status", "--porcelain") == "M src/main.py\n?? new.py"
    assert not (project / ".gitmem").exists()
    assert (project / ".git" / "info" / "exclude").read_bytes() == exclude
    assert find_store(str(project / "src"), str(home)) == made.store.root


# Cut off, at once, and elsewhere


@pytest.mark.parametrize("trailers", ["", "\n\nGitmem-Op: save"])
@pytest.mark.parametrize("filled", ["nothing", "some files", "all files, no index"])
@pytest.mark.few(2)
def test_a_branch_whose_files_were_not_all_checked_out(project, init, opened, *, trailers, filled):
    """Killed there, no command may take what is missing for removed by hand."""
    world = opened(init(project, Place.BRANCH).store.root)
    root = world.git("rev-list", "--max-parents=0", "HEAD")
    world.git("reset", "-q", "--soft", root)
    for number in range(4):
        world.write(f"daily/{number}.md", b"%d\n" % number)
    world.git("add", "-A")
    world.git("commit", "-qm", f"all{trailers}")
    tip, files = world.tip, world.files()
    world.store.record_checkout(root)
    (Path(world.store.repository.layout.git_dir) / "index").unlink()
    for name in files:
        if filled == "nothing" or (filled == "some files" and name < "daily/2"):
            (world.root / name).unlink()
    world.reopen()
    outcome = world.settle()
    assert (outcome.commits, outcome.notices) == ((), ())
    assert (world.tip, world.files()) == (tip, files)
    world.sound()


KILLED = """
import os, sys
sys.path.insert(0, {root!r})
from datetime import UTC, datetime
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
context = Context(os.environ, {home!r}, "box", lambda: datetime.now(UTC))
print("ready", flush=True)
sys.stdin.readline()
init_store({project!r}, context, Place.{place})
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["PROJECT", "BRANCH"])
def test_two_at_once(project, opened, home, place):
    code = KILLED.format(root=str(ROOT), home=str(home), project=str(project), place=place)
    racers = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)
    ]
    for racer in racers:
        racer.stdout.readline()
    for racer in racers:
        racer.stdin.write(b"go\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate()
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    world = opened(project / ".gitmem")
    assert set(world.files()) == FILES
    assert world.subjects() == ["Set up the store", "Begin a memory"]
    world.sound()


@root_needed
@pytest.mark.parametrize("place", [Place.PROJECT, Place.BRANCH])
def test_a_project_that_belongs_to_somebody_else(project, init, opened, bare_git, place):
    give(project)
    before = sorted((str(path), path.stat().st_mtime_ns) for path in project.rglob("*"))
    with pytest.raises(RefusedError, match="belongs to another user"):
        init(project, place)
    assert sorted((str(path), path.stat().st_mtime_ns) for path in project.rglob("*")) == before
    bare_git(project.parent, "config", "--global", "--add", "safe.directory", str(project))
    world = opened(init(project, place).store.root)
    world.append("memory.md", b"saved\n", scan=True)
    give(project, 0)
    world.sound()


@root_needed
@pytest.mark.parametrize("place", _OF_A_PROJECT)
def test_a_store_that_belongs_to_somebody_else(project, init, context, place):
    root = init(project, place).store.root
    os.lchown(os.path.join(root, ".git"), 65534, 65534)
    with pytest.raises(RefusedError, match="belongs to another user") as caught:
        Store(root, context)
    assert f"safe.directory {root}" in caught.value.remedy

import os
import sys
from pathlib import Path

import pytest

from gitmem.errors import RefusedError
from gitmem.store.locate import Project, find_project, find_store, home_store, is_store, user_store
from tests.copies import new_repository

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and names as POSIX has them")


@pytest.fixture
def base(tmp_path):
    """Give a folder that no repository and no store is around."""
    folder = tmp_path / "base"
    folder.mkdir()
    return folder


@pytest.fixture
def make_store(bare_git):
    """Make what passes for a store, in an instant."""

    def make(folder: Path) -> str:
        bare_git(folder.parent if folder.parent.exists() else Path("/"), "init", "-q", "-b", "gitmem", str(folder))
        return str(folder)

    return make


@pytest.fixture
def project(base):
    folder = new_repository(base / "project", {"src/main.py": b""})
    (folder / "src" / "deep").mkdir()
    return folder


@pytest.fixture
def here(home, base):
    """Ask from a folder; nothing at all may be made by that."""

    class Here:
        def __init__(self) -> None:
            self.home = str(home)

        def store(self, folder: Path | str) -> str | None:
            before = everything(home), everything(base)
            found = find_store(str(folder), self.home)
            assert (everything(home), everything(base)) == before
            return found

        def project(self, folder: Path | str) -> Project:
            return find_project(str(folder), self.home)

    return Here()


def everything(folder: Path) -> list[str]:
    return sorted(folder + name for folder, folders, files in os.walk(folder) for name in folders + files)


# A project that is a git repository


def test_the_project_of_any_folder_in_a_repository(project, here):
    for folder in (project, project / "src", project / "src" / "deep", project / "src" / "not" / "there"):
        assert here.project(folder) == Project(str(project), str(project / ".git"))
        assert here.store(folder) is None


def test_the_store_of_any_folder_in_a_repository(project, here, make_store):
    store = make_store(project / ".gitmem")
    for folder in (project, project / "src", project / "src" / "deep"):
        assert here.store(folder) == store


def test_the_store_of_a_linked_work_tree_is_its_project_s(project, base, here, make_store, bare_git):
    store = make_store(project / ".gitmem")
    for place in (base / "linked", project / "linked inside", base / "elsewhere" / "linked"):
        bare_git(project, "worktree", "add", "-q", "--detach", str(place))
        assert here.project(place / "src").root == str(project)
        assert here.store(place / "src") == store


def test_a_bare_repository_beside_its_work_trees(project, base, here, make_store, bare_git):
    """The folder around it may hold other repositories."""
    bare_git(base, "clone", "-q", "--bare", str(project), "proj.git")
    bare_git(base, "clone", "-q", "--bare", str(project), "other.git")
    bare_git(base / "proj.git", "worktree", "add", "-q", "--detach", str(base / "main"))
    store = make_store(base / "proj.git" / ".gitmem")
    for place in (base / "main", base / "main" / "src", base / "proj.git", base / "proj.git" / "refs"):
        assert here.project(place) == Project(str(base / "proj.git"), str(base / "proj.git"))
        assert here.store(place) == store
    assert here.store(base / "other.git") is None


def test_a_git_folder_elsewhere(base, here, make_store, bare_git):
    (base / "modules").mkdir()
    bare_git(base, "init", "-q", "--separate-git-dir", str(base / "modules" / "the git folder"), "project")
    store = make_store(base / "project" / ".gitmem")
    assert here.project(base / "project") == Project(str(base / "project"), str(base / "modules" / "the git folder"))
    assert here.store(base / "project") == store


# Repositories inside one another


@pytest.fixture
def outer(base, project, bare_git):
    """A repository with a submodule `vendor/project`, that has one of its own."""
    inner = new_repository(base / "inner", {})
    allow = ("-c", "protocol.file.allow=always")
    bare_git(project, *allow, "submodule", "add", "-q", str(inner), "lib/inner")
    bare_git(project, "commit", "-qm", "submodule")
    bare_git(base, "init", "-q", "outer")
    bare_git(base / "outer", *allow, "submodule", "add", "-q", str(project), "vendor/project")
    bare_git(base / "outer", *allow, "submodule", "update", "-q", "--init", "--recursive")
    bare_git(base / "outer", "commit", "-qm", "submodule")
    return base / "outer"


def test_a_submodule_belongs_to_the_project_around_it(outer, here, make_store):
    store = make_store(outer / ".gitmem")
    for place in ("vendor/project", "vendor/project/src", "vendor/project/lib/inner", ".git/modules/vendor/project"):
        assert here.project(outer / place).root == str(outer)
        assert here.store(outer / place) == store


def test_a_submodule_in_a_linked_work_tree(outer, base, here, make_store, bare_git):
    store = make_store(outer / ".gitmem")
    bare_git(outer, "worktree", "add", "-q", "--detach", str(base / "linked"))
    bare_git(base / "linked", "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
    assert here.store(base / "linked" / "vendor" / "project" / "src") == store


def test_a_work_tree_of_a_submodule_stands_for_itself(outer, base, here, make_store, bare_git):
    make_store(outer / ".gitmem")
    bare_git(outer / "vendor" / "project", "worktree", "add", "-q", "--detach", str(base / "linked"))
    assert here.project(base / "linked").root == str(base / "linked")
    assert here.store(base / "linked") is None


def test_an_independent_repository_inside_another_is_its_own_project(project, here, make_store, bare_git):
    make_store(project / ".gitmem")
    bare_git(project, "init", "-q", "tools/nested")
    nested = project / "tools" / "nested"
    assert here.project(nested) == Project(str(nested), str(nested / ".git"))
    assert here.store(nested) is None
    own = make_store(nested / ".gitmem")
    assert here.store(nested) == own
    assert here.store(project / "tools") == str(project / ".gitmem")


# A project without git


def test_the_store_of_a_project_without_git_is_found_from_below(base, here, make_store):
    store = make_store(base / ".gitmem")
    (base / "a" / "b").mkdir(parents=True)
    for folder in (base, base / "a", base / "a" / "b", base / "a" / "not" / "there"):
        assert here.project(folder) == Project(str(base), None)
        assert here.store(folder) == store


@pytest.mark.parametrize("dot_git", ["empty folder", "gone", "rubbish"])
def test_a_git_that_is_none(base, here, make_store, dot_git):
    folder = base / "x"
    folder.mkdir()
    if dot_git == "empty folder":
        (folder / ".git").mkdir()
    else:
        (folder / ".git").write_text("gitdir: /no/where/.git/worktrees/x\n" if dot_git == "gone" else "rubbish\n")
    assert here.project(folder) == Project(str(folder), None)
    assert here.store(folder) is None
    assert here.store(folder) is None
    store = make_store(folder / ".gitmem")
    assert here.store(folder) == store


# Stores in the home folder


def test_a_project_without_git_whose_store_is_at_home_is_found_from_below(base, here, make_store):
    (base / "notes" / "deep").mkdir(parents=True)
    store = make_store(Path(home_store(Project(str(base / "notes"), None), here.home)))
    for folder in (base / "notes", base / "notes" / "deep"):
        assert here.project(folder) == Project(str(base / "notes"), None)
        assert here.store(folder) == store
    assert here.store(base) is None


def test_the_user_s_own_store_is_no_project_s(home, here, make_store):
    make_store(Path(user_store(str(home))))
    (home / "notes").mkdir()
    assert here.store(home / "notes") is None
    assert here.project(home / "notes") == Project(str(home / "notes"), None)
    assert here.store(home) is None


# From inside a store


def test_inside_a_store(project, here, make_store):
    store = make_store(project / ".gitmem")
    (project / ".gitmem" / "daily").mkdir()
    for folder in (project / ".gitmem", project / ".gitmem" / "daily", project / ".gitmem" / ".git"):
        assert here.store(folder) == store
        assert here.project(folder).root == str(project)


def test_inside_a_store_at_home_and_the_user_s_own(home, base, here, make_store):
    user = make_store(Path(user_store(str(home))))
    project = make_store(Path(home_store(Project(str(base), None), here.home)))
    assert here.store(Path(user) / "daily") == user
    assert here.store(Path(project) / "daily") == project


def test_a_repository_inside_a_store_is_something_else(project, here, make_store, bare_git):
    make_store(project / ".gitmem")
    bare_git(project / ".gitmem", "init", "-q", "nested")
    assert here.store(project / ".gitmem" / "nested") is None


# Links


@posix
def test_paths_through_links(project, base, here, make_store):
    store = make_store(project / ".gitmem")
    (base / "to project").symlink_to(project)
    (base / "to folder").symlink_to(project / "src")
    for folder in ("to project", "to project/src", "to folder", "to folder/deep"):
        assert here.store(base / folder) == store


@posix
def test_a_store_that_is_a_link_is_none(project, base, here, make_store):
    make_store(base / "elsewhere")
    (project / ".gitmem").symlink_to(base / "elsewhere")
    assert not is_store(str(project / ".gitmem"))
    assert here.store(project) is None


@posix
def test_a_home_folder_that_is_a_link(home, base, make_store):
    (base / "home").symlink_to(home)
    make_store(home / ".gitmem")
    (home / "notes").mkdir()
    for given in (home, base / "home"):
        for start in (home / "notes", base / "home" / "notes"):
            assert find_store(str(start), str(given)) is None
            assert find_project(str(start), str(given)) == Project(str(home / "notes"), None)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_link_of_somebody_else_into_a_project_of_ours_is_not_followed(project, base, here, make_store, bare_git):
    store = make_store(project / ".gitmem")
    bare_git(project, "worktree", "add", "-q", "--detach", str(base / "linked"))
    assert here.store(base / "linked") == store
    os.lchown(base / "linked" / ".git", 65534, 65534)
    with pytest.raises(RefusedError, match="belongs to another user"):
        here.store(base / "linked")
    [record] = (project / ".git" / "worktrees").iterdir()
    os.lchown(record, 65534, 65534)  # all of it is somebody else's: that is found out where it is opened
    assert here.store(base / "linked") == store

"""Find the project and the store of a folder (docs/format.md)."""

from __future__ import annotations

import os

from gitmem.git.layout import STORE_FOLDER, common_dir_of, find_layout, linked_git_dir
from gitmem.git.trust import check_link, is_at_its_place, is_linked
from gitmem.platform.safe_open import folders_around
from gitmem.values import Value

HOME_PROJECTS = "projects"
PRIVATE_SUFFIX = ".private"  # ends the folder name of a project's private store (gitmem.store.layers)
HOME_HOSTS = "hosts"
_NAMELESS = "project"


class Project(Value):
    """A folder that can have a store; `common_dir` is its repository's common git directory, None without git."""

    root: str
    common_dir: str | None


def user_store(home: str) -> str:
    """Return the path of the user's own store (`gitmem init --user`)."""
    return os.path.join(home, STORE_FOLDER)


def find_project(start: str, home: str) -> Project:
    """Return the project of a folder: the repository around it, else the nearest folder with a store, else itself.

    A repository at the home, as of dotfiles, is the project of the home alone and of no folder below.
    Raises RefusedError if the folder is in a linked work tree that its repository does not know.
    """
    start, home = os.path.realpath(start), os.path.realpath(home)
    at_home = has_home_stores(home)
    for folder in folders_around(start):
        is_cut_off = os.path.basename(folder) == STORE_FOLDER and is_disconnected(folder)
        project = None if is_cut_off else _repository_at(folder)
        # A repository at `.gitmem` is a store's own, not a project's.
        is_dotfiles = folder == home != start
        if project is not None and not is_dotfiles and os.path.basename(project.root) != STORE_FOLDER:
            return project
        if folder != home and is_store(os.path.join(folder, STORE_FOLDER)):
            return Project(folder, None)
        if at_home and is_store(home_store(Project(folder, None), home)):
            return Project(folder, None)
    return Project(start, None)


def find_store(start: str, home: str) -> str | None:
    """Return the work tree of the store for the folder `start`, None if there is none.

    The store may be cut off from its repository, after the project was moved or copied; `gitmem.store.store` checks.
    Raises as `find_project`.
    """
    around = _store_around(os.path.realpath(start), os.path.realpath(home))
    if around is not None:
        return around
    project = find_project(start, home)
    # `.gitmem` in the home folder is the user's own store, not a project's.
    if project.root != os.path.realpath(home):
        inside = os.path.join(project.root, STORE_FOLDER)
        if is_store(inside) or (is_linked(inside) and not os.path.islink(inside)):
            return inside
    at_home = home_store(project, home)
    return at_home if is_store(at_home) else None


def _store_around(start: str, home: str) -> str | None:
    """Return the store around a folder, as after `cd "$(gitmem path)"`; None if there is none."""
    if STORE_FOLDER not in start.split(os.sep):
        return None
    folder = next((path for path in folders_around(start) if os.path.lexists(os.path.join(path, ".git"))), None)
    if folder is None:
        return None
    projects = os.path.join(user_store(home), HOME_PROJECTS)
    named = os.path.basename(folder) == STORE_FOLDER or os.path.dirname(folder) == projects
    return folder if named and is_store(folder) else None


def has_home_stores(home: str) -> bool:
    """Return whether the home may contain stores of projects; only a quick check."""
    return os.path.isdir(os.path.join(user_store(home), HOME_PROJECTS))


def home_store(project: Project, home: str) -> str:
    """Return the path where `init --home` keeps a project's store."""
    import hashlib  # takes 3 ms, and most stores are in their project

    from gitmem.document.ids import slug

    real = os.path.realpath(project.root)
    digest = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    name = slug(os.path.basename(real)) or _NAMELESS
    return os.path.join(user_store(home), HOME_PROJECTS, f"{name}-{digest}")


def is_store(folder: str) -> bool:
    """Return whether a folder is a store: the top of a work tree, and no symbolic link."""
    return not os.path.islink(folder) and find_layout(folder) is not None


def is_disconnected(folder: str) -> bool:
    """Return whether a store on a branch links to a missing repository, or to one that is not its own."""
    if not is_linked(folder):
        return False
    layout = find_layout(folder)
    return layout is None or not is_at_its_place(layout)


def _repository_at(folder: str) -> Project | None:
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return Project(folder, dot_git) if _is_git_dir(dot_git) else None
    git_dir = linked_git_dir(folder)
    if git_dir is None:
        return _repository_itself(folder)
    if not _is_git_dir(git_dir):  # the repository was removed or moved
        return Project(folder, None)
    common = common_dir_of(git_dir)
    if common != git_dir:
        check_link(folder, git_dir)
        return Project(_main_work_tree(folder, common), common)
    # A submodule, or a repository whose git folder is elsewhere.
    if _is_submodule(git_dir) and not is_store(os.path.join(folder, STORE_FOLDER)):
        return None
    return Project(folder, git_dir)


def _repository_itself(folder: str) -> Project | None:
    """Return the project of a bare repository or git directory, None if `folder` is neither."""
    if not _is_git_dir(folder) or not all(os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs")):
        return None
    return None if _is_submodule(folder) else Project(_main_work_tree(folder, folder), folder)


def _is_git_dir(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "HEAD"))


def _main_work_tree(linked: str, common: str) -> str:
    """Return the project folder of a linked work tree, from the path of the common git directory.

    `project/.git` and the bare `project/.bare` belong to `project`. A bare `project.git` is its own project folder,
    since its parent may hold other repositories. A linked work tree of a submodule is a project of its own.
    """
    if _is_submodule(common):
        return linked
    return os.path.dirname(common) if os.path.basename(common).startswith(".") else common


def _is_submodule(git_dir: str) -> bool:
    """Return whether a git directory is in the `modules/` folder of another, where git keeps submodules."""
    above = folders_around(os.path.dirname(git_dir))
    return any(os.path.basename(path) == "modules" and _is_git_dir(os.path.dirname(path)) for path in above)


PRIVATE_FOLDER = "gitmem"
KNOWN_FOLDER = "known"  # in the private folder: caches of what the documents say

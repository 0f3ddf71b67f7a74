"""Where a project's store is (docs/format.md, "Where a store is"). Reads folders; never makes one (spec V8)."""

from __future__ import annotations

import os

from gitmem.git.repository import common_dir_of, find_layout, read_text
from gitmem.values import Value

STORE_FOLDER = ".gitmem"
HOME_PROJECTS = "projects"
_MODULES = f"{os.sep}modules{os.sep}"  # git keeps submodules' repositories in `.git/modules/`


class Project(Value):
    """The folder a store belongs to; `common_dir` is its repository's common git folder, None without git."""

    root: str
    common_dir: str | None


def user_store(home: str) -> str:
    """Return where the store of what belongs to the person is."""
    return os.path.join(home, STORE_FOLDER)


def find_project(start: str, home: str) -> Project:
    """Return the project a folder belongs to: the repository around it, else the folder with a store, else itself."""
    folder = start = os.path.realpath(start)
    while True:
        project = _repository_at(folder)
        if project is not None:
            return project
        if folder != os.path.realpath(home) and is_store(os.path.join(folder, STORE_FOLDER)):
            return Project(folder, None)
        parent = os.path.dirname(folder)
        if parent == folder:
            return Project(start, None)
        folder = parent


def find_store(start: str, home: str) -> str | None:
    """Return the work tree of the store that belongs to the folder `start`, None where there is none."""
    project = find_project(start, home)
    # The folder `.gitmem` in a person's home is theirs, not a project's.
    if project.root != os.path.realpath(home):
        inside = os.path.join(project.root, STORE_FOLDER)
        if is_store(inside):
            return inside
    elsewhere = home_store(project, home)
    return elsewhere if is_store(elsewhere) else None


def home_store(project: Project, home: str) -> str:
    """Return where `init --home` keeps a project's store."""
    import hashlib  # 3 ms, and most stores are in their project

    from gitmem.model.paths import slug

    real = os.path.realpath(project.root)
    digest = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    name = slug(os.path.basename(real)) or "project"
    return os.path.join(user_store(home), HOME_PROJECTS, f"{name}-{digest}")


def is_store(folder: str) -> bool:
    """Say whether a folder is the work tree of a repository of its own, which is what makes it a store."""
    return not os.path.islink(folder) and find_layout(folder) is not None


def _repository_at(folder: str) -> Project | None:
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git):
        return Project(folder, dot_git) if os.path.isfile(os.path.join(dot_git, "HEAD")) else None
    text = read_text(dot_git)
    if not text.startswith("gitdir:"):
        return None
    git_dir = os.path.normpath(os.path.join(folder, text[7:].strip()))
    common = common_dir_of(git_dir)
    if common == git_dir:  # a submodule, or a repository whose git folder is elsewhere
        is_submodule = _MODULES in git_dir
        if is_submodule and not is_store(os.path.join(folder, STORE_FOLDER)):
            return None
        return Project(folder, git_dir)
    return Project(_main_work_tree(folder, common), common)


def _main_work_tree(linked: str, common: str) -> str:
    """Return the folder that a linked work tree's project is, by where the common git folder is.

    `project/.git` and the bare `project/.bare` belong to `project`; a bare `project.git` is itself the place, since
    the folder around it may hold other repositories; a submodule's work trees stand for themselves.
    """
    if _MODULES in common:
        return linked
    return os.path.dirname(common) if os.path.basename(common).startswith(".") else common

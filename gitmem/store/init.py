"""Make a store, and install its merge driver for `git pull`.

A project's repository belongs to its user and gets no driver: the next gitmem command resolves the markers there. A
driver without a working `gitmem` falls back to `git merge-file`, since a failing driver would lose the other side.
"""

from __future__ import annotations

import os
import re
from enum import Enum

from gitmem.config.read import read_config
from gitmem.document.document import Document, as_texts
from gitmem.document.ids import CONFIG, FORMAT, LONGEST_SCOPE, MEMORY, README
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import GitmemError, NotFoundError, RefusedError, UsageError, disk_errors
from gitmem.git.layout import STORE_FOLDER, Layout, find_layout
from gitmem.git.locking import open_lock
from gitmem.git.process import Git
from gitmem.git.repository import Repository
from gitmem.git.root import make_root
from gitmem.git.setup import (
    add_linked_work_tree,
    clear_building,
    exclude,
    make_repository,
    memory_branch,
    remote_memory,
    unexcluded,
)
from gitmem.git.trust import Signatures, ask_git, check_owner, is_linked
from gitmem.platform.machine import Context, datetime, read_resource
from gitmem.platform.safe_open import read_small, read_text
from gitmem.store.acceptance import Acceptance, damaged_store, number_of
from gitmem.store.arrivals import NOTHING, SIGNED, check_arrivals, check_extent, refuse_unsigned
from gitmem.store.locate import (
    HOME_HOSTS,
    HOME_PROJECTS,
    PRIVATE_FOLDER,
    Project,
    find_project,
    find_store,
    home_store,
    is_disconnected,
    is_store,
    user_store,
)
from gitmem.store.merge_driver import install_driver
from gitmem.store.remotes import DEFAULT
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store, write_checkout
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value


class Place(Enum):
    """Where a new store is kept."""

    PROJECT = "project"
    BRANCH = "branch"
    HOME = "home"
    USER = "user"
    PRIVATE = "private"


class NewStore(Value):
    """A store, and whether it was just created; `connected` to a branch that already contained the memory."""

    store: Store
    new: bool
    connected: bool = False


_PATIENCE = 10.0  # seconds to wait for another `init` of the same project
_ATTRIBUTES = ".gitattributes"
_FILES = {
    FORMAT: "FORMAT.md",
    README: "README.md",
    CONFIG: "config.yaml",
    _ATTRIBUTES: "gitattributes",
    ".gitignore": "gitignore",
}


def init_store(start: str, context: Context, place: Place) -> NewStore:
    """Create the store for the project of the folder `start`, and open it.

    Raises:
        GitmemError: the project has a store in another place, or is no git repository and `place` is BRANCH.
        RefusedError: the project belongs to another user.
        NotSavedError: the folder could not be written.
    """
    result = make_store(start, context, place)
    complete_store(result.store)
    return result


def make_store(start: str, context: Context, place: Place, origin: str = "") -> NewStore:
    """Create a store without files, or reconnect one; its memory will come from the address or file `origin`."""
    target, project = _target(start, context, place)
    place = _taken_up(target, project, context, place)
    in_project = place in {Place.PROJECT, Place.BRANCH}
    common = project.common_dir or ""
    on_branch = place is Place.BRANCH and memory_branch(common, context.environ) if common else ""
    existing = target if place in {Place.USER, Place.PRIVATE} else find_store(start, context.home)
    disconnected = in_project and is_disconnected(target)
    new = not disconnected and (existing is None or not is_store(existing))
    if existing is not None and is_store(existing):
        _check_same(existing, target, place)
    with disk_errors(f"The store could not be made at {target}"):
        if in_project:
            _check_owner(project, context)
        if new and place is Place.HOME:
            _check_not_moved(project, target)
        if new:
            _begin(target, project, context, place, origin)
        if new or disconnected:
            try:
                _make(target, project, context, Place.BRANCH if disconnected else place)
            except (OSError, GitmemError):
                if is_disconnected(target) or not is_store(target):  # else another process has just created it
                    raise
        if place is Place.HOME:
            _note_project(project, target)
        clear_building(target)
        _exclude(project, context, place)
    store = Store(target, context)
    if new:
        store.acceptance.accept(())
    return NewStore(store, new=new, connected=new and bool(on_branch))


def _begin(target: str, project: Project, context: Context, place: Place, origin: str) -> None:
    """Record that a store is about to be made, before the first file of it exists."""
    common_dir = (place is Place.BRANCH and project.common_dir) or os.path.join(target, ".git")
    layout = Layout(common_dir, common_dir, target)
    acceptance = Acceptance(layout, os.path.join(common_dir, PRIVATE_FOLDER), context.home)
    if origin:
        acceptance.begin_clone(origin)
    if place in {Place.PROJECT, Place.BRANCH}:
        acceptance.begin()


def complete_store(store: Store) -> None:
    """Add the files, the hook spool and the merge driver that a store is missing."""
    _add_files(store)
    HookSpool(store.private).make()
    install_driver(store)


def _target(start: str, context: Context, place: Place) -> tuple[str, Project]:
    project = find_project(start, context.home)
    if place is Place.USER:
        return user_store(context.home), project
    if place is Place.HOME:
        return home_store(project, context.home), project
    if place is Place.PRIVATE:  # the folder itself: gitmem.store.layers names it
        return start, Project(start, None)
    if project.root in {os.path.realpath(context.home), os.path.dirname(project.root)}:
        is_top = project.root == os.path.dirname(project.root)
        what = "the folder of the whole system" if is_top else "your home folder"
        raise GitmemError(
            f"{project.root} is {what}, not a project.", "Use 'gitmem init --user' for what belongs to you."
        )
    target = os.path.join(project.root, STORE_FOLDER)
    if damaged := damaged_store(target):
        raise damaged
    return target, project


def _taken_up(target: str, project: Project, context: Context, place: Place) -> Place:
    """Return the place of the store: BRANCH if a branch already contains the project's memory."""
    if place not in {Place.PROJECT, Place.HOME} or project.common_dir is None or is_store(target):
        return place
    branch = memory_branch(project.common_dir, context.environ)
    if branch and place is Place.HOME:
        raise GitmemError(
            f"The memory of {project.root} is on its branch {branch}.",
            "'gitmem init' connects it. For another memory, delete the branch first, or rename it.",
        )
    return Place.BRANCH if branch else place


def _check_same(existing: str, target: str, place: Place) -> None:
    layout = find_layout(existing)
    own = layout is not None and layout.git_dir == layout.common_dir
    if os.path.realpath(existing) != os.path.realpath(target) or (own and place is Place.BRANCH):
        raise GitmemError(
            f"This project has a store already, at {existing}" + (", a repository of its own." if own else "."),
            "A project has one store.",
        )


def _make(target: str, project: Project, context: Context, place: Place) -> None:
    if os.path.islink(target):
        raise RefusedError(f"{target} is a symbolic link; gitmem follows none.", "Remove it.")
    if place is Place.BRANCH:
        if project.common_dir is None:
            raise _no_repository(target, project)
        private = os.path.join(project.common_dir, PRIVATE_FOLDER)
        os.makedirs(private, mode=0o700, exist_ok=True)
        git = Git(project.common_dir, None, context.environ)
        with open_lock(git, private, purpose="init", machine=context.machine).acquire(_PATIENCE):
            if not is_linked(target):
                write_checkout(private, make_root(git))  # after a kill, missing files must not count as removed by hand
            start = _checked_remote_memory(project.common_dir, context)
            add_linked_work_tree(project.common_dir, target, context.environ, start)
    else:
        make_repository(target, context.environ)
        personal = os.path.join(context.home, ".gitmem")
        if target.startswith(personal + os.sep):  # the user's own and private stores: closed to others
            os.chmod(personal, 0o700)


def _checked_remote_memory(common_dir: str, context: Context) -> str | None:
    """Return the commit of `origin/gitmem` from which a new memory branch starts, None if there is none."""
    repository = Repository(Layout(common_dir, common_dir, common_dir), context.environ)  # only its objects are read
    commit = remote_memory(repository.git)
    if commit is None:
        return None
    root = make_root(repository.git)
    check_extent(repository, DEFAULT, commit, {root})
    if read_config(context.environ, context.home, None).remote.trust == SIGNED:
        refuse_unsigned(Signatures(repository.layout, context.environ), (f"{DEFAULT} has", NOTHING), commit, {root})
    check_arrivals(repository, DEFAULT, root, commit)
    return commit


def _no_repository(target: str, project: Project) -> GitmemError:
    if is_linked(target):
        return GitmemError(
            f"{target} belonged to the repository of a project, and {project.root} has none.",
            f"Bring the repository back, or remove {os.path.join(target, '.git')} for a store of its own.",
        )
    return GitmemError(
        f"{project.root} is not a git repository, so it can hold no branch for memory.",
        "Use 'gitmem init' for a repository of its own, or 'git init' first.",
    )


def _check_not_moved(project: Project, target: str) -> None:
    """Refuse a store under the home if its project has the inode of a missing project: it was perhaps moved."""
    folder = os.path.dirname(target)
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        memory = os.path.join(folder, name)
        inode, _, root = read_text(_note(memory)).rstrip("\n").partition(" ")
        if inode == number_of(project.root) and not os.path.lexists(root):
            raise GitmemError(
                f"{memory} is the memory of {root}, which is gone; {project.root} seems to be the same folder, moved.",
                f"If it is, rename {memory} to {target}. If not, remove {_note(memory)}. Then try again.",
            )


def _note_project(project: Project, target: str) -> None:
    """Record the project's inode and path in its store under the home, to recognise the project after a move."""
    note = _note(target)
    os.makedirs(os.path.dirname(note), mode=0o700, exist_ok=True)
    with open(note, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{number_of(project.root)} {project.root}\n")


def _note(target: str) -> str:
    return os.path.join(target, ".git", PRIVATE_FOLDER, "project")


def _check_owner(project: Project, context: Context) -> None:
    """Refuse a project whose repository git would refuse; ask git about a bare one, for which it has more rules."""
    if project.common_dir is None:
        return
    if project.common_dir == project.root:
        ask_git(context.environ, project.root)
    work_tree = project.root if os.path.lexists(os.path.join(project.root, ".git")) else ""
    check_owner(context.environ, project.common_dir, work_tree)


def _exclude(project: Project, context: Context, place: Place) -> None:
    """Exclude the store from the git repository around it; at each `init`, as the last one may have been killed."""
    if place in {Place.PROJECT, Place.BRANCH} and project.common_dir is not None:
        exclude(project.common_dir, f"/{STORE_FOLDER}/")
    if place in {Place.HOME, Place.USER, Place.PRIVATE}:  # other stores are inside the folder of the user's own store
        user = find_layout(user_store(context.home))
        if user is not None:
            exclude(user.common_dir, f"/{HOME_PROJECTS}/")
            exclude(user.common_dir, f"/{HOME_HOSTS}/")


def plan_unexclude(start: str, home: str) -> tuple[str, bytes, bytes] | None:
    """Return the project's `info/exclude`: path, bytes, and bytes without gitmem's lines; None if it has none."""
    common_dir = find_project(start, home).common_dir
    path = os.path.join(common_dir or "", "info", "exclude")
    data = read_small(path, follow=False) if common_dir else None
    return (path, data, unexcluded(data)) if data and unexcluded(data) != data else None


def check_scope(folder: str) -> None:
    """Raise NotFoundError if a path is no folder."""
    if not os.path.isdir(folder):
        raise NotFoundError(f"There is no folder {folder}.", "Make it first, or name another one.")


def add_scope(store: Store, folder: str) -> str:
    """Make a folder of the project a scope, whose memories are shown there and above; commit that, return its name.

    Raises UsageError if the folder is not in the project, is the project itself, or has too long a path.
    """
    check_scope(folder)
    scope = store.part_of(folder)
    if not scope or len(scope) > LONGEST_SCOPE or not re.fullmatch(r"[\w/-]+", scope):
        raise UsageError(
            f"{folder} cannot be a part of the project.",
            f"Name a folder inside of it whose path there has at most {LONGEST_SCOPE} characters.",
        )

    def plan(transaction: Transaction) -> None:
        document = Document.parse(transaction.read(FORMAT) or b"")
        scopes = dict.fromkeys((*as_texts(document.get("scopes")), scope))
        message = op_message(Op.CONFIG, f"Keep what is of {scope} apart")
        transaction.commit(message, {FORMAT: document.set("scopes", list(scopes)).render()})

    if scope not in store.scopes:
        transact(store, plan, purpose="init")
    return scope


def _add_files(store: Store) -> None:
    """Commit the initial files that are missing."""

    def plan(transaction: Transaction) -> None:
        names = {path: name for path, name in _FILES.items() if transaction.read(path) is None}
        missing = {path: read_resource("templates", "store", name) for path, name in names.items()}
        attributes = missing.get(_ATTRIBUTES) or transaction.read(_ATTRIBUTES) or b""
        if b"merge=gitmem" not in attributes:
            end = b"\n" * bool(attributes and not attributes.endswith(b"\n"))
            missing[_ATTRIBUTES] = attributes + end + b"*.md merge=gitmem\n"
        if transaction.read(MEMORY) is None:
            missing[MEMORY] = new_memory(transaction.now)
        # Random, so that two projects never share this commit, however alike.
        project = os.urandom(8).hex() if FORMAT in missing else ""
        transaction.commit(op_message(Op.INIT, "Set up the store", (Trailer.PROJECT, project)), missing)

    transact(store, plan, purpose="init")


def new_memory(now: datetime) -> bytes:
    """Return an empty `memory.md`."""
    header = f"---\nid: memory\nkind: memory\ncreated: {now.isoformat(timespec='seconds')}\n---\n"
    return header.encode() + read_resource("templates", "store", "memory.md")

"""Create repositories and linked work trees for stores."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping

from gitmem.errors import GitmemError, RefusedError
from gitmem.git.layout import MEMORY_BRANCH, being_added, find_layout, linked_git_dir
from gitmem.git.process import Git, git_version, git_without_repository
from gitmem.git.root import make_root, seed_branch
from gitmem.git.trust import check_owner, is_at_its_place, is_copy, is_linked, recorded_link
from gitmem.platform.safe_open import drop_file, read_text, write_text

_MEMORY = f"refs/heads/{MEMORY_BRANCH}"
_REMOTE_MEMORY = f"refs/remotes/origin/{MEMORY_BRANCH}"
# For the user's own git commands in the store: no surprise jobs, readable names.
_EXCLUDED = b"# by gitmem:\n"
_BUILDING = ".git.new-"
_SETTINGS = {"gc.auto": "0", "maintenance.auto": "false", "core.quotePath": "false"}


def make_repository(path: str, environ: Mapping[str, str]) -> None:
    """Create a repository at `path` with the root commit on its branch, atomically.

    If several processes try at once, one succeeds and the others fail. Raises OSError if the folder cannot be made,
    GitmemError if git is missing, too old, or failed.
    """
    git_version(environ)
    os.makedirs(path, exist_ok=True)
    building = tempfile.mkdtemp(prefix=_BUILDING, dir=path)
    git_without_repository(environ).run(
        "init", "--quiet", "--template=", f"--initial-branch={MEMORY_BRANCH}", "--", building
    )
    git = Git(os.path.join(building, ".git"), building, environ)
    for key, value in _SETTINGS.items():
        git.run("config", key, value)
    seed_branch(git)
    os.rename(os.path.join(building, ".git"), os.path.join(path, ".git"))
    clear_building(path)


def clear_building(path: str) -> None:
    """Remove unfinished repositories from a work tree."""
    for name in os.listdir(path):
        if name.startswith(_BUILDING):
            shutil.rmtree(os.path.join(path, name), ignore_errors=True)


def add_linked_work_tree(common_dir: str, path: str, environ: Mapping[str, str], start: str | None = None) -> None:
    """Add a linked work tree at `path`, on the memory branch of the repository at `common_dir`.

    A missing branch begins at the commit `start`, by default the root commit. Remove what an unfinished attempt left;
    connect a work tree that was copied or moved with its project, without touching its files. Not for two processes at
    once. After a crash there is no layout at `path`, or the branch is checked out and some files are missing.

    Raises GitmemError if the repository has a branch of this name that is no memory, or it is checked out elsewhere.
    """
    git_version(environ)
    git = Git(common_dir, None, environ)
    _forget_unfinished(common_dir, path)
    layout = find_layout(path)
    if layout is not None and is_at_its_place(layout):
        return
    root = make_root(git)
    if _MEMORY not in _memory_refs(git, root):
        git.run("update-ref", "-m", "gitmem init", _MEMORY, start or root, "")
    files = os.listdir(path) if os.path.isdir(path) else []
    link = os.path.join(path, ".git")  # empty after a power cut just after git wrote it
    lost = os.path.isfile(link) and not os.path.islink(link) and not os.path.getsize(link)
    if is_linked(path) or (lost and len(files) > 1):
        _connect(common_dir, path, environ)
        return
    if lost:
        os.unlink(link)
    elif files:
        raise GitmemError(f"{path} is there already, and is no store.", "Move it away, then try again.")
    # Files follow in a second step: so a crash in it is distinguishable from files that a user removed.
    git.run("worktree", "add", "--quiet", "--no-checkout", "--", path, MEMORY_BRANCH)
    layout = find_layout(path)
    if layout is not None:
        git = Git(layout.git_dir, path, environ)
        check_out(git, git.run("rev-parse", "--verify", "HEAD^{commit}").decode().strip())


def remote_memory(git: Git) -> str | None:
    """Return the commit of `origin/gitmem`, which another machine pushed; None if there is a memory branch here."""
    refs = _memory_refs(git, make_root(git))
    return None if _MEMORY in refs else refs.get(_REMOTE_MEMORY)


def memory_branch(common_dir: str, environ: Mapping[str, str]) -> str:
    """Return the branch of a project's repository that holds its memory: `gitmem`, `origin/gitmem`, or "" for none."""
    git = Git(common_dir, None, environ)
    with contextlib.suppress(GitmemError):  # a branch of this name is no memory, or the repository is unusable
        refs = _memory_refs(git, make_root(git)) if git.run("for-each-ref", _MEMORY, _REMOTE_MEMORY) else {}
        return next((ref.split("/", 2)[2] for ref in (_MEMORY, _REMOTE_MEMORY) if ref in refs), "")
    return ""


def _memory_refs(git: Git, root: str) -> dict[str, str]:
    """Return the commits of the memory branch and of `origin/gitmem`, as far as they exist."""
    output = git.run("for-each-ref", "--format=%(refname) %(objectname)", _MEMORY, _REMOTE_MEMORY).decode()
    refs = dict(line.split(" ") for line in output.splitlines())
    for name in refs:
        if root not in git.run("rev-list", "--max-parents=0", name, "--").decode().split():
            raise GitmemError(
                f"The project has a branch {name} already, and it is no memory of gitmem's.",
                "Rename that branch, or use 'gitmem init' for a repository of its own.",
            )
    return refs


def check_out(git: Git, commit: str) -> None:
    """Check out a commit, by its full id, with one git: no filters, and a file for a link that names its target."""
    safe = ("-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "-c", "core.symlinks=false")
    git.unfiltered.run(*safe, "read-tree", "--reset", "-u", commit, timeout=600.0)


def reconnect(path: str, environ: Mapping[str, str]) -> bool:
    """Reconnect a linked work tree that was moved together with its project and repository; False if it was not.

    After a move both still name the old place, where nothing is left. A copy names its existing original: no change.

    Raises RefusedError if the repository belongs to another user.
    """
    old = linked_git_dir(path) or ""
    common_dir = os.path.join(os.path.dirname(path), os.path.basename(os.path.dirname(os.path.dirname(old))))
    record = os.path.join(common_dir, "worktrees", os.path.basename(old))
    link = recorded_link(record)
    if os.path.lexists(old) or os.path.lexists(link) or os.path.islink(common_dir):
        return False
    together = os.path.dirname(os.path.dirname(link)) == os.path.dirname(os.path.dirname(os.path.dirname(old)))
    if not together or read_text(os.path.join(record, "HEAD")).strip() != f"ref: {_MEMORY}":
        return False
    check_owner(environ, common_dir, os.path.dirname(path))
    _connect(common_dir, path, environ)
    return True


def _connect(common_dir: str, path: str, environ: Mapping[str, str]) -> None:
    """Link an existing work tree and the repository's record of it to each other; no file of it is changed.

    The record is the one copied or moved with the project; if git has pruned it, a new one is made. `git worktree
    repair` does not help: in a copy it rewrites the record of the original.
    """
    record = _record_of_memory(common_dir, path)
    if being_added(record):  # copied while it was being added
        shutil.rmtree(record)
    os.makedirs(record, exist_ok=True)
    link = os.path.join(path, ".git")
    building = tempfile.mkdtemp(prefix=_BUILDING, dir=path)
    write_text(os.path.join(record, "gitdir"), f"{link}\n")
    write_text(os.path.join(record, "commondir"), "../..\n")
    write_text(os.path.join(record, "HEAD"), f"ref: refs/heads/{MEMORY_BRANCH}\n")
    write_text(os.path.join(building, ".git"), f"gitdir: {record}\n")
    os.replace(os.path.join(building, ".git"), link)  # atomically: a truncated link is not recognized
    if not os.path.exists(os.path.join(record, "index")):
        Git(record, path, environ).run("read-tree", MEMORY_BRANCH)


def _record_of_memory(common_dir: str, path: str) -> str:
    """Return the folder of git's record of the work tree on the memory branch; create it if missing."""
    head = f"ref: refs/heads/{MEMORY_BRANCH}"
    folder = os.path.join(common_dir, "worktrees")
    if read_text(os.path.join(common_dir, "HEAD")).strip() == head:
        raise _checked_out(common_dir)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        record = os.path.join(folder, name)
        if read_text(os.path.join(record, "HEAD")).strip() == head:
            place = os.path.dirname(recorded_link(record))
            if is_copy(path, record) and not _is_in_another_repository(place, common_dir):
                raise _checked_out(place)
            return record
    free = (name for number in range(len(names) + 1) if (name := f"{MEMORY_BRANCH}{number or ''}") not in names)
    return os.path.join(folder, next(free))


def _is_in_another_repository(place: str, common_dir: str) -> bool:
    """Return whether a work tree is inside a project of another repository, as a copied store is.

    When a user runs git in such a copy, git records it in place of the original.
    """
    around = find_layout(os.path.dirname(place))
    return around is not None and os.path.realpath(around.common_dir) != os.path.realpath(common_dir)


def _checked_out(place: str) -> GitmemError:
    return GitmemError(
        f"The memory of this repository is checked out at {place}.",
        "Use it there, or have 'git' there switch to another branch or remove that work tree.",
    )


def _forget_unfinished(common_dir: str, path: str) -> None:
    """Remove an unfinished linked work tree at `path`, and the record of a deleted one."""
    folder = os.path.join(common_dir, "worktrees")
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        record = os.path.join(folder, name)
        place = os.path.dirname(recorded_link(record))
        if not place or os.path.realpath(place) != os.path.realpath(path):
            continue
        is_unfinished = being_added(record)
        if is_unfinished:
            drop_file(os.path.join(path, ".git"))
        if is_unfinished or not (os.path.lexists(path) or os.path.exists(os.path.join(record, "locked"))):
            shutil.rmtree(record)


def exclude(common_dir: str, pattern: str) -> None:
    """Add `pattern` to the `info/exclude` of a repository, with a comment that names gitmem."""
    path = os.path.join(common_dir, "info", "exclude")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.islink(path):
        raise RefusedError(f"{path} is a link, to {os.path.realpath(path)}; gitmem follows none.", "Remove it.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise RefusedError(f"{path} is no file.", "Remove it.")
    with open(path, "a+b") as file:
        file.seek(0)
        text = file.read()
        file.write(excluded(text, pattern)[len(text) :])


def excluded(text: bytes, pattern: str) -> bytes:
    """Return the text of an `info/exclude` with a pattern added unless it is there."""
    if pattern.encode() in text.splitlines():
        return text
    return text + b"\n" * (text[-1:] not in {b"", b"\n"}) + _EXCLUDED + pattern.encode() + b"\n"


def unexcluded(text: bytes, pattern: str = "") -> bytes:
    """Return the text of an `info/exclude` without the lines that gitmem added, or without the line of `pattern`."""
    line = re.escape(pattern.encode()) or rb"[^\n]*"
    return re.sub(re.escape(_EXCLUDED) + line + rb"(?:\n|\Z)", b"", text)

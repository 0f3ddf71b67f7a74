"""Checks of what the store stands on: the tools, the repository, its locks, the private folder."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from gitmem.errors import BusyError
from gitmem.git.identity import GITMEM, IdentityLookup
from gitmem.git.locks.file import file_locks_serve
from gitmem.git.process.run import OLDEST_GIT, git_version
from gitmem.git.repository import MEMORY_BRANCH
from gitmem.git.upkeep.integrity import damages, lock_files, missing_of, staged_paths
from gitmem.git.upkeep.packing import loose_estimate, pack_names
from gitmem.model.paths import FORMAT
from gitmem.store.store import FORMAT_VERSION, format_version
from gitmem.store.upkeep.findings import Finding, Level
from gitmem.store.upkeep.maintenance import needed
from gitmem.text.quantities import age, count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.store.store import Store

_OLD_LOCK = 60.0  # seconds; git commands hold one for milliseconds, or while an editor is open
_SHOWN = 5
_BRANCH = f"refs/heads/{MEMORY_BRANCH}"


def check_tools(store: Store) -> Iterator[Finding]:
    """Say which versions of git and Python run here."""
    version = git_version(store.context.environ)
    oldest = ".".join(map(str, OLDEST_GIT))
    yield Finding("git", Level.OK, f"git {'.'.join(map(str, version))} ({oldest} or later is needed).")
    yield Finding("python", Level.OK, f"Python {'.'.join(map(str, sys.version_info[:3]))}.")


def check_format(store: Store) -> Iterator[Finding]:
    """Say which version the store's format has; a store of a higher one is not even opened."""
    version = format_version(store.read(FORMAT) or b"")
    if version is None:
        message = f"{FORMAT} is missing or names no version; {FORMAT_VERSION} is assumed."
        yield Finding("format", Level.WARNING, message, "'gitmem init' writes it where it is missing.")
    else:
        yield Finding("format", Level.OK, f"Format version {version}.")


def check_branch(store: Store) -> Iterator[Finding]:
    """Say which branch it is; an operation of the user's that is unfinished raises an error, which says so."""
    branch = store.repository.branch()
    tip = store.repository.tip(branch)
    name = branch.removeprefix("refs/heads/")
    if tip is None:
        yield Finding(
            "branch", Level.WARNING, f"The branch {name} has no commit.", "'gitmem init' completes the store."
        )
    else:
        yield Finding("branch", Level.OK, f"On the branch {name}, at {tip[:10]}.")


def check_work_tree(store: Store) -> Iterator[Finding]:
    """Check that files, index and branch are in step."""
    if store.tip != store.marked():
        message = "The files are behind the branch."
        yield Finding("checkout", Level.WARNING, message, "The next gitmem command brings them up.")
    edited, staged = store.files.edited(), staged_paths(store.repository.git)
    if staged:
        message = f"The index differs from the branch in {count(len(staged), 'file')}."
        remedy = f"If you did not 'git add' that, take it back with: git -C {store.root} reset"
        yield Finding("index", Level.WARNING, message, remedy, tuple(staged[:_SHOWN]))
    if edited:
        message = f"{count(len(edited), 'file')} edited by hand and not committed."
        remedy = "Nothing to do: the next save keeps them, as your edit."
        yield Finding("edits", Level.NOTE, message, remedy, tuple(edited[:_SHOWN]))
    if not (staged or edited):
        yield Finding("files", Level.OK, "Files, index and branch are in step.")


def check_objects(store: Store) -> Iterator[Finding]:
    """Check that everything the branch leads to is there."""
    yield from _whole(store, deep=False)


def check_objects_deeply(store: Store) -> Iterator[Finding]:
    """Check that every object of the repository is what its name says."""
    yield from _whole(store, deep=True)


def _whole(store: Store, *, deep: bool) -> Iterator[Finding]:
    git = store.repository.git
    # The other branches of a project's repository are not ours to judge, unless it was asked for.
    found = damages(git, deep=deep) if deep or store.own_repository else missing_of(git, "HEAD")
    if found:
        remedy = (
            "Stop saving, and copy the folder. A clone or a backup has what is missing: 'git fetch' from it brings it."
        )
        details = tuple(found[:_SHOWN])
        yield Finding("objects", Level.PROBLEM, "The repository is damaged, says git.", remedy, details)
    else:
        how = "are there and sound" if deep else "are there"
        yield Finding("objects", Level.OK, f"All objects {how}.")


def check_locks(store: Store) -> Iterator[Finding]:
    """Find lock files that a killed git left behind, and who holds the store."""
    now = store.context.clock().timestamp()
    old = [(path, now - made) for path, made in lock_files(store.repository.layout, _BRANCH) if now - made > _OLD_LOCK]
    if old:
        details = tuple(f"{path}, for {age(seconds)}" for path, seconds in old)
        remedy = "If no git command is running in the store, remove them."
        message = f"{count(len(old), 'lock file')} of git's that nobody seems to use."
        yield Finding("locks", Level.WARNING, message, remedy, details)
    try:
        store.lock("doctor").acquire(0).release()
    except BusyError as error:
        yield Finding("lock", Level.NOTE, error.message, "Nothing to do, unless it stays so.")
    else:
        yield Finding("lock", Level.OK, "Nobody holds the store.")


def check_private_folder(store: Store) -> Iterator[Finding]:
    """Check that the private folder can be written, by its owner only, and by one machine only."""
    closed = [path for path in (store.root, store.private) if os.path.exists(path) and not os.access(path, os.W_OK)]
    if closed:
        remedy = "Give yourself the right to write there, or nothing can be saved."
        yield Finding("access", Level.PROBLEM, f"{' and '.join(closed)} cannot be written.", remedy)
        return
    spool = store.spool.folder
    if sys.platform != "win32" and os.path.isdir(spool) and stat.S_IMODE(os.stat(spool).st_mode) & 0o077:
        message = "Others can read what waits in the spool, which is not redacted yet."
        yield Finding("access", Level.WARNING, message, f"chmod 700 '{spool}'")
    else:
        yield Finding("access", Level.OK, "The store can be written, and its spool is yours alone.")
    if os.path.isdir(store.private) and not file_locks_serve(store.private):
        message = "On a file system that several machines may share: the store is locked by a git ref, which is slower."
        remedy = "Take lock.kind away from 'file'." if store.config.lock.kind == "file" else ""
        yield Finding("filesystem", Level.WARNING if remedy else Level.NOTE, message, remedy)


def check_identity(store: Store) -> Iterator[Finding]:
    """Say whose name commits bear."""
    layout = store.repository.layout
    who = IdentityLookup(layout.git_dir, layout.work_tree, store.context.environ).result()
    if who == GITMEM:
        remedy = "git config --global user.name 'Your Name'; git config --global user.email you@example.org"
        yield Finding("identity", Level.NOTE, f"Git does not know your name; commits are by {who.name}.", remedy)
    else:
        yield Finding("identity", Level.OK, f"Commits are by {who.name} <{who.email}>.")


def check_maintenance(store: Store) -> Iterator[Finding]:
    """Say whether it is time to pack the repository."""
    common = store.repository.layout.common_dir
    state = f"{count(len(pack_names(common)), 'pack')}, about {count(loose_estimate(common), 'loose object')}"
    if not store.own_repository:
        yield Finding("packing", Level.OK, f"{state}; the repository is the project's, and packing it left to git.")
    elif needed(store):
        yield Finding("packing", Level.NOTE, f"{state}: saves become slower.", "gitmem maintain")
    else:
        yield Finding("packing", Level.OK, f"{state}.")

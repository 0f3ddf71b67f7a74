"""The merge driver of a store, for a plain `git merge` or `git pull`."""

from __future__ import annotations

from gitmem.merge.documents import MergeStatus, merge
from gitmem.store.store import Store

_SECTION = "merge.gitmem"
_NAME = "gitmem: entries by id, fields, sections, lines"
# Git starts it at the top of the work tree, whose files must not be taken for a program or module
# (gitmem.platform.machine): hence `cd /`.
_COMMAND = '(d=$PWD && cd / && gitmem -C "$d" merge-driver %O %A %B %P) || git merge-file --marker-size=%L %A %O %B'
# So that a plain `git pull` of diverged stores merges, whatever the user's own settings are.
PULLS = {"pull.rebase": "false", "pull.ff": "true"}


def merges_pulls(store: Store) -> bool:
    """Return whether a plain `git pull` in the store merges; in a project's repository that is the user's choice."""
    if not store.has_separate_repository:
        return True
    git = store.repository.git
    return all(
        git.run("config", "--local", "--get", key, ok=(0, 1)).decode("utf-8", "replace").strip() == value
        for key, value in PULLS.items()
    )


def install_driver(store: Store) -> None:
    """Configure the merge driver, and pulls that merge, in the store's repository."""
    if store.has_separate_repository:
        git = store.repository.git
        if not merges_pulls(store):
            for key, value in PULLS.items():
                git.run("config", key, value)
        installed = git.run("config", "--get", f"{_SECTION}.driver", ok=(0, 1)).decode("utf-8", "replace").strip()
        if installed != _COMMAND:
            git.run("config", f"{_SECTION}.name", _NAME)
            git.run("config", f"{_SECTION}.driver", _COMMAND)


def uninstall_driver(store: Store) -> bool:
    """Remove the driver from the store's configuration; return False if it was not there."""
    if not store.has_separate_repository:
        return False
    values = store.repository.git.run("config", "--get-regexp", r"^merge\.gitmem\.", ok=(0, 1))
    if values:
        store.repository.git.run("config", "--remove-section", _SECTION)
    return bool(values)


def drive(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Return the merged document; None if the versions need two files, or the merge removes it.

    Git passes an empty base if there is none.
    """
    merged = merge(path, base or None, ours, theirs, with_facts=False)
    return None if merged.beside is not None or (merged.status is MergeStatus.REMOVED) else merged.data or b""

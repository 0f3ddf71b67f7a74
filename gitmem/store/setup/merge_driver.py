"""The merge driver for `git pull` in a store (spec G5): installed by `init` and `clone`, and removed.

It is installed only in a store's own repository, since a project's configuration is its user's. Without it, git merges
documents as text, and the next gitmem command resolves the markers (gitmem.store.transaction.markers). If `gitmem`
is missing or fails, the driver falls back to `git merge-file`: a driver that fails loses the other side silently.

Tested through `tests/cli/commands/test_sync.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.git.setup import run_past_lock
from gitmem.machine.beneath import read_text
from gitmem.model.merge.documents import MergeStatus, merge

if TYPE_CHECKING:
    from gitmem.store.store import Store

ATTRIBUTE = b"*.md merge=gitmem"  # the line of .gitattributes for the driver
_SECTION = "merge.gitmem"
_NAME = "gitmem: entries by id, fields, sections, lines"
# Git starts it at the top of the work tree, whose files must not be taken for a program or module
# (gitmem.machine.programs): hence `cd /`.
_COMMAND = '(d=$PWD && cd / && gitmem -C "$d" merge-driver %O %A %B %P) || git merge-file --marker-size=%L %A %O %B'


def install_driver(store: Store) -> None:
    """Configure the merge driver in the store's repository."""
    if store.own_repository and _installed(store) != _COMMAND:
        run_past_lock(store.repository.git, "config", f"{_SECTION}.name", _NAME)
        run_past_lock(store.repository.git, "config", f"{_SECTION}.driver", _COMMAND)


def renew_driver(store: Store) -> None:
    """Replace the driver of an older gitmem, whose command began with `gitmem`."""
    settings = read_text(os.path.join(store.repository.layout.common_dir, "config"))  # quicker than starting git
    if "driver = gitmem merge-driver " in settings:
        install_driver(store)


def uninstall_driver(store: Store) -> bool:
    """Remove the driver from the store's configuration; return False if it was not there."""
    if not store.own_repository:
        return False
    values = store.repository.git.run("config", "--get-regexp", r"^merge\.gitmem\.", ok=(0, 1))
    if values:
        run_past_lock(store.repository.git, "config", "--remove-section", _SECTION)
    return bool(values)


def _installed(store: Store) -> str:
    command = store.repository.git.run("config", "--get", f"{_SECTION}.driver", ok=(0, 1))
    return command.decode("utf-8", "replace").strip()


def with_attribute(data: bytes) -> bytes:
    """Return a `.gitattributes` with the line for the driver."""
    if b"merge=gitmem" in data:
        return data
    return data + (b"" if not data or data.endswith(b"\n") else b"\n") + ATTRIBUTE + b"\n"


def drive(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Return the merged document; None if the versions need two files, or the merge removes it.

    Git passes an empty base if there is none.
    """
    merged = merge(path, base or None, ours, theirs, with_facts=False)
    return None if merged.beside is not None or (merged.status is MergeStatus.REMOVED) else merged.data or b""

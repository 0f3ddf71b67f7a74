"""The merge driver for those who type `git pull` in a store (spec G5): installed by `init` and `clone`, and taken out.

Only in a store's own repository: a project's configuration is its user's. Where it is not installed, git merges as it
does any text, and the next gitmem command takes the markers out (gitmem.store.transaction.markers). Where it is, but
`gitmem` is not found or fails, git's own text merge steps in: a driver that merely failed would lose the other side
without a word.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.git.setup import run_past_lock
from gitmem.machine.beneath import read_text
from gitmem.model.merge.documents import Status, merge

if TYPE_CHECKING:
    from gitmem.store.store import Store

ATTRIBUTE = b"*.md merge=gitmem"  # the line of .gitattributes that names it
_SECTION = "merge.gitmem"
_NAME = "gitmem: entries by id, fields, sections, lines"
# Git starts it at the top of the work tree, where nothing is to be taken for a program or a module
# (gitmem.machine.programs).
_COMMAND = '(d=$PWD && cd / && gitmem -C "$d" merge-driver %O %A %B %P) || git merge-file --marker-size=%L %A %O %B'


def install_driver(store: Store) -> None:
    """Have git in this store merge documents as gitmem does."""
    if store.own_repository and _installed(store) != _COMMAND:
        run_past_lock(store.repository.git, "config", f"{_SECTION}.name", _NAME)
        run_past_lock(store.repository.git, "config", f"{_SECTION}.driver", _COMMAND)


def renew_driver(store: Store) -> None:
    """Install the driver where an older gitmem installed its own, which began with `gitmem`."""
    settings = read_text(os.path.join(store.repository.layout.common_dir, "config"))  # a git for it takes too long
    if "driver = gitmem merge-driver " in settings:
        install_driver(store)


def uninstall_driver(store: Store) -> bool:
    """Take the driver out of the store's configuration; False where it was not there."""
    if not store.own_repository:
        return False
    said = store.repository.git.run("config", "--get-regexp", r"^merge\.gitmem\.", ok=(0, 1))
    if said:
        run_past_lock(store.repository.git, "config", "--remove-section", _SECTION)
    return bool(said)


def _installed(store: Store) -> str:
    said = store.repository.git.run("config", "--get", f"{_SECTION}.driver", ok=(0, 1))
    return said.decode("utf-8", "replace").strip()


def with_attribute(data: bytes) -> bytes:
    """Return a `.gitattributes` that names the driver."""
    if b"merge=gitmem" in data:
        return data
    return data + (b"" if not data or data.endswith(b"\n") else b"\n") + ATTRIBUTE + b"\n"


def drive(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Return what a document becomes; None where both versions cannot stand in one file.

    Git hands over an empty base where there is none.
    """
    merged = merge(path, base or None, ours, theirs)
    return None if merged.beside is not None or (merged.status is Status.REMOVED) else merged.data or b""

"""Find the store of a hook, clone it from the remote in the environment, or reconnect it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

from gitmem.cli.app import App
from gitmem.errors import GitmemError, RefusedError
from gitmem.platform.machine import start_detached
from gitmem.store.acceptance import disconnected_branch
from gitmem.store.locate import find_project, find_store
from gitmem.store.spool import HookSpool
from gitmem.store.store import READ_ONLY

JOIN_SECONDS = 3.0  # a session's start waits so long for the clone of a memory, which then continues
REMOTE = "GITMEM_REMOTE"  # the remote with the memory of a project without a store, as in CI and containers


def joined(app: App, folder: str, owner: int) -> str | None:
    """Clone the memory that the environment names, return its store; None if that takes longer than `JOIN_SECONDS`."""
    start = folder if os.path.isabs(folder) else app.cwd
    if find_project(start, app.home()).common_dir is None:
        return None
    child = start_detached(app.environ, "-C", start, "hook", "claude", "--join", str(owner))
    until = time.monotonic() + JOIN_SECONDS
    while child.poll() is None:
        if time.monotonic() > until:
            child.returncode = 0  # keeps Popen from warning that nobody waited for it
            return None
        time.sleep(0.02)
    return find(app, (folder,))


def join(app: App, owner: int) -> None:
    """Clone the memory that the environment names, without history, and mark it to be shown to the agent."""
    from gitmem.record.fact_edits import compare_arrivals
    from gitmem.store.init import Place
    from gitmem.store.remotes import absolute_address
    from gitmem.sync.clone import clone_store
    from gitmem.sync.fetch import Options

    context = app._replace(environ={**app.environ, READ_ONLY: "0"}).context()
    url = absolute_address(app.environ[REMOTE].strip(), app.cwd)
    store = clone_store(app.cwd, context, Place.PROJECT, url, asks=False, options=Options(), shallow=True)
    compare_arrivals(store)
    store.acceptance.end_clone()
    HookSpool(store.private).set_memory_due(owner, due=True)


def find(app: App, folders: Sequence[str]) -> str | None:
    """Return the store of the first folder with one, of `folders`, the host's project folder and the current folder."""
    for folder in (*folders, app.environ.get("CLAUDE_PROJECT_DIR", ""), app.cwd):
        if os.path.isabs(folder) and "\0" not in folder:
            with contextlib.suppress(RefusedError):
                nearest = find_store(folder, app.home())
                if nearest is not None:
                    return nearest
    return None


def connected(app: App, folder: str) -> str | None:
    """Reconnect an accepted memory on a branch whose folder is gone; return its folder, None if there is none."""
    for start in (folder, app.environ.get("CLAUDE_PROJECT_DIR", ""), app.cwd):
        if os.path.isabs(start) and "\0" not in start:
            with contextlib.suppress(GitmemError):
                if disconnected_branch(start, app.home(), app.environ):
                    from gitmem.store.init import Place, init_store

                    return init_store(start, app.context(), Place.BRANCH).store.root
    return None

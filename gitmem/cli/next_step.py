"""The one step that a user should take next, which a bare `gitmem` says below its commands."""

from __future__ import annotations

from functools import partial

from gitmem.cli.app import App
from gitmem.errors import GitmemError
from gitmem.hosts.script import project_top, recorded_agents
from gitmem.store.heard import heard_since_install
from gitmem.store.locate import find_project, find_store
from gitmem.store.store import Store


def next_step(app: App) -> str:
    """Return the next step in the current folder as a sentence; "" where gitmem has nothing to do."""
    try:
        root = find_store(app.cwd, app.home())
        if root is None:
            is_project = find_project(app.cwd, app.home()).common_dir is not None
            return "Next: 'gitmem init' makes a memory for this project." if is_project else ""
        store = Store(root, app.context())
        if not store.may_write():
            return "Next: 'gitmem trust' shows the memory that came with this project, and asks whether you want it."
        heard = partial(heard_since_install, store.private, app.home())
        agents, off = recorded_agents(project_top(app.cwd, app.home()), app.home(), app.environ, heard)
    except GitmemError as error:
        return error.sentences
    if off:
        return f"Next: {off[0]}"
    if not agents:
        return "Next: run 'gitmem install' to start recording."
    return "Sessions are recorded: 'gitmem status' says what, 'gitmem search WORDS' finds what was said."

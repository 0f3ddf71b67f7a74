"""Start a gitmem command in the background, to outlive the command that starts it (spec J10)."""

from __future__ import annotations

import contextlib
import os
import subprocess  # noqa: TID251  # the only place besides git.process that starts processes
import sys

from gitmem.machine.programs import neutral_folder, own_command, with_absolute

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store


def start(store: Store, *command: str) -> None:
    """Start `gitmem COMMAND` for a store, detached; ignore a failure to start it, and do nothing for one not accepted.

    It gets no terminal and a session of its own, so neither Ctrl-C nor the caller's exit ends it. Its module and
    program paths hold no file of the store (gitmem.machine.programs). The command itself limits its time and sees to
    it that only one runs at a time on a store.
    """
    if not store.acceptance.given():
        return
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    with contextlib.suppress(OSError):
        child = subprocess.Popen(
            own_command("-C", store.root, *command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=neutral_folder(),
            env=with_absolute(store.context.environ, "PATH", "PYTHONPATH"),
            start_new_session=os.name == "posix",
            creationflags=flags,
        )
        child.returncode = 0  # keeps Popen from warning that nobody waited for it

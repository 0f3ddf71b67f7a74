"""Work in the background: a gitmem command that outlives the one that starts it (spec J10)."""

from __future__ import annotations

import contextlib
import os
import subprocess  # noqa: TID251  # with git.process, the one place where a process is started
import sys

from gitmem.machine.programs import neutral_folder, own_command, with_absolute

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store


def start(store: Store, *command: str) -> None:
    """Start `gitmem COMMAND` for a store and let go of it; that it cannot be started is nobody's failure.

    It gets no terminal and a session of its own, so neither Ctrl-C nor the end of the caller reaches it. Nothing that
    the store holds is on its path of modules or of programs (gitmem.machine.programs). Commands given here limit their
    time and see for themselves that one of them at most works on a store.
    """
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
        child.returncode = 0  # it is not ours to wait for

"""Run a hook as its host would, and look whether its event arrives.

Tested through `tests/cli/commands/test_install.py`.
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251  # starts the shell that a host would start
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gitmem.machine.programs import find_program

if TYPE_CHECKING:
    from gitmem.hosts.host import Host

_EVENT = "PostToolUse"
_SECONDS = 10
_SESSION = "gitmem-install-check"


def arrives(host: Host, project: str, spool: str, environ: Mapping[str, str]) -> bool | None:
    """Return whether an event of this host reaches the spool; None if there is no shell to run the hook.

    The event is of a kind that memory passes over, and is removed again.
    """
    line = next((line for event, line in host.commands().items() if host.events[event].partition(".")[0] == _EVENT), "")
    shell = find_program("bash", environ) if sys.platform == "win32" else "/bin/sh"
    if not line or shell is None:
        return None
    payload = json.dumps({"hook_event_name": "Check", "session_id": _SESSION, "cwd": project}).encode()
    try:
        done = subprocess.run(
            [shell, "-c", line], cwd=project, env=dict(environ), input=payload, capture_output=True, timeout=_SECONDS,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = [path for path in _files(spool) if _content(path) == payload]
    for path in found:
        os.unlink(path)
    return done.returncode == 0 and bool(found)


def _files(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(_EVENT)]
    except OSError:
        return []


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(len(_SESSION) + 10_000)
    except OSError:
        return b""

"""A test session: what a host's lines do with an event and with a turn, run as the host would run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess  # noqa: TID251  # starts the shell that a host would start
import sys
import tempfile
import time
from collections.abc import Mapping

from gitmem.hosts.host import Host, script_path
from gitmem.hosts.script import content
from gitmem.platform.machine import find_program, own_command
from gitmem.platform.safe_open import drop_file

_EVENT = "PostToolUse"
_SECONDS, _ATTEMPTS = 10, 3
_SESSION = "gitmem-install-check"
_PATIENCE = 30  # seconds of a command of the test
_SWEEPS = 20
_WORD = "wombat"
_ANSWER = f"The {_WORD} is a marsupial."
# The payloads of a test session, by gitmem's name of the event: each has the keys of all hosts.
_TURN: dict[str, dict[str, object]] = {
    "UserPromptSubmit": {**dict.fromkeys(("prompt", "submitted_prompt"), f"Which animal is the {_WORD}?")},
    "Stop": {**dict.fromkeys(("last_assistant_message", "prompt_response", "text"), _ANSWER)},
}


def event_reaches_spool(host: Host, project: str, spool: str, environ: Mapping[str, str]) -> bool | None:
    """Return whether an event of this host reaches the spool; None if there is no shell to run the hook.

    Memory ignores events of this kind, and the event is removed again.
    """
    line = next((line for event, line in host.commands().items() if host.events[event].partition(".")[0] == _EVENT), "")
    shell = find_program("bash", environ) if sys.platform == "win32" else "/bin/sh"
    if not line or shell is None:
        return None

    payload = json.dumps({"hook_event_name": "Check", "session_id": _SESSION, "cwd": project}).encode()
    for _ in range(_ATTEMPTS):  # work in the background, which another event started, may take it out first
        try:
            done = subprocess.run(
                [shell, "-c", line], cwd=project, env=dict(environ), input=payload, capture_output=True,
                timeout=_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return False
        # The script names the file after the line's event; gitmem, in rarer layouts, after that of the payload.
        names = os.listdir(spool) if os.path.isdir(spool) else []
        paths = [os.path.join(spool, name) for name in names if content(os.path.join(spool, name)) == payload]
        for path in paths:
            drop_file(path)
        if paths or done.returncode:
            return not done.returncode
    return False


def turn_roundtrip_works(host: Host, environ: Mapping[str, str], home: str) -> bool | None:
    """Return whether a turn, given to the host's own lines, becomes a commit that a search finds, in a temporary store.

    None for a host such as Cline, whose prompts gitmem reads from its record of a session: here is none.
    """
    if not {*_TURN} <= {name.partition(".")[0] for name in host.events.values()}:
        return None

    own = tempfile.mkdtemp(prefix="gitmem-")
    try:
        return _roundtrip_works_in(own, host, environ, home)
    finally:
        gone = 0
        for _ in range(_SWEEPS):  # what the lines started in the background may still write
            gone = 0 if os.path.exists(own) else gone + 1
            if gone > 1:
                break
            shutil.rmtree(own, ignore_errors=True)
            time.sleep(0.4)


def _roundtrip_works_in(own: str, host: Host, environ: Mapping[str, str], home: str) -> bool:
    lines = {host.events[event].partition(".")[0]: (event, line) for event, line in host.commands().items()}
    project = os.path.join(own, "project")
    os.makedirs(os.path.dirname(script_path(own)))
    os.makedirs(project)
    shutil.copyfile(script_path(home), script_path(own))
    names = {name: value for name, value in environ.items() if not name.startswith(("XDG_", "CLAUDE_"))}
    calls = [(own_command("init"), b"")]
    about: dict[str, object] = {"cwd": project, "workspaceRoots": [project], "prompt_id": "1"}
    about |= dict.fromkeys(("session_id", "conversation_id", "taskId"), _SESSION)
    for name, said in _TURN.items():
        event, line = lines[name]
        payload = {"hook_event_name": event} | about | said
        calls.append((("/bin/sh", "-c", line), json.dumps(payload).encode()))
    calls.append((own_command("search", _WORD), b""))
    try:
        for words, given in calls:
            done = subprocess.run(
                words, cwd=project, env=names | {"HOME": own}, input=given, capture_output=True, timeout=_PATIENCE,
                check=False,
            )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and _WORD.encode() in done.stdout

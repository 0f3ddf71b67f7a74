"""Processes of this machine: whether one runs, in what boot and namespace its number means anything, and priority."""

from __future__ import annotations

import os
import sys

_LOWEST = 19
_SESSION = "/proc/self/autogroup"  # the priority of this session among all (sched(7), "The autogroup feature")


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie does not.

    Unknown counts as running: a number no process can have, and any number on Windows, where `os.kill` would end it.
    """
    if pid <= 0 or sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return _stat(pid)[0] not in {"Z", "X"}


def start_time(pid: int) -> str:
    """Return when a process started, in clock ticks since boot; "" if it cannot be read."""
    return _stat(pid)[1]


def namespace() -> str:
    """Return the id of this boot and of this process's pid namespace; "" where the system does not tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def lower_priority() -> None:
    """Give a background process, which leads a session of its own, the lowest priority.

    On Linux `nice` counts only within a session, so the session gets it, too.
    """
    if sys.platform == "win32" or os.getsid(0) != os.getpid():
        return
    try:
        os.nice(_LOWEST)
        with open(_SESSION, "w", encoding="ascii") as file:
            file.write(str(_LOWEST))
    except OSError:
        pass


def _stat(pid: int) -> tuple[str, str]:
    """Return state and start time of a process (proc(5)), ("", "") if they cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name in brackets may hold anything
        return fields[0].decode(), fields[19].decode()
    except (OSError, IndexError):
        return "", ""

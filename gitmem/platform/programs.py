"""Find programs and shipped files, and look at processes.

gitmem works in folders that a project or a remote filled, so it ignores relative and empty entries of `PATH` and
`PYTHONPATH`. In the source tree `hooks/` and `templates/` stand beside the package; a wheel carries them inside it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

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


# Endings of `claude` on Windows, where npm makes it a script.
SCRIPTS_TOO = (".exe", ".cmd", ".bat")


def find_program(name: str, environ: Mapping[str, str], endings: Sequence[str] = (".exe",)) -> str | None:
    """Return the absolute path of a program on the `PATH` of `environ`, or None.

    `endings` are the file's possible endings on Windows.
    """
    for folder in absolute_entries(environ.get("PATH", os.defpath)):
        for ending in endings if sys.platform == "win32" else ("",):
            path = os.path.join(folder, name + ending)
            if os.access(path, os.X_OK) and not os.path.isdir(path):
                return path
    return None


def absolute_entries(folders: str) -> list[str]:
    """Return the absolute folders of a list like that of `PATH`."""
    return [folder for folder in folders.split(os.pathsep) if os.path.isabs(folder)]


def with_absolute(environ: Mapping[str, str], *names: str) -> dict[str, str]:
    """Copy an environment without relative and empty entries in these lists of folders."""
    lists = {name: os.pathsep.join(absolute_entries(environ[name])) for name in names if name in environ}
    return {**environ, **lists}


def own_command(*words: str) -> tuple[str, ...]:
    """Return the command line of another gitmem, by the Python that runs this one.

    Python then leaves the current folder off the module path (`-P`), and ignores variables (`-E`) and the user's
    packages (`-s`) if this one does. Start it in `neutral_folder`, since `PYTHONPATH` may be relative.
    """
    flags = "-P" + "E" * sys.flags.ignore_environment + "s" * sys.flags.no_user_site
    return (sys.executable, flags, "-m", "gitmem", *words)


def neutral_folder() -> str:
    """Return a folder to start a process in: Python's installation, whose code runs anyway."""
    return sys.prefix


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def resource(*parts: str) -> str:
    """Return the absolute path of a shipped file or folder, as in `resource("templates", "memory.md")`.

    Raises:
        FileNotFoundError: the installation has no such file.

    """
    for root in (os.path.join(_PACKAGE, "_data"), os.path.dirname(_PACKAGE)):
        path = os.path.join(root, *parts)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"gitmem was installed without {'/'.join(parts)}")


def read_resource(*parts: str) -> bytes:
    """Return the content of a shipped file."""
    with open(resource(*parts), "rb") as file:
        return file.read()

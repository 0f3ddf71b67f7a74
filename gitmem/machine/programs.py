"""Find programs on the `PATH`, never in a folder that a project or a remote filled.

A relative or empty entry of `PATH` or `PYTHONPATH` means the reader's current folder, and Windows always searches that.
gitmem works in folders whose files came from elsewhere, so it ignores such entries.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

"""Programs that gitmem starts: found on the `PATH`, and never in a folder that a project or a remote filled.

A relative or empty entry of `PATH` or `PYTHONPATH` means the current folder of whoever reads it, and Windows looks
there in any case. gitmem works in folders whose files came from elsewhere, so such entries do not count.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What `claude` may be called on Windows, where npm makes a script of it.
SCRIPTS_TOO = (".exe", ".cmd", ".bat")


def find_program(name: str, environ: Mapping[str, str], endings: Sequence[str] = (".exe",)) -> str | None:
    """Return the absolute path of a program on the `PATH` of `environ`, None where there is none.

    `endings` are what its file may end with on Windows.
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
    """Copy an environment, without the relative and empty entries of these lists of folders."""
    lists = {name: os.pathsep.join(absolute_entries(environ[name])) for name in names if name in environ}
    return {**environ, **lists}


def own_command(*words: str) -> tuple[str, ...]:
    """Return the command line of another gitmem, by the Python that runs this one.

    Started so, Python does not put the current folder on the path of modules (`-P`), and reads no variables (`-E`) and
    no packages of the user's (`-s`) where this one does not. Start it in `neutral_folder`: `PYTHONPATH` may be
    relative.
    """
    flags = "-P" + "E" * sys.flags.ignore_environment + "s" * sys.flags.no_user_site
    return (sys.executable, flags, "-m", "gitmem", *words)


def neutral_folder() -> str:
    """Return a folder to start a process in: that of Python's own installation, whose code runs in any case."""
    return sys.prefix

"""Where a gitmem process begins: the script `gitmem` and `python -m gitmem`.

What is done here is done before anything else is imported. `python -m` itself looks for `gitmem` in the current folder
first, before any line of gitmem's runs (docs/format.md, "Processes"). Not even `__future__` may be imported above.
"""

import os
import sys


def run() -> None:
    """Run the command line of this process, on modules and streams that its current folder and caller cannot bend."""
    sys.path[:] = trusted(sys.path)
    from gitmem.programs import absolute_entries

    if "PATH" in os.environ:  # GitPython looks for git there when it is imported
        os.environ["PATH"] = os.pathsep.join(absolute_entries(os.environ["PATH"]))
    from gitmem.cli.main import run as run_command_line

    run_command_line()


def trusted(path: list[str]) -> list[str]:
    """Return a path of modules without the current folder and what a relative entry of `PYTHONPATH` names.

    What holds Python's or gitmem's own code stays: `python -m gitmem` works in a checkout of gitmem, too.
    """
    own = (os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    left_out = [_identity(folder or os.curdir) for folder in ("", *named) if not os.path.isabs(folder)]
    return [folder for folder in path if folder in own or _identity(folder or os.curdir) not in left_out]


def _identity(folder: str) -> tuple[int, int] | str:
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return folder  # a missing folder holds no module
    return found.st_dev, found.st_ino


if __name__ == "__main__":
    run()

"""Where a gitmem process begins: the script `gitmem` and `python -m gitmem`.

This runs before anything else is imported. `python -m` itself looks for `gitmem` in the current folder
first, before any line of gitmem's runs (docs/security.md, "Processes"). Not even `__future__` may be imported above.
Tested through `tests/test_main.py`.
"""

import gc
import os
import sys


def run() -> None:
    """Run the command line, with modules and streams that neither the current folder nor the caller can change."""
    # A command makes few cycles and soon ends: collecting them at the usual pace costs 4 % of its time.
    gc.set_threshold(50_000, 20, 20)
    if sys.getfilesystemencoding() != "utf-8" and os.name == "posix" and sys.executable:
        speak_utf8()
    if None in (sys.stdin, sys.stdout, sys.stderr):
        open_missing_streams()
    sys.path[:] = trusted(sys.path)
    if sys.argv[1:] == ["statusline"] or (sys.argv[1:2], sys.argv[3:]) == (["-C"], ["statusline"]):
        from gitmem.cli.recall_hooks import tell_sign

        tell_sign(sys.argv[2] if sys.argv[3:] else "")
        sys.stdout.flush()
        os._exit(0)
    from gitmem.platform.machine import absolute_entries

    if "PATH" in os.environ:  # GitPython looks for git there when it is imported
        os.environ["PATH"] = os.pathsep.join(absolute_entries(os.environ["PATH"]))
    from gitmem.cli.main import run as run_command_line

    run_command_line()


def trusted(path: list[str]) -> list[str]:
    """Return a module path without the current folder and relative entries of `PYTHONPATH`.

    Folders with Python's or gitmem's own code stay: `python -m gitmem` works in a checkout of gitmem, too.
    """
    own = (os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    left_out = [_identity(folder or os.curdir) for folder in ("", *named) if not os.path.isabs(folder)]
    return [folder for folder in path if folder in own or _identity(folder or os.curdir) not in left_out]


def speak_utf8() -> None:
    """Restart this process in Python's UTF-8 mode, which the locale or `PYTHONUTF8=0` had switched off.

    File names in a store and texts on the command line are UTF-8.
    """
    words = (sys.executable, "-X", "utf8", *sys.orig_argv[1:])
    os.execv(sys.executable, [word.encode("utf-8", "surrogateescape") for word in words])  # noqa: S606  # no shell


def open_missing_streams() -> None:
    """Open the null device for each closed standard stream, so that no other file gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # to the end of the process
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _identity(folder: str) -> tuple[int, int] | str:
    try:
        version = os.stat(folder)
    except (OSError, ValueError):
        return folder  # a missing folder holds no module
    return version.st_dev, version.st_ino


if __name__ == "__main__":
    run()

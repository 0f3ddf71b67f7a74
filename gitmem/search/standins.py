"""What stands in for the bindings where they have no wheel: the `rg` binary, if there is one on the `PATH`."""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251  # `rg` is no git; it is started here and nowhere else
import sys

from gitmem.search.scanning import LONGEST_LINE, Line, PythonScanner, by_folder

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.search.files import File

_SECONDS = 60
_OPTIONS = ("--json", "--no-config", "--no-ignore", "--hidden", "--text", "--encoding=none", "--ignore-case")


def find_rg(environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of `rg`, None where there is none; the current folder is never looked in."""
    name = "rg.exe" if sys.platform == "win32" else "rg"
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None


class RgScanner:
    """Searches with the `rg` binary."""

    def __init__(self, executable: str, environ: Mapping[str, str]) -> None:
        self._executable = executable
        self._environ = dict(environ)

    def scan(self, root: str, files: Sequence[File], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the lines, by path, in which one of the literals occurs."""
        wanted = {file.path for file in files}
        folders, single = by_folder(files)
        patterns = [f"--regexp={literal}" for literal in literals]
        done = subprocess.run(
            [
                self._executable,
                *_OPTIONS,
                "--fixed-strings",
                *patterns,
                "--",
                *(f"./{name}" for name in (*folders, *single)),
            ],
            cwd=root,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode not in {0, 1, 2}:  # 2: some file could not be read
            return PythonScanner().scan(root, files, literals)
        found: dict[str, list[Line]] = {}
        for line in done.stdout.split(b"\n"):
            if line.startswith(b'{"type":"match"'):
                data = json.loads(line)["data"]
                path = _text(data["path"], "surrogateescape").removeprefix("./").replace(os.sep, "/")
                if path in wanted:
                    text = _text(data["lines"], "replace").rstrip("\r\n")
                    found.setdefault(path, []).append(Line(data["line_number"], text[:LONGEST_LINE]))
        return found


def _text(value: Mapping[str, str], errors: str) -> str:
    """Return a text of rg's; what is no UTF-8 comes in base 64."""
    if "text" in value:
        return value["text"]
    import base64

    return base64.b64decode(value["bytes"]).decode("utf-8", errors)

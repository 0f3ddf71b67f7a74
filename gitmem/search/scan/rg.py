"""The scanner on the `rg` binary, for large stores and where the ripgrep bindings have no wheel.

Tested through `tests/search/scan/test_base.py`.
"""

from __future__ import annotations

import os

from gitmem.machine.spawn import ExpiredError
from gitmem.search.scan.base import LONGEST_LINE, Line, PythonScanner, by_folder

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

if TYPE_CHECKING or hasattr(os, "posix_spawn"):
    from gitmem.machine.spawn import Child
else:
    from gitmem.machine.popen import Child

_SECONDS = 60
_OPTIONS = ("--no-config", "--no-ignore", "--hidden", "--text", "--encoding=none", "--ignore-case", "--fixed-strings")
_FORMAT = ("--no-heading", "--line-number", "--with-filename", "--null", "--color=never", "--no-messages")


class RgScanner:
    """Searches with the `rg` binary."""

    def __init__(self, executable: str, environ: Mapping[str, str]) -> None:
        self._executable = executable
        self._environ = dict(environ)

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the matching lines of each path."""
        folders, single = by_folder(paths)
        patterns = [f"--regexp={literal}" for literal in literals]
        places = [os.path.join(root, name) for name in (*folders, *single)]
        command = (self._executable, *_OPTIONS, *_FORMAT, *patterns, "--", *places)
        with Child(command, self._environ, stdin=False) as rg:
            try:
                output, _ = rg.communicate(timeout=_SECONDS)
            except ExpiredError:
                rg.kill()
                rg.communicate()
        if rg.returncode not in {0, 1, 2}:  # 2: some file could not be read
            return PythonScanner().scan(root, paths, literals)
        wanted = set(paths)
        found: dict[str, list[Line]] = {}
        for name, line in parse_lines(output):
            path = os.fsdecode(name)[len(os.path.join(root, "")) :].replace(os.sep, "/")
            if path in wanted:
                found.setdefault(path, []).append(line)
        return found

    def scan_file(self, path: str, literals: Sequence[str], end: int) -> list[tuple[int, str]]:
        """Return offset and text of the lines before `end` of a file in lower case that have one of the literals."""
        patterns = [f"--regexp={literal}" for literal in literals]
        options = ("--no-config", "--text", "--encoding=none", "--fixed-strings", "--byte-offset", "--no-line-number")
        with Child((self._executable, *options, *patterns, "--", path), self._environ, stdin=False) as rg:
            try:
                output, _ = rg.communicate(timeout=_SECONDS)
            except ExpiredError:
                rg.kill()
                output, _ = rg.communicate()
        pairs = (line.partition(b":") for line in output.split(b"\n")[:-1])
        found = ((int(offset), text[: 4 * LONGEST_LINE].decode("utf-8", "replace")) for offset, _, text in pairs)
        return [one for one in found if one[0] < end]


def parse_lines(output: bytes) -> Iterator[tuple[bytes, Line]]:
    """Yield paths and lines from the output of `rg --null --line-number`: `path NUL number : line`.

    A path may hold a newline, and a line a NUL, so a path ends at its first NUL and a line at its first newline.
    """
    place = 0
    while (end := output.find(b"\0", place)) >= 0:
        path = output[place:end]
        colon = output.find(b":", end)
        newline = output.find(b"\n", colon)
        newline = len(output) if newline < 0 else newline
        # Four bytes make a character at most.
        text = output[colon + 1 : min(newline, colon + 1 + 4 * LONGEST_LINE)].decode("utf-8", "replace")
        yield path, Line(int(output[end + 1 : colon]), text[:LONGEST_LINE].rstrip("\r"))
        place = newline + 1

"""What stands in for the bindings where they have no wheel: the `rg` binary, if there is one on the `PATH`."""

from __future__ import annotations

import os
import subprocess  # noqa: TID251  # `rg` is no git; it is started here and nowhere else

from gitmem.search.scan.base import LONGEST_LINE, Line, PythonScanner, by_folder

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SECONDS = 60
_OPTIONS = ("--no-config", "--no-ignore", "--hidden", "--text", "--encoding=none", "--ignore-case", "--fixed-strings")
_FORMAT = ("--no-heading", "--line-number", "--with-filename", "--null", "--color=never", "--no-messages")


class RgScanner:
    """Searches with the `rg` binary."""

    def __init__(self, executable: str, environ: Mapping[str, str]) -> None:
        self._executable = executable
        self._environ = dict(environ)

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the lines, by path, in which one of the literals occurs."""
        folders, single = by_folder(paths)
        patterns = [f"--regexp={literal}" for literal in literals]
        places = [f"./{name}" for name in (*folders, *single)]
        done = subprocess.run(
            [self._executable, *_OPTIONS, *_FORMAT, *patterns, "--", *places],
            cwd=root,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode not in {0, 1, 2}:  # 2: some file could not be read
            return PythonScanner().scan(root, paths, literals)
        wanted = set(paths)
        found: dict[str, list[Line]] = {}
        for name, line in parse_lines(done.stdout):
            path = os.fsdecode(name).removeprefix("./").replace(os.sep, "/")
            if path in wanted:
                found.setdefault(path, []).append(line)
        return found


def parse_lines(said: bytes) -> Iterator[tuple[bytes, Line]]:
    """Yield what `rg --null --line-number` says: `path NUL number : line`.

    A path may hold a newline, and a line a NUL. So it is read from the front: a line ends at its newline, and the next
    path at its NUL.
    """
    place = 0
    while (end := said.find(b"\0", place)) >= 0:
        path = said[place:end]
        colon = said.find(b":", end)
        newline = said.find(b"\n", colon)
        newline = len(said) if newline < 0 else newline
        # Four bytes make a character at most.
        text = said[colon + 1 : min(newline, colon + 1 + 4 * LONGEST_LINE)].decode("utf-8", "replace")
        yield path, Line(int(said[end + 1 : colon]), text[:LONGEST_LINE].rstrip("\r"))
        place = newline + 1

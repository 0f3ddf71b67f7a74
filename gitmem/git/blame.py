"""Find the commit that wrote a line: `git blame`, parsed by GitPython.

GitPython reads `GIT_DIR` and others before the path it was given, so inside a hook it finds another repository. Here
only its parser is used, and git is started through `gitmem.git.process`. Tested through `tests/git/test_log.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gitmem.errors import GitmemError
from gitmem.git.process import Git, head_at

try:
    from git import Repo  # noqa: TID251  # only gitmem.git may
    from git.cmd import Git as PythonGit  # noqa: TID251
except ImportError as error:  # its import looks for git, by GIT_PYTHON_GIT_EXECUTABLE
    raise GitmemError(
        f"GitPython cannot be used: {error}.", "Unset GIT_PYTHON_GIT_EXECUTABLE, or install gitpython again."
    ) from error


_SECONDS = 300.0
# GitPython takes ids of 20 bytes. It gets the first 20 of a SHA-256 id; the result has the whole id again.
_LONGER_ID = re.compile(rb"^(?P<known>[0-9a-f]{40})[0-9a-f]{24}(?= [0-9]+ [0-9]+ [0-9]+$)", re.MULTILINE)


class _WalledGit(PythonGit):
    """Replace GitPython's git command by ours."""

    def __init__(self, git: Git, variables: Mapping[str, str]) -> None:
        super().__init__()
        self._walled = git
        self._variables = variables
        self._longer: dict[str, str] = {}

    def execute(self, command: Any, *_: Any, **options: Any) -> bytes:  # type: ignore[override]
        """Run a command with `Git.run`; other modes of GitPython's are not supported."""
        if options != {"stdout_as_string": False}:
            raise NotImplementedError(f"GitPython was used in a way that is not walled off: {sorted(options)}")
        output = self._walled.run(*command[1:], timeout=_SECONDS, env=self._variables)
        self._longer |= {match["known"].decode(): match[0].decode() for match in _LONGER_ID.finditer(output)}
        return _LONGER_ID.sub(rb"\g<known>", output)

    def whole(self, oid: str) -> str:
        """Return the whole id for a truncated one of GitPython's."""
        return self._longer.get(oid, oid)


class _History(Repo):
    """A GitPython repository that skips the search for one."""

    def __init__(self, git: Git, variables: Mapping[str, str]) -> None:
        self.git = _WalledGit(git, variables)


def blame(git: Git, revision: str | None, path: str, lines: tuple[int, int] | None = None) -> dict[int, str]:
    """Return the id of the commit that wrote each line of a file, by line number; `lines` is a range, both inclusive.

    Without a revision blame the file of the work tree; an uncommitted line has an id of zeros. Follow lines that a
    commit moved or copied from a file it also changed (`-C`): those of an archive lead to the commits before its
    rotation.

    Raises GitFailedError if there is no such file in the revision, or it has fewer lines.
    """
    options: dict[str, Any] = {"C": True}
    if lines is not None:
        options["L"] = f"{lines[0]},{lines[1]}"
    tip = git.run("rev-parse", "--verify", "--end-of-options", f"{revision or 'HEAD'}^{{commit}}").decode().strip()
    with head_at(tip) as variables, _History(git.unfiltered, variables) as repository:
        entries = repository.blame_incremental(revision and tip, path, **options)
        whole = repository.git.whole
        return {number: whole(entry.commit.hexsha) for entry in entries for number in entry.linenos}

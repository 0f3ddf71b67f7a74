"""Read history for display with GitPython; each git command it starts is run by our own `Git`.

`SafeGit` is GitPython's own point of extension: every command of a `StoreRepo` passes its `execute`, which runs it as
`process.Git.unfiltered` does: in the cleaned environment, without the attributes, filters and configuration of anybody,
and with full ids. GitPython's import takes 75 ms: hooks, saves, searches and syncs read by `git.log`.

GitPython's `Commit` objects are not used for lists of commits: they do not support SHA-256, and start a process for
each commit's trailers.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import Any

from gitmem.git.log import Commit, commits
from gitmem.git.process import Git, find_git, head_at
from gitmem.platform.machine import datetime
from gitmem.values import Value


@contextlib.contextmanager
def _only(**variables: str) -> Iterator[None]:
    """Hide the variables `GIT_*`, which GitPython reads when it is imported and when it opens a repository."""
    before = {name: value for name, value in os.environ.items() if name.upper().startswith("GIT_")}
    for name in before:
        del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


with _only(GIT_PYTHON_GIT_EXECUTABLE=find_git(os.environ)):  # GitPython asks this git for its version
    import git  # noqa: TID251  # only gitmem.git may

_SECONDS = 300.0  # for all of history, on a busy machine
_MOST_WORDS = 500  # ids in one command line: Windows takes 32,767 characters
_PLAIN = {"no_color": True, "no_ext_diff": True, "no_textconv": True}
_PATCH = {"patch": True, **_PLAIN}
_STAT = {"stat": True, "no_renames": True, **_PLAIN}
_BYTES: dict[str, Any] = {"stdout_as_string": False, "strip_newline_in_stdout": False}
# GitPython takes ids of 20 bytes. It gets the first 20 of a SHA-256 id; the result has the whole id again.
_LONGER_ID = re.compile(rb"^(?P<known>[0-9a-f]{40})[0-9a-f]{24}(?= [0-9]+ [0-9]+ [0-9]+$)", re.MULTILINE)


class LineChange(Value):
    """A commit that changed lines of a file: those it removed and those it added."""

    commit: Commit
    before: tuple[str, ...]
    after: tuple[str, ...]


class SafeGit(git.Git):
    """GitPython's git commands, run by our own `Git`; options that it lacks are refused."""

    def __init__(self, own: Git, working_dir: str | None = None) -> None:
        super().__init__(working_dir)
        self._own = own
        self.long_ids: dict[str, str] = {}  # of SHA-256, by their first 20 bytes

    def execute(  # type: ignore[override]  # supports only the options of our `Git`
        self,
        command: Sequence[Any],
        *,
        istream: int | None = None,
        as_process: bool = False,
        stdout_as_string: bool = True,
        strip_newline_in_stdout: bool = True,
        with_extended_output: bool = False,
        with_exceptions: bool = True,
        env: Mapping[str, str] | None = None,
        **refused: object,
    ) -> Any:
        """Run a command, whose first word is GitPython's name of git, in our environment.

        Raises GitFailedError as `Git.run`, TypeError for a shell, a stream or another way out of that environment.
        """
        if isinstance(command, str) or any(refused.values()):
            raise TypeError(f"gitmem's git does not take {', '.join(refused) or 'a line of a shell'}")
        args = [str(word) for word in command[1:]]
        if as_process:
            child = self._own.spawn(*args, env=env)
            if istream is None and child.stdin is not None:
                child.stdin.close()
            return self.AutoInterrupt(child, command)  # type: ignore[arg-type]  # has the methods that it calls
        output: Any = self._own.run(*args, timeout=_SECONDS, env=env, ok=(0,) if with_exceptions else range(256))
        if args[0] == "blame":
            output = _LONGER_ID.sub(self._shortened, output)
        if strip_newline_in_stdout:
            output = output.removesuffix(b"\n")
        if stdout_as_string:
            output = output.decode("utf-8", "surrogateescape")
        return (0, output, "") if with_extended_output else output

    def _shortened(self, match: re.Match[bytes]) -> bytes:
        self.long_ids[match["known"].decode()] = match[0].decode()
        return match["known"]


class StoreRepo(git.Repo):
    """A store's repository for GitPython. Revisions are full ids, since its git sees no refs."""

    git: SafeGit

    def __init__(self, own: Git) -> None:
        self._own = own.unfiltered
        self.GitCommandWrapperType = partial(SafeGit, self._own)  # type: ignore[assignment]
        with _only():
            super().__init__(own.work_tree or own.git_dir, expand_vars=False)

    def config_reader(self, config_level: Any = None) -> Any:
        """Return an empty configuration: GitPython would read the user's, with its includes."""
        del config_level
        return git.GitConfigParser(BytesIO(), read_only=True)

    def run(self, *args: str, timeout: float = _SECONDS) -> bytes:
        """Return the output of `git ARGS`, as the `Runner` of `git.log.log`."""
        del timeout
        output: bytes = self.git.execute(["git", *args], **_BYTES)
        return output

    def blame_lines(self, tip: str, path: str, lines: tuple[int, int] | None = None, *, edited: bool) -> dict[int, str]:
        """Return the id of the commit that wrote each line of a file, by line number; `lines` is a range, inclusive.

        Of an `edited` file blame the work tree's version; an uncommitted line has an id of zeros. Follow lines that a
        commit moved or copied from a file it also changed (`-C`): those of an archive lead to the commits before its
        rotation.

        Raises GitFailedError if there is no such file in the revision, or it has fewer lines.
        """
        options: dict[str, Any] = {"C": True, **({"L": f"{lines[0]},{lines[1]}"} if lines else {})}
        with head_at(tip) as variables:
            entries = [*self.blame_incremental(None if edited else tip, path, env=variables, **options)]
        whole = self.git.long_ids
        return {line: whole.get(oid := entry.commit.hexsha, oid) for entry in entries for line in entry.linenos}

    def line_changes(self, tip: str, path: str, lines: tuple[int, int], limit: int) -> list[LineChange]:
        """Return the commits that changed a range of lines (both inclusive) of a file, newest first (`git log -L`)."""
        mark = os.urandom(16).hex()  # that no file contains
        options = {"L": f"{lines[0]},{lines[1]}:{path}", "max_count": limit, "format": f"{mark}%H%x00"}
        output: bytes = self.git.log("--end-of-options", tip, "--", **options, **_PATCH, **_BYTES)
        parts = re.split(f"{mark}([0-9a-f]+)\0".encode(), output)
        found = list(zip(parts[1::2], parts[2::2], strict=True))
        known = commits(self._own, (oid.decode() for oid, _ in found))
        changes = []
        for oid, patch in found:
            hunks = patch.decode("utf-8", "replace").partition("\n@@ ")[2].split("\n")[1:]
            sides = [tuple(line[1:].removesuffix("\r") for line in hunks if line[:1] == sign) for sign in "-+"]
            changes.append(LineChange(known[oid.decode()], sides[0], sides[1]))
        return changes

    def newest_until(self, tip: str, moment: datetime) -> str | None:
        """Return the newest commit in history that was committed by `moment`, or None; clocks may be ahead."""
        until = f"@{max(int(moment.timestamp()), 0)} +0000"  # git takes a date it cannot parse for now
        return self.git.rev_list("--end-of-options", tip, "--", max_count=1, until=until) or None

    def diff_of(self, old: str, new: str, *paths: str, brief: bool = False) -> bytes:
        """Return the unified diff between two commits or trees; if `brief`, its statistics."""
        form = _STAT if brief else _PATCH
        output: bytes = self.git(literal_pathspecs=True).diff(
            "--end-of-options", old, new, "--", *paths, **form, **_BYTES
        )
        return output

    def diff_of_files(self, tip: str, paths: Sequence[str]) -> bytes:
        """Return the unified diff from a commit to files of the work tree, new ones included."""
        listed = self.git.ls_tree("-r", "-z", "--name-only", tip).split("\0")
        tracked = [path for path in paths if path in {*listed}]
        output: bytes = b""
        if tracked:
            output = self.git(literal_pathspecs=True).diff("--end-of-options", tip, "--", *tracked, **_PATCH, **_BYTES)
        for path in paths:
            if path not in tracked:
                form = {"no_index": True, "with_exceptions": False, **_PATCH, **_BYTES}
                output += self.git.diff("--", os.devnull, path, **form)
        return output

    def statistics(self, oids: Sequence[str]) -> dict[str, str]:
        """Return, for each commit, how many lines of which files it changed, as `git log --stat` prints it."""
        mark = os.urandom(16).hex()  # that no file name contains
        options = {"no_walk": "unsorted", "format": f"{mark}%H", **_STAT, **_BYTES}
        known: dict[str, str] = {}
        for start in range(0, len(oids), _MOST_WORDS):
            output: bytes = self.git.log("--end-of-options", *oids[start : start + _MOST_WORDS], "--", **options)
            parts = re.split(f"{mark}([0-9a-f]+)\n", output.decode("utf-8", "replace"))
            known.update(zip(parts[1::2], (text.strip("\n") for text in parts[2::2]), strict=True))
        return known

    def shown(self, commit: str) -> bytes:
        """Return a commit, its message and its diff as `git show` prints them."""
        options = {"no_mailmap": True, "no_notes": True, "format": "medium"}
        output: bytes = self.git.show("--end-of-options", commit, "--", **options, **_PATCH, **_BYTES)
        return output

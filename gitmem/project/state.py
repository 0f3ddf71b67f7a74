"""The state and past of the user's project, as git tells them."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime

from gitmem.errors import GitmemError
from gitmem.git.process import Git, filters_off
from gitmem.git.repository import common_dir_of
from gitmem.git.trust import check_owner
from gitmem.platform.spawn import Child, ExpiredError
from gitmem.project.files import work_tree_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from gitmem.project.files import ProjectCode


PAST_SECONDS = 30.0
_COMMITS = 500
_MAX_FILES = 50_000  # of the project that are looked at
_FORMAT = "--format=%x01%h%x02%ct%x02%s"


class ProjectCommit(Value):
    """A commit of the project: its short id, time, subject and files."""

    id: str
    at: datetime
    subject: str
    files: tuple[str, ...]


class Past(Value):
    """The commit that HEAD names ("" without one), its files, and its last commits without merges."""

    commit: str = ""
    files: tuple[str, ...] = ()
    commits: tuple[ProjectCommit, ...] = ()


def read_past(code: ProjectCode) -> Past:
    """Return a project's past; an empty one where git does not answer. Nothing of it is run."""
    try:
        listed = code.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", timeout=PAST_SECONDS)
        log = code.git.run(
            *("log", f"-{_COMMITS}", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv"),
            *("--name-only", "-z", _FORMAT, "HEAD", "--"),
            timeout=PAST_SECONDS,
        )
    except GitmemError:
        return Past()
    commits = tuple(filter(None, map(_commit, _text(log).split("\x01")[1:])))
    files = tuple(_text(listed).split("\0")[:-1][:_MAX_FILES])
    return Past(commits[0].id if commits else "", files, commits)


def _commit(record: str) -> ProjectCommit | None:
    head, *files = record.split("\0")
    identifier, at, subject = (*head.split("\x02", 2), "", "")[:3]
    if not at.isdecimal():
        return None
    names = tuple(name.strip("\n") for name in files if name)
    return ProjectCommit(identifier, datetime.fromtimestamp(int(at), UTC), subject.strip("\n"), names)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")


SECONDS = 0.3  # for all questions together; without an answer by then the project is left out
_STATE_COMMITS = 3
_FILES, _MAX_NAME = 5, 100  # changed files that are named, and characters of a name
_MAX_SUBJECT = 300  # characters of a line that `git log` prints
_COMMANDS = (
    ("symbolic-ref", "--short", "--quiet", "HEAD"),
    ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all"),
    ("log", f"-{_STATE_COMMITS}", "--format=%h %s"),
)


class ProjectState(Value):
    """A project's root, branch ("" if HEAD is detached), number of changed files, last commits, some changed files."""

    root: str
    branch: str
    changed: int
    commits: tuple[str, ...]
    files: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """Return the state as lines of the text a session starts with."""
        where = f"{self.root}, on {self.branch or 'no branch'}"
        if self.changed:
            more = self.changed - len(self.files)
            named = ", ".join((*self.files, *([f"{more} more"] if more and self.files else ())))
            where += f"; changed since the last commit: {named or f'{self.changed} files'}"
        return (where, *(f"- {commit}" for commit in self.commits))


class ProjectQuestions:
    """Runs git commands in the work tree of a folder, all at once, in the background.

    As a context manager it ends those that still run.
    """

    def __init__(self, folder: str, environ: Mapping[str, str]) -> None:
        self._processes: list[Child] = []
        self._root = ""
        with contextlib.suppress(GitmemError, OSError, ValueError):  # ValueError: a name that no folder can have
            self._root, git_dir = work_tree_of(folder)
            if git_dir:
                check_owner(environ, git_dir, self._root)
                git = Git(git_dir, self._root, environ)
                off = filters_off(git, common_dir_of(git_dir), SECONDS)
                self._processes += (git.spawn(*command, env=off) for command in _COMMANDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for process in self._processes:
            if process.returncode is None:
                process.kill()
                process.communicate()

    def answer(self) -> ProjectState | None:
        """Return the state; None if there is no repository, or git does not answer in time."""
        if len(self._processes) < len(_COMMANDS):
            return None
        end = time.monotonic() + SECONDS
        try:
            outputs = [
                process.communicate(timeout=max(end - time.monotonic(), 0.0))[0].decode("utf-8", "replace")
                for process in self._processes
            ]
        except (OSError, ExpiredError):
            return None
        branch, status, log = outputs
        commits = tuple(line[:_MAX_SUBJECT] for line in log.splitlines())
        changed = status.split("\0")[:-1]
        # After two letters; a name may hold a line end.
        files = tuple(" ".join(line[3:][:_MAX_NAME].split()) for line in changed[:_FILES])
        return ProjectState(self._root, branch.strip(), len(changed), commits, files)

"""What git says of the project a session works in (spec J1): branch, changes, last commits, asked for all at once."""

from __future__ import annotations

import contextlib
import os
import time

from gitmem.errors import GitmemError
from gitmem.git.process.run import Git, filters_off
from gitmem.git.process.spawn import ExpiredError
from gitmem.git.repository import common_dir_of, linked_git_dir
from gitmem.git.trust import check_owner
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from gitmem.git.process.spawn import Running
    from gitmem.memory.facts.code import AskedAhead

SECONDS = 0.3  # a large repository on a slow disk is left out
_COMMITS = 3
_LONGEST = 300  # characters of a commit's subject
_QUESTIONS = (
    ("symbolic-ref", "--short", "--quiet", "HEAD"),
    ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"),
    ("log", f"-{_COMMITS}", "--format=%h %s"),
)


class ProjectState(Value):
    """A project's root, branch ("" where HEAD is detached), number of changed files, last commits.

    `objects` waits for the ids of objects, by name, that were asked for ahead (`gitmem.memory.facts.code`).
    """

    root: str
    branch: str
    changed: int
    commits: tuple[str, ...]
    objects: Callable[[], Mapping[str, str]] = dict

    def lines(self) -> tuple[str, ...]:
        """Return it for a session's start."""
        state = f"{self.changed} changed files" if self.changed else "nothing changed"
        where = f"{self.root}, on {self.branch or 'no branch'}, {state} since the last commit"
        return (where, *(f"- {commit}" for commit in self.commits))


class ProjectQuestions:
    """Asks git about the work tree a folder is in, all at once and while something else is being done.

    As a context manager it leaves no process behind. `private` is the private folder of a store that may know of more
    that is worth asking.
    """

    def __init__(self, folder: str, environ: Mapping[str, str], private: str = "") -> None:
        self._asked: list[Running] = []
        self._ahead: AskedAhead | None = None
        self._root = ""
        with contextlib.suppress(GitmemError, OSError, ValueError):  # ValueError: a folder no system can have
            self._root, git_dir = work_tree_of(folder)
            if git_dir:
                check_owner(environ, git_dir, self._root)
                git = Git(git_dir, self._root, environ)
                off = filters_off(git, common_dir_of(git_dir), SECONDS)
                self._asked += (git.spawn(*question, env=off) for question in _QUESTIONS)
                if private:
                    from gitmem.memory.facts.code import AskedAhead

                    self._ahead = AskedAhead(git, private)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._ahead:
            self._ahead.end()
        for process in self._asked:
            if process.returncode is None:
                process.kill()
                process.communicate()

    def answer(self) -> ProjectState | None:
        """Return the state; None where there is no repository, or git does not answer in time."""
        if len(self._asked) < len(_QUESTIONS):
            return None
        end = time.monotonic() + SECONDS
        try:
            said = [
                process.communicate(timeout=max(end - time.monotonic(), 0.0))[0].decode("utf-8", "replace")
                for process in self._asked
            ]
        except (OSError, ExpiredError):
            return None
        branch, status, log = said
        commits = tuple(line[:_LONGEST] for line in log.splitlines())
        state = ProjectState(self._root, branch.strip(), len(status.splitlines()), commits)
        return state._replace(objects=self._ahead.answer) if self._ahead else state


def work_tree_of(folder: str) -> tuple[str, str]:
    """Return the work tree a folder is in and its git folder, "" and "" where it is in none."""
    folder = os.path.realpath(folder)
    while True:
        dot_git = os.path.join(folder, ".git")
        git_dir = dot_git if os.path.isdir(dot_git) else linked_git_dir(folder)
        if git_dir:
            return folder, git_dir
        parent = os.path.dirname(folder)
        if parent == folder:
            return "", ""
        folder = parent

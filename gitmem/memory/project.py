"""What git says of the project a session works in (spec J1): branch, changes, last commits, asked for all at once."""

from __future__ import annotations

import os

from gitmem.errors import GitmemError
from gitmem.git.child import ExpiredError
from gitmem.git.process import Git
from gitmem.git.repository import linked_git_dir
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.git.child import Running

SECONDS = 0.3  # a large repository on a slow disk is left out
_COMMITS = 3
_QUESTIONS = (
    ("symbolic-ref", "--short", "--quiet", "HEAD"),
    ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"),
    ("log", f"-{_COMMITS}", "--format=%h %s"),
)


class ProjectState(Value):
    """A project's root, branch ("" where HEAD is detached), number of changed files, last commits."""

    root: str
    branch: str
    changed: int
    commits: tuple[str, ...]

    def lines(self) -> tuple[str, ...]:
        """Return it for a session's start."""
        state = f"{self.changed} changed files" if self.changed else "nothing changed"
        where = f"{self.root}, on {self.branch or 'no branch'}, {state} since the last commit"
        return (where, *(f"- {commit}" for commit in self.commits))


def project_state(root: str, environ: Mapping[str, str]) -> ProjectState | None:
    """Ask git in parallel; None where `root` is no work tree or git does not answer in time."""
    dot_git = os.path.join(root, ".git")
    git_dir = dot_git if os.path.isdir(dot_git) else linked_git_dir(root)
    if git_dir is None:
        return None
    asked: list[Running] = []
    try:
        git = Git(git_dir, root, environ)
        asked += (git.spawn(*question) for question in _QUESTIONS)
        answers = [process.communicate(timeout=SECONDS)[0].decode("utf-8", "replace") for process in asked]
    except (GitmemError, OSError, ValueError, ExpiredError):
        return None
    finally:
        for process in asked:
            if process.returncode is None:
                process.kill()
                process.wait()
    branch, status, log = answers
    return ProjectState(root, branch.strip(), len(status.splitlines()), tuple(log.splitlines()))

"""Read the user's project, which is not trusted: its files, within bounds, its state, and its history by git.

Nothing that the project's configuration names is run.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from itertools import islice

from gitmem.errors import GitmemError, RefusedError
from gitmem.git.filters import filters_off
from gitmem.git.layout import common_dir_of, linked_git_dir
from gitmem.git.process import Git
from gitmem.git.trust import check_owner
from gitmem.model.fact import Fact
from gitmem.platform.machine import UTC, datetime
from gitmem.platform.safe_open import enter, folders_around, read_open, split
from gitmem.platform.spawn import Child, ExpiredError
from gitmem.values import Value


def work_tree_of(folder: str) -> tuple[str, str]:
    """Return the top of the work tree that a folder is in and its git dir, or "" and ""."""
    for top in folders_around(os.path.realpath(folder)):
        dot_git = os.path.join(top, ".git")
        if git_dir := dot_git if os.path.isdir(dot_git) else linked_git_dir(top):
            return top, git_dir
    return "", ""


MAX_BYTES = 1 << 18
_MAX_NAMES = 5_000
_DEEPEST = 4
_LEFT_OUT = frozenset({"node_modules", "vendor", "dist", "build", "target", "__pycache__", "venv"})


def read_project_file(root: str, path: str) -> str:
    """Return the text of a file, "" if there is none, it is larger than `MAX_BYTES`, or a link leads to it."""
    try:
        *folders, name = split(path)
        with enter(root, folders) as folder, open(folder.open(name), "rb") as file:
            data = read_open(file, MAX_BYTES + 1) or b""
    except (OSError, RefusedError, ValueError):
        return ""
    return data.decode("utf-8", "replace") if len(data) <= MAX_BYTES else ""


def list_files(root: str) -> tuple[str, ...]:
    """Return the paths of a folder's files, at most some thousands, four levels deep, without hidden ones."""
    return tuple(sorted(islice(_below(root, ()), _MAX_NAMES)))


def is_file(root: str, path: str) -> bool:
    """Return whether a path is exactly, in the same letter case, that of a file, without a link on the way."""
    with contextlib.suppress(OSError, RefusedError, ValueError):
        *folders, name = split(path)
        with enter(root, folders) as folder:
            return name in folder.names() and stat.S_ISREG(folder.status(name).st_mode)
    return False


def _below(root: str, parts: tuple[str, ...]) -> Iterator[str]:
    folders: list[str] = []
    with contextlib.suppress(OSError, RefusedError), enter(root, parts) as folder, folder.scan() as entries:
        for entry in islice(entries, _MAX_NAMES):
            if entry.is_file(follow_symlinks=False):
                yield "/".join((*parts, entry.name))
            elif entry.is_dir(follow_symlinks=False) and entry.name[0] != "." and entry.name not in _LEFT_OUT:
                folders.append(entry.name)
    for name in folders if len(parts) < _DEEPEST else ():
        yield from _below(root, (*parts, name))


_PATIENT = 30.0  # seconds
COMMIT = re.compile(r"[0-9a-f]{7,64}")
SHORT = 12  # digits of a commit's id in a fact
LINE_BREAKS = re.compile(r"[\n\r\0]")
_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
_COMMITS = 500
_MAX_FILES = 50_000  # of the project that are looked at
_FORMAT = "--format=%x01%h%x02%ct"


class ProjectCommit(Value):
    """A commit of the project: its short id, time and files."""

    id: str
    at: datetime
    files: tuple[str, ...]


class ProjectHistory(Value):
    """The commit that HEAD names ("" without one), its files, and its last commits without merges."""

    commit: str = ""
    files: tuple[str, ...] = ()
    commits: tuple[ProjectCommit, ...] = ()


class ProjectCode(Value):
    """The git repository of a project: its work tree and its common git folder."""

    root: str
    common_dir: str
    git: Git

    def as_of(self, when: datetime) -> tuple[str, frozenset[str]]:
        """Return the last commit made by then and its files; "" and no files if there is none.

        Files with uncommitted changes are left out, since a fact about them concerns no commit yet.
        """
        try:
            commit = self.git.run("rev-list", "-1", f"--before={when.isoformat()}", "HEAD", "--", timeout=_PATIENT)
            oid = commit.decode().strip()
            if not oid:
                return "", frozenset()
            status = self.git.run(*_STATUS, env=filters_off(self.git, self.common_dir))
            return oid[:SHORT], frozenset(self._names(oid)) - {line[3:] for line in _split(status)}
        except GitmemError:
            return "", frozenset()

    def difference(self, fact: Fact) -> str:
        """Return the unified diff of a fact's files from its commit to HEAD, "" if git fails."""
        named = [file for file in fact.files if not LINE_BREAKS.search(file)]
        if not named or not COMMIT.fullmatch(fact.commit):
            return ""
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        command = ("diff", *options, "--end-of-options", fact.commit, "HEAD", "--", *named)
        try:
            output = self.git.run(
                "--literal-pathspecs", *command, env=filters_off(self.git, self.common_dir), timeout=_PATIENT
            )
        except GitmemError:
            return ""
        return output.decode("utf-8", "replace")

    def past(self) -> ProjectHistory:
        """Return the project's past; an empty one if git fails."""
        options = (f"-{_COMMITS}", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--name-only", "-z")
        try:
            files = tuple(self._names("HEAD")[:_MAX_FILES])
            log = self.git.run("log", *options, _FORMAT, "HEAD", "--", timeout=_PATIENT)
        except GitmemError:
            return ProjectHistory()
        records = log.decode("utf-8", "replace").split("\x01")[1:]
        commits = tuple(filter(None, map(_commit, records)))
        return ProjectHistory(commits[0].id if commits else "", files, commits)

    def _names(self, tree: str) -> list[str]:
        return _split(self.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree, timeout=_PATIENT))


def project_code(folder: str, environ: Mapping[str, str]) -> ProjectCode | None:
    """Return the repository a folder is in, None if it is in none, or in one that git refuses to use."""
    try:
        root, git_dir = work_tree_of(folder)
        if not git_dir:
            return None
        check_owner(environ, git_dir, root)
        return ProjectCode(root, common_dir_of(git_dir), Git(git_dir, root, environ))
    except (GitmemError, OSError, ValueError):
        return None


def _split(output: bytes) -> list[str]:
    """Split git's `-z` output."""
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _commit(record: str) -> ProjectCommit | None:
    head, *files = record.split("\0")
    identifier, _, at = head.strip("\n").partition("\x02")
    if not at.isdecimal():
        return None
    names = tuple(name.strip("\n") for name in files if name)
    return ProjectCommit(identifier, datetime.fromtimestamp(int(at), UTC), names)


SECONDS = 0.3  # for all questions together; without an answer by then the project is left out
_STATE_COMMITS = 3
_FILES, _MAX_NAME = 5, 100  # changed files that are named, and characters of a name
_MAX_SUBJECT = 300  # characters of a line that `git log` prints
_COMMANDS = (
    (*_STATUS, "--branch", "--no-ahead-behind"),
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
    """Runs git commands in a folder's work tree in parallel, in the background; a context manager that ends them."""

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

    def __enter__(self) -> ProjectQuestions:
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
        status, log = outputs
        commits = tuple(line[:_MAX_SUBJECT] for line in log.split("\n") if line)
        head, *changed = status.split("\0")[:-1] or [""]
        on = head.removeprefix("## ").removeprefix("No commits yet on ").partition("...")[0]
        # After two letters; a name may hold a line end.
        files = tuple(" ".join(line[3:][:_MAX_NAME].split()) for line in changed[:_FILES])
        return ProjectState(self._root, "" if " " in on else on, len(changed), commits, files)  # "HEAD (no branch)"

"""The code that facts refer to: the commit of a fact, and the changes of its files since.

A fact names files and a commit. The files' blob ids in that commit and in HEAD are compared, for all facts by one
`git cat-file --batch-check`, whose work does not grow with the project's history.
"""

from __future__ import annotations

import contextlib
import re

from gitmem.errors import GitmemError
from gitmem.git.layout import common_dir_of
from gitmem.git.process.run import Git, filters_off
from gitmem.git.trust import check_owner
from gitmem.machine.spawn import ExpiredError
from gitmem.project.work_tree import work_tree_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gitmem.machine.spawn import Running
    from gitmem.model.fact.fact import Fact

SECONDS = 30.0
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12  # digits of a commit's id in a fact
_FITS_A_PIPE = 8_192  # bytes
_LINE_BREAKS = re.compile(r"[\n\r\0]")
_BATCH_CHECK = ("cat-file", "--batch-check=%(objectname)", "-z")
_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")


class ProjectCode(Value):
    """The git repository of a project: its work tree and its common git folder."""

    root: str
    common_dir: str
    git: Git

    def as_of(self, when: datetime) -> tuple[str, frozenset[str]]:
        """Return the last commit made by then and its files; "" and no files if there is none.

        Files with uncommitted changes are left out: a fact about them speaks of no commit yet.
        """
        try:
            commit = self.git.run("rev-list", "-1", f"--before={when.isoformat()}", "HEAD", "--", timeout=SECONDS)
            oid = commit.decode().strip()
            if not oid:
                return "", frozenset()
            listed = self.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", oid, timeout=SECONDS)
            status = self.git.run(*_STATUS, env=filters_off(self.git, self.common_dir))
        except GitmemError:
            return "", frozenset()
        changed = {line[3:] for line in _split(status)}
        return oid[:_SHORT], frozenset(_split(listed)) - changed

    def changed_since(self, facts: Iterable[Fact], *, seconds: float = SECONDS) -> Mapping[str, tuple[str, ...]]:
        """Return, by fact id, the files that differ between the fact's commit and HEAD.

        Facts whose commit the project no longer has are left out; all are if git does not answer in time.
        """
        return self.ask(facts).answer(seconds)

    def ask(self, facts: Iterable[Fact]) -> Changes:
        """Start git for `changed_since`."""
        return Changes(self.git, facts)

    def difference(self, fact: Fact) -> str:
        """Return the unified diff of a fact's files from its commit to HEAD, "" if git cannot tell."""
        named = [file for _, file, _ in _files_of([fact])]
        if not named:
            return ""
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        command = ("diff", *options, "--end-of-options", fact.commit, "HEAD", "--", *named)
        try:
            output = self.git.run(
                "--literal-pathspecs", *command, env=filters_off(self.git, self.common_dir), timeout=SECONDS
            )
        except GitmemError:
            return ""
        return output.decode("utf-8", "replace")


class Changes:
    """A git that was started and is to tell which files of some facts have changed."""

    def __init__(self, git: Git, facts: Iterable[Fact]) -> None:
        self._named = _files_of(facts)
        asked = (f"{revision}:{file}" for _, file, commit in self._named for revision in (commit, "HEAD"))
        self._names = list(dict.fromkeys(asked))
        self._process: Running | None = None
        self._request = "".join(f"{name}\0" for name in self._names).encode("utf-8", "surrogateescape")
        if self._names:
            with contextlib.suppress(GitmemError):
                self._process = git.spawn(*_BATCH_CHECK)
                self._send_early()

    def _send_early(self) -> None:
        """Have git work while others do: send a request that fits into any pipe, so that writing it does not wait."""
        if self._process and self._process.stdin and len(self._request) <= _FITS_A_PIPE:
            with contextlib.suppress(BrokenPipeError):  # git has ended, and its status says why
                self._process.stdin.write(self._request)
                self._process.stdin.flush()
            self._request = b""

    def answer(self, seconds: float) -> Mapping[str, tuple[str, ...]]:
        """Return the changed files by fact id; see `ProjectCode.changed_since`."""
        oids = self._object_ids(seconds)
        changed: dict[str, list[str]] = {}
        for identifier, file, commit in self._named:
            then, now = oids.get(f"{commit}:{file}", ""), oids.get(f"HEAD:{file}", "")
            if then and then != now:
                changed.setdefault(identifier, []).append(file)
        return {identifier: tuple(files) for identifier, files in changed.items()}

    def _object_ids(self, seconds: float) -> dict[str, str]:
        """Return the object ids of names such as `HEAD:file`, "" for names of no object."""
        if self._process is None:
            return {}
        try:
            output, _ = self._process.communicate(self._request, seconds)
        except ExpiredError:
            self._process.kill()
            self._process.communicate()
            return {}
        lines = output.decode("utf-8", "replace").split("\n")[:-1]
        if self._process.returncode or len(lines) != len(self._names):
            return {}
        return {name: line if _COMMIT.fullmatch(line) else "" for name, line in zip(self._names, lines, strict=True)}


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


def _files_of(facts: Iterable[Fact]) -> list[tuple[str, str, str]]:
    """Return (fact id, file, commit) for each file of the facts that name a commit."""
    return [
        (fact.id, file, fact.commit)
        for fact in facts
        if _COMMIT.fullmatch(fact.commit)
        for file in fact.files
        if not _LINE_BREAKS.search(file)
    ]


def _split(output: bytes) -> list[str]:
    """Split git's `-z` output."""
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]

"""The code that facts refer to: the commit of a fact, and the changes of its files since.

A fact names files and a commit. The files' blob ids in that commit and in HEAD are compared, for all facts by one
`git cat-file --batch-check`, whose work does not grow with the project's history.
"""

from __future__ import annotations

import re

from gitmem.errors import GitmemError
from gitmem.git.layout import common_dir_of
from gitmem.git.process.run import Git, filters_off
from gitmem.git.trust import check_owner
from gitmem.project.work_tree import work_tree_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gitmem.model.fact.fact import Fact

SECONDS = 30.0
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12  # digits of a commit's id in a fact
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
        named = _files_of(facts)
        names = list(dict.fromkeys(f"{revision}:{file}" for _, file, commit in named for revision in (commit, "HEAD")))
        try:
            oids = self._object_ids(names, seconds)
        except GitmemError:
            return {}
        changed: dict[str, list[str]] = {}
        for identifier, file, commit in named:
            then, now = oids.get(f"{commit}:{file}", ""), oids.get(f"HEAD:{file}", "")
            if then and then != now:
                changed.setdefault(identifier, []).append(file)
        return {identifier: tuple(files) for identifier, files in changed.items()}

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

    def _object_ids(self, names: list[str], seconds: float) -> dict[str, str]:
        """Return the object ids of names such as `HEAD:file`, "" for names of no object."""
        if not names:
            return {}
        request = "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")
        output = self.git.run(*_BATCH_CHECK, stdin=request, timeout=seconds)
        lines = output.decode("utf-8", "replace").split("\n")[:-1]
        if len(lines) != len(names):
            return {}
        return {name: line if _COMMIT.fullmatch(line) else "" for name, line in zip(names, lines, strict=True)}


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

"""What the project's own git says of the code that facts speak of: as of which commit, and whether it changed since.

A fact names files and the commit as of which it speaks of them. Their content then and now is compared, by one git
process for all facts, whose work does not grow with the project's history.
"""

from __future__ import annotations

import re

from gitmem.errors import GitmemError
from gitmem.git.process import Git
from gitmem.memory.project import work_tree_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gitmem.memory.knownfacts import KnownFact

SECONDS = 30.0
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12  # digits of a commit's id in a fact
_LINE_BREAKS = re.compile(r"[\n\r\0]")


class ProjectCode(Value):
    """The git repository of a project: its work tree."""

    root: str
    git: Git

    def as_of(self, when: datetime) -> tuple[str, frozenset[str]]:
        """Return the last commit that was made by then ("" where there is none), and its files.

        Files that are changed and not committed are left out: what is said of them is not said of any commit yet.
        """
        try:
            commit = self.git.run("rev-list", "-1", f"--before={when.isoformat()}", "HEAD", "--", timeout=SECONDS)
            oid = commit.decode().strip()
            if not oid:
                return "", frozenset()
            listed = self.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", oid, timeout=SECONDS)
            status = self.git.run("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
        except GitmemError:
            return "", frozenset()
        changed = {line[3:] for line in _lines(status)}
        return oid[:_SHORT], frozenset(_lines(listed)) - changed

    def changed_since(self, facts: Iterable[KnownFact], *, seconds: float = SECONDS) -> Mapping[str, tuple[str, ...]]:
        """Return, by id, the files of facts that are not what they were as of the fact's commit.

        Of a commit the project no longer has nothing can be said, and so of its facts nothing is.
        """
        asked = [
            (fact.id, file, fact.commit)
            for fact in facts
            if _COMMIT.fullmatch(fact.commit)
            for file in fact.files
            if not _LINE_BREAKS.search(file)
        ]
        if not asked:
            return {}
        names = [f"{revision}:{file}" for _, file, commit in asked for revision in (commit, "HEAD")]
        try:
            said = self.git.run(
                *("cat-file", "--batch-check=%(objectname)", "-z"),
                stdin="\0".join([*names, ""]).encode("utf-8", "surrogateescape"),
                timeout=seconds,
            )
        except GitmemError:
            return {}
        oids = [line if _COMMIT.fullmatch(line) else "" for line in said.decode("utf-8", "replace").split("\n")[:-1]]
        if len(oids) != len(names):
            return {}
        found: dict[str, list[str]] = {}
        for (identifier, file, _), then, now in zip(asked, oids[::2], oids[1::2], strict=True):
            if then and then != now:
                found.setdefault(identifier, []).append(file)
        return {identifier: tuple(files) for identifier, files in found.items()}


def project_code(folder: str, environ: Mapping[str, str]) -> ProjectCode | None:
    """Return the repository a folder is in, None where it is in none."""
    try:
        root, git_dir = work_tree_of(folder)
        return ProjectCode(root, Git(git_dir, root, environ)) if git_dir else None
    except (GitmemError, OSError, ValueError):
        return None


def _lines(said: bytes) -> list[str]:
    return said.decode("utf-8", "surrogateescape").split("\0")[:-1]

"""What the project's own git says of the code that facts speak of: as of which commit, and whether it changed since.

A fact names files and the commit as of which it speaks of them. Their content then and now is compared, by one git
process for all facts, whose work does not grow with the project's history. A session's start asks it ahead about what
the last one was told, while Python still loads what finds out what this one is told: mostly that is the same.
"""

from __future__ import annotations

import contextlib
import os
import re

from gitmem.errors import GitmemError
from gitmem.git.process.run import Git, filters_off
from gitmem.git.process.spawn import ExpiredError
from gitmem.git.repository import common_dir_of
from gitmem.git.trust import check_owner
from gitmem.machine.beneath import read_regular
from gitmem.memory.start.project import work_tree_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from gitmem.model.fact.fact import Fact

SECONDS = 30.0
SECONDS_AHEAD = 0.3  # at a session's start
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12  # digits of a commit's id in a fact
_LINE_BREAKS = re.compile(r"[\n\r\0]")
_QUESTION = ("cat-file", "--batch-check=%(objectname)", "-z")
_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
_AHEAD = os.path.join("known", "asked")  # in the private folder: the names that the last session's start asked about
_MOST_AHEAD = 16_384  # bytes of them, which a pipe takes at once


class ProjectCode(Value):
    """The git repository of a project: its work tree and its common git folder."""

    root: str
    common_dir: str
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
            status = self.git.run(*_STATUS, env=filters_off(self.git, self.common_dir))
        except GitmemError:
            return "", frozenset()
        changed = {line[3:] for line in _lines(status)}
        return oid[:_SHORT], frozenset(_lines(listed)) - changed

    def changed_since(
        self, facts: Iterable[Fact], *, seconds: float = SECONDS, known: Mapping[str, str] | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        """Return, by id, the files of facts that are not what they were as of the fact's commit.

        Of a commit the project no longer has nothing can be said, and so of its facts nothing is. `known` are ids of
        objects by name that git need not be asked for.
        """
        facts = list(facts)
        oids = dict(known or {})
        missing = [name for name in names_of(facts) if name not in oids]
        if missing:
            try:
                oids.update(_oids(missing, self.git.run(*_QUESTION, stdin=_as_input(missing), timeout=seconds)))
            except GitmemError:
                return {}
        return changed(facts, oids)


class AskedAhead:
    """What git is asked about the code before it is known what is to be asked: the names of the last time."""

    def __init__(self, git: Git, private: str) -> None:
        try:
            names = read_regular(os.path.join(private, _AHEAD), _MOST_AHEAD + 1) or b""
        except OSError:
            names = b""
        self._names = _lines(names) if len(names) <= _MOST_AHEAD else []
        self._process = git.spawn(*_QUESTION) if self._names else None
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(names)
                self._process.stdin.close()

    def answer(self) -> Mapping[str, str]:
        """Return the ids of the objects by name; none where git does not tell them in time."""
        if self._process is None:
            return {}
        try:
            return _oids(self._names, self._process.communicate(timeout=SECONDS_AHEAD)[0])
        except (OSError, ExpiredError):
            return {}

    def end(self) -> None:
        """Leave no process behind."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            self._process.communicate()


def ask_ahead(private: str, names: Sequence[str]) -> None:
    """Have the next session's start ask ahead about objects of these names."""
    path = os.path.join(private, _AHEAD)
    with contextlib.suppress(OSError):  # which costs time, nothing else
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(f"{path}.{os.getpid()}", "wb") as file:
            file.write(_as_input(names))
        os.replace(file.name, path)


def names_of(facts: Iterable[Fact]) -> list[str]:
    """Return the names of the objects whose ids tell whether the files of facts have changed."""
    names = [f"{revision}:{file}" for _, file, commit in _files_of(facts) for revision in (commit, "HEAD")]
    return list(dict.fromkeys(names))


def changed(facts: Iterable[Fact], oids: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """Return, by id, the files of facts that are not what they were as of the fact's commit, by the ids of objects."""
    found: dict[str, list[str]] = {}
    for identifier, file, commit in _files_of(facts):
        then, now = oids.get(f"{commit}:{file}", ""), oids.get(f"HEAD:{file}", "")
        if then and then != now:
            found.setdefault(identifier, []).append(file)
    return {identifier: tuple(files) for identifier, files in found.items()}


def _files_of(facts: Iterable[Fact]) -> list[tuple[str, str, str]]:
    """Return the id, a file and the commit of each fact that has them, for each of its files."""
    return [
        (fact.id, file, fact.commit)
        for fact in facts
        if _COMMIT.fullmatch(fact.commit)
        for file in fact.files
        if not _LINE_BREAKS.search(file)
    ]


def _as_input(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")


def _oids(names: Sequence[str], said: bytes) -> dict[str, str]:
    """Return the ids of the objects git was asked for by name, "" for what there is not."""
    lines = said.decode("utf-8", "replace").split("\n")[:-1]
    if len(lines) != len(names):
        return {}
    return {name: line if _COMMIT.fullmatch(line) else "" for name, line in zip(names, lines, strict=True)}


def project_code(folder: str, environ: Mapping[str, str]) -> ProjectCode | None:
    """Return the repository a folder is in, None where it is in none, or in one that git does not use."""
    try:
        root, git_dir = work_tree_of(folder)
        if not git_dir:
            return None
        check_owner(environ, git_dir, root)
        return ProjectCode(root, common_dir_of(git_dir), Git(git_dir, root, environ))
    except (GitmemError, OSError, ValueError):
        return None


def _lines(said: bytes) -> list[str]:
    return said.decode("utf-8", "surrogateescape").split("\0")[:-1]

"""Files of the user's project, which are not trusted, read within bounds; and whether code that facts name has changed.

A fact names files and a commit. The files' blob ids in that commit and in HEAD are compared, for all facts by one
`git cat-file --batch-check`, whose work does not grow with the project's history.
"""

from __future__ import annotations

import contextlib
import os
import re
from itertools import islice

from gitmem.errors import GitmemError, RefusedError
from gitmem.git.process import Git, filters_off
from gitmem.git.repository import common_dir_of, linked_git_dir
from gitmem.git.trust import check_owner
from gitmem.platform.safe_open import enter, read_open, split
from gitmem.platform.spawn import ExpiredError
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from gitmem.facts.fact import Fact
    from gitmem.platform.spawn import Running


def work_tree_of(folder: str) -> tuple[str, str]:
    """Return the top of the work tree that a folder is in and its git dir, or "" and ""."""
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


MAX_BYTES = 1 << 18
_MAX_NAMES = 5_000
_DEEPEST = 4
_LEFT_OUT = frozenset({"node_modules", "vendor", "dist", "build", "target", "__pycache__", "venv"})


def read_text(root: str, path: str, most: int = MAX_BYTES) -> str:
    """Return the text of a file, "" if there is none, it is larger than `most` bytes, or a link leads to it."""
    try:
        *folders, name = split(path)
        with enter(root, folders) as folder, open(folder.open(name), "rb") as file:
            data = read_open(file, most + 1) or b""
    except (OSError, RefusedError, ValueError):
        return ""
    return data.decode("utf-8", "replace") if len(data) <= most else ""


def list_files(root: str) -> tuple[str, ...]:
    """Return the paths of a folder's files, of no more than some thousand and four levels, hidden ones left out."""
    return tuple(sorted(islice(_below(root, ()), _MAX_NAMES)))


def names_in(root: str, path: str) -> tuple[str, ...]:
    """Return the names in a folder, sorted; none if there is no such folder."""
    with contextlib.suppress(OSError, RefusedError, ValueError), enter(root, split(path)) as folder:
        return tuple(sorted(folder.names()[:_MAX_NAMES]))
    return ()


def sizes_of(root: str, files: Iterable[str]) -> dict[str, int]:
    """Return the bytes of these files, as far as they are there."""
    below: dict[str, set[str]] = {}
    for file in files:
        path, _, name = file.rpartition("/")
        below.setdefault(path, set()).add(name)
    sizes: dict[str, int] = {}
    for path, names in below.items():
        with (
            contextlib.suppress(OSError, RefusedError, ValueError),
            enter(root, split(path) if path else ()) as folder,
            folder.scan() as entries,
        ):
            for entry in entries:
                if entry.name in names and entry.is_file(follow_symlinks=False):
                    sizes[f"{path}/{entry.name}" if path else entry.name] = entry.stat(follow_symlinks=False).st_size
    return sizes


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

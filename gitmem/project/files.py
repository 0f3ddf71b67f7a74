"""Files and the repository of the user's project, which are not trusted, read within bounds."""

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
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from gitmem.facts.fact import Fact


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
COMMIT = re.compile(r"[0-9a-f]{7,64}")
SHORT = 12  # digits of a commit's id in a fact
LINE_BREAKS = re.compile(r"[\n\r\0]")
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
        return oid[:SHORT], frozenset(_split(listed)) - changed

    def difference(self, fact: Fact) -> str:
        """Return the unified diff of a fact's files from its commit to HEAD, "" if git cannot tell."""
        named = [file for file in fact.files if not LINE_BREAKS.search(file)]
        if not named or not COMMIT.fullmatch(fact.commit):
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

"""What a project's own git tells of its past: its files as of HEAD, and the files of its last commits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.values import Value

if TYPE_CHECKING:
    from gitmem.project.code import ProjectCode

SECONDS = 30.0
_COMMITS = 500
_MAX_FILES = 50_000  # of the project that are looked at
_FORMAT = "--format=%x01%h%x02%ct%x02%aN%x02%s"


class Commit(Value):
    """A commit of the project: its short id, time, author, subject, its files, and among them the `added` ones."""

    id: str
    at: datetime
    author: str
    subject: str
    files: tuple[str, ...]
    added: tuple[str, ...] = ()


class Past(Value):
    """The commit that HEAD names ("" without one), its files, and its last commits without merges."""

    commit: str = ""
    files: tuple[str, ...] = ()
    commits: tuple[Commit, ...] = ()


def read_past(code: ProjectCode) -> Past:
    """Return a project's past; an empty one where git does not answer. Nothing of it is run."""
    try:
        listed = code.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD", timeout=SECONDS)
        log = code.git.run(
            *("log", f"-{_COMMITS}", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv"),
            *("--name-status", "-z", _FORMAT, "HEAD", "--"),
            timeout=SECONDS,
        )
    except GitmemError:
        return Past()
    commits = tuple(filter(None, map(_commit, _text(log).split("\x01")[1:])))
    files = tuple(_text(listed).split("\0")[:-1][:_MAX_FILES])
    return Past(commits[0].id if commits else "", files, commits)


def _commit(record: str) -> Commit | None:
    head, *rest = record.split("\0")
    parts = head.split("\x02", 3)
    if len(parts) < len(("id", "at", "author", "subject")) or not parts[1].isdecimal():
        return None
    identifier, at, author, subject = parts
    named = list(zip((status.strip("\n") for status in rest[::2]), rest[1::2], strict=False))
    files, added = tuple(name for _, name in named), tuple(name for status, name in named if status == "A")
    return Commit(identifier, datetime.fromtimestamp(int(at), UTC), author, subject.strip("\n"), files, added)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")

"""Refs of gitmem's own, and the memory branch where no commit is made: read in one go, moved by compare-and-swap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import GitFailedError
from gitmem.git.repository import clear_left_behind, lock_in_the_way

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.git.process.run import Git

_SYNC = ("-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=fsync")
_ATTEMPTS = 20  # a tenth of a second each, where another git holds the ref's lock
_MOVED = ("but expected", "already exists", "unable to resolve reference")


def read_refs(git: Git, *patterns: str) -> dict[str, str]:
    """Return the refs of these names, or below these folders, and the object each points to."""
    said = git.run("for-each-ref", "--format=%(objectname) %(refname)", *patterns).decode("utf-8", "surrogateescape")
    pairs = (line.split(" ", 1) for line in said.splitlines())
    return {name: oid for oid, name in pairs}


def move_ref(git: Git, ref: str, new: str | None, old: str | None, why: str = "gitmem") -> bool:
    """Have a ref point to `new` (None: nowhere) if it points to `old` (None: nowhere); False where it does not.

    Raises:
        GitFailedError: git failed in another way.

    """
    return move_refs(git, {ref: (old, new)}, why)


def move_refs(git: Git, moves: Mapping[str, tuple[str | None, str | None]], why: str = "gitmem") -> bool:
    """Move several refs at once or not at all, each from and to what `move_ref` is given."""
    lines = [_line(ref, old, new) for ref, (old, new) in moves.items() if old != new]
    for attempt in range(_ATTEMPTS if lines else 0):
        try:
            git.run(*_SYNC, "update-ref", "-m", why, "--stdin", stdin="".join(lines).encode())
        except GitFailedError as error:
            if any(words in error.stderr for words in _MOVED):
                return False
            lock = lock_in_the_way(error.stderr)
            if not lock or attempt + 1 == _ATTEMPTS:
                raise
            clear_left_behind(lock)
        else:
            break
    return True


def _line(ref: str, old: str | None, new: str | None) -> str:
    return f"delete {ref} {old}\n" if new is None else f"update {ref} {new} {old or '0' * len(new)}\n"

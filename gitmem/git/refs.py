"""Read refs with one git, move them by compare-and-swap.

Tested through `tests/store/sync/test_memory.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import GitFailedError
from gitmem.git.repository import clear_left_behind, lock_in_the_way

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.git.process.run import Git

_SYNC = ("-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=fsync")
_ATTEMPTS = 20  # of a tenth of a second, while another git holds the ref's lock
_MOVED = ("but expected", "already exists", "unable to resolve reference")


def read_refs(git: Git, *patterns: str) -> dict[str, str]:
    """Return the refs with these names or prefixes, and the object each points to."""
    output = git.run("for-each-ref", "--format=%(objectname) %(refname)", *patterns).decode("utf-8", "surrogateescape")
    pairs = (line.split(" ", 1) for line in output.splitlines())
    return {name: oid for oid, name in pairs}


def move_ref(git: Git, ref: str, new: str | None, old: str | None, why: str = "gitmem") -> bool:
    """Move a ref from `old` to `new` (None: missing); return False if it is not at `old`.

    Raises:
        GitFailedError: git failed in another way.

    """
    return move_refs(git, {ref: (old, new)}, why)


def move_refs(git: Git, moves: Mapping[str, tuple[str | None, str | None]], why: str = "gitmem") -> bool:
    """Move several refs in one transaction, as `move_ref` moves one."""
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

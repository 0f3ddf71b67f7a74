"""Remove unreachable objects for good, and read every object (docs/spec.md, G7).

Only for gitmem's own repository: unreachable objects in a person's repository are theirs.

Tested through `tests/store/rewrite/test_apply.py`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from gitmem.errors import GitFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.git.process.run import Git
    from gitmem.machine.spawn import Running

_SECONDS = 3600.0
_SYNC = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync")
# What a person's finished git commands leave in the git dir.
_LEFT = ("ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "gitk.cache")
_STASH = "refs/stash"


def stashed(git: Git) -> list[tuple[str, str]]:
    """Return the stash, newest first: each commit and its message in the list."""
    output = git.run("log", "--walk-reflogs", "--format=%H %gs", _STASH, "--", ok=(0, 128)).decode("utf-8", "replace")
    pairs = (line.split(" ", 1) for line in output.splitlines())
    return [(oid, words) for oid, words in pairs]


def stash_again(git: Git, entries: Sequence[tuple[str, str]]) -> None:
    """Replace the stash by these commits, newest first."""
    git.run("update-ref", "-d", _STASH)
    for oid, words in reversed(entries):
        git.run("stash", "store", "--quiet", "-m", words, oid)


def forget_moves(git: Git, refs: Sequence[str] | None = None) -> None:
    """Empty the reflogs of these refs (all if None) and of this work tree's `HEAD`."""
    which = ("--all",) if refs is None else (*refs, "HEAD")
    git.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", *which, ok=(0, 1), timeout=_SECONDS)


def remove_unreachable(git: Git, common_dir: str) -> None:
    """Remove all unreachable objects; call `forget_moves` first."""
    for name in _LEFT:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(common_dir, name))
    info = os.path.join(common_dir, "objects", "info")  # the graph names commits that are removed below
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(info, "commit-graph"))
    shutil.rmtree(os.path.join(info, "commit-graphs"), ignore_errors=True)
    git.run(*_SYNC, "repack", "-adqn", "--window=50", timeout=_SECONDS)
    git.run("prune", "--expire=now", timeout=_SECONDS)


def every_object(git: Git) -> Iterator[tuple[str, bytes]]:
    """Yield id and content of every object, reachable or not, unordered.

    Raises:
        GitFailedError: one cannot be read.

    """
    process = git.spawn("cat-file", "--batch-all-objects", "--batch", "--buffer", "--unordered")
    try:
        while header := process.stdout.readline():
            yield header[: header.index(b" ")].decode(), _content(process, header)
    finally:
        process.kill()
        process.communicate()


def _content(process: Running, header: bytes) -> bytes:
    fields = header.split()
    if len(fields) != 3:  # noqa: PLR2004  # id, type, size
        raise GitFailedError(f"An object cannot be read: {header!a}.", status=0, stderr="")
    size = int(fields[2])
    data = process.stdout.read(size + 1)
    if len(data) <= size:
        raise GitFailedError(f"The object {fields[0]!a} is cut off.", status=0, stderr="")
    return data[:-1]

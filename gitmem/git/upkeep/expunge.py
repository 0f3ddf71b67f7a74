"""Removing for good what nothing points to any more, and reading every object there is (spec G7).

Only for a repository of gitmem's own: what stands unreachable in a person's repository is theirs to keep or to drop.
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
    from gitmem.git.process.spawn import Running

_SECONDS = 3600.0
_SYNC = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync")
# What a person's git commands leave in the git dir, and what nobody needs when they are over.
_LEFT = ("ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "gitk.cache")
_STASH = "refs/stash"
_AHEAD = 200  # ids that are asked for before the answers are read: what fits into any pipe


def stashed(git: Git) -> list[tuple[str, str]]:
    """Return what is stashed, the newest first: the commit, and what the list says of it."""
    said = git.run("log", "--walk-reflogs", "--format=%H %gs", _STASH, "--", ok=(0, 128)).decode("utf-8", "replace")
    pairs = (line.split(" ", 1) for line in said.splitlines())
    return [(oid, words) for oid, words in pairs]


def stash_again(git: Git, entries: Sequence[tuple[str, str]]) -> None:
    """Replace what is stashed by these commits, the newest first."""
    git.run("update-ref", "-d", _STASH)
    for oid, words in reversed(entries):
        git.run("stash", "store", "--quiet", "-m", words, oid)


def forget_moves(git: Git, refs: Sequence[str] = ()) -> None:
    """Empty the reflogs of these refs and of this work tree's `HEAD`, without refs all there are."""
    which = (*refs, "HEAD") if refs else ("--all",)
    git.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", *which, ok=(0, 1), timeout=_SECONDS)


def remove_unreachable(git: Git, common_dir: str) -> None:
    """Remove every object that nothing points to, wherever it is kept; `forget_moves` comes first."""
    for name in _LEFT:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(common_dir, name))
    info = os.path.join(common_dir, "objects", "info")  # the graph names commits that are about to go
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(info, "commit-graph"))
    shutil.rmtree(os.path.join(info, "commit-graphs"), ignore_errors=True)
    git.run(*_SYNC, "repack", "-adqn", "--window=50", timeout=_SECONDS)
    git.run("prune", "--expire=now", timeout=_SECONDS)


def every_object(git: Git) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the content of every object there is, reachable or not, in no order.

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


def objects(git: Git, oids: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of objects in the order asked for, all from one process: 15 times as fast as one for a few.

    Raises:
        GitFailedError: one is not there, or cannot be read.

    """
    if not oids:
        return
    process = git.spawn("cat-file", "--batch")
    try:
        assert process.stdin is not None
        for start in range(0, len(oids), _AHEAD):
            wanted = oids[start : start + _AHEAD]
            process.stdin.write("".join(f"{oid}\n" for oid in wanted).encode())
            process.stdin.flush()
            for _ in wanted:
                yield _content(process, process.stdout.readline())
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

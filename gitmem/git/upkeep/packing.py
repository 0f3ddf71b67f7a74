"""Join the small packs and loose objects that commits leave behind.

Each save leaves a pack of its own; a thousand of them, and a save takes twice as long. Joining them is cheap if it is
done often: `--geometric` touches the small packs only, and a delta once found is kept. The window is wider than git's
own because `memory.md` grows and is cut, again and again: git compares files of one name by size, and beside a version
stand the versions of the same size from all rotations. Measured on 3,000 saves with a rotation every 190: joined every
50 saves 2.9 MB, for 2.5 s of CPU per 1,000; `git repack -adf` 71 MB in 18 s, with `--window=250` 5.4 MB in 56 s.

Nothing here removes an object, not even an unreachable one.

Tested through `tests/store/upkeep/test_maintenance.py`.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.git.commit.fast_import import CRASH_REPORT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gitmem.git.layout import Layout
    from gitmem.git.process.run import Git

SECONDS = 3600.0  # for one step, on a store not packed for years
_WINDOW = 50
_FRESH_INDEX_BYTES = 256 * 1024  # about 8,000 objects: twice as many as the largest drain writes
# New files are synced before old ones are removed, whatever the repository's configuration says.
_SYNC = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync")
# Of the 256 folders of loose objects; git itself judges by one of them.
_SAMPLE = ("17", "4f", "8b", "d2")
_FOLDERS = 256
# Names of unfinished files of a killed git or gitmem, by the folder below the git dir.
_UNFINISHED = (
    ("objects/pack", re.compile(r"tmp_|\.tmp-")),
    ("objects/info/commit-graphs", re.compile(r"tmp_graph_|commit-graph-chain\.lock$")),
    ("", re.compile(CRASH_REPORT + r"|index\.gitmem")),
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The packs and loose objects of a repository; `bytes` is their size on disk."""

    loose: int
    packs: int
    packed: int
    bytes: int


def sizes(git: Git) -> Sizes:
    """Return the numbers of `git count-objects`."""
    output = dict(line.split(": ") for line in git.run("count-objects", "-v").decode().splitlines())
    count = {key: int(value) for key, value in output.items() if value.isdigit()}
    return Sizes(count["count"], count["packs"], count["in-pack"], (count["size"] + count["size-pack"]) * 1024)


def loose_estimate(common_dir: str) -> int:
    """Estimate the number of loose objects from a few of their folders."""
    found = sum(len(_names(os.path.join(common_dir, "objects", folder))) for folder in _SAMPLE)
    return found * _FOLDERS // len(_SAMPLE)


def pack_names(common_dir: str) -> list[str]:
    """Return the file names of the packs."""
    return [name for name in _names(os.path.join(common_dir, "objects", "pack")) if name.endswith(".pack")]


def fresh_packs(common_dir: str, joined: Collection[str]) -> list[str]:
    """Return the names of the packs of drains: not in `joined`, and small."""
    return [
        name
        for name in pack_names(common_dir)
        if name not in joined and 0 < _index_size(common_dir, name) <= _FRESH_INDEX_BYTES
    ]


def object_ids(git: Git) -> bytes:
    """Return the ids of all objects, a line each, sorted, from the packs' indexes."""
    return git.run("cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--buffer", timeout=SECONDS)


def pack_loose(git: Git) -> None:
    """Pack the reachable loose objects; the walk tells git which belong together."""
    git.run(*_SYNC, "repack", "-dqn", f"--window={_WINDOW}", timeout=SECONDS)


def join_fresh(git: Git, common_dir: str, fresh: Collection[str]) -> None:
    """Join fresh packs into one, and search for deltas among all their objects.

    By default git does not try two objects of one pack that has no delta between them.
    """
    others = [f"--keep-pack={name}" for name in pack_names(common_dir) if name not in fresh]
    git.run(*_SYNC, "repack", "--geometric=1000", "-dqnf", f"--window={_WINDOW}", *others, timeout=SECONDS)


def join_packs(git: Git) -> None:
    """Join small packs, and unreachable loose objects, into a geometric progression."""
    git.run(*_SYNC, "repack", "--geometric=2", "-dqn", f"--window={_WINDOW}", timeout=SECONDS)


def pack_together(git: Git, folder: str, names: Collection[str]) -> list[str]:
    """Join packs of a folder into a new one without removing them; return its name, without `.pack`.

    Several names if the repository's settings limit the size of a pack.
    """
    wanted = "".join(f"{name}.pack\n" for name in names).encode()
    options = ("--stdin-packs", "--non-empty", "--delta-base-offset", "-q", f"--window={_WINDOW}")
    output = git.run(*_SYNC, "pack-objects", *options, os.path.join(folder, "pack"), stdin=wanted, timeout=SECONDS)
    return [f"pack-{digest}" for digest in output.decode().split()]


def write_commit_graph(git: Git) -> None:
    """Write Bloom filters of changed paths: `git log -- PATH` then reads 3 % as much."""
    git.run(
        *_SYNC, "commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress", timeout=SECONDS
    )


def unfinished_files(layout: Layout, before: float) -> Iterator[str]:
    """Yield unfinished files of killed processes, last changed before `before` (seconds since 1970)."""
    loose = re.compile("tmp_obj_")
    folders = [(f"objects/{number:02x}", loose) for number in range(_FOLDERS)]
    for base in dict.fromkeys((layout.common_dir, layout.git_dir)):
        for folder, pattern in (*_UNFINISHED, *folders):
            for name in _names(os.path.join(base, folder)):
                path = os.path.join(base, folder, name)
                if pattern.match(name) and _is_old_file(path, before):
                    yield path


def _index_size(common_dir: str, pack: str) -> int:
    with contextlib.suppress(OSError):
        return os.path.getsize(os.path.join(common_dir, "objects", "pack", pack.removesuffix(".pack") + ".idx"))
    return 0


def _is_old_file(path: str, before: float) -> bool:
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        return stat.S_ISREG(status.st_mode) and status.st_mtime < before
    return False


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []

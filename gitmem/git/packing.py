"""Join and check packs; remove unreachable objects from gitmem's own repository.

Each save leaves a pack; `--geometric` joins the small ones and keeps found deltas. The window is wide because
`memory.md` grows and is cut again and again, and its best base may be many versions away.
Tested through `tests/store/test_maintenance.py` and `tests/purge/test_rewrite.py`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence

from gitmem.errors import GitFailedError, RefusedError
from gitmem.git.fast_import import CRASH_REPORT
from gitmem.git.layout import Layout
from gitmem.git.process import Dialogue, Git
from gitmem.platform.safe_open import drop_file, read_regular
from gitmem.values import Value

SECONDS = 3600.0  # for one step, on a store not packed for years
_WINDOW = 50
_FRESH_INDEX_BYTES = 256 * 1024  # about 8,000 objects: twice as many as the largest drain writes
# New files are synced before old ones are removed, whatever the repository's configuration says.
_SYNC = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync")
# Four of the 256 folders of loose objects; git itself estimates by one.
_SAMPLE = ("17", "4f", "8b", "d2")
_FOLDERS = 256
# Names of unfinished files of a killed git or gitmem, by the folder below the git dir.
_UNFINISHED = (
    ("objects/pack", re.compile(r"tmp_|\.tmp-")),
    ("objects/info/commit-graphs", re.compile(r"tmp_graph_|commit-graph-chain\.lock$")),
    ("", re.compile(CRASH_REPORT + r"|index\.gitmem")),
)


class Sizes(Value):
    """The packs and loose objects of a repository; `bytes` is their size on disk."""

    loose: int
    packs: int
    bytes: int


def sizes(git: Git) -> Sizes:
    """Return the numbers of `git count-objects`."""
    output = dict(line.split(": ") for line in git.run("count-objects", "-v").decode().splitlines())
    count = {key: int(value) for key, value in output.items() if value.isdigit()}
    return Sizes(count["count"], count["packs"], (count["size"] + count["size-pack"]) * 1024)


def loose_estimate(common_dir: str) -> int:
    """Estimate the number of loose objects from a few of their folders."""
    objects = sum(len(_names(os.path.join(common_dir, "objects", folder))) for folder in _SAMPLE)
    return objects * _FOLDERS // len(_SAMPLE)


def pack_names(common_dir: str) -> list[str]:
    """Return the file names of the packs."""
    return [name for name in _names(os.path.join(common_dir, "objects", "pack")) if name.endswith(".pack")]


def fresh_packs(common_dir: str, joined: Collection[str]) -> list[str]:
    """Return the names of the packs of drains: not in `joined`, and small."""
    folder, fresh = os.path.join(common_dir, "objects", "pack"), []
    for name in pack_names(common_dir):
        with contextlib.suppress(OSError):
            index = os.path.join(folder, name.removesuffix(".pack") + ".idx")
            if name not in joined and os.path.getsize(index) <= _FRESH_INDEX_BYTES:
                fresh.append(name)
    return fresh


def objects_of(git: Git, index: str) -> list[str]:
    """Return the ids of the objects of a drain's pack, given by the path of its index; none of a larger one."""
    data = read_regular(index, _FRESH_INDEX_BYTES + 1) or b""
    if len(data) > _FRESH_INDEX_BYTES:
        return []
    return [line.split()[1] for line in git.run("show-index", stdin=data).decode().splitlines()]


def pack_loose(git: Git) -> None:
    """Pack the reachable loose objects; the walk tells git which belong together."""
    git.run(*_SYNC, "repack", "-dqn", f"--window={_WINDOW}", timeout=SECONDS)


def join_fresh(git: Git, common_dir: str, fresh: Collection[str]) -> None:
    """Join fresh packs into one, with deltas among all their objects, which git by default does not look for."""
    others = [f"--keep-pack={name}" for name in pack_names(common_dir) if name not in fresh]
    git.run(*_SYNC, "repack", "--geometric=1000", "-dqnf", f"--window={_WINDOW}", *others, timeout=SECONDS)


def join_packs(git: Git, common_dir: str) -> None:
    """Join small packs, and unreachable loose objects, into a geometric progression; in a partial clone join all."""
    mode = "-A" if is_partial(common_dir) else "--geometric=2"  # git refuses the latter there
    git.run(*_SYNC, "repack", mode, "-dqn", f"--window={_WINDOW}", timeout=SECONDS)


def is_partial(common_dir: str) -> bool:
    """Return whether git may have left objects of this clone on the server (`git clone --filter`)."""
    return any(name.endswith(".promisor") for name in _names(os.path.join(common_dir, "objects", "pack")))


def check_whole(git: Git, common_dir: str, tip: str) -> None:
    """Raise RefusedError if git cloned only a part of a commit's history."""
    shallow = os.path.exists(os.path.join(common_dir, "shallow"))
    if shallow or (is_partial(common_dir) and missing_of(git, tip)):
        how = "--unshallow" if shallow else "--refetch --no-filter"
        raise RefusedError(
            "This clone lacks a part of its history, since git made it with --depth or --filter.",
            f"'git fetch {how}' in the store brings it; or do this in a clone that has all.",
        )


def pack_together(git: Git, folder: str, names: Collection[str]) -> list[str]:
    """Join packs of a folder into a new one and keep the old ones; return the new name, or names if git splits it."""
    wanted = "".join(f"{name}.pack\n" for name in names).encode()
    options = ("--stdin-packs", "--non-empty", "--delta-base-offset", "-q", f"--window={_WINDOW}")
    output = git.run(*_SYNC, "pack-objects", *options, os.path.join(folder, "pack"), stdin=wanted, timeout=SECONDS)
    return [f"pack-{digest}" for digest in output.decode().split()]


def write_commit_graph(git: Git) -> None:
    """Write Bloom filters of changed paths, by which `git log -- PATH` reads 3 %, unless another git does."""
    options = ("--reachable", "--changed-paths", "--split", "--no-progress")
    git.run(*_SYNC, "commit-graph", "write", *options, timeout=SECONDS, past_locks=False)


def unfinished_files(layout: Layout, before: float) -> Iterator[str]:
    """Yield unfinished files of killed processes, last changed before `before` (seconds since 1970)."""
    loose = re.compile("tmp_obj_")
    folders = [(f"objects/{number:02x}", loose) for number in range(_FOLDERS)]
    for base in dict.fromkeys((layout.common_dir, layout.git_dir)):
        for folder, pattern in (*_UNFINISHED, *folders):
            for name in _names(os.path.join(base, folder)):
                path = os.path.join(base, folder, name)
                if pattern.match(name) and os.path.isfile(path) and not os.path.islink(path):
                    with contextlib.suppress(OSError):
                        if os.path.getmtime(path) < before:
                            yield path


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def damages(git: Git, *, deep: bool) -> list[str]:
    """Return the errors of `git fsck`; with `deep` it reads every object, else it checks connectivity only."""
    options = ("--no-progress", "--no-dangling", "--full" if deep else "--connectivity-only")
    try:
        git.run("fsck", *options, timeout=SECONDS)
    except GitFailedError as error:
        lines = f"{error.stdout}\n{error.stderr}".splitlines()
        problems = [line for line in lines if line and not line.startswith(("notice: ", "dangling ", "unreachable "))]
        return problems or [error.message]
    return []


def missing_of(git: Git, tip: str, newest: int | None = None) -> list[str]:
    """Return the errors about missing objects in a commit's history, or in its last `newest` commits."""
    bound = () if newest is None else (f"--max-count={newest}",)
    try:
        git.run("rev-list", "--objects", "--quiet", *bound, tip, "--", timeout=SECONDS)
    except GitFailedError as error:
        return error.stderr.splitlines() or [error.message]
    return []


_FLAT = ((), ("objects",), ("objects", "pack"))  # folders of git that are listed without subfolders


def lock_files(layout: Layout) -> Iterator[tuple[str, float]]:
    """Yield the lock files of git, any of which can make a command fail, and their times (seconds since 1970)."""
    folders = [layout.git_dir, *(os.path.join(layout.common_dir, *parts) for parts in _FLAT)]
    for top in ("refs", "logs", "info", os.path.join("objects", "info")):
        folders += [folder for folder, _, _ in os.walk(os.path.join(layout.common_dir, top))]
    paths = (os.path.join(folder, name) for folder in folders for name in _names(folder) if name.endswith(".lock"))
    for path in sorted({*paths}):
        with contextlib.suppress(OSError):
            yield path, os.lstat(path).st_mtime


def staged_paths(git: Git) -> list[str]:
    """Return the paths in which the index differs from the commit that `HEAD` names."""
    output = git.run("diff-index", "--cached", "--name-only", "-z", "HEAD", "--")
    return [os.fsdecode(path) for path in output.split(b"\0")[:-1]]


def known_files(git: Git, *pathspecs: str) -> list[str]:
    """Return the tracked files, and the untracked ones that are not ignored; with pathspecs also ignored ones."""
    options = () if pathspecs else ("--exclude-standard",)
    output = git.run("ls-files", "-z", "--cached", "--others", *options, "--deduplicate", "--", *pathspecs)
    return sorted(os.fsdecode(path) for path in output.split(b"\0")[:-1])


def tracked_files(git: Git, *pathspecs: str) -> list[str]:
    """Return the files in the index, without reading folders: git lists 50,000 files in 10 ms, a walk takes 500."""
    return os.fsdecode(git.run("ls-files", "-z", "--", *pathspecs)).split("\0")[:-1]


# What a user's finished git commands leave in the git dir.
_LEFT = ("ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "gitk.cache")
_STASH = "refs/stash"


def stashed(git: Git) -> list[tuple[str, str]]:
    """Return commit and message of each stash entry, newest first."""
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
    refs_or_all = ("--all",) if refs is None else (*refs, "HEAD")
    git.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", *refs_or_all, ok=(0, 1), timeout=SECONDS)


def remove_unreachable(git: Git, common_dir: str) -> None:
    """Remove all unreachable objects; call `forget_moves` first."""
    for name in _LEFT:
        drop_file(os.path.join(common_dir, name))
    info = os.path.join(common_dir, "objects", "info")  # the graph names commits that are removed below
    drop_file(os.path.join(info, "commit-graph"))
    shutil.rmtree(os.path.join(info, "commit-graphs"), ignore_errors=True)
    git.run(*_SYNC, "repack", "-adqn", "--window=50", timeout=SECONDS)
    git.run("prune", "--expire=now", timeout=SECONDS)


def every_object(git: Git) -> Iterator[tuple[str, bytes]]:
    """Yield id and content of each object, even unreachable, unordered. Raises GitFailedError if one cannot be read."""
    with Dialogue(git, "cat-file", "--batch-all-objects", "--batch", "--buffer", "--unordered") as talk:
        while header := talk.line(last=True):
            oid, *fields = header.split()
            if len(fields) != 2:  # noqa: PLR2004  # type and size
                raise GitFailedError(f"An object cannot be read: {header!a}.", status=0, stderr="")
            yield oid.decode(), talk.data(int(fields[1]))

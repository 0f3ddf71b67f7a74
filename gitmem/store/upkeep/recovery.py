"""What the next command does after a crash: bring the work tree up to the branch, without losing an edit.

docs/format.md, "Order of writes", says which states a crash can leave. `checkout` names the commit the work tree was
last known to hold. A file that is still as there is replaced; one that is as at the tip stays; one that a person
changed meanwhile is merged, or kept beside.
"""

from __future__ import annotations

import contextlib
import os
import time

from gitmem.errors import BusyError, RefusedError
from gitmem.git.commit.fast_import import CRASH_REPORT
from gitmem.git.objects.oid import blob_id
from gitmem.git.repository import LEFT_BEHIND_SECONDS, clear_left_behind
from gitmem.git.worktree.index import DRAFT, clear_left_lock
from gitmem.machine.beneath import read_text
from gitmem.store.upkeep.project_packs import listed_packs

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.git.objects.treediff import PathChange
    from gitmem.store.store import Store

ARRIVING = "arriving"  # in the private folder
_ATTEMPTS = 20  # to bring up a file that a person edits at the same moment
_PAUSE = 0.01


def recover(store: Store, tip: str | None) -> tuple[str, ...]:
    """Bring work tree, index and `checkout` up to the tip; under the store's lock. Returns what to tell the user.

    Raises:
        BusyError: a file was edited again each time it was to be brought up. Nobody may go on before it is: what the
            tip has and the file has not would be taken for what a person removed.

    """
    seen = store.marked()
    if tip is None or tip == seen:
        return ()
    notices: list[str] = []
    held = None if seen is None else _held(store, seen, tip)
    if seen is not None and held is not None:
        for _ in range(_ATTEMPTS):
            behind = _bring_up(store, seen, held, tip, notices)
            if not behind:
                break
            time.sleep(_PAUSE)
        else:
            raise BusyError(f"{', '.join(sorted(behind))}: edited again and again meanwhile.", "Try again.")
    store.mark(tip)
    return tuple(notices)


def _bring_up(store: Store, seen: str, held: str, tip: str, notices: list[str]) -> set[str]:
    """Bring files and index from the commit they are `held` to be at up to the tip; returns what was edited just now.

    The index is that of the commit `seen`, or further.
    """
    entries = store.files.index_entries()
    behind: set[str] = set()
    for change in store.repository.changes(held, tip):
        try:
            notice, done = _follow(store, change, entries.get(change.path))
        except RefusedError as error:
            notice, done = f"{error.message} {error.remedy}", True
        if notice and notice not in notices:
            notices.append(notice)
        if not done:
            behind.add(change.path)
    stale = (change for change in store.repository.changes(seen, tip) if entries.get(change.path) != change.new)
    _bring_index(store, [change for change in stale if change.path not in behind])
    return behind


def _held(store: Store, seen: str, tip: str) -> str | None:
    """Return the commit whose files the work tree had when gitmem moved the branch on from `seen` and was cut off.

    None where others moved it: they brought the work tree along, and what differs from it is an edit. The commit is
    `seen`, or the next one, if that is what a person had changed by hand: it came from the work tree.
    """
    from gitmem.git.history.commits import log

    if not store.repository.is_ancestor(seen, tip):
        return None
    commits = log(store.repository.git, f"{seen}..{tip}")
    # The commit that every store begins with is where a work tree is that has been made and not been filled.
    if not any(commit.value("Gitmem-Op") for commit in commits) and _has_parents(store, seen):
        return None
    if arriving(store) in {commit.oid for commit in commits}:  # none of them came from this work tree
        return seen
    first = next((commit for commit in commits if commit.parents == (seen,)), None)
    return first.oid if first is not None and first.value("Gitmem-Op") == "edit" else seen


def arriving(store: Store) -> str:
    """Return the commit of another machine that the branch is, or was, about to be moved to; "" where none was yet."""
    return read_text(os.path.join(store.private, ARRIVING)).strip()


def _has_parents(store: Store, commit: str) -> bool:
    return len(store.repository.git.run("rev-list", "--parents", "--max-count=1", commit, "--").split()) > 1


def _follow(store: Store, change: PathChange, indexed: str | None) -> tuple[str, bool]:
    """Bring one file up to the tip; returns a notice, "" for none, and whether it is done."""
    from gitmem.text.linemerge import merge_lines  # where something has to be brought up at all

    if not change.mode.startswith("100"):  # a link or a submodule is nothing gitmem wrote
        return "", True
    path, disk = change.path, store.files.read(change.path)
    ours = None if disk is None else blob_id(disk, change.new or change.old or "")
    if ours == change.new:
        return "", True
    new = None if change.new is None else store.repository.blob(change.new)
    if ours == change.old:
        return "", _put(store, change, new)
    old = None if change.old is None else store.repository.blob(change.old)
    if disk is None or indexed == change.new or _is_built_on(disk, old or b"", new or b""):
        return "", True  # removed or edited by hand, after it had been written: stays so
    # Where both only add lines, those of the person come first: they may go on with what stands before them.
    merged = disk if new is None else merge_lines(disk, old or b"", new)
    if merged is not None:
        return f"{path} was edited by hand while it was being changed; both were kept.", _put(store, change, merged)
    beside = _name_beside(store, path)
    kept = not store.files.publish([store.files.stage(beside, disk)])
    return (
        f"{path} was edited by hand while it was being changed; your version is beside it, as {beside}.",
        kept and _put(store, change, new),
    )


def _bring_index(store: Store, changes: Sequence[PathChange]) -> None:
    """Have the index say what the tip says; where the file says something else, that is an edit, and is not stored."""
    in_step: list[PathChange] = []
    edited: list[PathChange] = []
    for change in changes:
        try:
            disk = store.files.read(change.path)
        except RefusedError:
            edited.append(change)
            continue
        same = disk is None if change.new is None else disk is not None and blob_id(disk, change.new) == change.new
        (in_step if same else edited).append(change)
    with store.files.open_index() as index:
        index.finish([change.path for change in in_step])
    store.files.set_index_entries(
        {change.path: None if change.new is None else (change.mode, change.new) for change in edited}
    )


def _put(store: Store, change: PathChange, content: bytes | None) -> bool:
    """Write a file; False where a person has changed it once more since it was read."""
    executable = change.mode == "100755"
    return not store.files.publish([store.files.stage(change.path, content, executable=executable)])


def _is_built_on(disk: bytes, old: bytes, new: bytes) -> bool:
    """Say whether an edited file has all lines that came from `old` to `new` already, and none of those that went."""
    from collections import Counter

    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    own = Counter(disk.splitlines()) - (before & after)
    came, went = after - before, before - after
    return bool(came or went) and came <= own and not own & went


def _name_beside(store: Store, path: str) -> str:
    stem, suffix = os.path.splitext(path)
    stem += f".edited-{store.context.clock():%Y%m%d-%H%M%S}"
    name, number = f"{stem}{suffix}", 1
    while store.files.read(name) is not None:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def remove_litter(store: Store, branch: str) -> None:
    """Remove what processes that were killed left behind in the work tree and in the store's own git dir.

    Only under the store's lock.
    """
    store.files.clean_temporary()
    git_dir = store.repository.layout.git_dir
    clear_left_lock(git_dir)
    clear_left_behind(os.path.join(git_dir, "HEAD.lock"))
    clear_left_behind(os.path.join(store.repository.layout.common_dir, f"{branch}.lock"))
    litter = [os.path.join(git_dir, name) for name in os.listdir(git_dir) if name.startswith((CRASH_REPORT, DRAFT))]
    litter += _left_keeps(store)
    for path in litter:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _left_keeps(store: Store) -> list[str]:
    """Return the files that would keep packs of a fast-import that died from ever being joined, or written again.

    It says its name in them, if the disk was not full. In a project's repository a person's own fast-import may be at
    work: there a file counts if its pack is listed as gitmem's, or has not come.
    """
    folder = os.path.join(store.repository.layout.common_dir, "objects", "pack")
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    left = []
    for path in (os.path.join(folder, name) for name in names if name.endswith(".keep")):
        if read_text(path) not in {"", "fast-import"}:
            continue
        pack = os.path.basename(path).removesuffix(".keep")
        if store.own_repository or pack in listed_packs(store) or (f"{pack}.pack" not in names and _is_left(path)):
            left.append(path)
    return left


def _is_left(path: str) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - os.lstat(path).st_mtime > LEFT_BEHIND_SECONDS
    return False

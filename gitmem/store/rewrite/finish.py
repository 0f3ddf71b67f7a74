"""Carry out the journal of a purge; each step is idempotent (gitmem.store.rewrite.apply).

Move the refs, update work tree and index, delete caches, clean files of the private folder, expire reflogs, delete
unreachable objects, and read every object to verify. In a project's own repository only gitmem's reflogs are emptied;
a notice leaves the rest to the user.

Tested through `tests/store/rewrite/test_apply.py`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitmem.errors import BusyError, GitmemError, RefusedError
from gitmem.git.objects.oid import blob_id
from gitmem.git.refs import move_refs
from gitmem.git.upkeep.expunge import every_object, forget_moves, remove_unreachable, stash_again
from gitmem.git.worktree.index import follow_tip
from gitmem.model.paths import TEMPORARY
from gitmem.model.purge.purge import PurgeRecord, Replacer
from gitmem.model.purge.seek import Seeker
from gitmem.store.rewrite.progress import Journal, read_state, write_state
from gitmem.store.store import PURGING
from gitmem.store.upkeep.refs import own_refs

if TYPE_CHECKING:
    from gitmem.store.store import Store

_ATTEMPTS = 20  # to bring up a file that a person edits at the same moment
_MAX_BYTES = 256 << 20
_DERIVED = (
    "vectors",
    "texts",
    "days",
    "search.json",
    os.path.join("maintenance", "kept"),
    os.path.join("maintenance", "kept.forgotten"),
)
_LISTED = 5


@dataclass(slots=True)
class Applied:
    """Counts of moved refs, rewritten commits, changed files and objects read to verify, and notices for the user."""

    refs: int = 0
    commits: int = 0
    files: int = 0
    objects: int = 0
    notices: list[str] = field(default_factory=list)


def finish(store: Store, journal: Journal, records: Collection[PurgeRecord], known: Collection[bytes]) -> Applied:
    """Carry out a journal and remove it; `known` are the texts that are known already."""
    done = Applied(refs=len(journal.moves))
    if not _move(store, journal):
        raise BusyError("Another git command moved a branch meanwhile.", "The next gitmem command continues.")
    state = read_state(store.private)
    # Texts of records from other machines that turn up only now would have to be judged first.
    seeker = Seeker([record for record in records if record.key in state.agreed], known)
    _bring_up_files(store, journal, seeker, done)
    _drop_derived(store)
    _clean_private(store, seeker)
    replacer = Replacer(seeker.known)
    _name_leftovers(store, replacer, done)
    if store.own_repository:
        store.repository.rest()
        _expunge(store, journal, replacer, done)
    else:
        forget_moves(store.repository.git, [ref for ref in journal.moves if ref.startswith("refs/heads/")])
        done.notices.append(
            "Memory is on a branch of the project's repository: no branch of gitmem's holds it any more, but the old "
            "objects stay until git itself drops them: 'git gc --prune=now' in the project does, with all other "
            "unreachable objects."
        )
    clean = [new for _, new in journal.moves.values() if new] + [tip for tip in (store.tip,) if tip]
    state = read_state(store.private)
    write_state(store.private, replace(state, records=journal.records, clean=()).with_clean(clean))
    Journal.remove(store.private)
    return done


def _move(store: Store, journal: Journal) -> bool:
    """Move the remaining refs of a journal in one transaction; False if another process moved one."""
    now = {ref: oid for ref, (oid, _) in own_refs(store).items()}
    left = {ref: step for ref, step in journal.moves.items() if now.get(ref) != step[1]}
    return move_refs(store.repository.git, left, "gitmem purge")


def _bring_up_files(store: Store, journal: Journal, seeker: Seeker, done: Applied) -> None:
    """Write the new content of files to the work tree; keep edits by hand, without the purged texts."""
    tip = store.tip
    assert tip is not None
    left = dict(journal.files)
    for _ in range(_ATTEMPTS):
        staged = []
        for path, (old, new, mode) in left.items():
            try:
                disk = store.files.read(path)
            except (RefusedError, OSError) as error:
                done.notices.append(f"{path} was not changed: {error}")
                continue
            held = None if disk is None else blob_id(disk, like=tip)
            if held == new:
                continue
            if held == old:
                content = None if new is None else store.repository.blob(new)
            else:  # edited since
                seeker.seek(disk or b"")
                content = None if disk is None else Replacer(seeker.known).clean(disk)
            if content != disk:
                staged.append(store.files.stage(path, content, executable=mode == "100755"))
        again = store.files.publish(staged)
        left = {path: left[path] for path in again}
        if not left:
            break
    follow_tip(store.repository.git)
    store.mark(tip)


def _drop_derived(store: Store) -> None:
    for name in _DERIVED:
        path = os.path.join(store.private, name)
        with contextlib.suppress(FileNotFoundError):
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)


def _clean_private(store: Store, seeker: Seeker) -> None:
    """Clean the files of the private folder; keep their times, by which events of hooks are dated."""
    for path in plain_files(store.private):
        if os.path.basename(path).startswith((PURGING, "lock")):
            continue
        data = read_file(path)
        seeker.seek(data)
        clean = Replacer(seeker.known).clean(data)
        if clean != data:
            times = os.stat(path)
            temporary = f"{path}.purged"
            with open(temporary, "wb") as file:
                file.write(clean)
            shutil.copymode(path, temporary)
            os.utime(temporary, ns=(times.st_atime_ns, times.st_mtime_ns))
            os.replace(temporary, path)


def _name_leftovers(store: Store, replacer: Replacer, done: Applied) -> None:
    """Add a notice about ignored files, and files of git's own folder, that still hold a text."""
    git_dir = store.repository.layout.git_dir
    files = [
        path for path in plain_files(store.root) if os.path.relpath(path, store.root).split(os.sep)[0] != TEMPORARY
    ]
    if store.own_repository:
        files += [os.path.join(git_dir, name) for name in ("config", os.path.join("info", "exclude"), "description")]
    found = [path for path in files if replacer.holds(read_file(path))]
    if found:
        names = ", ".join(found[:_LISTED]) + (", …" if len(found) > _LISTED else "")
        done.notices.append(f"Files outside of history still hold it; clean them by hand: {names}")


def _expunge(store: Store, journal: Journal, replacer: Replacer, done: Applied) -> None:
    git, common = store.repository.git, store.repository.layout.common_dir
    if journal.stash:
        stash_again(git, journal.stash)
    forget_moves(git)
    if journal.stash:  # again, since the stash is a reflog itself
        stash_again(git, journal.stash)
    remove_unreachable(git, common)
    if os.path.exists(os.path.join(common, "objects", "info", "alternates")):
        done.notices.append("This repository uses objects of another one ('alternates'), which were not purged.")
    for oid, data in every_object(git):
        done.objects += 1
        if replacer.holds(data):
            raise GitmemError(
                f"The object {oid} still holds it: git still reaches it.",
                f"Look with 'git -C {store.root} fsck --lost-found' and 'git worktree list', then run it again.",
            )


def plain_files(folder: str) -> Iterator[str]:
    """Yield the paths of regular files below a folder, except in `.git`."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def read_file(path: str) -> bytes:
    """Return the content of a file, b"" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""

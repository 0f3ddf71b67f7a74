"""What the next command does after a crash: bring the work tree up to the branch, without losing an edit.

docs/format.md, "Order of writes", says which states a crash can leave. `checkout` names the commit the work tree was
last known to hold. A file that is still as there is replaced; one that is as at the tip stays; one that a person
changed meanwhile is merged, or kept beside.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import GitFailedError, RefusedError

if TYPE_CHECKING:
    from gitmem.git.repository import PathChange
    from gitmem.store.store import Store


def recover(store: Store, branch: str) -> tuple[str, ...]:
    """Bring work tree, index and `checkout` up to the branch; under the store's lock. Returns what to tell the user."""
    store.files.clean_temporary()
    tip, seen = store.repository.tip(branch), store.marked()
    if tip is None or tip == seen:
        return ()
    notices = []
    # A branch that does not go forward from there was moved by the user's own git, which moved the files as well.
    if seen is not None and store.repository.is_ancestor(seen, tip):
        changes = store.repository.changes(seen, tip)
        for change in changes:
            try:
                notices += _follow(store, change)
            except RefusedError as error:
                notices.append(f"{error.message} {error.remedy}")
        store.files.open_index().finish([change.path for change in changes])
    store.mark(tip)
    return tuple(notices)


def _follow(store: Store, change: PathChange) -> list[str]:
    disk = store.files.read(change.path)
    ours = None if disk is None else blob_id(disk, change.new or change.old or "")
    if ours == change.new:
        return []
    new = None if change.new is None else store.repository.blob(change.new)
    if ours == change.old:
        _put(store, change.path, new)
        return []
    if disk is None:  # removed by hand: stays so, as an edit
        return []
    merged = _merge(store, change, disk, new)
    if merged is not None:
        _put(store, change.path, merged)
        return [f"{change.path} was edited by hand while it was being changed; both were kept."]
    beside = _name_beside(store, change.path)
    _put(store, beside, disk)
    _put(store, change.path, new)
    return [f"{change.path} was edited by hand while it was being changed; your version is beside it, as {beside}."]


def _put(store: Store, path: str, content: bytes | None) -> None:
    store.files.publish([store.files.stage(path, content)])


def _merge(store: Store, change: PathChange, disk: bytes, new: bytes | None) -> bytes | None:
    """Return the three versions merged line by line, None where they change the same lines."""
    if new is None:
        return disk
    base = b"" if change.old is None else store.repository.blob(change.old)
    staged = [store.files.stage(change.path, content) for content in (disk, base, new)]
    names = [item.temporary or "" for item in staged]
    try:
        return store.repository.git.run("merge-file", "-p", "-q", "--", *names)
    except GitFailedError:
        return None
    finally:
        store.files.discard(staged)


def _name_beside(store: Store, path: str) -> str:
    stem, suffix = os.path.splitext(path)
    return f"{stem}.edited-{store.context.clock():%Y%m%d-%H%M%S}{suffix}"


def blob_id(content: bytes, like: str) -> str:
    """Return the id git gives a file's content, in the kind of hash that the id `like` is of."""
    import hashlib

    sha256 = len(like) == len(hashlib.sha256().hexdigest())
    digest = hashlib.new("sha256" if sha256 else "sha1", usedforsecurity=False)
    digest.update(b"blob %d\0" % len(content))
    digest.update(content)
    return digest.hexdigest()

"""Find, drop or take over copies of memory files that other programs left beside them.

Of several files with the same id only the original is a memory (`gitmem.store.entrance`).
"""

from __future__ import annotations

import os

from gitmem.document.ids import FACTS
from gitmem.document.message import Op, Trailer, op_message
from gitmem.git.packing import tracked_files
from gitmem.platform.safe_open import drop_file
from gitmem.store.entrance import file_id, original_of, rank
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value


class Copy(Value):
    """A copy and its original; the original is "" for a file of another program."""

    path: str
    original: str
    committed: bool


def find_copies(store: Store) -> list[Copy]:
    """Return the copies in the work tree, by path; none while the user has something else checked out there."""
    if store.documents != store.root:
        return []
    tracked = [path for path in tracked_files(store.repository.git) if os.path.lexists(f"{store.root}/{path}")]

    def below(folder: str) -> list[str]:
        return [path for path in tracked if path.startswith(f"{folder}/") or not folder]

    new = {*store.files.edited()}.difference(tracked)
    copies = [Copy(path, original, committed=False) for path in new if (original := original_of(path, below))]
    originals: dict[str, str] = {}
    for path in sorted(below(FACTS), key=rank):
        original = originals.setdefault(file_id(path) or path, path)
        copies += [Copy(path, original, committed=True)] if original != path else []
    copies = [copy._replace(original="" if copy.original == copy.path else copy.original) for copy in copies]
    return sorted(copies, key=lambda copy: copy.path)


def drop_copy(store: Store, copy: Copy) -> str | None:
    """Remove a copy and return the commit; keep the text of an uncommitted copy aside and return None."""
    if copy.committed:
        message = op_message(Op.FACT, f"Remove a copy: {copy.path}", (Trailer.FACT, file_id(copy.path)))
        gone: dict[str, bytes | None] = {copy.path: None}
        return transact(store, lambda transaction: transaction.commit(message, gone), purpose="fact").commit
    if (data := store.read(copy.path)) is not None:
        store.spool.keep_aside(copy.path.replace("/", "-"), data)
        drop_file(os.path.join(store.root, copy.path))
    return None


def take_copy(store: Store, copy: Copy) -> str | None:
    """Give the original the content of its copy, remove the copy, and return the commit."""
    data = store.read(copy.path)

    def plan(transaction: Transaction) -> bool:
        message = op_message(Op.EDIT, f"Take over a copy: {copy.path}")
        gone: dict[str, bytes | None] = {copy.path: None} if copy.committed else {}
        return transaction.commit(message, {copy.original: data, **gone})

    commit = transact(store, plan, purpose="fact").commit
    if not copy.committed:
        drop_copy(store, copy)
    return commit

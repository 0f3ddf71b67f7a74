"""Resolve conflict markers that a plain `git merge` left in documents, keeping both sides.

They are left if a person pulls without the merge driver and commits the conflict. gitmem looks for them only in
documents that changed when another program moved the branch.

Tested through `tests/cli/commands/test_sync.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import GitFailedError, RefusedError
from gitmem.git.history.commits import empty_tree
from gitmem.model.merge.documents import has_markers, without_markers
from gitmem.model.message import Message, Op, Trailer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

_MAX_NAMED = 3


def find_marked(store: Store, old: str | None, new: str) -> list[str]:
    """Return the documents with markers among those added or changed between two commits."""
    git = store.repository.git
    try:
        changes = store.repository.changes(old or empty_tree(git), new)
    except GitFailedError:  # `old` was purged
        changes = store.repository.changes(empty_tree(git), new)
    documents = [change for change in changes if change.new and change.path.endswith(".md")]
    contents = store.repository.blobs([change.new or "" for change in documents if change.mode.startswith("100")])
    paths = [change.path for change in documents if change.mode.startswith("100")]
    return [path for path, data in zip(paths, contents, strict=True) if has_markers(data)]


def resolve(transaction: Transaction, paths: Iterable[str]) -> bool:
    """Add a commit that merges both sides in these documents, and a notice; return False if none has markers."""
    resolved: dict[str, bytes | None] = {}
    for path in paths:
        try:
            data = transaction.read(path)
        except (RefusedError, OSError):
            continue
        if data is not None and has_markers(data):
            resolved[path] = without_markers(path, data)
    if not resolved:
        return False
    names = ", ".join(sorted(resolved)[:_MAX_NAMED]) + (" and others" if len(resolved) > _MAX_NAMED else "")
    message = Message(f"Repair {names}: conflict markers", ((Trailer.OP.value, Op.REPAIR.value),))
    transaction.notices.append(
        f"Git left conflict markers in {names}. Both sides were merged as 'gitmem sync' does; entries that need a "
        "decision are marked 'review'."
    )
    return transaction.commit(message, resolved)

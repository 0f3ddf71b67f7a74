"""Conflict markers that a plain git merge left in documents are taken out again, and nothing of either side is lost.

That happens where a person pulled without the merge driver and committed what git could not merge. It is looked for
where the branch was moved by somebody else than gitmem, in the documents that changed, and nowhere else.
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

_FEW = 3


def marked_documents(store: Store, old: str | None, new: str) -> list[str]:
    """Return the documents with markers, of those that came or changed between two commits."""
    git = store.repository.git
    try:
        changes = store.repository.changes(old or empty_tree(git), new)
    except GitFailedError:  # a mark of history that is gone
        changes = store.repository.changes(empty_tree(git), new)
    documents = [change for change in changes if change.new and change.path.endswith(".md")]
    contents = store.repository.blobs([change.new or "" for change in documents if change.mode.startswith("100")])
    paths = [change.path for change in documents if change.mode.startswith("100")]
    return [path for path, data in zip(paths, contents, strict=True) if has_markers(data)]


def mend(transaction: Transaction, paths: Iterable[str]) -> bool:
    """Add a commit without the markers in these documents, if there are any, and say so."""
    mended: dict[str, bytes | None] = {}
    for path in paths:
        try:
            data = transaction.read(path)
        except (RefusedError, OSError):
            continue
        if data is not None and has_markers(data):
            mended[path] = without_markers(path, data)
    if not mended:
        return False
    names = ", ".join(sorted(mended)[:_FEW]) + (" and others" if len(mended) > _FEW else "")
    message = Message(f"Repair {names}: conflict markers", ((Trailer.OP.value, Op.REPAIR.value),))
    transaction.notices.append(
        f"Git left conflict markers in {names}; both sides were merged as 'gitmem sync' does, and what needs you is "
        "marked 'review' there."
    )
    return transaction.commit(message, mended)

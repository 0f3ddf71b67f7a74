"""Make the lines in `memory.md` follow facts that another program's commits changed, such as a plain `git pull`.

Tested through `tests/store/transaction/test_users_git.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import GitFailedError, RefusedError
from gitmem.model.fact.fact import FOLDER
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import MEMORY
from gitmem.store.transaction.views import followed

if TYPE_CHECKING:
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction


def follow_moved(transaction: Transaction, store: Store, old: str, new: str) -> None:
    """Add a commit of the lines that the facts changed between two commits make different, if there are any."""
    try:
        changes = store.repository.changes(old, new, FOLDER)
        before = store.repository.blobs([change.old or "" for change in changes if change.old])
    except GitFailedError:  # `old` was purged
        return
    if not changes:
        return
    olds = dict(zip((change.path for change in changes if change.old), before, strict=True))
    try:
        memory = transaction.read(MEMORY)
        news = {change.path: transaction.read(change.path) for change in changes}
    except (RefusedError, OSError):
        return
    if memory is not None:
        message = Message("Follow merged facts in memory.md", ((Trailer.OP.value, Op.REPAIR.value),))
        data = followed(transaction, memory, {path: olds.get(path) for path in news}, news)
        transaction.commit(message, {MEMORY: data})

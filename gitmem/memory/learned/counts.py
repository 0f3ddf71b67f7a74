"""Count how often a memory was told and whether it helped, in a file of this machine (docs/format.md, "Counts")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.model.ids import digest
from gitmem.model.learned.counts import BY_PERSON, FOLDER, with_told
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import slug
from gitmem.store.transaction.transact import transact

if TYPE_CHECKING:
    from gitmem.model.learned.counts import Told
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction


def judge(store: Store, identifier: str, *, helped: bool) -> str | None:
    """Note a person's verdict on a memory in one commit, and return the commit."""
    at = store.context.clock().isoformat(timespec="microseconds")
    verdict = "helped" if helped else "did not help"
    return add_told(store, {identifier: {f"{at}{BY_PERSON}": float(helped)}}, f"Note that {identifier} {verdict}")


def add_told(store: Store, told: Told, subject: str) -> str | None:
    """Add told memories to this machine's file; return the commit, None if the file has all of them already."""

    def plan(transaction: Transaction) -> bool:
        path = machine_path(store)
        before = transaction.read(path) or b""
        after = with_told(before, told)
        message = Message(subject, ((Trailer.OP.value, Op.COUNT.value),))
        return before != after and transaction.commit(message, {path: after})

    outcome = transact(store, plan, purpose="count")
    return outcome.commits[-1] if outcome.value else None


def machine_path(store: Store) -> str:
    """Return the file in which this machine counts for this store."""
    name = slug(store.context.machine) or "machine"
    return f"{FOLDER}/{name}-{digest(store.context.machine, store.root)[:4].hex()}.json"

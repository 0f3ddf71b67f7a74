"""Resolve a document with two versions by one commit that keeps the version a person chose (spec G5, V6)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError, NotFoundError
from gitmem.git.history.commits import log, was_at
from gitmem.model.document.document import Document
from gitmem.model.merge.choose import taken, without_mark
from gitmem.model.merge.documents import REVIEW, beside_path, is_beside
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import MEMORY
from gitmem.store.review.waiting import contradicted, to_review
from gitmem.store.transaction.transact import transact
from gitmem.store.transaction.views import with_facts
from gitmem.text.linemerge import merge_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

_SECONDS = 300.0
_MERGES = 100  # merges to search for one document


class Take(StrEnum):
    """Which of two versions to keep."""

    OURS = "ours"  # this machine's version
    THEIRS = "theirs"
    BOTH = "both"
    EDIT = "edit"  # the file as the person edited it


@dataclass(frozen=True, slots=True)
class Sides:
    """A merge that kept two versions: its commit, both parents, and the machines of each side."""

    merge: str
    ours: str
    theirs: str
    our_machines: tuple[str, ...]
    their_machines: tuple[str, ...]


def resolve_review(store: Store, path: str, take: Take) -> str:
    """Keep one version of a document and return the new commit.

    Raises:
        NotFoundError: the document does not hold two versions.
        GitmemError: it is a contradicting fact, or was changed in the same lines since the merge.

    """
    waiting = {item.path for item in to_review(store)}
    if path not in waiting:
        beside = [item for item in waiting if is_beside(item) and _original(item, path)]
        if len(beside) != 1:
            raise NotFoundError(f"{path} holds no two versions.", "'gitmem review' lists the documents that do.")
        path = beside[0]
    facts = contradicted(next(item.places for item in to_review(store) if item.path == path), path)
    if facts:
        raise GitmemError(
            f"{path} is a fact that contradicts {', '.join(facts)}.",
            "'gitmem review' lists such pairs by number; '--take newer', 'older' or 'both' decides one.",
        )
    sides = sides_of(store, path) if take in {Take.OURS, Take.THEIRS} else None
    trailers = ((Trailer.OP.value, Op.REVIEW.value), (Trailer.TOOK.value, take.value))
    message = Message(f"Review {path}: {take.value}", trailers)

    def plan(transaction: Transaction) -> bool:
        if is_beside(path):
            changes = _choose_file(store, transaction, path, take, sides)
        else:
            data = _choose(store, transaction.read(path) or b"", path, take, sides)
            changes = with_facts(transaction, data) if path == MEMORY else {path: data}
        return transaction.commit(message, changes)

    outcome = transact(store, plan, purpose="review")
    if not outcome.value:
        raise GitmemError(f"{path} was not changed.", "See 'gitmem review'.")
    return outcome.commits[-1]


def sides_of(store: Store, path: str) -> Sides:
    """Return the newest merge that left two versions of a document.

    Raises:
        NotFoundError: there is none.

    """
    git, repository = store.repository.git, store.repository
    tip = repository.resolve("HEAD")
    output = git.run("--literal-pathspecs", "rev-list", "--merges", "--full-history", tip, "--", path, timeout=_SECONDS)
    for merge in output.decode().split()[:_MERGES]:
        first, second, *_ = git.run("rev-parse", f"{merge}^@").decode().split()
        held = [_places(repository.read(commit, path), path) for commit in (merge, first, second)]
        if held[0] - (held[1] & held[2]):
            machines = [_machines(store, f"{other}..{own}") for own, other in ((first, second), (second, first))]
            if _is_own_second(store, first, second, machines):
                return Sides(merge, second, first, machines[1], machines[0])
            return Sides(merge, first, second, machines[0], machines[1])
    raise NotFoundError(f"No merge in history left two versions of {path}.", "Edit it, then '--take edit'.")


def _is_own_second(store: Store, first: str, second: str, machines: Sequence[tuple[str, ...]]) -> bool:
    """Return whether the second parent of a merge is this machine's side: its branch was there.

    Machines can bear one name. Only where the reflog does not tell, as in a new clone, the names decide.
    """
    was_here = was_at(store.repository.git)
    if (first in was_here) != (second in was_here):
        return second in was_here
    return store.context.machine in machines[1] and store.context.machine not in machines[0]


def _places(data: bytes | None, path: str) -> set[str]:
    if data is None:
        return set()
    if is_beside(path):
        return {path}
    places = Document.parse(data).get(REVIEW)
    return {*map(str, places)} if isinstance(places, list) else set()


def _machines(store: Store, span: str) -> tuple[str, ...]:
    return tuple(sorted({commit.value(Trailer.MACHINE) or commit.author for commit in log(store.repository.git, span)}))


def _choose(store: Store, now: bytes, path: str, take: Take, sides: Sides | None) -> bytes:
    if sides is None:
        return without_mark(now)
    read = store.repository.read
    merged = read(sides.merge, path) or b""
    chosen, other = (sides.ours, sides.theirs) if take is Take.OURS else (sides.theirs, sides.ours)
    result = taken(merged, read(chosen, path) or b"", read(other, path) or b"", _places(now, path))
    if now == merged:
        return result
    carried = merge_lines(now, merged, result)
    if carried is None:
        raise GitmemError(
            f"{path} has been changed since, in the same lines.", "Edit the file as it should be, then '--take edit'."
        )
    return without_mark(carried)


def _original(beside: str, path: str) -> bool:
    folder, _, name = path.rpartition("/")
    stem, suffix = os.path.splitext(name)
    other = beside.rpartition("/")
    return other[0] == folder and other[2].startswith(f"{stem}.other-") and other[2].endswith(suffix)


def _choose_file(
    store: Store, transaction: Transaction, beside: str, take: Take, sides: Sides | None
) -> dict[str, bytes | None]:
    """Return the changes of files that resolve a second version in a file of its own."""
    other = transaction.read(beside) or b""
    folder, _, name = beside.rpartition("/")
    stem, _, rest = name.rpartition(".other-")
    suffix = os.path.splitext(rest)[1]
    path = f"{folder}/{stem}{suffix}" if folder else f"{stem}{suffix}"
    if take is Take.EDIT:
        return {beside: None}
    if sides is None:
        number = 2
        while transaction.read(second := f"{path.removesuffix(suffix)}-{number}{suffix}") is not None:
            number += 1
        return {second: other, beside: None}
    mine = store.repository.read(sides.ours if take is Take.OURS else sides.theirs, path)
    keeps_other = mine is not None and beside_path(path, mine) == beside
    return {beside: None, **({path: other} if keeps_other else {})}

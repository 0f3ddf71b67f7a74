"""Consolidation (spec P4): days that are old become part of their week, weeks of their month, one commit a step.

What to do is planned in `gitmem.model.tiers.consolidation`; here it is read, said in a few sentences, and committed. A
step is one transaction, so a crash leaves it done or not done; what is not done is met again the next time. Nothing
leaves history: `gitmem at DATE` shows a day as it was, and `gitmem undo` of a step brings its days back, for good.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from gitmem.errors import RefusedError
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import daily_path
from gitmem.model.tiers.consolidation import DAILY, WEEKLY, Step, consolidate, holders_of, plan_consolidation
from gitmem.store.transaction.transact import transact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

SENTENCES = {WEEKLY: 5, "monthly": 8}  # that a day has in its week, a week in its month


@dataclass(frozen=True, slots=True)
class Done:
    """A step that was done, or would be; `commit` is None where it was only planned."""

    step: Step
    commit: str | None


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What was consolidated; `kept` are files that are due and stay, since their consolidation was undone.

    `finished` says that no step was put off for it was late.
    """

    done: tuple[Done, ...]
    kept: tuple[str, ...]
    notices: tuple[str, ...]
    finished: bool


def consolidate_due(store: Store, *, dry_run: bool = False, late: Callable[[], bool] = lambda: False) -> Consolidated:
    """Do every step that is due, the oldest first; once it is `late` no further one is begun.

    Raises:
        GitmemError: a step could not be committed; those before it are.

    """
    done: list[Done] = []
    notices: list[str] = []
    refused: set[str] = set()
    while True:
        kept = _kept(store) if due(store) else frozenset()
        steps = [step for step in due(store, kept) if step.target not in refused]
        if dry_run:
            return Consolidated(tuple(Done(step, None) for step in steps), _due_of(store, kept), (), finished=True)
        if not steps or late():
            told = tuple(dict.fromkeys(notices))
            return Consolidated(tuple(done), _due_of(store, kept), told, finished=not steps)
        for step in steps:
            if late():
                break
            try:
                outcome = transact(store, partial(_add, step=step), purpose="consolidate")
            except RefusedError as error:  # of this one: a link in the place of a log, for one
                refused.add(step.target)
                notices.append(f"{step.period} is not consolidated: {error.message} {error.remedy}".strip())
                continue
            notices += outcome.notices
            if outcome.value:
                done.append(Done(step, outcome.commits[-1]))
            else:
                refused.add(step.target)  # another process did it; and should that ever be wrong, this loop ends


def due(store: Store, kept: frozenset[str] = frozenset()) -> tuple[Step, ...]:
    """Return the steps that are due now, but for these files; reads a few folders, and no file."""
    config = store.config.tiers
    paths = [path for tier in (DAILY, WEEKLY) for path in _files(store, tier) if path not in kept]
    return plan_consolidation(
        paths, store.context.clock().date(), weekly_days=config.weekly_days, monthly_days=config.monthly_days
    )


def _due_of(store: Store, kept: frozenset[str]) -> tuple[str, ...]:
    return tuple(path for step in due(store) for path in step.sources if path in kept)


def _files(store: Store, folder: str) -> Iterator[str]:
    for name in sorted(store.files.names(folder)):
        path = f"{folder}/{name}"
        if name.endswith(".md"):
            yield path
        elif name.isdigit() and store.files.is_folder(path):
            yield from _files(store, path)


def _kept(store: Store) -> frozenset[str]:
    """Return the files that a consolidation took out of the tree and whose undo brought back."""
    from gitmem.store.history.undo import undone_with

    return frozenset(
        change.path
        for commit in undone_with(store.repository, {Trailer.OP.value: Op.CONSOLIDATE.value})
        for change in store.repository.changes(commit.parents[0], commit.oid)
        if change.new is None
    )


def _add(transaction: Transaction, step: Step) -> bool:
    """Add the commit of a step to a transaction; False where nothing of it is there any more."""
    documents: dict[str, bytes] = {}
    for path in step.sources:
        try:
            data = transaction.read(path)
        except RefusedError as error:  # a link in the place of a day's log; the other days go on
            transaction.notices.append(f"{path} stays: {error.message}")
            continue
        if data is not None:
            documents[path] = data
    if not documents:
        return False
    step = Step(step.target, step.period, tuple(documents))
    most = SENTENCES[step.tier]
    data = consolidate(step, documents, transaction.read(step.target), lambda text, _: sentences(text, most))
    trailers = ((Trailer.OP.value, Op.CONSOLIDATE.value), (Trailer.PERIOD.value, step.period))
    changes: dict[str, bytes | None] = {step.target: data, **dict.fromkeys(documents)}
    return transaction.commit(Message(_subject(step), trailers), changes)


def sentences(text: str, most: int) -> str:
    """Say a part of memory in a few sentences, a line each; the one place to change where a model is to do it."""
    from gitmem.offline.summary import digest

    return "\n".join(f"- {sentence}" for sentence in digest(text, most))


def _subject(step: Step) -> str:
    what = "day" if step.tier == WEEKLY else "week"
    count = f"1 {what}" if len(step.sources) == 1 else f"{len(step.sources)} {what}s"
    return f"Consolidate {count} into {step.period}"


def log_before(store: Store, transaction: Transaction, day: date) -> bytes | None:
    """Return the log of a day that was consolidated, as it last was; None where none was.

    What is delivered late, or replayed, is compared with it, so that nothing is saved twice.
    """
    held: Sequence[bytes] = [data for path in holders_of(day) if (data := transaction.read(path)) is not None]
    return _last(store, tuple(held), daily_path(day.isoformat())) if held else None


@lru_cache(maxsize=64)  # a replay asks for the same days turn after turn
def _last(store: Store, _held: tuple[bytes, ...], path: str) -> bytes | None:
    from gitmem.store.history.records import last_version

    return last_version(store.repository, path)

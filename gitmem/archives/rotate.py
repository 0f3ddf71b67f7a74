"""Rotate a full `memory.md`, join days into weeks and months, a commit a step, and clear old memory (spec R3, P4, P6).

A step is one transaction, so a crash leaves it done or to be done again. History keeps everything: `gitmem at DATE`
shows a day as it was, and `gitmem undo` of a step restores its days, which are then never consolidated again. Of old
memory, logs, archives and session files are cleared, with them the links of concepts to them, and concepts that link to
nothing else; summaries, facts and `memory.md` stay. Raw transcripts are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial

from gitmem.archives.consolidation import DAILY, WEEKLY, ConsolidationStep, consolidate, plan_consolidation
from gitmem.archives.plans import Limits, holders_of, last_day, needs_rotation, outdated_archives, plan_rotation
from gitmem.config import RotationConfig
from gitmem.document.document import Document
from gitmem.document.ids import ARCHIVE, MEMORY, OF_GITMEM, PURGED, daily_path
from gitmem.document.message import Message, Op, Trailer
from gitmem.errors import RefusedError
from gitmem.facts.fact import Fact, is_fact_path, parse_fact
from gitmem.facts.lines import SECTIONS, TOLD, marks_of, without_ended
from gitmem.facts.validity import in_force
from gitmem.history.past_days import drop_days, keep_days
from gitmem.lessons.concepts import lines_of, link_of, parse_concept, render_changed
from gitmem.platform.machine import date, timedelta
from gitmem.store.init import new_memory
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count
from gitmem.text.words import tokens_of_size
from gitmem.values import Value

_STAMP = "%Y%m%d_%H%M%S"


class Check(Value):
    """The result of a check: the size of `memory.md` before it, the threshold, and the archive if it was rotated."""

    tokens: int
    threshold: int
    archive: str | None
    dropped: tuple[str, ...] = ()


def check(store: Store) -> tuple[Check, tuple[str, ...]]:
    """Rotate `memory.md` if it has reached the threshold; returns the result and notices for the user."""
    outcome = transact(store, lambda transaction: rotate(transaction, store), purpose="check", scan=True)
    return outcome.value, outcome.notices


def rotate(transaction: Transaction, store: Store) -> Check:
    """Add the commit of a rotation to a transaction if `memory.md` has reached the threshold (spec R3)."""
    config = store.config.rotation
    limits = Limits(config.threshold_tokens, config.carryover_tokens)
    data = transaction.read(MEMORY) or b""
    tokens = tokens_of_size(len(data))
    if not config.enabled or not needs_rotation(len(data), limits):
        return Check(tokens, limits.threshold, None)
    transaction.need_folder(ARCHIVE)
    text = data.decode("utf-8", "surrogateescape")
    body = Document.parse(data).body
    plan = plan_rotation(
        body,
        header=text[: len(text) - len(body)],
        stamp=transaction.now.strftime(_STAMP),
        taken={f"{ARCHIVE}/{name}" for name in transaction.names(ARCHIVE)},
        limits=limits,
        uses=_uses(store, transaction),
    )
    if plan is None:
        return Check(tokens, limits.threshold, None)
    name = plan.archive.rpartition("/")[2]
    message = Message(
        f"Rotate memory.md into {name} ({plan.tokens:,} tokens)",
        ((Trailer.OP.value, Op.ROTATE.value), (Trailer.ARCHIVE.value, plan.archive)),
    )
    # Old lines of ended facts have no ids.
    rest = without_ended(plan.remaining, marks_of(_facts(store, transaction)))
    transaction.commit(message, {plan.archive: data, MEMORY: rest.encode("utf-8", "surrogateescape")})
    _summarize(transaction, plan.archive, text)
    return Check(tokens, limits.threshold, plan.archive, retain(transaction, config))


def _facts(store: Store, transaction: Transaction) -> list[Fact]:
    """Return the facts as of the last planned commit, most of them without their texts."""
    facts = {fact.path: fact for fact in known_facts(store)}
    for path in {path for draft in transaction.drafts for path in draft.changes if is_fact_path(path)}:
        data = transaction.read(path)
        fact = parse_fact(data, path) if data is not None else None
        facts.pop(path, None)
        if fact is not None:
            facts[path] = fact
    return [*facts.values()]


def _uses(store: Store, transaction: Transaction) -> dict[str, dict[str, int]]:
    """Return how often each fact that has a line in a section, or may have one, was said."""
    uses: dict[str, dict[str, int]] = {}
    for fact in in_force(_facts(store, transaction)):
        if fact.kind in TOLD and not fact.adopted:
            uses.setdefault(SECTIONS[fact.kind], {})[fact.id] = len(fact.sources)
    return uses


def _summarize(transaction: Transaction, archive: str, text: str) -> None:
    """Add the archive's summary; if that fails, the rotation stands and the summary is pending (spec R6, R12)."""
    from gitmem.archives.summarize import summarize_archive

    try:
        summarize_archive(transaction, archive, text)
    except Exception as error:  # noqa: BLE001  # no failure may stop a save
        why = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
        transaction.notices.append(f"{archive} has no summary yet: {why}")


def retain(transaction: Transaction, config: RotationConfig) -> tuple[str, ...]:
    """Remove archives beyond the configured retention from the tree; history keeps them (spec R13)."""
    days = config.archive_retention_days
    oldest = transaction.now.replace(tzinfo=None) - timedelta(days=days) if days else None
    over = outdated_archives(transaction.names(ARCHIVE), config.max_archives, oldest)
    if over:
        which = over[0] if len(over) == 1 else f"{len(over)} archives"
        message = Message(f"Take {which} out of the tree, as configured", ((Trailer.OP.value, Op.RETAIN.value),))
        transaction.commit(message, {f"{ARCHIVE}/{name}": None for name in over})
    return tuple(f"{ARCHIVE}/{name}" for name in over)


SENTENCES = {WEEKLY: 5, "monthly": 8}  # of a day in its week, of a week in its month


class StepResult(Value):
    """A step and its commit, None in a dry run."""

    step: ConsolidationStep
    commit: str | None


class Consolidated(Value):
    """The result of a consolidation; `kept` are due files that stay because their consolidation was undone.

    `finished` is False if steps are left because it was late.
    """

    done: tuple[StepResult, ...]
    kept: tuple[str, ...]
    notices: tuple[str, ...]
    finished: bool


def consolidate_due(store: Store, *, dry_run: bool = False, late: Callable[[], bool] = lambda: False) -> Consolidated:
    """Do all due steps, the oldest first; begin none once it is `late`. Copies of the days stay for searches.

    Raises:
        GitmemError: a step could not be committed; those before it are.

    """
    kept = _kept(store) if due(store) else frozenset()
    steps: list[ConsolidationStep] = []
    paths = _logs(store) - kept
    while planned := _planned(store, paths):  # a week made of old days may join its month at once
        steps += planned
        paths = paths - {path for step in planned for path in step.sources} | {step.target for step in planned}
    done: list[StepResult] = []
    notices: dict[str, None] = {}
    finished = True
    for step in steps:
        if late():
            finished = False
            break
        try:
            outcome = None if dry_run else transact(store, partial(_add, step=step), purpose="consolidate")
        except RefusedError as error:  # such as a link in place of a log; other steps go on
            notices[f"{step.period} is not consolidated: {error.sentences}"] = None
            continue
        notices |= dict.fromkeys(outcome.notices if outcome else ())
        if outcome is None or outcome.value:  # else another process did it
            done.append(StepResult(step, outcome.commits[-1] if outcome else None))
    if done and not dry_run:
        keep_days(store)
    left = tuple(path for step in due(store) for path in step.sources if path in kept)
    return Consolidated(tuple(done), left, tuple(notices), finished)


def due(store: Store) -> tuple[ConsolidationStep, ...]:
    """Return the due steps; lists folders, reads no file."""
    return _planned(store, _logs(store))


def _planned(store: Store, paths: frozenset[str]) -> tuple[ConsolidationStep, ...]:
    config = store.config.tiers
    return plan_consolidation(
        paths, store.context.clock().date(), weekly_days=config.weekly_days, monthly_days=config.monthly_days
    )


def _logs(store: Store) -> frozenset[str]:
    return frozenset(path for tier in (DAILY, WEEKLY) for path in _files(store, tier))


def _files(store: Store, folder: str) -> Iterator[str]:
    for name in sorted(store.files.names(folder)):
        path = f"{folder}/{name}"
        if name.endswith(".md"):
            yield path
        elif name.isdigit() and store.files.is_folder(path):
            yield from _files(store, path)


def _kept(store: Store) -> frozenset[str]:
    """Return the files that an undone consolidation had removed."""
    from gitmem.history.origin import commits_with

    return frozenset(
        change.path
        for commit in commits_with(store.repository, {Trailer.OP.value: Op.CONSOLIDATE.value}, undone=True)
        for change in store.repository.changes(commit.parents[0], commit.oid)
        if change.new is None
    )


def _add(transaction: Transaction, step: ConsolidationStep) -> bool:
    """Add the commit of a step to a transaction; False if its files are gone."""
    documents: dict[str, bytes] = {}
    for path in step.sources:
        try:
            data = transaction.read(path)
        except RefusedError as error:  # such as a link in place of a day's log; the other days go on
            transaction.notices.append(f"{path} stays: {error.message}")
            continue
        if data is not None:
            documents[path] = data
    if not documents:
        return False
    step = ConsolidationStep(step.target, step.period, tuple(documents))
    most = SENTENCES[step.tier]
    data = consolidate(step, documents, transaction.read(step.target), lambda text, _: sentences(text, most))
    trailers = ((Trailer.OP.value, Op.CONSOLIDATE.value), (Trailer.PERIOD.value, step.period))
    changes: dict[str, bytes | None] = {step.target: data, **dict.fromkeys(documents)}
    period = "day" if step.tier == WEEKLY else "week"
    message = Message(f"Consolidate {count(len(step.sources), period)} into {step.period}", trailers)
    return transaction.commit(message, changes)


def sentences(text: str, most: int) -> str:
    """Summarize a part of memory in a few sentences, a line each, offline."""
    from gitmem.archives.extractive import digest

    return "\n".join(f"- {sentence}" for sentence in digest(text, most))


def log_before(store: Store, transaction: Transaction, day: date) -> bytes | None:
    """Return the last version of a consolidated day's log, None if there is none.

    Late deliveries and replays are compared with it, so that nothing is saved twice.
    """
    held: Sequence[bytes] = [data for path in holders_of(day) if (data := transaction.read(path)) is not None]
    return _last(store, tuple(held), daily_path(day.isoformat())) if held else None


@lru_cache(maxsize=64)  # a replay asks for the same days turn after turn
def _last(store: Store, _held: tuple[bytes, ...], path: str) -> bytes | None:
    from gitmem.history.records import last_version

    return last_version(store.repository, path)


OLD_DAYS = 30  # as for consolidated days (spec P4)


class Cleared(Value):
    """The cleared files, their bytes in all, and the commit; None if nothing was cleared, or in a dry run."""

    files: tuple[str, ...]
    size: int
    commit: str | None
    notices: tuple[str, ...] = ()


def clear(store: Store, *, days: int | None, dry_run: bool = False) -> Cleared:
    """Remove files older than `days` from the tree, or with None all memory.

    A person's uncommitted edits are committed first, so that history has them.

    Raises:
        GitmemError: it could not be committed.

    """
    if dry_run:
        files = _chosen(store, days)
        return Cleared(tuple(files), sum(files.values()), None)
    edits = transact(store, lambda _: None, purpose="clear", scan=True)
    files = {}

    def plan(transaction: Transaction) -> bool:
        files.clear()
        files.update(_chosen(store, days))
        changes: dict[str, bytes | None] = {path: None for path in files if transaction.read(path) is not None}
        if days is None:
            changes[MEMORY] = new_memory(transaction.now)
        else:
            for path, data in _without_links(store, files).items():
                changes.setdefault(path, data)
        scope = "all memory" if days is None else f"memory older than {days} days"
        message = Message(f"Clear {scope} ({count(len(files), 'file')})", ((Trailer.OP.value, Op.CLEAR.value),))
        return bool(files) and transaction.commit(message, changes)

    outcome = transact(store, plan, purpose="clear")
    commit = outcome.commit
    if commit:
        drop_days(store.private)
    return Cleared(tuple(files), sum(files.values()), commit, (*edits.notices, *outcome.notices))


def _chosen(store: Store, days: int | None) -> dict[str, int]:
    """Return the files to clear, with their sizes; links and purge records stay."""
    tip = store.repository.resolve(store.repository.branch())
    sizes = {file.path: file.size for file in store.repository.files(tip) if file.mode.startswith("100")}
    sizes = {path: size for path, size in sizes.items() if not path.startswith(f"{PURGED}/")}
    if days is None:
        body = Document.parse(store.read(MEMORY) or b"").body
        memory = {MEMORY: sizes[MEMORY]} if MEMORY in sizes and re.search(r"^[^#\s]", body, re.MULTILINE) else {}
        return {**memory, **{path: size for path, size in sizes.items() if path not in {*OF_GITMEM, MEMORY}}}
    old = {path: sizes[path] for path in old_files(sizes, store.context.clock().date(), days)}
    emptied = (path for path, data in _without_links(store, old).items() if data is None)
    return {**old, **{path: sizes[path] for path in emptied if path in sizes}}


def _without_links(store: Store, gone: Collection[str]) -> dict[str, bytes | None]:
    """Return the new text of concepts without links to deleted files; None for concepts without other links."""
    if not any(path.startswith("sessions/") for path in gone):
        return {}
    changed: dict[str, bytes | None] = {}
    for name in store.files.names("concepts"):
        path = f"concepts/{name}"
        data = store.read(path)
        concept = None if data is None else parse_concept(data, path)
        if concept is None or data is None:
            continue
        body = Document.parse(data).body
        lost = {identifier for identifier, line in lines_of(body) if link_of(line) in gone}
        left = tuple(one for one in concept.exchanges if one not in lost)
        if lost:
            changed[path] = render_changed(data, concept._replace(exchanges=left), (), lost) if left else None
    return changed


def old_files(paths: Iterable[str], today: date, days: int) -> list[str]:
    """Return the paths whose last day is more than `days` ago."""
    dated = ((path, last_day(path)) for path in sorted(paths))
    return [path for path, last in dated if last is not None and (today - last).days > days]

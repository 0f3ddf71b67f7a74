"""Rotate a full `memory.md`, list rotations, and consolidate days into weeks and months, one commit per step.

A step is one transaction, so after a crash it is either done or will be repeated. History keeps everything: `gitmem at
DATE` shows a day as it was, and `gitmem undo` of a step restores its days, which are then never consolidated again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from gitmem.archive.extractive import digest
from gitmem.archive.summarize import summarize_archive
from gitmem.config.values import RotationConfig
from gitmem.document.document import Document
from gitmem.document.entry import FIRST_LINE
from gitmem.document.ids import ARCHIVE, MEMORY, SUMMARIES, daily_path, is_timed, summary_path, tail_of
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import RefusedError
from gitmem.git.log import Addition, additions, log
from gitmem.history.origin import commits_with, undone_commits
from gitmem.history.past_days import keep_days
from gitmem.history.records import removed_versions
from gitmem.model.consolidation import DAILY, WEEKLY, ConsolidationStep, consolidate, plan_consolidation
from gitmem.model.fact import Fact, is_fact_path, parse_fact
from gitmem.model.line_edits import LISTED, SECTIONS
from gitmem.model.lines import marks_of, without_ended
from gitmem.model.rotation import holders_of, needs_rotation, outdated_archives, plan_rotation
from gitmem.model.similarity import WEIGHED
from gitmem.model.validity import in_force
from gitmem.platform.machine import date, datetime
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
    """Add the commit of a rotation to a transaction if `memory.md` has reached the threshold."""
    config = store.config.rotation
    data = transaction.read(MEMORY) or b""
    tokens = tokens_of_size(len(data))
    if not needs_rotation(len(data), config):
        return Check(tokens, config.threshold, None)
    transaction.need_folder(ARCHIVE)
    text = data.decode("utf-8", "surrogateescape")
    body = Document.parse(data).body
    plan = plan_rotation(
        body,
        header=text[: len(text) - len(body)],
        stamp=transaction.now.strftime(_STAMP),
        taken={f"{ARCHIVE}/{name}" for name in transaction.names(ARCHIVE)},
        limits=config,
        uses=_uses(store, transaction),
    )
    if plan is None:
        return Check(tokens, config.threshold, None)
    name = plan.archive.rpartition("/")[2]
    subject = f"Rotate memory.md into {name} ({plan.tokens:,} tokens)"
    message = op_message(Op.ROTATE, subject, (Trailer.ARCHIVE, plan.archive))
    # Old lines of ended facts may lack ids.
    rest = without_ended(plan.remaining, marks_of(_facts(store, transaction)))
    transaction.commit(message, {plan.archive: data, MEMORY: rest.encode("utf-8", "surrogateescape")})
    _summarize(store, transaction, plan.archive, text)
    return Check(tokens, config.threshold, plan.archive, retain(transaction, config))


def _facts(store: Store, transaction: Transaction) -> list[Fact]:
    """Return the facts as of the last planned commit, most without texts."""
    facts = {fact.path: fact for fact in known_facts(store)}
    for path in {path for draft in transaction.drafts for path in draft.changes if is_fact_path(path)}:
        data = transaction.read(path)
        fact = parse_fact(data, path) if data is not None else None
        facts.pop(path, None)
        if fact is not None:
            facts[path] = fact
    return [*facts.values()]


def _uses(store: Store, transaction: Transaction) -> dict[str, dict[str, int]]:
    """Count, by section, the statements of each fact that has or may have a line there."""
    uses: dict[str, dict[str, int]] = {}
    for fact in in_force(_facts(store, transaction)):
        if fact.kind in LISTED and not fact.adopted:
            uses.setdefault(SECTIONS[fact.kind], {})[fact.id] = len(fact.sources)
    return uses


def _summarize(store: Store, transaction: Transaction, archive: str, text: str) -> None:
    """Add the archive's summary; if that fails, the rotation is kept and the summary is pending."""
    try:
        summarize_archive(store, transaction, archive, text)
    except Exception as error:  # noqa: BLE001  # no failure may stop a save
        why = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
        transaction.notices.append(f"{archive} has no summary yet: {why}")


def retain(transaction: Transaction, config: RotationConfig) -> tuple[str, ...]:
    """Remove archives beyond the configured retention from the work tree; history keeps them."""
    over = outdated_archives(transaction.names(ARCHIVE), config, transaction.now)
    if over:
        which = over[0] if len(over) == 1 else f"{len(over)} archives"
        message = op_message(Op.RETAIN, f"Take {which} out of the tree, as configured")
        transaction.commit(message, {f"{ARCHIVE}/{name}": None for name in over})
    return tuple(f"{ARCHIVE}/{name}" for name in over)


SENTENCES = {WEEKLY: 5, "monthly": 8}  # for a day in its week, for a week in its month
_ARCHIVE_NAME = re.compile(rf"{ARCHIVE}/memory_[^/]*\.md")
_DATED_HEADING = re.compile(r"^#{1,6} +([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])", re.MULTILINE)


class RotatedFile(Value):
    """An archive with the fields of the `memory-index.json` of older tools.

    `present` is whether the work tree still has it; if not, the numbers are from its last version in history. `days`
    are the first and last day of its entries that no earlier archive contains, None without dates.
    """

    path: str
    rotated_at: datetime
    commit: str
    present: bool
    size: int
    tokens: int
    lines: int
    days: tuple[str, str] | None
    summary: str
    summarized: bool


def rotations(store: Store) -> list[RotatedFile]:
    """Return every rotation that was not undone, oldest first, including archives that retention deleted."""
    commit = store.repository.resolve("HEAD")
    files = {file.path: file for file in store.repository.files(commit, ARCHIVE, SUMMARIES)}
    first = _first_additions(store, commit, {path: file.oid for path, file in files.items()})
    undone = undone_commits(store.repository.git, commit) if any(path not in files for path in first) else ()
    additions = [addition for addition in first.values() if addition.path in files or addition.commit.oid not in undone]
    additions.sort(key=lambda addition: (addition.commit.authored, addition.path))
    oids = [files[addition.path].oid if addition.path in files else addition.oid for addition in additions]
    seen: set[str] = set()
    return [
        _rotated(addition, data, seen, present=addition.path in files, summarized=summary_path(addition.path) in files)
        for addition, data in zip(additions, store.repository.blobs(oids), strict=True)
    ]


def _first_additions(store: Store, commit: str, present: Mapping[str, str]) -> dict[str, Addition]:
    """Return the commit that first added each archive, by path."""
    git = store.repository.git
    first = {item.path: item for item in additions(git, [commit], ARCHIVE) if _ARCHIVE_NAME.fullmatch(item.path)}
    for path in present:
        if path not in first and _ARCHIVE_NAME.fullmatch(path):  # a merge added it
            first[path] = Addition(log(git, commit, paths=[path])[-1], path, present[path])
    return first


def _rotated(addition: Addition, data: bytes, seen: set[str], *, present: bool, summarized: bool) -> RotatedFile:
    summary = summary_path(addition.path)
    return RotatedFile(
        path=addition.path,
        rotated_at=addition.commit.authored,
        commit=addition.commit.oid,
        present=present,
        size=len(data),
        tokens=tokens_of_size(len(data)),
        lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)),
        days=_days(data.decode("utf-8", "replace"), seen),
        summary=summary,
        summarized=summarized,
    )


def _days(text: str, seen: set[str]) -> tuple[str, str] | None:
    """Return the first and last day of an archive's entries that are not in `seen`, and add these to `seen`."""
    dated = {line["id"]: line["time"][:10] for line in re.finditer(FIRST_LINE, text) if " " in line["time"]}
    days = [day for entry, day in dated.items() if entry not in seen] or list(dated.values())
    seen.update(dated)
    days += _DATED_HEADING.findall(text)
    return (min(days), max(days)) if days else None


class StepResult(Value):
    """A step and its commit, None in a dry run."""

    step: ConsolidationStep
    commit: str | None


class Consolidated(Value):
    """The result of a consolidation; `kept` are due files that stay, as their consolidation was undone.

    `finished` is False if steps are left because it was late.
    """

    done: tuple[StepResult, ...]
    kept: tuple[str, ...]
    notices: tuple[str, ...]
    finished: bool


def consolidate_due(store: Store, *, dry_run: bool = False, late: Callable[[], bool] = lambda: False) -> Consolidated:
    """Do the due steps, the oldest first, one commit each, until it is `late`; copies of days are kept for searches."""
    undone = _kept(store) if due(store) else frozenset()
    steps: list[ConsolidationStep] = []
    paths = _logs(store) - undone
    while planned := _planned(store, paths):  # a week made of old days may be due for its month at once
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
            outcome = None if dry_run else transact(store, partial(_add, store, step=step), purpose="consolidate")
        except RefusedError as error:  # such as a link in place of a log; other steps continue
            notices[f"{step.period} is not consolidated: {error.sentences}"] = None
            continue
        notices |= dict.fromkeys(outcome.notices if outcome else ())
        if outcome is None or outcome.value:  # else another process did the step
            done.append(StepResult(step, outcome.commits[-1] if outcome else None))
    if done and not dry_run:
        keep_days(store)
    left = tuple(path for step in due(store) for path in step.sources if path in undone)
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
    commits = commits_with(store.repository, {Trailer.OP.value: Op.CONSOLIDATE.value}, undone=True)
    changes = (store.repository.changes(commit.parents[0], commit.oid) for commit in commits)
    return frozenset(change.path for of_commit in changes for change in of_commit if change.new is None)


def _add(store: Store, transaction: Transaction, step: ConsolidationStep) -> bool:
    """Add the commit of a step to a transaction; False if its files are gone."""
    documents: dict[str, bytes] = {}
    for path in step.sources:
        try:
            data = transaction.read(path)
        except RefusedError as error:  # such as a link in place of a daily log; the other days continue
            transaction.notices.append(f"{path} stays: {error.message}")
            continue
        if data is not None:
            documents[path] = data
    if not documents:
        return False
    step = ConsolidationStep(step.target, step.period, tuple(documents))
    most = SENTENCES[step.tier]
    before = transaction.read(step.target)
    data = consolidate(step, documents, before, partial(sentences, most), _decisions(known_facts(store)))
    changes: dict[str, bytes | None] = {step.target: data, **dict.fromkeys(documents)}
    period = "day" if step.tier == WEEKLY else "week"
    subject = f"Consolidate {count(len(step.sources), period)} into {step.period}"
    return transaction.commit(op_message(Op.CONSOLIDATE, subject, (Trailer.PERIOD, step.period)), changes)


def _decisions(facts: Iterable[Fact]) -> dict[str, str]:
    """Return a line for each decision learned from an exchange, by the tail of the exchange's id."""
    said = (fact for fact in facts if fact.kind in WEIGHED and fact.sources and not is_timed(fact.sources[0]))
    texts = ((fact, " ".join(fact.description.split())) for fact in said)
    return {tail_of(fact.sources[0]): f"**{fact.kind.value.title()}**: {text}" for fact, text in texts}


def sentences(most: int, text: str, period: str) -> str:
    """Summarize a part of memory in a few sentences, offline; each line of a day's log begins with the day."""
    day = "" if "W" in period else f"{period}: "
    return "\n".join(f"- {'' if line.startswith(day) else day}{line}" for line in digest(text, most))


def log_before(store: Store, transaction: Transaction, day: date) -> bytes | None:
    """Return the content of a consolidated day's log, None if there was none.

    Late deliveries and replays are compared with it, so that nothing is saved twice. Such a delivery begins a new log,
    which is consolidated in turn.
    """
    logs: Sequence[bytes] = [data for path in holders_of(day) if (data := transaction.read(path)) is not None]
    return _removed(store, tuple(logs), daily_path(day.isoformat())) if logs else None


@lru_cache(maxsize=64)  # a replay needs the same days for each turn
def _removed(store: Store, _held: tuple[bytes, ...], path: str) -> bytes | None:
    return b"\n".join(removed_versions(store.repository, path)) or None

"""Rotation (spec R2 to R4, R13): `memory.md` over its threshold becomes an archive, its tail a new `memory.md`."""

from __future__ import annotations

from datetime import timedelta

from gitmem.model.document.document import Document
from gitmem.model.fact.fact import is_fact_path
from gitmem.model.fact.file import parse_fact
from gitmem.model.fact.holds import in_force
from gitmem.model.fact.views.lines import SECTIONS, TOLD
from gitmem.model.fact.views.marks import marks_of, without_ended
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import ARCHIVE, MEMORY
from gitmem.model.tiers.limits import Limits, needs_rotation
from gitmem.model.tiers.rotation import outdated_archives, plan_rotation
from gitmem.store.headers.facts import known_facts
from gitmem.store.transaction.transact import transact
from gitmem.text.tokens import tokens_of_size
from gitmem.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitmem.config import RotationConfig
    from gitmem.model.fact.fact import Fact
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

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
    transaction.commit(message, {plan.archive: data, MEMORY: _holding(store, transaction, plan.remaining)})
    _summarize(transaction, plan.archive, text)
    return Check(tokens, limits.threshold, plan.archive, retain(transaction, config))


def _holding(store: Store, transaction: Transaction, text: str) -> bytes:
    """Return the rest of a document without old lines, which have no ids, of facts that have ended."""
    return without_ended(text, marks_of(_facts(store, transaction))).encode("utf-8", "surrogateescape")


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
    from gitmem.memory.summaries.offline import summarize_archive

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

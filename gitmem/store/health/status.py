"""Collect the state of a store for `gitmem status`.

Tested through `tests/cli/commands/test_status.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.git.upkeep.integrity import known_files
from gitmem.model.entry.entry import find_entries
from gitmem.model.entry.kinds import KNOWN_ISSUES
from gitmem.model.entry.log import find_section
from gitmem.model.message import Op
from gitmem.model.paths import ARCHIVE, MEMORY
from gitmem.model.tiers.limits import Limits
from gitmem.store.health.changed import check_documents
from gitmem.store.health.doctor import QUICK, examine
from gitmem.store.history.records import records
from gitmem.store.review.pairs import waiting_pairs
from gitmem.store.review.waiting import ToReview, documents_to_review
from gitmem.store.spool.hooks import HookSpool
from gitmem.store.sync.all import RemoteState, states
from gitmem.store.upkeep.findings import Finding, Level
from gitmem.text.tokens import tokens_of_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from gitmem.store.store import Store

_SAVES = (Op.SAVE.value, Op.TURN.value, Op.EXTRACT.value)
_RECENT = 50  # commits to search first for a save


@dataclass(frozen=True, slots=True)
class LastSave:
    """The newest save or captured turn: its commit, when that was made, and its subject."""

    commit: str
    at: datetime
    subject: str


@dataclass(frozen=True, slots=True)
class Known:
    """Numbers of sessions, facts, open issues in `memory.md`, and known errors."""

    sessions: int
    facts: int
    issues: int
    errors: int


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The fields of `gitmem status`.

    `unfinished` counts events of turns that are still running; `edited` are files with uncommitted edits by hand;
    `review` are documents with two versions, `contradictions` counts pairs of facts to decide;
    `attention` are findings of quick checks, except good ones.
    """

    store: str
    branch: str
    commits: int
    last_save: LastSave | None
    tokens: int
    threshold: int
    archives: int
    days: int
    newest_day: str | None
    waiting: int
    unfinished: int
    aside: int
    edited: tuple[str, ...]
    remotes: tuple[RemoteState, ...]
    review: tuple[ToReview, ...]
    contradictions: int
    attention: tuple[Finding, ...]
    knows: Known


def read_status(store: Store) -> StoreStatus:
    """Return the state of a store; change nothing."""
    git = store.repository.git
    born = git.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1, 128)).strip()
    names = known_files(git)
    days = sorted(name.rpartition("/")[2].removesuffix(".md") for name in names if name.startswith("daily/"))
    rotation = store.config.rotation
    hooks = HookSpool(store.private)
    edited = _edited(store)
    return StoreStatus(
        store=store.root,
        branch=_branch(store),
        commits=int(git.run("rev-list", "--count", "HEAD", "--")) if born else 0,
        last_save=_last_save(store) if born else None,
        tokens=tokens_of_size(len(_memory(store))),
        threshold=Limits(rotation.threshold_tokens, rotation.carryover_tokens).threshold,
        archives=sum(name.startswith(f"{ARCHIVE}/") for name in names),
        days=len(days),
        newest_day=days[-1] if days else None,
        waiting=len(store.spool.names()),
        unfinished=hooks.unfinished(),
        aside=len(store.spool.aside()) + len(hooks.aside()),
        edited=edited or (),
        remotes=tuple(states(store)) if born else (),
        review=tuple(documents_to_review(store)) if born else (),
        contradictions=len(waiting_pairs(store)) if born else 0,
        attention=_attention(store, names if edited is None else edited),
        knows=_known(store, names),
    )


def _known(store: Store, names: Iterable[str]) -> Known:
    listed = [name for name in names if name.endswith(".md")]
    body = _memory(store).decode("utf-8", "replace")
    section = find_section(body, KNOWN_ISSUES)
    issues = find_entries(body[section.body : section.end]) if section else ()
    return Known(
        sessions=sum(name.startswith("sessions/") for name in listed),
        facts=sum(name.startswith("facts/") for name in listed),
        issues=sum(1 for _ in issues),
        errors=sum(name.startswith("patterns/bugs/") for name in listed),
    )


def _branch(store: Store) -> str:
    output = store.repository.git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1))
    return output.decode("utf-8", "replace").strip() or "none"


def _last_save(store: Store) -> LastSave | None:
    found = [record for record in records(store, limit=_RECENT) if record.op in _SAVES]
    if not found:  # each walks all of history
        found = [record for op in _SAVES for record in records(store, op=op, limit=1)]
    newest = max(found, key=lambda record: record.committed, default=None)
    return None if newest is None else LastSave(newest.commit, newest.committed, newest.subject)


def _memory(store: Store) -> bytes:
    try:
        return store.read(MEMORY) or b""
    except GitmemError:  # a link, which `gitmem doctor` reports
        return b""


def _edited(store: Store) -> tuple[str, ...] | None:
    try:
        return tuple(store.files.edited())
    except GitmemError:  # conflicts in the index; a check reports the merge
        return None


def _attention(store: Store, edited: Iterable[str]) -> tuple[Finding, ...]:
    def check_documents_that_changed(store: Store) -> Iterator[Finding]:
        return check_documents(store, edited)

    found = examine(store, (*QUICK, check_documents_that_changed))
    return tuple(finding for finding in found if finding.level is not Level.OK)

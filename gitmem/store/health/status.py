"""Collect the state of a store for `gitmem status`: light imports, few git processes, which run beside all else.

Tested through `tests/cli/commands/test_status.py`.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.store.spool.hooks import HookSpool
from gitmem.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Self

    from gitmem.git.history.commits import Commit, EarlyLog
    from gitmem.store.health.examine import Check
    from gitmem.store.review.waiting import ToReview
    from gitmem.store.store import Store
    from gitmem.store.sync.all import RemoteState
    from gitmem.store.upkeep.findings import Finding

_SAVES = ("save", "turn", "extract")  # of gitmem.model.message.Op
_OP, _SESSION = "Gitmem-Op", "Gitmem-Session"  # as in gitmem.model.message.Trailer
HISTORY = "history"  # the check that finds a history which git cannot read
_MOST_FACTS = 100  # to parse; the next look reads more of them
_RECENT = 50  # commits to search first for a save and for a session


class LastSave(Value):
    """The newest save or captured turn: its commit, when that was made, and its subject."""

    commit: str
    at: datetime
    subject: str


class Known(Value):
    """Numbers of sessions, facts, open issues in `memory.md`, and known errors."""

    sessions: int
    facts: int
    issues: int
    patterns: int


class StoreStatus(Value):
    """The fields of `gitmem status`.

    `last_event` is when an agent's session was last heard of; `unfinished` counts events of turns that are still
    running; `edited` are files with uncommitted edits by hand; `review` are documents with two versions,
    `contradictions` counts pairs of facts to decide; `attention` are findings of quick checks, except good ones;
    `bytes` is what the store takes on the disk, without a project's repository.
    """

    store: str
    branch: str
    last_event: datetime | None
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
    bytes: int


class StatusReader:
    """Reads the state of a store, while git looks for edits and the last commits since the context was entered.

    It changes nothing of the memory.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open = ExitStack()

    def __enter__(self) -> Self:
        store = self._store
        self._tip = tip = _tip(store)
        self._look = self._open.enter_context(store.files.look(tip))
        self._look.start()
        from gitmem.git.history.commits import EarlyLog

        self._log = self._open.enter_context(EarlyLog(store.repository.git, tip or "HEAD", _RECENT))
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.close()

    def read(self) -> StoreStatus:
        """Return the state."""
        from gitmem.git.upkeep.integrity import tracked_files
        from gitmem.model.tiers.limits import Limits
        from gitmem.text.tokens import tokens_of_size

        store = self._store
        tracked, size = tracked_files(store.repository.git)
        edited = _edited(self._look.edited)
        gone = {path for path in edited or () if not os.path.lexists(f"{store.root}/{path}")}
        names = [path for path in dict.fromkeys([*tracked, *(edited or ())]) if path not in gone]
        days = sorted(name.rpartition("/")[2].removesuffix(".md") for name in names if name.startswith("daily/"))
        rotation, hooks, memory = store.config.rotation, HookSpool(store.private), _memory(store)
        contradictions = _contradictions(store, names)
        attention, review = _attention(store, names, names if edited is None else edited)
        recent, damage = _recent(self._log, self._tip)
        return StoreStatus(
            store=store.root,
            branch=_branch(store),
            last_event=_last_event(hooks, recent),
            last_save=_last_save(store, recent),
            tokens=tokens_of_size(len(memory)),
            threshold=Limits(rotation.threshold_tokens, rotation.carryover_tokens).threshold,
            archives=sum(name.startswith("archive/") for name in names),
            days=len(days),
            newest_day=days[-1] if days else None,
            waiting=len(store.spool.names()),
            unfinished=hooks.unfinished(),
            aside=len(store.spool.aside()) + len(hooks.aside()),
            edited=edited or (),
            remotes=_remotes(store) if recent else (),
            review=review,
            contradictions=contradictions,
            attention=(*damage, *attention),
            knows=_known(names, memory),
            bytes=_bytes(store, size),
        )


def read_status(store: Store) -> StoreStatus:
    """Return the state of a store."""
    with StatusReader(store) as reader:
        return reader.read()


def _bytes(store: Store, tracked: int | None) -> int:
    """Return what the store takes on the disk; `tracked` are the bytes of its files, if git knows them."""
    from gitmem.store.health.tree import bytes_below

    own = bytes_below(store.repository.layout.git_dir if store.own_repository else store.private)
    if tracked is not None:
        return own + tracked
    return bytes_below(store.root) if store.own_repository else bytes_below(store.root) + own


def _tip(store: Store) -> str:
    try:
        return store.tip or ""
    except GitmemError:  # in the middle of a merge
        return ""


def _known(names: Iterable[str], memory: bytes) -> Known:
    from gitmem.model.entry.entry import find_entries
    from gitmem.model.entry.kinds import KNOWN_ISSUES
    from gitmem.model.entry.log import find_section

    listed = [name for name in names if name.endswith(".md")]
    body = memory.decode("utf-8", "replace")
    section = find_section(body, KNOWN_ISSUES)
    issues = find_entries(body[section.body : section.end]) if section else ()
    return Known(
        sessions=sum(name.startswith("sessions/") for name in listed),
        facts=sum(name.startswith("facts/") for name in listed),
        issues=sum(1 for _ in issues),
        patterns=sum(name.startswith("patterns/bugs/") for name in listed),
    )


def _branch(store: Store) -> str:
    try:
        return store.repository.branch().removeprefix("refs/heads/")
    except GitmemError:
        output = store.repository.git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1))
        return output.decode("utf-8", "replace").strip() or "none"


def _recent(log: EarlyLog, tip: str) -> tuple[Sequence[Commit], tuple[Finding, ...]]:
    """Return the newest commits, none of a branch without a commit, and a finding if git cannot read them."""
    from gitmem.errors import GitFailedError
    from gitmem.store.upkeep.findings import Finding, Level

    try:
        return log.commits(), ()
    except GitFailedError as error:
        remedy = "Stop saving, and copy the folder. 'gitmem doctor' names what is damaged."
        damage = Finding(HISTORY, Level.PROBLEM, "Git cannot read the history.", remedy, (error.message,))
        return (), (damage,) if tip else ()


def _last_event(hooks: HookSpool, recent: Iterable[Commit]) -> datetime | None:
    """Return the time of the last event of a session, waiting or committed."""
    from gitmem.machine.moment import UTC, datetime, local

    times = [commit.authored for commit in recent if commit.value(_SESSION)]
    for name in hooks.names():
        try:
            modified = os.stat(os.path.join(hooks.folder, name)).st_mtime
        except OSError:  # it was committed meanwhile
            continue
        times.append(local(datetime.fromtimestamp(modified, UTC)))
    return max(times, default=None)


def _last_save(store: Store, recent: Sequence[Commit]) -> LastSave | None:
    found = [commit for commit in recent if commit.value(_OP) in _SAVES]
    if not found and len(recent) == _RECENT:  # walks all of history if there is none
        from gitmem.git.history.commits import newest_with

        found = newest_with(store.repository.git, recent[0].oid, _OP, _SAVES)
    newest = max(found, key=lambda commit: commit.committed, default=None)
    return None if newest is None else LastSave(newest.oid, newest.committed, newest.subject)


def _memory(store: Store) -> bytes:
    try:
        return store.read("memory.md") or b""
    except GitmemError:  # a link, which `gitmem doctor` reports
        return b""


def _edited(read: Callable[[], list[str]]) -> tuple[str, ...] | None:
    try:
        return tuple(read())
    except GitmemError:  # conflicts in the index; a check reports the merge
        return None


def _remotes(store: Store) -> tuple[RemoteState, ...]:
    if not store.has_remotes():
        return ()
    from gitmem.store.sync.all import states

    return tuple(states(store))


def _contradictions(store: Store, names: Iterable[str]) -> int:
    if not any(name.startswith("facts/") for name in names):
        return 0
    from gitmem.model.fact.holds import what_holds
    from gitmem.store.headers.cache import Bounds, never
    from gitmem.store.headers.facts import disputing_facts

    facts = disputing_facts(store, Bounds(_MOST_FACTS, never))
    return sum(len(status.disputes) for status in what_holds(facts).values()) // 2  # each names the other


def _attention(
    store: Store, names: Iterable[str], edited: Iterable[str]
) -> tuple[tuple[Finding, ...], tuple[ToReview, ...]]:
    """Return the findings of the quick checks, except good ones, and the documents to review."""
    from gitmem.store.health import quick
    from gitmem.store.health.attributes import attributes_finding
    from gitmem.store.health.changed import look
    from gitmem.store.health.examine import examine
    from gitmem.store.upkeep.findings import Level

    review: list[ToReview] = []

    def check_documents_that_changed(store: Store) -> Iterator[Finding]:
        looked = look(store, edited)
        review.extend(looked.review)
        return iter(looked.findings)

    def check_attributes(store: Store) -> Iterator[Finding]:
        yield attributes_finding(store, names)

    checks: tuple[Check, ...] = (*quick.CHECKS, check_attributes, check_documents_that_changed)
    found = examine(store, checks)
    return tuple(finding for finding in found if finding.level is not Level.OK), tuple(review)

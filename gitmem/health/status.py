"""The state of a store for `gitmem status`.

Tested through `tests/health/test_health_doctor.py` and `tests/cli/commands/test_status.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from gitmem.document.entry import KNOWN_ISSUES, find_entries, find_section, is_purged
from gitmem.document.ids import MEMORY, id_in
from gitmem.document.message import Trailer
from gitmem.errors import GitFailedError, GitmemError
from gitmem.git.log import Commit, EarlyLog, newest_with
from gitmem.git.packing import tracked_files
from gitmem.health.doctor import CHECKS, OPENED, check_attributes
from gitmem.health.document_checks import AT_ONCE, check_changed, no_facts, read_or_none, tip_of
from gitmem.history.records import record
from gitmem.history.review import ToReview
from gitmem.history.sessions import SAID, count_sessions, last_save
from gitmem.model.validity import fact_statuses
from gitmem.platform.machine import UTC, datetime, local
from gitmem.store.findings import Check, Finding, Level, bytes_below, examine
from gitmem.store.known_facts import facts_for
from gitmem.store.last_event import last_event_time
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.sync.states import RemoteState, states
from gitmem.text.words import tokens_of_size
from gitmem.values import Value

HISTORY = "history"  # the check that finds a history which git cannot read
_MOST_FACTS = 25  # to parse; the next call reads more of them
_MOST_SIZES = 500  # files to ask for their size
_RECENT_COMMITS = 50  # commits to search first for a save and for a session


class LastSave(Value):
    """The newest save or captured turn that was not undone: its commit, time and subject."""

    commit: str
    at: datetime
    subject: str


class MemoryCounts(Value):
    """Numbers of sessions, facts in force, open issues in `memory.md`, and known errors."""

    sessions: int
    facts: int
    issues: int
    patterns: int


class StoreStatus(Value):
    """The fields of `gitmem status`.

    `last_event` is the time of an agent's last event; `unfinished` counts events of running turns; `edited` are files
    with uncommitted edits by hand; `review` are documents with two versions; `contradictions` counts pairs of facts to
    decide; `attention` are findings of quick checks, except good ones; `bytes` is the store's size on disk, without a
    project's repository, estimated if it has over 500 files.
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
    knows: MemoryCounts
    bytes: int


@contextmanager
def status_reader(store: Store) -> Iterator[Callable[[], StoreStatus]]:
    """Start git to find edits and commits, and yield a function that returns the store's state; changes nothing."""
    tip, accepted = tip_of(store), store.acceptance.is_accepted()
    looks = accepted and store.documents == store.root
    log = EarlyLog(store.repository.git, tip or "HEAD", _RECENT_COMMITS)
    with store.files.look(tip) as looked, log:
        if looks:
            looked.start()
        yield lambda: _status(store, _edited(looked.edited) if looks else (), *_recent(log, tip), accepted=accepted)


def _status(
    store: Store,
    edited: tuple[str, ...] | None,
    recent: Sequence[Commit],
    damage: tuple[Finding, ...],
    *,
    accepted: bool,
) -> StoreStatus:
    tracked = tracked_files(store.repository.git) if store.documents == store.root else _names_at_tip(store)
    missing = {path for path in edited or () if not os.path.lexists(f"{store.root}/{path}")}
    names = [path for path in dict.fromkeys([*tracked, *edited]) if path not in missing] if edited else tracked
    listed = "\0".join(["", *names])  # searched in one go: a store may have 50,000
    days = sorted(day.removesuffix(".md") for day in re.findall(r"\0daily/(?:[^\0]*/)?([^\0/]*)", listed))
    rotation, hooks, memory = store.config.rotation, HookSpool(store.private), read_or_none(store, MEMORY) or b""
    unsure = names if edited is None else edited
    attention, review = _attention(store, names, unsure, accepted=accepted)
    contradictions, ended = _facts(store, unsure) if "\0facts/" in listed and accepted else (0, 0)
    return StoreStatus(
        store=store.root,
        branch=_branch(store),
        last_event=_last_event(store.private, hooks),
        last_save=_last_save(store, recent),
        tokens=tokens_of_size(len(memory)),
        threshold=rotation.threshold,
        archives=listed.count("\0archive/"),
        days=len(days),
        newest_day=days[-1] if days else None,
        waiting=len(store.spool.names()),
        unfinished=hooks.unfinished(),
        aside=len(store.spool.aside()) + len(hooks.aside()),
        edited=edited or (),
        remotes=tuple(states(store)) if recent and store.has_remotes() else (),
        review=review,
        contradictions=contradictions,
        attention=(*damage, *attention),
        knows=_known(store, listed, memory, ended + len(no_facts(store, re.findall(r"\0(facts/[^\0]*)", listed)))),
        bytes=_bytes(store, names),
    )


def _names_at_tip(store: Store) -> list[str]:
    return [file.path for file in store.repository.files(store.tip)] if store.tip else []


def _bytes(store: Store, names: Sequence[str]) -> int:
    """Return the bytes that the store takes on the disk, estimated from a sample if it has many files."""
    own = bytes_below(store.repository.layout.git_dir if store.has_separate_repository else store.private)
    step = len(names) // _MOST_SIZES + 1
    total = 0
    for name in names[::step]:
        with suppress(OSError):  # it was removed meanwhile
            total += os.lstat(f"{store.documents}/{name}").st_size
    return own + total * step


def _known(store: Store, listed: str, memory: bytes, no_facts: int) -> MemoryCounts:
    body = memory.decode("utf-8", "replace")
    section = find_section(body, KNOWN_ISSUES)
    sessions = 0  # if git cannot read the history, which a finding reports
    with suppress(GitmemError):
        sessions = count_sessions(store)
    issues = find_entries(body[section.body : section.end]) if section else ()
    return MemoryCounts(
        sessions=sessions,
        facts=listed.count("\0facts/") - no_facts,
        issues=sum(not is_purged(issue.entry.text) for issue in issues),
        patterns=listed.count("\0patterns/bugs/"),
    )


def _branch(store: Store) -> str:
    try:
        return store.repository.branch().removeprefix("refs/heads/")
    except GitmemError:
        output = store.repository.git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1))
        return output.decode("utf-8", "replace").strip() or "none"


def _recent(log: EarlyLog, tip: str) -> tuple[Sequence[Commit], tuple[Finding, ...]]:
    """Return the newest commits of the branch, if any, and a finding if git cannot read them."""
    try:
        return log.commits(), ()
    except GitFailedError as error:
        remedy = "Stop saving, and copy the folder. 'gitmem doctor' names what is damaged."
        damage = Finding(HISTORY, Level.PROBLEM, "Git cannot read the history.", remedy, (error.message,))
        return (), (damage,) if tip else ()


def _last_event(private: str, hooks: HookSpool) -> datetime | None:
    """Return the time of the last event of a session on this machine, waiting or committed."""
    last = last_event_time(private)
    for name in hooks.names():
        with suppress(OSError):  # it was committed meanwhile
            last = max(last, os.stat(os.path.join(hooks.folder, name)).st_mtime)
    return local(datetime.fromtimestamp(last, UTC)) if last else None


def _last_save(store: Store, recent: Sequence[Commit]) -> LastSave | None:
    newest = last_save(store, map(record, recent))
    if newest is None and len(recent) == _RECENT_COMMITS:  # walks all of history if there is none
        found = newest_with(store.repository.git, recent[0].oid, Trailer.OP.value, SAID)
        newest = last_save(store, map(record, found))
    return LastSave(newest.commit, newest.committed, newest.subject) if newest else None


def _edited(read: Callable[[], list[str]]) -> tuple[str, ...] | None:
    try:
        return tuple(read())
    except GitmemError:  # conflicts in the index; a check reports the merge
        return None


def _facts(store: Store, edited: Iterable[str]) -> tuple[int, int]:
    """Return the number of pairs of contradicting facts, and of facts no longer in force."""
    shown = {id_in(name) for name in edited if name.startswith("facts/")}
    statuses = fact_statuses(facts_for(store, shown, hurried=True, most=_MOST_FACTS)).values()
    ended = sum(not status.is_in_force for status in statuses)
    return sum(len(status.disputes) for status in statuses) // 2, ended  # each names the other


def _attention(
    store: Store, names: Sequence[str], edited: Iterable[str], *, accepted: bool
) -> tuple[tuple[Finding, ...], tuple[ToReview, ...]]:
    """Return the findings of the quick checks, except good ones, and the documents to review."""
    review: list[ToReview] = []

    def check_documents_that_changed(store: Store) -> Iterator[Finding]:
        looked = check_changed(store, edited, most=AT_ONCE if len(names) <= AT_ONCE else 0)
        review.extend(looked.review)
        return iter(looked.findings)

    checks: tuple[Check, ...] = (*CHECKS, partial(check_attributes, names=names), check_documents_that_changed)
    findings = examine(store, checks if accepted else OPENED)
    return tuple(finding for finding in findings if finding.level is not Level.OK), tuple(review)

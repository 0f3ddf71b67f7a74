"""The state of a store for `gitmem status`: cheap checks that write nothing, and figures.

Tested through `tests/store/test_health_doctor.py` and `tests/cli/commands/test_status.py`.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.config import shown, value_of
from gitmem.errors import GitFailedError, GitmemError, RefusedError
from gitmem.store.accepted import NotAcceptedError
from gitmem.store.findings import (
    MAKE_ROOM,
    FailureLog,
    Finding,
    Level,
    bytes_below,
    crowded,
    examine,
    is_due,
)
from gitmem.store.hook_spool import HookSpool
from gitmem.text.sentences import age, count
from gitmem.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Self

    from gitmem.config import Config
    from gitmem.git.log import Commit, EarlyLog
    from gitmem.history.review import ToReview
    from gitmem.store.findings import Check
    from gitmem.store.store import Store
    from gitmem.sync.sync import RemoteState


STATE = "purged.json"  # as in gitmem.purge.records
_PATIENCE = 600.0  # seconds in the spool before a warning
_RECENT = timedelta(days=7)
_SHOWN = 5
_SOON_PACKED = 50  # spare packs that may wait for the next save that starts the packing


def check_branch(store: Store) -> Iterator[Finding]:
    """Report the branch; an unfinished merge or rebase raises an error, which becomes the finding."""
    branch = store.repository.branch()
    tip = store.repository.tip(branch)
    name = branch.removeprefix("refs/heads/")
    if tip is None:
        message = f"The branch {name} has no commit."
        yield Finding("branch", Level.WARNING, message, "'gitmem init' completes the store.")
    else:
        yield Finding("branch", Level.OK, f"On the branch {name}, at {tip[:10]}.")


def check_acceptance(store: Store) -> Iterator[Finding]:
    """Report a store that the person did not say yes to."""
    try:
        store.acceptance.check()
    except NotAcceptedError as error:
        yield Finding("trusted", Level.PROBLEM, error.message, error.remedy)
    else:
        yield Finding("trusted", Level.OK, "Made, cloned or accepted on this machine.")


def check_config(store: Store) -> Iterator[Finding]:
    """Report invalid settings."""
    problems = store.config.problems
    if problems:
        remedy = "Correct the file; 'gitmem config' lists the settings in force."
        yield Finding("settings", Level.PROBLEM, "Some settings are invalid and not used.", remedy, problems)
    else:
        yield Finding("settings", Level.OK, "All settings are valid.")
    if store.config.untrusted:
        yield _untrusted(store.config)


def _untrusted(config: Config) -> Finding:
    """Return the finding on values that need the person's consent."""
    details = tuple(
        f"{item.key}: {shown(item.value)} in {item.file}; {shown(value_of(config, item.key))} is used"
        for item in config.untrusted
    )
    message = f"{count(len(details), 'setting')} of the store not trusted, so not used."
    remedy = "Check them, and agree to those you want: 'gitmem config trust [KEY]'."
    return Finding("trust", Level.WARNING, message, remedy, details)


def check_spool(store: Store) -> Iterator[Finding]:
    """Report events in the spool that are not committed yet, and events that could not be parsed."""
    hooks = HookSpool(store.private)
    waiting, aside = store.spool.names(), [*store.spool.aside(), *hooks.aside()]
    if waiting:
        since = store.context.clock().timestamp() - _arrival(waiting[0])
        level = Level.WARNING if since > _PATIENCE else Level.NOTE
        message = f"{count(len(waiting), 'event')} not committed yet, the oldest for {age(since)}."
        yield Finding("waiting", level, message, "Any gitmem command commits them, or says why it cannot.")
    else:
        yield Finding("waiting", Level.OK, "Nothing waits to be committed.")
    if aside:
        folder = os.path.join((store.spool if store.spool.aside() else hooks).folder, "aside")
        message = f"{count(len(aside), 'event')} could not be parsed and is kept in {folder}."
        message = message if len(aside) == 1 else message.replace(" is kept", " are kept")
        remedy = "Save what you need from there, then delete the rest."
        yield Finding("aside", Level.WARNING, message, remedy, tuple(aside[:_SHOWN]))


def _arrival(name: str) -> float:
    """Return when an event arrived, in seconds since 1970, by its name."""
    digits = name.partition("-")[0]
    return int(digits) / 1e9 if digits.isascii() and digits.isdecimal() else 0.0


def check_log(store: Store) -> Iterator[Finding]:
    """Report failures of the last seven days (spec R12)."""
    journal = FailureLog(store.private)
    since = store.context.clock() - _RECENT
    recent = [failure for failure in journal.failures() if failure.at >= since]
    if not recent:
        yield Finding("log", Level.OK, "Nothing failed in the last seven days.")
        return
    details = tuple(
        f"{failure.at:%Y-%m-%d %H:%M} {failure.command}: {' '.join(failure.message.split())}"
        for failure in recent[-_SHOWN:]
    )
    message = f"{count(len(recent), 'failure')} in the last seven days; the newest:"
    yield Finding("log", Level.WARNING, message, f"All failures, with tracebacks: {journal.path}", details)


def check_maintenance(store: Store) -> Iterator[Finding]:
    """Report whether the repository should be packed."""
    from gitmem.git.packing import loose_estimate, pack_names

    common, spare = store.repository.layout.common_dir, store.spare_packs()
    state = f"{count(len(pack_names(common)), 'pack')}, about {count(loose_estimate(common), 'loose object')}"
    if not store.own_repository:
        yield Finding("packing", Level.OK, f"{state}; the repository is the project's, so git packs it.")
    elif not is_due(store):
        yield Finding("packing", Level.OK, f"{state}.")
    elif store.config.maintenance.automatic and 0 < spare <= _SOON_PACKED:
        yield Finding("packing", Level.OK, f"{state}; gitmem packs them in the background.")
    else:
        yield Finding("packing", Level.NOTE, f"{state}: saves become slower.", "gitmem maintain")


def check_size(store: Store) -> Iterator[Finding]:
    """Report a memory that other machines will soon refuse."""
    full = crowded(store)
    if full:
        yield Finding("size", Level.WARNING, full, MAKE_ROOM)


def check_purges(store: Store) -> Iterator[Finding]:
    """Report purges that wait for an answer, and invalid files in the folder of their records."""
    if not os.path.exists(os.path.join(store.private, STATE)):
        yield Finding("purges", Level.OK, "No purge waits for an answer.")
        return
    from gitmem.purge.records import read_state

    state = read_state(store.private)
    waiting = state.waiting
    if waiting:
        from gitmem.purge.purge import waiting_purges

        asked = waiting_purges(store)
        details = tuple(f"{one.path}: {one.why}" for one in asked[:_SHOWN])
        message = f"{count(len(waiting), 'purge')} of other machines, not followed before you answer."
        remedy = f"'gitmem review {asked[0].path}' shows what it takes out, and how to answer."
        yield Finding("purges", Level.WARNING, message, remedy, details)
    if state.aside:
        message = f"{count(len(state.aside), 'file')} in purged/ not valid as records of purges; ignored."
        yield Finding("purges", Level.WARNING, message, "Remove them if nobody needs them.", state.aside[:_SHOWN])
    if state.told:
        message = f"{count(len(state.told), 'purge')} of other machines followed here; they removed:"
        yield Finding("purges", Level.NOTE, message, "'gitmem log --op purge' lists all.", state.told[-_SHOWN:])
    elif not waiting and not state.aside:
        refused = f" {count(len(state.refused), 'purge')} refused." if state.refused else ""
        yield Finding("purges", Level.OK, f"No purge waits for an answer.{refused}")


def check_signatures(store: Store) -> Iterator[Finding]:
    """Report what a plain `git pull` brought though nobody signed it, where `remote.trust` is `signed`."""
    if store.config.remote.trust == "signed" and store.tip and store.has_remotes():
        from gitmem.sync.remotes import remotes
        from gitmem.sync.signed import check_pulled

        for remote in remotes(store):
            try:
                check_pulled(store, remote, store.tip)
            except RefusedError as error:
                yield Finding("signatures", Level.WARNING, error.message, error.remedy)


def check_changes(store: Store) -> Iterator[Finding]:
    """Report rules, preferences and decisions that others changed, until the person answers."""
    from gitmem.history.changes_by_others import others_changes

    waiting = others_changes(store)
    if waiting:
        message = f"{count(len(waiting), 'fact')} of yours changed by others."
        details = tuple(f"{one.id}: {one}" for one in [*waiting.values()][:_SHOWN])
        yield Finding("changes", Level.WARNING, message, "'gitmem review' accepts or refuses each.", details)
    else:
        yield Finding("changes", Level.OK, "Nobody changed your rules, preferences and decisions.")


CHECKS = (
    check_acceptance,
    check_branch,
    check_config,
    check_size,
    check_spool,
    check_log,
    check_maintenance,
    check_purges,
    check_changes,
    check_signatures,
)


# The checks of a store that nobody accepted here: a few objects can make a tree without end, so they read none.
OPENED = (check_acceptance, check_branch, check_config)


def is_accepted(store: Store) -> bool:
    """Return whether the store was made, cloned or accepted on this machine."""
    try:
        store.acceptance.check()
    except NotAcceptedError:
        return False
    return True


_SAVES = ("save", "turn", "extract")  # of gitmem.document.message.Op
_OP, _SESSION = "Gitmem-Op", "Gitmem-Session"  # as in gitmem.document.message.Trailer
HISTORY = "history"  # the check that finds a history which git cannot read
_MOST_FACTS = 25  # to parse; the next look reads more of them
_MOST_SIZES = 500  # files to ask for their size
_RECENT_COMMITS = 50  # commits to search first for a save and for a session


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
    `bytes` is what the store takes on the disk, without a project's repository; estimated if it has over 500 files.
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
        self._accepted = is_accepted(store)
        if self._accepted:
            self._look.start()
        from gitmem.git.log import EarlyLog

        self._log = EarlyLog(store.repository.git, tip or "HEAD", _RECENT_COMMITS)
        self._open.enter_context(self._log)
        return self

    def __exit__(self, *exc: object) -> None:
        self._open.close()

    def read(self) -> StoreStatus:
        """Return the state."""
        from gitmem.archives.plans import Limits
        from gitmem.git.packing import tracked_files
        from gitmem.text.stems import tokens_of_size

        store = self._store
        tracked = tracked_files(store.repository.git)
        edited = _edited(self._look.edited) if self._accepted else ()
        gone = {path for path in edited or () if not os.path.lexists(f"{store.root}/{path}")}
        names = [path for path in dict.fromkeys([*tracked, *edited]) if path not in gone] if edited else tracked
        listed = "\0".join(["", *names])  # searched in one go: a store may have 50,000
        days = sorted(day.removesuffix(".md") for day in re.findall(r"\0daily/(?:[^\0]*/)?([^\0/]*)", listed))
        rotation, hooks, memory = store.config.rotation, HookSpool(store.private), _memory(store)
        contradictions = _contradictions(store, names if edited is None else edited) if "\0facts/" in listed else 0
        attention, review = _attention(store, names, names if edited is None else edited, accepted=self._accepted)
        recent, damage = _recent(self._log, self._tip)
        return StoreStatus(
            store=store.root,
            branch=_branch(store),
            last_event=_last_event(hooks, recent),
            last_save=_last_save(store, recent),
            tokens=tokens_of_size(len(memory)),
            threshold=Limits(rotation.threshold_tokens, rotation.carryover_tokens).threshold,
            archives=listed.count("\0archive/"),
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
            knows=_known(listed, memory),
            bytes=_bytes(store, names),
        )


def _bytes(store: Store, names: Sequence[str]) -> int:
    """Return what the store takes on the disk; that of many files is estimated from each n-th of them."""
    own = bytes_below(store.repository.layout.git_dir if store.own_repository else store.private)
    step = len(names) // _MOST_SIZES + 1
    total = 0
    for name in names[::step]:
        with suppress(OSError):  # it was removed meanwhile
            total += os.lstat(f"{store.root}/{name}").st_size
    return own + total * step


def _tip(store: Store) -> str:
    try:
        return store.tip or ""
    except GitmemError:  # in the middle of a merge
        return ""


def _known(listed: str, memory: bytes) -> Known:
    from gitmem.document.entry import KNOWN_ISSUES, find_entries, find_section

    body = memory.decode("utf-8", "replace")
    section = find_section(body, KNOWN_ISSUES)
    issues = find_entries(body[section.body : section.end]) if section else ()
    return Known(
        sessions=listed.count("\0sessions/"),
        facts=listed.count("\0facts/"),
        issues=sum(1 for _ in issues),
        patterns=listed.count("\0patterns/bugs/"),
    )


def _branch(store: Store) -> str:
    try:
        return store.repository.branch().removeprefix("refs/heads/")
    except GitmemError:
        output = store.repository.git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1))
        return output.decode("utf-8", "replace").strip() or "none"


def _recent(log: EarlyLog, tip: str) -> tuple[Sequence[Commit], tuple[Finding, ...]]:
    """Return the newest commits, none of a branch without a commit, and a finding if git cannot read them."""
    try:
        return log.commits(), ()
    except GitFailedError as error:
        remedy = "Stop saving, and copy the folder. 'gitmem doctor' names what is damaged."
        damage = Finding(HISTORY, Level.PROBLEM, "Git cannot read the history.", remedy, (error.message,))
        return (), (damage,) if tip else ()


def _last_event(hooks: HookSpool, recent: Iterable[Commit]) -> datetime | None:
    """Return the time of the last event of a session, waiting or committed."""
    from gitmem.platform.clock import UTC, datetime, local

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
    if not found and len(recent) == _RECENT_COMMITS:  # walks all of history if there is none
        from gitmem.git.log import newest_with

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
    from gitmem.sync.sync import states

    return tuple(states(store))


def _contradictions(store: Store, edited: Iterable[str]) -> int:
    from gitmem.facts.validity import what_holds
    from gitmem.store.headers import Bounds, are_undisputed, disputing_facts, never

    if are_undisputed(store) and not any(name.startswith("facts/") for name in edited):
        return 0
    facts = disputing_facts(store, Bounds(_MOST_FACTS, never))
    return sum(len(status.disputes) for status in what_holds(facts).values()) // 2  # each names the other


def _attention(
    store: Store, names: Sequence[str], edited: Iterable[str], *, accepted: bool
) -> tuple[tuple[Finding, ...], tuple[ToReview, ...]]:
    """Return the findings of the quick checks, except good ones, and the documents to review."""
    from gitmem.store.document_checks import AT_ONCE, attributes_finding, look

    review: list[ToReview] = []

    def check_documents_that_changed(store: Store) -> Iterator[Finding]:
        looked = look(store, edited, most=AT_ONCE if len(names) <= AT_ONCE else 0)
        review.extend(looked.review)
        return iter(looked.findings)

    def check_attributes(store: Store) -> Iterator[Finding]:
        yield attributes_finding(store, names)

    checks: tuple[Check, ...] = (*CHECKS, check_attributes, check_documents_that_changed)
    found = examine(store, checks if accepted else OPENED)
    return tuple(finding for finding in found if finding.level is not Level.OK), tuple(review)

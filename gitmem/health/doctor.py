"""Check a store, its tools, repository, locks, attributes and private folder.

`CHECKS` are the quick ones, which `gitmem status` also runs. They write nothing, and a failing check stops no other.
Tested through `tests/health/test_health_doctor.py`, too.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from gitmem.config.read import shown, value_of
from gitmem.document.ids import FORMAT
from gitmem.errors import BusyError, RefusedError
from gitmem.git.packing import damages, known_files, lock_files, loose_estimate, missing_of, pack_names, staged_paths
from gitmem.git.process import OLDEST_GIT, git_version
from gitmem.git.trust import GITMEM
from gitmem.health.access import check_access, check_layer, check_private_folder
from gitmem.health.document_checks import (
    ATTRIBUTES,
    MODULES,
    attributes_finding,
    check_changed,
    check_copies,
    check_facts,
    check_names,
    check_secrets,
    is_broken,
)
from gitmem.history.authors import Authors
from gitmem.history.authorship import Origin
from gitmem.history.changes_by_others import others_changes
from gitmem.llm.ask import make_model
from gitmem.llm.protocol import ProviderError
from gitmem.platform.barred import barred, first_barred
from gitmem.platform.machine import datetime, timedelta
from gitmem.platform.safe_open import drop_file
from gitmem.purge.records import read_state, record_path
from gitmem.store.copies import find_copies
from gitmem.store.findings import SLOW, Check, FailureLog, Finding, Level, LoggedFailure, bytes_below, judged
from gitmem.store.known_facts import known_facts
from gitmem.store.maintenance import MAKE_ROOM, crowded, is_due
from gitmem.store.merge_driver import merges_pulls
from gitmem.store.remotes import remotes
from gitmem.store.spool import HookSpool
from gitmem.store.store import FORMAT_VERSION, READ_ONLY, Store, format_version
from gitmem.sync.guard import check_pulled
from gitmem.tell.usage_log import START, read_usage
from gitmem.text.sentences import age, count

_PATIENCE = 600.0  # seconds in the spool before a warning
_RECENT = timedelta(days=7)
_SHOWN = 5
_SKEW = timedelta(minutes=1)  # tolerated difference between machines' clocks
_QUICK_STARTS = 3  # after which a slow start is past
_SAME_START = timedelta(seconds=2)  # at most between its delay and the note of what it was shown
_SOON_PACKED = 50  # spare packs that are no problem, as the next save starts the packing


def check_branch(store: Store) -> Iterator[Finding]:
    """Report the branch; an unfinished merge or rebase raises an error, which becomes the finding."""
    branch = store.repository.branch()
    tip = store.repository.tip(branch)
    name = branch.removeprefix("refs/heads/")
    problem = Finding(
        "branch", Level.WARNING, f"The branch {name} has no commit.", "'gitmem init' completes the store."
    )
    yield judged(problem, f"On the branch {name}, at {(tip or '')[:10]}.", is_broken=tip is None)


def check_trusted(store: Store) -> Iterator[Finding]:
    """Check that the user accepted the store; report GITMEM_READONLY. A refusal becomes the finding."""
    if store.read_only:
        yield Finding("readonly", Level.NOTE, f"{READ_ONLY} is set: nothing is recorded, saved or sent.")
    store.acceptance.check()
    yield Finding("trusted", Level.OK, "Made, cloned or accepted on this machine.")


def check_config(store: Store) -> Iterator[Finding]:
    """Report invalid settings."""
    config, message = store.config, "Some settings are invalid and not used."
    remedy = "Correct the file; 'gitmem config' lists the settings in force."
    problem = Finding("settings", Level.PROBLEM, message, remedy, config.problems)
    yield judged(problem, "All settings are valid.", is_broken=config.problems)
    details = tuple(
        f"{item.key}: {shown(item.value)} in {item.file}; {shown(value_of(config, item.key))} is used"
        for item in config.untrusted
    )
    if details:
        message = f"{count(len(details), 'setting')} of the store not trusted, so not used."
        remedy = "Check them, and agree to those you want: 'gitmem config trust [KEY]'."
        yield Finding("trust", Level.WARNING, message, remedy, details)


def check_spool(store: Store) -> Iterator[Finding]:
    """Report events in the spool that are not committed yet, and what could not be read."""
    hooks = HookSpool(store.private)
    waiting, aside = store.spool.names(), [*store.spool.aside(), *hooks.aside()]
    if waiting:
        digits = waiting[0].partition("-")[0]  # of its name: nanoseconds since 1970
        arrived = int(digits) / 1e9 if digits.isascii() and digits.isdecimal() else 0.0
        since = store.context.clock().timestamp() - arrived
        level = Level.WARNING if since > _PATIENCE else Level.NOTE
        message = f"{count(len(waiting), 'event')} not committed yet, the oldest for {age(since)}."
        yield Finding("waiting", level, message, "Any gitmem command commits them, or says why it cannot.")
    else:
        yield Finding("waiting", Level.OK, "Nothing waits to be committed.")
    if aside:
        folder = os.path.join((store.spool if store.spool.aside() else hooks).folder, "aside")
        message = f"{count(len(aside), 'file')} that could not be read, kept in {folder}."
        remedy = "Save what you need from there, then delete the rest."
        yield Finding("aside", Level.WARNING, message, remedy, tuple(aside[:_SHOWN]))


def check_log(store: Store) -> Iterator[Finding]:
    """Report failures of the last seven days."""
    journal = FailureLog(store.private)
    since = store.context.clock() - _RECENT
    logged = [failure for failure in journal.failures() if failure.at >= since]
    # A session may end several times, and is compared each time: the last one counts.
    if explained := {failure.message.rpartition(": ")[0]: failure for failure in logged if failure.is_explained}:
        message = (
            f"{count(len(explained), 'session')} with messages that are not in the day's log, each with its reason."
        )
        newest = [*explained.values()][-_SHOWN:]
        yield Finding("words", Level.NOTE, message, "", tuple(failure.message for failure in newest))
    recent = _without_past_delays(store, [failure for failure in logged if not failure.is_explained])
    alike: dict[str, list[LoggedFailure]] = {}
    for failure in reversed(recent):
        alike.setdefault(f"{failure.command}: {' '.join(failure.message.split())}", []).append(failure)
    details = tuple(
        f"{same[0].at:%Y-%m-%d %H:%M} {line}{f' ({len(same)} times)' if len(same) > 1 else ''}"
        for line, same in [*alike.items()][:_SHOWN][::-1]
    )
    message = f"{count(len(recent), 'failure')} in the last seven days; the newest:"
    remedy = f"All failures, with tracebacks: {journal.path} (delete it to dismiss them)"
    problem = Finding("log", Level.WARNING, message, remedy, details)
    yield judged(problem, "Nothing failed in the last seven days.", is_broken=recent)


def _without_past_delays(store: Store, failures: list[LoggedFailure]) -> list[LoggedFailure]:
    """Return the failures without slow starts of sessions that quick ones followed."""
    slow = [failure.at for failure in failures if SLOW in failure.message]
    given = read_usage(store.private, slow[0]).given if slow else ()
    starts = [text.at for text in given if text.occasion == START]

    def is_past(at: datetime) -> bool:
        return sum(start > at + _SAME_START for start in starts) >= _QUICK_STARTS

    return [failure for failure in failures if SLOW not in failure.message or not is_past(failure.at)]


def check_model(store: Store) -> Iterator[Finding]:
    """Report a model in the settings that cannot be asked on this machine."""
    try:
        make_model(store.config.summary, store.context.environ)
    except ProviderError as error:
        problem = f"No model can be asked (summary.provider is {store.config.summary.provider}): {error}"
        off = "to ask none, 'gitmem config --user summary.provider offline'"
        yield Finding("model", Level.WARNING, problem, f"{error.remedy} Or, {off}.".lstrip())


def check_maintenance(store: Store) -> Iterator[Finding]:
    """Report a repository that should be packed, unless the next save packs it in the background."""
    common, spare = store.repository.layout.common_dir, store.spare_packs()
    state = f"{count(len(pack_names(common)), 'pack')}, about {count(loose_estimate(common), 'loose object')}"
    if is_due(store) and not (store.config.maintenance.automatic and 0 < spare <= _SOON_PACKED):
        yield Finding("packing", Level.NOTE, f"{state}: saves become slower.", "gitmem maintain")
    else:
        project_note = "" if store.has_separate_repository else "; the repository is the project's, so git packs it"
        yield Finding("packing", Level.OK, f"{state}{project_note}.")


def check_size(store: Store) -> Iterator[Finding]:
    """Report a memory that other machines will soon refuse."""
    if full := crowded(store):
        yield Finding("size", Level.WARNING, full, MAKE_ROOM)


def check_purges(store: Store) -> Iterator[Finding]:
    """Report purges that wait for an answer, and invalid files in the folder of their records."""
    state = read_state(store.private)
    waiting = sorted((record_path(key), why) for key, why in state.waiting.items())
    if waiting:
        details = tuple(f"{path}: {why}" for path, why in waiting[:_SHOWN])
        message = f"{count(len(waiting), 'purge')} of other machines, not applied before you answer."
        remedy = f"'gitmem review {waiting[0][0]}' shows what it takes out, and how to answer."
        yield Finding("purges", Level.WARNING, message, remedy, details)
    if state.aside:
        message = f"{count(len(state.aside), 'file')} in purged/ not valid as records of purges; ignored."
        yield Finding("purges", Level.WARNING, message, "Remove them if nobody needs them.", state.aside[:_SHOWN])
    if state.told:
        message = f"{count(len(state.told), 'purge')} of other machines carried out here; they removed:"
        yield Finding("purges", Level.NOTE, message, "'gitmem log --op purge' lists all.", state.told[-_SHOWN:])
    elif not waiting and not state.aside:
        names = ", ".join(map(record_path, state.refused[-_SHOWN:]))
        refused = f" {count(len(state.refused), 'purge')} refused: {names}." if names else ""
        yield Finding("purges", Level.OK, f"No purge waits for an answer.{refused}")


def check_signatures(store: Store) -> Iterator[Finding]:
    """Report unsigned commits that a plain `git pull` brought, where `remote.trust` is `signed`."""
    if store.config.remote.trust == "signed" and store.tip and store.has_remotes():
        for remote in remotes(store):
            try:
                check_pulled(store, remote, store.tip)
            except RefusedError as error:
                yield Finding("signatures", Level.WARNING, error.message, error.remedy)


def check_changes(store: Store) -> Iterator[Finding]:
    """Report rules, preferences and decisions that others changed, until the user answers."""
    waiting = others_changes(store)
    message = f"{count(len(waiting), 'fact')} of yours changed by others."
    details = tuple(f"{change.id}: {change}" for change in [*waiting.values()][:_SHOWN])
    problem = Finding("changes", Level.WARNING, message, "'gitmem review' accepts or refuses each.", details)
    yield judged(problem, "Nobody changed your rules, preferences and decisions.", is_broken=waiting)


def check_readable(store: Store) -> Iterator[Finding]:
    """Report the first unreadable file or folder of the store, which no session is shown."""
    if error := barred(store.spool.folder) or first_barred(store.root):
        yield Finding("access", Level.PROBLEM, error.message, error.remedy)


CHECKS = (
    check_trusted,
    check_access,
    check_readable,
    check_branch,
    check_config,
    check_size,
    check_spool,
    check_log,
    check_model,
    check_maintenance,
    check_purges,
    check_changes,
    check_signatures,
)
# The checks of a store not accepted here read no trees, since a few objects can form an endless one.
OPENED = (check_trusted, check_branch, check_config)


def check_attributes(store: Store, names: Sequence[str] = ()) -> Iterator[Finding]:
    """Report attributes that are neither gitmem's nor harmless, and a list of submodules; `names` are known files."""
    listed = names or known_files(store.repository.git, f":(glob)**/{ATTRIBUTES}", f":(top){MODULES}")
    yield attributes_finding(store, listed)


_OLD_LOCK = 60.0  # seconds; git holds a lock for milliseconds, or while an editor is open
_LARGE = 32 << 20  # bytes of packs; of more, git takes over two seconds to check all objects
_NEWEST = 100  # commits whose objects are then checked; their trees have all of the present memory


def check_tools(store: Store) -> Iterator[Finding]:
    """Report the versions of git and Python."""
    version = git_version(store.context.environ)
    oldest = ".".join(map(str, OLDEST_GIT))
    yield Finding("git", Level.OK, f"git {'.'.join(map(str, version))} ({oldest} or later is needed).")
    yield Finding("python", Level.OK, f"Python {'.'.join(map(str, sys.version_info[:3]))}.")


def check_format(store: Store) -> Iterator[Finding]:
    """Report the version of the store's format; stores of newer versions are refused when opened."""
    version = format_version(store.read(FORMAT) or b"")
    message = f"{FORMAT} is missing or names no version; {FORMAT_VERSION} is assumed."
    problem = Finding("format", Level.WARNING, message, "'gitmem init' writes it where it is missing.")
    yield judged(problem, f"Format version {version}.", is_broken=version is None)


def check_work_tree(store: Store) -> Iterator[Finding]:
    """Check that files, index and branch agree, unless something else is checked out, which `branch` reports."""
    if store.documents != store.root:
        return
    if store.tip != store.recorded_checkout():
        message = "The files are older than the branch."
        yield Finding("checkout", Level.WARNING, message, "The next gitmem command updates them.")
    copies, staged = {copy.path for copy in find_copies(store)}, staged_paths(store.repository.git)
    edited = [path for path in store.files.edited() if path not in copies and not is_broken(store, path)]
    if staged:
        message = f"The index differs from the branch in {count(len(staged), 'file')}."
        remedy = f"If you did not 'git add' that, reset the index: git -C {shlex.quote(store.root)} reset"
        yield Finding("index", Level.WARNING, message, remedy, tuple(staged[:_SHOWN]))
    if edited:
        message = f"{count(len(edited), 'file')} edited by hand and not committed."
        remedy = "Nothing to do: the next save commits them as your edit, or says why not."
        yield Finding("edits", Level.NOTE, message, remedy, tuple(edited[:_SHOWN]))
    if not (staged or edited):
        yield Finding("files", Level.OK, "Files, index and branch agree.")


def check_pulls(store: Store) -> Iterator[Finding]:
    """Report a store in which a plain `git pull` of diverged memories would fail."""
    if not merges_pulls(store):
        message = "A plain 'git pull' in the store fails where two machines saved."
        yield Finding("pulls", Level.NOTE, message, "'gitmem init' has it merge.")


def check_objects(store: Store, *, deep: bool = False) -> Iterator[Finding]:
    """Check that all reachable objects exist, or with `deep` are intact."""
    git, scope = store.repository.git, "All objects"
    # Other branches of a project's repository are checked only on request.
    if deep or (store.has_separate_repository and not _is_large(store)):
        damage = damages(git, deep=deep)
    else:
        newest = _NEWEST if _is_large(store) else None
        scope = f"All objects of the newest {_NEWEST} commits" if newest else scope
        damage = missing_of(git, "HEAD", newest)
    if damage:
        remedy = "Stop saving, and copy the folder. Then 'git fetch' the missing objects from a clone or a backup."
        message = "Git reports damage in the repository."
        yield Finding("objects", Level.PROBLEM, message, remedy, tuple(damage[:_SHOWN]))
    else:
        hint = "'gitmem doctor --deep' looks at all." if scope != "All objects" else ""
        yield Finding("objects", Level.OK, f"{scope} {'exist and are intact' if deep else 'exist'}.", hint)


def _is_large(store: Store) -> bool:
    return bytes_below(os.path.join(store.repository.layout.common_dir, "objects")) > _LARGE


def check_locks(store: Store) -> Iterator[Finding]:
    """Report stale lock files of git, and the holder of the store's lock."""
    now = store.context.clock().timestamp()
    old = [(path, now - made) for path, made in lock_files(store.repository.layout) if now - made > _OLD_LOCK]
    if old:
        details = tuple(f"{path}, for {age(seconds)}" for path, seconds in old)
        remedy = "If no git command is running in the store, remove them."
        message = f"{count(len(old), 'stale lock file')} of git."
        yield Finding("locks", Level.WARNING, message, remedy, details)
    try:
        store.lock("doctor").acquire(0).release()
    except BusyError as error:
        yield Finding("lock", Level.NOTE, error.message, "Nothing to do, unless it persists.")
    except OSError:  # not writable, as the next check reports
        return
    else:
        yield Finding("lock", Level.OK, "The store's lock is free.")


def check_identity(store: Store) -> Iterator[Finding]:
    """Report the author of new commits."""
    who = store.identity().result()
    message = "Git does not know your name and address: to others an unnamed author saves what you save here."
    remedy = "git config --global user.name 'Your Name'; git config --global user.email you@example.org"
    problem = Finding("identity", Level.NOTE, message, remedy)
    yield judged(problem, f"The author of commits is {who.name} <{who.email}>.", is_broken=who.email == GITMEM.email)


def check_clocks(store: Store) -> Iterator[Finding]:
    """Report facts that are dated after the present."""
    now = store.context.clock() + _SKEW
    authors, ahead = Authors(store), [fact for fact in known_facts(store) if fact.created > now]
    details = tuple(
        f"{fact.id}, {fact.created:%Y-%m-%d %H:%M}{_on_machine(authors.origin(fact.id))}: {fact.description}"
        for fact in ahead[:_SHOWN]
    )
    message = f"{count(len(ahead), 'fact')} dated after the present: the clock of a machine was ahead."
    remedy = "Set that clock right. What is saved after such a fact counts as the later word all the same."
    problem = Finding("clocks", Level.WARNING, message, remedy, details)
    yield judged(problem, "No fact is dated after the present.", is_broken=ahead)


def _on_machine(origin: Origin | None) -> str:
    return f" on {origin.machine}" if origin and origin.machine else ""


_AT_ONCE = 2_000  # documents never checked so far, at most, since a user waits
_RECORD = "diagnosed.json"


def check_documents(store: Store, *, deep: bool = False) -> Iterator[Finding]:
    """Report problems of changed documents and some never-checked ones, or with `deep` of all."""
    if deep:
        drop_file(os.path.join(store.private, _RECORD))
    edited, most = store.files.edited(), None if deep else _AT_ONCE
    more = (check_secrets, check_names, check_facts, check_copies)
    looked = check_changed(store, edited, most=most, record=_RECORD, more=more)
    yield from looked.findings
    if looked.left:
        message = f"{count(looked.left, 'file')} of this large store not looked at yet; the next times look at more."
        yield Finding("files", Level.NOTE, message, "'gitmem doctor --deep' looks at all.")


FULL: tuple[Check, ...] = (
    *(check_tools, check_format, *CHECKS),
    *(check_pulls, check_objects, check_work_tree, check_locks, check_private_folder, check_layer, check_identity),
    *(check_documents, check_attributes, check_clocks),
)
_MAY_BE_DEEP: dict[Check, Check] = {check: partial(check, deep=True) for check in (check_objects, check_documents)}
DEEP: tuple[Check, ...] = tuple(_MAY_BE_DEEP.get(check, check) for check in FULL)

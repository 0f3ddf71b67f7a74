"""The quick checks of a store, for `gitmem status` and `gitmem doctor`: they write nothing (spec R12).

Tested through `tests/store/test_health_doctor.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta

from gitmem.config import Config, shown, value_of
from gitmem.errors import RefusedError
from gitmem.store.accepted import NotAcceptedError
from gitmem.store.findings import MAKE_ROOM, FailureLog, Finding, Level, crowded, is_due
from gitmem.store.hook_spool import HookSpool
from gitmem.store.store import Store
from gitmem.text.sentences import age, count

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
    from gitmem.purge.records import read_state, record_path

    state = read_state(store.private)
    waiting = state.waiting
    if waiting:
        asked = sorted((record_path(key), why) for key, why in waiting.items())
        details = tuple(f"{path}: {why}" for path, why in asked[:_SHOWN])
        message = f"{count(len(waiting), 'purge')} of other machines, not followed before you answer."
        remedy = f"'gitmem review {asked[0][0]}' shows what it takes out, and how to answer."
        yield Finding("purges", Level.WARNING, message, remedy, details)
    if state.aside:
        message = f"{count(len(state.aside), 'file')} in purged/ not valid as records of purges; ignored."
        yield Finding("purges", Level.WARNING, message, "Remove them if nobody needs them.", state.aside[:_SHOWN])
    if state.told:
        message = f"{count(len(state.told), 'purge')} of other machines followed here; they removed:"
        yield Finding("purges", Level.NOTE, message, "'gitmem log --op purge' lists all.", state.told[-_SHOWN:])
    elif not waiting and not state.aside:
        names = ", ".join(map(record_path, state.refused[-_SHOWN:]))
        refused = f" {count(len(state.refused), 'purge')} refused: {names}." if names else ""
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

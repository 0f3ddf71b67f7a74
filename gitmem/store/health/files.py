"""Checks of what is in the store's files: documents, their names, settings, the spool, the log of failures.

A file that cannot be understood is named and left as it is; everything else goes on working (spec P9).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter, defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.config import shown, value_of
from gitmem.errors import GitmemError, RefusedError
from gitmem.git.history.commits import messages
from gitmem.git.upkeep.integrity import known_files
from gitmem.model.document.document import Document
from gitmem.model.paths import check_path, fold
from gitmem.redact.redact import redact
from gitmem.store.spool.hooks import HookSpool
from gitmem.store.transaction.redaction import readings
from gitmem.store.upkeep.failures import FailureLog
from gitmem.store.upkeep.findings import Finding, Level
from gitmem.text.quantities import age, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.config import Config
    from gitmem.store.store import Store

_MESSAGES = 1_000  # the newest, which doctor looks through for secrets
_LINE = re.compile(r" \(line (\d+)\)$")
_PATIENCE = 600.0  # seconds in the spool before somebody should wonder
_RECENT = timedelta(days=7)
_SHOWN = 5


def check_config(store: Store) -> Iterator[Finding]:
    """Name settings that cannot be used; the rest of the file counts."""
    problems = store.config.problems
    if problems:
        remedy = "Mend the file; 'gitmem config' lists what is in force."
        yield Finding("settings", Level.PROBLEM, "Not all settings can be used.", remedy, problems)
    else:
        yield Finding("settings", Level.OK, "All settings are understood.")
    if store.config.untrusted:
        yield _untrusted(store.config)


def _untrusted(config: Config) -> Finding:
    """Return what is to be said of values that wait for the person's consent."""
    details = tuple(
        f"{item.key}: {shown(item.value)} in {item.file}; {shown(value_of(config, item.key))} is used"
        for item in config.untrusted
    )
    message = f"{count(len(details), 'setting')} of the store not trusted, so not used."
    remedy = "Look at them, and agree to those you want: 'gitmem config trust [KEY]'."
    return Finding("trust", Level.WARNING, message, remedy, details)


def check_headers(store: Store) -> Iterator[Finding]:
    """Name documents whose front matter cannot be read, and where."""
    yield headers_finding(found for _, found in broken_headers(store, known_files(store.repository.git)))


def broken_headers(store: Store, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the documents among these files whose front matter cannot be read, each with where and why."""
    for path, data in _documents(store, paths):
        problem = Document.parse(data).problem
        if problem is not None:
            line = _LINE.search(problem)
            # The header's first line is the file's second.
            place, words = (int(line[1]) + 1, problem[: line.start()]) if line else (1, problem)
            yield path, f"{path}, line {place}: {words.removeprefix('the header cannot be read: ')}"


def headers_finding(found: Iterable[str]) -> Finding:
    """Return what is to be said of broken headers, given as sentences."""
    broken = tuple(found)
    if broken:
        message = f"{count(len(broken), 'document')} with a header that cannot be read; the text below it is used."
        return Finding("headers", Level.PROBLEM, message, "Mend the lines between the two '---'.", broken)
    return Finding("headers", Level.OK, "Every document's header can be read.")


def check_conflicts(store: Store) -> Iterator[Finding]:
    """Find conflict markers that a merge left in documents."""
    yield conflicts_finding(found for _, found in conflicts(store, known_files(store.repository.git)))


def conflicts(store: Store, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the documents among these files in which conflict markers stand, once for each, with the place."""
    for path, data in _documents(store, paths):
        for line in _conflicts(data):
            yield path, f"{path}, line {line}"


def conflicts_finding(places: Iterable[str]) -> Finding:
    """Return what is to be said of conflict markers at these places."""
    found = tuple(places)
    if found:
        remedy = "Keep what is right on both sides and remove the three marker lines."
        return Finding("conflicts", Level.PROBLEM, "Conflict markers stand in the memory.", remedy, found)
    return Finding("conflicts", Level.OK, "No conflict markers.")


def check_secrets(store: Store) -> Iterator[Finding]:
    """Count what looks like a secret, by kind and place; the secret itself is never shown (spec G7).

    Looked at are the files, their names, and the messages of the newest commits, which a person may have written.
    """
    found = []
    for path in known_files(store.repository.git):
        data = _read(store, path)
        shown, kinds = _secrets(store, [path]), _secrets(store, readings(data) if data is not None else ())
        place = redact(path).text
        found += [f"{place}: {kinds}"] if kinds else []
        found += [f"the name of {place}: {shown}"] if shown else []
    tip = store.repository.tip(store.repository.branch())
    for oid, message in messages(store.repository.git, tip, _MESSAGES) if tip else ():
        kinds = _secrets(store, [message])
        found += [f"the message of commit {oid[:10]}: {kinds}"] if kinds else []
    if found:
        message = f"{count(len(found), 'place')} with what looks like a secret."
        remedy = "Revoke it, then take it out; history still has it. If it is none, add it to redaction.allow."
        yield Finding("secrets", Level.PROBLEM, message, remedy, tuple(found))
    else:
        yield Finding("secrets", Level.OK, "No secrets in the files.")


def _secrets(store: Store, texts: Iterable[str]) -> str:
    """Return how many secrets of each kind stand in some texts, "" for none."""
    results = (redact(text, allow=store.config.redaction.allow) for text in texts)
    kinds = Counter(finding.kind for result in results for finding in result.findings)
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))


def check_names(store: Store) -> Iterator[Finding]:
    """Find names that some file system cannot hold or takes for each other, and symbolic links."""
    found = []
    twins: dict[str, set[str]] = defaultdict(set)
    for path in known_files(store.repository.git):
        try:
            check_path(path.rstrip("/"))
        except RefusedError as error:
            found.append(error.message)
        if os.path.islink(os.path.join(store.root, path)):
            found.append(f"{path} is a symbolic link; gitmem follows none.")
        parts = path.rstrip("/").split("/")
        for depth in range(len(parts)):
            name = "/".join(parts[: depth + 1])
            twins[fold(name)].add(name)
    alike = (sorted(names) for names in twins.values() if len(names) > 1)
    found += [f"Some systems take these for one: {', '.join(names)}." for names in alike]
    if found:
        remedy = "Rename them, so that the store works on every system."
        yield Finding("names", Level.WARNING, f"{count(len(found), 'name')} could make trouble.", remedy, tuple(found))
    else:
        yield Finding("names", Level.OK, "Every name is fit for every file system.")


def check_spool(store: Store) -> Iterator[Finding]:
    """Say what was accepted and is not committed yet, and what could not be read."""
    hooks = HookSpool(store.private)
    waiting, aside = store.spool.names(), [*store.spool.aside(), *hooks.aside()]
    if waiting:
        since = store.context.clock().timestamp() - _arrival(waiting[0])
        level = Level.WARNING if since > _PATIENCE else Level.NOTE
        message = f"{count(len(waiting), 'event')} not committed yet, the oldest for {age(since)}."
        yield Finding("spool", level, message, "Any gitmem command commits them, and says so where it cannot.")
    else:
        yield Finding("spool", Level.OK, "Nothing waits to be committed.")
    if aside:
        folder = os.path.join((store.spool if store.spool.aside() else hooks).folder, "aside")
        message = f"{count(len(aside), 'event')} could not be understood and is kept in {folder}."
        message = message if len(aside) == 1 else message.replace(" is kept", " are kept")
        yield Finding(
            "aside", Level.WARNING, message, "Save what matters of it, then remove it.", tuple(aside[:_SHOWN])
        )


def check_log(store: Store) -> Iterator[Finding]:
    """Say what failed lately (spec R12)."""
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
    message = f"{count(len(recent), 'failure')} in the last seven days; the last ones:"
    yield Finding("log", Level.WARNING, message, f"All of it, with tracebacks: {journal.path}", details)


def _conflicts(data: bytes) -> Iterator[int]:
    """Yield the line in which each conflict begins: its three markers stand in this order, at the start of a line.

    An entry's further lines are indented, so a memory about merging is no conflict.
    """
    begin, parted = 0, False
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.startswith(b"<<<<<<< "):
            begin, parted = number, False
        elif line.rstrip(b"\r") == b"=======":
            parted = begin > 0
        elif line.startswith(b">>>>>>> ") and parted:
            yield begin
            begin, parted = 0, False


def _documents(store: Store, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        if path.endswith(".md"):
            data = _read(store, path)
            if data is not None:
                yield path, data


def _read(store: Store, path: str) -> bytes | None:
    with contextlib.suppress(OSError, GitmemError):  # a link, a folder, not ours to read: other checks say so
        return store.read(path)
    return None


def _arrival(name: str) -> float:
    """Return when an event arrived, from its name, in seconds since 1970."""
    digits = name.partition("-")[0]
    return int(digits) / 1e9 if digits.isascii() and digits.isdecimal() else 0.0

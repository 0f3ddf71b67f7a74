"""Learn bug patterns, preferences, commands and the project's structure; mark stale patterns.

A preference that names no code goes into the user's own store (`gitmem init --user`), for every project; rules are the
project's.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.document.ids import BUGS, id_in
from gitmem.document.message import Message, Op, Trailer, one_line, session_message
from gitmem.errors import GitmemError, RefusedError
from gitmem.learn.facts import learn_findings
from gitmem.learn.statements import find_facts
from gitmem.model.error import ErrorSignature, is_telling, likeness
from gitmem.model.error_occurrence import find_occurrences, with_errors
from gitmem.model.fact import FactKind
from gitmem.model.pattern import BugPattern, ErrorOccurrence, begun, parse_pattern, render_pattern, with_occurrence
from gitmem.model.project_knowledge import (
    Knowledge,
    KnowledgeKind,
    commands_of,
    hotspot_lines,
    join_commands,
    of_commands,
    parse_knowledge,
    read_commands,
    render_knowledge,
    structure_lines,
    with_commands,
)
from gitmem.model.similarity import SAME_ERROR
from gitmem.model.turns import Turn
from gitmem.project.code import ProjectHistory, list_files, project_code
from gitmem.project.manifests import manifest_lines, manifests_in
from gitmem.record.exchanges import find_session_file, with_links
from gitmem.record.read import boot_lines, redacted
from gitmem.store.learned import known_patterns, pattern_headers, signature_of
from gitmem.store.store import Store, open_user_store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count

_NAMES_CODE = re.compile(r"`|[\w-]/[\w-]|\w\.[a-z]{1,5}\b", re.IGNORECASE)


def learn_bugs(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the errors of a finished session and what fixed them; return the commit. A second call adds nothing."""
    project = os.path.dirname(store.root)
    occurrences = find_occurrences([redacted(turn, store) for turn in with_errors(turns)], project)
    if not any(is_telling(occurrence.error) for occurrence in occurrences):
        return None

    def plan(transaction: Transaction) -> bool:
        changed, new = patterns_with(store, transaction, occurrences)
        changes = rendered(changed)
        if path := find_session_file(transaction, session, turns[0].started):
            changes |= with_links(transaction, path, {pattern.path: pattern.title for pattern in changed.values()})
        titles = one_line("; ".join(pattern.title for pattern in changed.values()), 60)
        subject = f"Learn {count(len(changed), 'error')}{f', {new} new' if new else ''}: {titles}"
        return transaction.commit(_message(subject, changed.values(), session, host), changes, when=turns[-1].ended)

    outcome = transact(store, plan, purpose="learn")
    pattern_headers(store)  # so that the next error finds them in the cache
    return outcome.commit


def patterns_with(
    store: Store, transaction: Transaction, occurrences: Iterable[ErrorOccurrence]
) -> tuple[dict[str, BugPattern], int]:
    """Return the patterns that change with these errors, by path, and how many of them are new."""
    signatures = {header.path: signature_of(header) for header in pattern_headers(store)}
    changed: dict[str, BugPattern] = {}
    new, existing = 0, {*map(id_in, transaction.names(BUGS))}
    for occurrence in (occurrence for occurrence in occurrences if is_telling(occurrence.error)):
        pattern = _known(transaction, signatures, changed, occurrence.error)
        after = begun(occurrence) if pattern is None else with_occurrence(pattern, occurrence)
        if pattern is None and after.id in existing:
            continue  # a user rewrote the file
        new += pattern is None
        signatures[after.path] = after.error
        changed[after.path] = after
    return changed, new


def _known(
    transaction: Transaction, known: dict[str, ErrorSignature], changed: dict[str, BugPattern], error: ErrorSignature
) -> BugPattern | None:
    """Return the pattern most similar to an error, None if no parsable one is similar enough."""
    scored = ((likeness(signature, error), path) for path, signature in known.items())
    for _, path in sorted(((score, path) for score, path in scored if score > SAME_ERROR), reverse=True):
        if path in changed:
            return changed[path]
        try:
            data = transaction.read(path)
        except (RefusedError, OSError):
            continue
        pattern = parse_pattern(data, path) if data is not None else None
        if pattern is not None:
            return pattern
    return None


def rendered(changed: Mapping[str, BugPattern]) -> dict[str, bytes | None]:
    """Return the files of patterns, skipping those with a header that cannot be edited in place."""
    files: dict[str, bytes | None] = {}
    for path, pattern in changed.items():
        with contextlib.suppress(ValueError):
            files[path] = render_pattern(pattern)
    return files


def _message(subject: str, patterns: Iterable[BugPattern], session: str = "", host: str = "") -> Message:
    ids = (pattern.id for pattern in patterns)
    return session_message(subject, Op.PATTERN, Trailer.PATTERN, ids, session=session, host=host)


def learn_preferences(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the user's preferences of a finished session into their own store; return the commit there."""
    own = None if store.is_private else open_user_store(store)
    if own is None or not turns:
        return None
    clean = [redacted(turn, store) for turn in turns]
    findings = [
        finding._replace(scope=())
        for finding in find_facts(clean, (os.path.dirname(store.root),), boot_lines(store))
        if finding.kind is FactKind.PREFERENCE and not (finding.files or _NAMES_CODE.search(finding.text))
    ]
    return learn_findings(own, session, host, findings) if findings else None


_OFTEN = 5  # commits of a file since a pattern's last error, from which it has changed a lot
_FROM_HISTORY = 0.8  # confidence


def learn_commands(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Count the commands of a finished session; return the commit. A second call adds nothing."""
    ran = commands_of(turns)
    if not ran:
        return None
    path = KnowledgeKind.COMMANDS.path

    def plan(transaction: Transaction) -> bool:
        before = transaction.read(path)
        commands = read_commands(before) if before is not None else {}
        joined = join_commands(commands, ran)
        if joined == commands:
            return False
        now = turns[-1].ended
        document = render_knowledge(of_commands([*joined.values()]), before, now) or before
        if document is None:
            return False
        data = with_commands(document, joined)
        return transaction.commit(_message("Count commands that worked", (), session, host), {path: data}, when=now)

    return transact(store, plan, purpose="learn").commit


def learn_project(store: Store) -> str | None:
    """Describe the project from its files, git history and store; return the commit, None if nothing changed.

    Bug patterns whose files changed a lot are marked as stale, in a commit of its own. Raises GitmemError if the
    documents could not be committed.
    """
    root = os.path.dirname(store.root)
    if os.path.realpath(root) == os.path.realpath(store.context.home) or os.path.basename(store.root) != ".gitmem":
        return None  # the user store, or one below the home: no project around it
    code = project_code(root, store.context.environ)
    if code is not None and code.root != os.path.realpath(root):
        code = None  # the project is a folder of some other repository
    past = code.past() if code is not None else ProjectHistory()
    mark_stale(store, past)
    learned = [knowledge for knowledge in _read_project(store, os.path.realpath(root), past) if knowledge.lines]

    def plan(transaction: Transaction) -> bool:
        changes: dict[str, bytes | None] = {}
        for knowledge in learned:
            try:
                data = render_knowledge(knowledge, transaction.read(knowledge.kind.path), store.context.clock())
            except (RefusedError, OSError, ValueError):  # a user rewrote the file
                continue
            if data is not None:
                changes[knowledge.kind.path] = data
        names = ", ".join(sorted(path.rpartition("/")[2].removesuffix(".md") for path in changes))
        return bool(changes) and transaction.commit(_message(f"Learn of the project: {names}", ()), changes)

    return transact(store, plan, purpose="learn").commit


def known_knowledge(store: Store) -> list[tuple[Knowledge, bytes]]:
    """Return the existing documents, each with its bytes."""
    read = []
    for kind in KnowledgeKind:
        with contextlib.suppress(GitmemError):
            data = store.read(kind.path)
            knowledge = parse_knowledge(data) if data is not None else None
            read += [(knowledge, data)] if knowledge is not None and data is not None else []
    return read


def _read_project(store: Store, top: str, past: ProjectHistory) -> Iterator[Knowledge]:
    files = past.files or list_files(top)
    existing = frozenset(files)
    errors: Counter[str] = Counter()
    for pattern in known_patterns(store):
        errors.update({file: len(pattern.seen) for file in pattern.files if file in existing})
    manifests = manifests_in(files)
    yield Knowledge(KnowledgeKind.STRUCTURE, tuple(structure_lines(files, manifests)), commit=past.commit)
    yield Knowledge(KnowledgeKind.STACK, tuple(manifest_lines(top, manifests)), tuple(manifests), commit=past.commit)
    hot = tuple(hotspot_lines((commit.files for commit in past.commits), errors, existing))
    yield Knowledge(KnowledgeKind.HOTSPOTS, hot, confidence=_FROM_HISTORY, commit=past.commit)


def mark_stale(store: Store, past: ProjectHistory) -> str | None:
    """Mark patterns as stale if most of their files are gone or changed often; return the commit, if any."""
    existing = frozenset(past.files)

    def changed_a_lot(pattern: BugPattern) -> bool:
        since = Counter(file for commit in past.commits if commit.at > pattern.updated for file in commit.files)
        changed = [file for file in pattern.files if since[file] >= _OFTEN or (since[file] and file not in existing)]
        return bool(changed) and 2 * len(changed) > len(pattern.files)

    paths = [pattern.path for pattern in known_patterns(store) if not pattern.stale and changed_a_lot(pattern)]

    def plan(transaction: Transaction) -> bool:
        read = {path: parse_pattern(transaction.read(path) or b"", path) for path in paths}
        changes = {
            path: render_pattern(pattern._replace(stale=True)) for path, pattern in read.items() if pattern is not None
        }
        subject = f"Mark {count(len(changes), 'bug pattern')} as stale: their files changed a lot"
        return bool(changes) and transaction.commit(_message(subject, ()), changes)

    return transact(store, plan, purpose="learn").commit if paths else None

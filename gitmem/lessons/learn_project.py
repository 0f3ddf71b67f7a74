"""Count the commands of a project, and write what its files, git and memory tell, a document a kind (spec M3)."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from typing import TYPE_CHECKING

from gitmem.document.message import Message, Op, Trailer, session_message
from gitmem.errors import GitmemError, RefusedError
from gitmem.lessons.pattern import BugPattern, parse_pattern, render_pattern
from gitmem.lessons.project_knowledge import (
    Knowledge,
    KnowledgeKind,
    commands_of,
    hotspot_lines,
    join_commands,
    manifests_in,
    of_commands,
    parse_knowledge,
    read_commands,
    render_knowledge,
    stack_lines,
    structure_lines,
    with_commands,
)
from gitmem.lessons.read import known_patterns
from gitmem.project.state import Past, list_files, project_code
from gitmem.store.transact import transact
from gitmem.text.sentences import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.sessions.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction


_OFTEN = 5  # commits since a pattern's error came, from which a file of it changed a lot
_FROM_HISTORY = 0.8  # confidence


def learn_commands(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Count the commands of a finished session; return the commit. A second call adds nothing.

    Raises:
        GitmemError: the commands could not be committed.

    """
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
        return transaction.commit(_message("Count commands that worked", session, host), {path: data}, when=now)

    return transact(store, plan, purpose="learn").commit


def learn_project(store: Store) -> str | None:
    """Read the project's files, its git and the store into documents; return the commit, None if nothing changed.

    Bug patterns whose files changed a lot are marked as stale, in a commit of its own.

    Raises:
        GitmemError: the documents could not be committed.

    """
    root = os.path.dirname(store.root)
    if os.path.realpath(root) == os.path.realpath(store.context.home) or os.path.basename(store.root) != ".gitmem":
        return None  # the person's own store, or one below the home: there is no project around it
    code = project_code(root, store.context.environ)
    if code is not None and code.root != os.path.realpath(root):
        code = None  # the project is a folder of some other repository
    past = code.past() if code is not None else Past()
    mark_stale(store, past)
    found = [known for known in _read_project(store, os.path.realpath(root), past) if known.lines]

    def plan(transaction: Transaction) -> bool:
        changes: dict[str, bytes | None] = {}
        for known in found:
            try:
                data = render_knowledge(known, transaction.read(known.kind.path), store.context.clock())
            except (RefusedError, OSError, ValueError):  # a person rewrote the file
                continue
            if data is not None:
                changes[known.kind.path] = data
        names = ", ".join(sorted(path.rpartition("/")[2].removesuffix(".md") for path in changes))
        return bool(changes) and transaction.commit(_message(f"Learn of the project: {names}"), changes)

    return transact(store, plan, purpose="learn").commit


def known_knowledge(store: Store) -> list[tuple[Knowledge, bytes]]:
    """Return the existing documents, each with its bytes."""
    found = []
    for kind in KnowledgeKind:
        with contextlib.suppress(GitmemError):
            data = store.read(kind.path)
            known = parse_knowledge(data) if data is not None else None
            found += [(known, data)] if known is not None and data is not None else []
    return found


def _read_project(store: Store, top: str, past: Past) -> Iterator[Knowledge]:
    files = past.files or list_files(top)
    there = frozenset(files)
    errors: Counter[str] = Counter()
    for pattern in known_patterns(store):
        errors.update({file: len(pattern.seen) for file in pattern.files if file in there})
    yield Knowledge(KnowledgeKind.STRUCTURE, tuple(structure_lines(files)), commit=past.commit)
    yield Knowledge(KnowledgeKind.STACK, tuple(stack_lines(there)), tuple(manifests_in(files)), commit=past.commit)
    hot = tuple(hotspot_lines([(commit.subject, commit.files) for commit in past.commits], errors, there))
    yield Knowledge(KnowledgeKind.HOTSPOTS, hot, confidence=_FROM_HISTORY, commit=past.commit)


def _message(subject: str, session: str = "", host: str = "") -> Message:
    return session_message(subject, Op.PATTERN, Trailer.PATTERN, (), session=session, host=host)


def mark_stale(store: Store, past: Past) -> str | None:
    """Mark the patterns most of whose files are gone, or were changed by several commits, since their error came.

    Returns the commit, None if there is no such pattern.
    """
    there = frozenset(past.files)

    def changed_a_lot(pattern: BugPattern) -> bool:
        since = Counter(file for commit in past.commits if commit.at > pattern.updated for file in commit.files)
        changed = [file for file in pattern.files if since[file] >= _OFTEN or (since[file] and file not in there)]
        return bool(changed) and 2 * len(changed) > len(pattern.files)

    found = [one.path for one in known_patterns(store) if not one.stale and changed_a_lot(one)]

    def plan(transaction: Transaction) -> bool:
        read = {path: parse_pattern(transaction.read(path) or b"", path) for path in found}
        changes = {path: render_pattern(one._replace(stale=True)) for path, one in read.items() if one is not None}
        subject = f"Mark {count(len(changes), 'bug pattern')} as stale: their files changed a lot"
        return bool(changes) and transaction.commit(Message(subject, ((Trailer.OP.value, Op.PATTERN.value),)), changes)

    return transact(store, plan, purpose="learn").commit if found else None

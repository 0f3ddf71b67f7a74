"""Learn project knowledge and preferences at a session's end.

Write the documents of project knowledge (spec M3), one a kind, in one commit if any changed.

Commands are counted at a session's end; everything else is read anew from the project's files, its git and the store.

Learn the person's preferences into their own store (`gitmem init --user`), for use in every project.

A stated preference counts at once. A rule counts once it is repeated, in words such as "always", "again", "항상", or
because an earlier session has it, too, and only if it tells the agent how to work with this person: how to answer, when
to ask, how to comment, name and change code. All other rules are the project's, as are those that name code or files.
Without an own store everything stays in the project's.

Learn errors with their mends, commands, and preferences of the person from a finished session.

Tested through `tests/lessons/test_learn_session.py`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gitmem.document.entry import find_entries
from gitmem.document.ids import daily_path, tail_of
from gitmem.document.message import Message, Op, Trailer, session_message
from gitmem.errors import GitmemError, RefusedError
from gitmem.facts.book import learn_told
from gitmem.facts.compare import says_the_same
from gitmem.facts.extract import facts_of_prompt
from gitmem.facts.fact import FactKind
from gitmem.facts.validity import in_force
from gitmem.lessons.knowledge_document import Knowledge, KnowledgeKind, render_knowledge
from gitmem.lessons.known_errors import known_patterns
from gitmem.lessons.learn_errors import learn_bugs, mark_stale
from gitmem.lessons.project_knowledge import (
    SETTINGS,
    Change,
    Command,
    change_lines,
    command_lines,
    commands_of,
    convention_lines,
    hotspot_lines,
    join_commands,
    people_lines,
    read_commands,
    share_that_worked,
    sources_of,
    with_commands,
)
from gitmem.lessons.project_stack import (
    CI_FILES,
    CI_FOLDER,
    TOP_FILES,
    is_code,
    manifests_in,
    stack_lines,
    structure_lines,
)
from gitmem.project.files import list_files, names_in, project_code, read_text, sizes_of
from gitmem.project.state import Past, read_past
from gitmem.sessions.cleaned import boot_lines, redacted
from gitmem.sessions.entries import EXCHANGE, relative_files
from gitmem.sessions.outcome import split_fields
from gitmem.sessions.turns import is_restated
from gitmem.store.headers import known_facts
from gitmem.store.store import own_store
from gitmem.store.transact import transact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitmem.facts.extract import Finding
    from gitmem.facts.fact import Fact
    from gitmem.sessions.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction


_DAYS = 90  # of daily logs that are read for files changed together
_MAX_WORKFLOWS, _MAX_MANIFESTS = 10, 8
_FROM_FILES, _FROM_HISTORY = 1.0, 0.8  # confidence


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
        known = read_commands(before) if before is not None else {}
        joined = join_commands(known, ran)
        if joined == known:
            return False
        now = turns[-1].ended
        document = render_knowledge(_commands(joined.values()), before, now) or before
        if document is None:
            return False
        data = with_commands(document, joined)
        return transaction.commit(_message("Count commands that worked", session, host), {path: data}, when=now)

    outcome = transact(store, plan, purpose="learn")
    return outcome.commits[-1] if outcome.value else None


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
    past = read_past(code) if code is not None else Past()
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

    outcome = transact(store, plan, purpose="learn")
    return outcome.commits[-1] if outcome.value else None


def _read_project(store: Store, top: str, past: Past) -> Iterator[Knowledge]:
    files = past.files or list_files(top)
    there = frozenset(files)
    workflows = [f"{CI_FOLDER}/{name}" for name in names_in(top, CI_FOLDER)[:_MAX_WORKFLOWS]]
    manifests = _texts(top, (*manifests_in(files)[:_MAX_MANIFESTS], *TOP_FILES, *workflows, *CI_FILES))
    settings = _texts(top, SETTINGS)
    commits = [Change(one.id, one.at, one.files, one.author, one.subject, one.added) for one in past.commits]
    exchanges = list(_exchanges(store))
    together = [*commits, *_with_git_paths(exchanges, top)]
    sources = tuple(one.source for one in exchanges)
    errors: Counter[str] = Counter()
    for pattern in known_patterns(store):
        errors.update({file: len(pattern.seen) for file in pattern.files if file in there})
    sizes = sizes_of(top, filter(is_code, files))
    subjects = [one.subject for one in commits]
    kind = KnowledgeKind
    read = [
        Knowledge(kind.STRUCTURE, tuple(structure_lines(files)), confidence=_FROM_FILES),
        Knowledge(kind.STACK, tuple(stack_lines(manifests, there)), tuple(manifests), confidence=_FROM_FILES),
        Knowledge(kind.CONVENTIONS, tuple(convention_lines(settings, files, subjects)), tuple(settings)),
        Knowledge(kind.HOTSPOTS, tuple(hotspot_lines(together, errors, there, sizes)), sources=sources),
        Knowledge(kind.CHANGES, tuple(change_lines(together, files)), sources=sources),
    ]
    if store.config.knowledge.people:
        read.append(Knowledge(kind.PEOPLE, tuple(people_lines(commits))))
    from_history = {kind.HOTSPOTS, kind.CHANGES, kind.PEOPLE}
    for one in read:
        confidence = _FROM_HISTORY if one.kind in from_history else _FROM_FILES
        yield one._replace(commit=past.commit, confidence=confidence)


def _texts(top: str, paths: Sequence[str]) -> dict[str, str]:
    return {path: text for path in paths if (text := read_text(top, path))}


def _exchanges(store: Store) -> Iterator[Change]:
    """Yield the exchanges of the last months that changed files, from the daily logs."""
    today = store.context.clock()
    for back in range(_DAYS):
        day = (today - timedelta(days=back)).strftime("%Y-%m-%d")
        try:
            text = (store.read(daily_path(day)) or b"").decode("utf-8", "replace")
        except GitmemError:
            continue
        for entry in (found.entry for found in find_entries(text)):
            if entry.label == EXCHANGE and (files := split_fields(entry.text).files):
                yield Change(entry.id, datetime.fromisoformat(day), files)


def _with_git_paths(exchanges: Sequence[Change], top: str) -> Iterator[Change]:
    """Yield exchanges with the paths of their files relative to the top, as git writes them."""
    prefix = top.replace("\\", "/").rstrip("/") + "/"
    for one in exchanges:
        yield replace(one, files=tuple(file.replace("\\", "/").removeprefix(prefix) for file in one.files))


def _commands(commands: Iterable[Command]) -> Knowledge:
    ran = list(commands)
    lines = tuple(command_lines(ran))
    return Knowledge(KnowledgeKind.COMMANDS, lines, sources=sources_of(ran), confidence=share_that_worked(ran))


def _message(subject: str, session: str = "", host: str = "") -> Message:
    return session_message(subject, Op.PATTERN, Trailer.PATTERN, (), session=session, host=host)


_KINDS = (FactKind.PREFERENCE, FactKind.RULE)
_AGAIN = re.compile(
    r"\b(?:always|never|every time|from now on|again|i(?:'ve| have)? (?:already )?told you|as i said|how many times)\b"
    r"|항상|언제나|매번|앞으로|다시 (?:말|한번)|또 말|말했(?:잖|듯|는데)|몇 번",
    re.IGNORECASE,
)
_OF_PROJECT = re.compile(
    r"`|[\w-]/[\w-]|\w\.[a-z]{1,5}\b|\b(?:repo|repository|project|branch|module|this|here|we|our)\b"
    r"|프로젝트|저장소|우리|여기",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\bi(?:'d| would)?(?: \w+ly| much)? (?:prefer|hate|dislike|always|never|usually)\b|\bmy (?:[\w-]+ ){1,3}is\b"
    r"|\bcall me\b|선호|좋아|싫|편(?:해|합)",
    re.IGNORECASE,
)
# How to work with a person: answers, when to ask, comments and names, tests first, small changes.
_MANNER = re.compile(
    r"\b(?:answer|repl(?:y|ies)|respon[ds]|expla[in]|summar|speak|talk|tell me|show me|verbos|concise|brief|emoji"
    r"|apolog)|\b(?:ask(?:ing|ed)?|confirm\w*|approv\w+|permission|wait for me|let me (?:know|decide|review))\b"
    r"|\b(?:comments?|docstrings?|names?|naming|functions?|early returns?|one-liners?|tdd|tests? first)\b"
    r"|\b(?:diffs?|patch(?:es)?|minimal|refactor\w*|rewrit\w+|clean ?up)\b"
    r"|답(?:변|해|을|은)|대답|설명|요약|말투|존댓말|반말|이모지|물어|허락|확인(?:받|을 받| 받)|주석|이름|변수명|함수"
    r"|리팩터|리팩토|최소한",
    re.IGNORECASE,
)
# A rule about things ("every function needs …") is no order to the agent.
_OF_THINGS = re.compile(
    r"^(?:all|every|each|any|no|the)\b|(?<!you )\b(?:must|should|shall|needs?|has to|have to|are|is)\b"
    r"|^모든|야 (?:해|한|합|돼|됩)|다\.?$",
    re.IGNORECASE,
)


def learn_preferences(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the person's preferences of a finished session into their own store; return the commit there.

    Raises:
        GitmemError: the preferences could not be committed.

    """
    own = own_store(store)
    if own is None or not turns:
        return None
    mine = {tail_of(turn.exchange_id) for turn in turns}
    before = [
        fact
        for fact in in_force(known_facts(store))
        if fact.kind in _KINDS and any(tail_of(source) not in mine for source in fact.sources)
    ]
    findings = [finding for finding in _stated(store, turns) if _is_persons(finding, before)]
    return learn_told(own, session, host, findings)


def _stated(store: Store, turns: Sequence[Turn]) -> Iterator[Finding]:
    """Yield the preferences and rules in the person's own words."""
    boot, project, allow = boot_lines(store), os.path.dirname(store.root), store.config.redaction.allow
    for turn in turns:
        clean = redacted(turn, allow)
        for finding in facts_of_prompt(clean, "", relative_files(turn.files, (project, turn.cwd))):
            if finding.kind in _KINDS and not is_restated(finding.text, boot):
                yield finding


def _is_persons(finding: Finding, before: Sequence[Fact]) -> bool:
    if finding.files or _OF_PROJECT.search(finding.text):
        return False
    if finding.kind is FactKind.PREFERENCE:
        return bool(_PREFERS.search(finding.text) or _MANNER.search(finding.text))
    if not _MANNER.search(finding.text) or _OF_THINGS.search(finding.text):
        return False
    if _AGAIN.search(finding.text):
        return True
    return any(says_the_same(fact.description, finding.text) for fact in before)


def learn_lessons(store: Store, session: str, host: str, turns: Sequence[Turn]) -> None:
    """Learn from the turns of a finished session; a second call adds nothing.

    Raises:
        GitmemError: the lessons could not be committed.

    """
    learn_bugs(store, session, host, turns)
    learn_commands(store, session, host, turns)
    learn_preferences(store, session, host, turns)

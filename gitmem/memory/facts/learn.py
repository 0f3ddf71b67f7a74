"""Learn facts from a session (spec V4 to V6, P3): one file a fact, all in one commit.

A known fact, in these or other words, gains a source. A fact that contradicts one in force is kept beside it for review
(`gitmem review`, `gitmem facts confirm`) or for a model's verdict (`gitmem.memory.facts.judge`). A fact that a person
retired, or whose file was removed, is not learned again.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gitmem.memory.capture.clean import boot_lines, redacted
from gitmem.memory.lasting import Lasting
from gitmem.model.entry.entry import find_entries
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.find import Finding, as_statement, find_facts
from gitmem.model.ids import is_timed, milliseconds_of, tail_of
from gitmem.model.message import Message, Op, Trailer, session_message
from gitmem.model.paths import MEMORY
from gitmem.model.session.turns import derived_id
from gitmem.project.code import project_code
from gitmem.store.headers.facts import known_facts
from gitmem.store.transaction.transact import transact
from gitmem.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitmem.model.entry.entry import Entry
    from gitmem.model.fact.fact import Fact
    from gitmem.model.session.turns import Turn
    from gitmem.project.code import ProjectCode
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

_LIVE = timedelta(hours=6)  # a session that ended earlier was replayed, and speaks of the project as it was then
_KINDS = {
    MemoryType.DECISION.label: FactKind.DECISION,
    MemoryType.PREFERENCE.label: FactKind.PREFERENCE,
    MemoryType.RULE.label: FactKind.RULE,
    MemoryType.PATTERN.label: FactKind.PATTERN,
    MemoryType.ISSUE.label: FactKind.ISSUE,
    MemoryType.LEARNING.label: FactKind.CORE_LOGIC,
    MemoryType.ERROR_FIX.label: FactKind.SOLUTION,
}
_TYPES = {kind.label: kind.value for kind in MemoryType}
_SAVED = 0.9  # the confidence of an entry that was saved as a decision and the like


def learn(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the facts that a session's turns state, and entries saved as decision and the like; returns the commit.

    A second call adds nothing.

    Raises:
        GitmemError: they could not be committed.

    """
    project = os.path.dirname(store.root)
    clean = [redacted(turn, store.config.redaction.allow) for turn in turns]
    findings = find_facts(clean, (project,), boot_lines(store))
    code = project_code(project, store.context.environ)
    when = turns[-1].ended if turns else store.context.clock()
    lesson = _Lesson(session, host, tuple(findings), tuple(clean), when)
    outcome = transact(store, _Attempt(store, lesson, code).plan, purpose="learn")
    known_facts(store)  # so that the next session's start finds them in the cache
    return outcome.commits[-1] if outcome.value else None


def learn_told(store: Store, session: str, host: str, told: Sequence[Finding], model: str = "") -> str | None:
    """Save facts that were found in a session, by this model if one is named; returns the commit.

    Raises:
        GitmemError: they could not be committed.

    """
    if not told:
        return None
    code = project_code(os.path.dirname(store.root), store.context.environ)
    lesson = _Lesson(session, host, tuple(told), (), max(finding.at for finding in told), model)
    outcome = transact(store, _Attempt(store, lesson, code).plan, purpose="learn")
    known_facts(store)  # so that the next session's start finds them in the cache
    return outcome.commits[-1] if outcome.value else None


class _Lesson(Value):
    """A session's findings, its redacted turns, and when it ended."""

    session: str
    host: str
    findings: tuple[Finding, ...]
    turns: tuple[Turn, ...]
    when: datetime
    model: str = ""  # that found them, "" for none


class _Attempt:
    """One transaction; its plan begins anew, as it may run again."""

    def __init__(self, store: Store, lesson: _Lesson, code: ProjectCode | None) -> None:
        self._store, self._lesson, self._code = store, lesson, code
        self._as_of: tuple[str, frozenset[str]] | None = None

    def plan(self, transaction: Transaction) -> bool:
        """Add the commit of new and changed facts."""
        book = Lasting(self._store, transaction)
        changes: dict[str, bytes | None] = {}
        for finding in (*self._lesson.findings, *_saved(transaction, book)):
            changes |= book.take(finding, self._lesson.session, again=False)
        changes |= book.resolve(self._lesson.turns)
        if any(fact.files and not fact.commit for fact in book.known().values()):
            changes |= book.note_commit(*self._code_as_of())
        if not changes:
            return False
        ids = [fact.id for fact in book.known().values() if fact.path in changes]
        return transaction.commit(self._message(book.new, ids), changes, when=self._lesson.when)

    def _message(self, new: Sequence[Fact], changed: Sequence[str]) -> Message:
        if not new:
            subject = f"Update {_count(len(changed))}"
        else:
            first = new[0].description
            subject = f"Learn: {first}" if len(new) == 1 else f"Learn {_count(len(new))}: {first}"
        return fact_message(subject, changed, self._lesson.session, self._lesson.host).by(self._lesson.model)

    def _code_as_of(self) -> tuple[str, frozenset[str]]:
        """Return the project's commit at the end of the session and its files; git is asked once."""
        if self._as_of is None:
            now = self._store.context.clock()
            recorded = now - self._lesson.when > _LIVE
            when = self._lesson.when + timedelta(days=1) if recorded else now
            self._as_of = self._code.as_of(min(when, now)) if self._code else ("", frozenset())
        return self._as_of


def _saved(transaction: Transaction, book: Lasting) -> list[Finding]:
    """Return the decisions, issues and so on of `memory.md` that are no fact's source yet."""
    data = transaction.read(MEMORY)
    known = {tail_of(source) for fact in book.known().values() for source in fact.sources} if data else set()
    findings = []
    for entry in (found.entry for found in find_entries((data or b"").decode("utf-8", "replace"))):
        kind = _KINDS.get(entry.label)
        if kind is None or not is_timed(entry.id):  # a line with the id of a fact is that fact's
            continue
        if tail_of(entry.id) not in known and (finding := _of_entry(entry, kind)):
            findings.append(finding)
    return findings


def _of_entry(entry: Entry, kind: FactKind) -> Finding | None:
    """Return an entry of `memory.md` as a finding; None if capture took it from an answer."""
    words = " ".join(entry.text.casefold().split())
    at = moment_of(entry)
    captured = tail_of(derived_id(at, MemoryType(_TYPES[entry.label]).value, words)) == tail_of(entry.id)
    if captured or not words:
        return None
    text = entry.text if "\n" in entry.text else as_statement(entry.text)
    return Finding(kind, text, _SAVED, at, entry.id, ())


def moment_of(entry: Entry) -> datetime:
    """Return when an entry was made, in UTC: from its id, as its line may have another time zone."""
    return datetime.fromtimestamp(milliseconds_of(entry.id) / 1000, UTC).replace(microsecond=0)


def fact_message(subject: str, facts: Iterable[str], session: str = "", host: str = "") -> Message:
    """Return the message of a commit that changes facts."""
    return session_message(subject, Op.FACT, Trailer.FACT, facts, session=session, host=host)


def _count(number: int) -> str:
    return "1 fact" if number == 1 else f"{number} facts"

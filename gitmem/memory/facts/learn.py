"""Learn facts from a session (spec V4 to V6, P3): one file a fact, all in one commit.

A known fact, in these or other words, gains a source. A fact that contradicts one in force is kept beside it for review
(`gitmem review`, `gitmem facts confirm`) or for a model's verdict (`gitmem.memory.facts.judge`). A fact that a person
retired, or whose file was removed, is not learned again.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gitmem.errors import RefusedError
from gitmem.memory.capture.clean import boot_lines, redacted
from gitmem.model.entry.entry import find_entries
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.fact.chain import supersede
from gitmem.model.fact.compare import says_the_same
from gitmem.model.fact.fact import Fact, FactKind, FactStatus, make_fact
from gitmem.model.fact.file import parse_changeable, render_fact
from gitmem.model.fact.find import Finding, as_statement, fact_keywords, find_facts, find_fixes
from gitmem.model.fact.holds import in_force
from gitmem.model.fact.rivals import WEIGHED, rivals_of
from gitmem.model.fact.said.by_agent import is_saved, repeated
from gitmem.model.ids import is_timed, milliseconds_of, tail_of
from gitmem.model.message import Message, Op, Trailer, session_message
from gitmem.model.paths import MEMORY
from gitmem.model.session.turns import derived_id
from gitmem.project.code import project_code
from gitmem.store.headers.facts import known_facts
from gitmem.store.history.records import was_ever_there
from gitmem.store.transaction.transact import transact
from gitmem.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitmem.model.entry.entry import Entry
    from gitmem.model.session.turns import Turn
    from gitmem.project.code import ProjectCode
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

MAX_SOURCES = 12
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
    """One transaction; its plan resets all state, as it may run again."""

    def __init__(self, store: Store, lesson: _Lesson, code: ProjectCode | None) -> None:
        self._store, self._lesson, self._code = store, lesson, code
        self._as_of: tuple[str, frozenset[str]] | None = None
        self._known: dict[str, Fact] = {}
        self._facts: dict[str, Fact] = {}  # read or made, by id
        self._changed: dict[str, str] = {}  # paths of changed facts, by id
        self._new: list[str] = []

    def plan(self, transaction: Transaction) -> bool:
        """Add the commit of new and changed facts."""
        self._known = {fact.id: fact for fact in known_facts(self._store)}
        self._facts, self._changed, self._new = {}, {}, []
        for finding in (*self._lesson.findings, *self._saved(transaction)):
            self._take(transaction, finding)
        self._resolve(transaction)
        self._note_commits(transaction)
        if not self._changed:
            return False
        changes: dict[str, bytes | None] = {
            path: render_fact(self._facts[identifier]) for identifier, path in self._changed.items()
        }
        return transaction.commit(self._message(), changes, when=self._lesson.when)

    def _message(self) -> Message:
        new = [self._facts[identifier].description for identifier in self._new]
        if not new:
            subject = f"Update {_count(len(self._changed))}"
        else:
            subject = f"Learn: {new[0]}" if len(new) == 1 else f"Learn {_count(len(new))}: {new[0]}"
        return fact_message(subject, self._changed, self._lesson.session, self._lesson.host).by(self._lesson.model)

    def _saved(self, transaction: Transaction) -> list[Finding]:
        """Return the decisions, issues and so on of `memory.md` that are no fact's source yet."""
        data = transaction.read(MEMORY)
        if data is None:
            return []
        known = {tail_of(source) for fact in self._known.values() for source in fact.sources}
        findings = []
        for entry in (found.entry for found in find_entries(data.decode("utf-8", "replace"))):
            kind = _KINDS.get(entry.label)
            if kind is None or not is_timed(entry.id):  # a line with the id of a fact is that fact's
                continue
            if tail_of(entry.id) not in known and (finding := _of_entry(entry, kind)):
                findings.append(finding)
        return findings

    def _take(self, transaction: Transaction, finding: Finding) -> None:
        """Make a fact of a finding, or add its source to the fact that says the same."""
        session = {"session": self._lesson.session} if self._lesson.session else {}
        made = make_fact(
            finding.kind,
            finding.text,
            finding.at,
            confidence=finding.confidence,
            origin={**session, "exchange": finding.source},
            sources=(finding.source,),
            keywords=fact_keywords(finding.text),
            files=finding.files,
        )
        same = self._same(transaction, made)
        if same is not None:
            self._add_source(same, finding)
            return
        if was_ever_there(self._store.repository, made.path):
            return  # removed by a person or an undo
        self._new.append(made.id)
        self._put(made, made.path)
        self._settle(transaction, made)

    def _settle(self, transaction: Transaction, made: Fact) -> None:
        """Retire the facts that a new one supersedes, and mark contradicting pairs for review."""
        rivals = rivals_of(made, in_force(self._known.values()))
        for loser, winner in (*((one, made) for one in rivals.ended), *((made, one) for one in rivals.ended_by)):
            pair = {fact.id: fact for fact in (self._read(transaction, loser), self._read(transaction, winner)) if fact}
            for changed in supersede(pair, loser.id, winner.id, max(loser.created, winner.created)).values():
                self._put(changed, self._known[changed.id].path)
        for other in filter(None, (self._read(transaction, fact) for fact in rivals.disputed)):
            self._put(other._replace(review=_joined(other.review, made.id)), self._known[other.id].path)
            made = self._facts[made.id]
            self._put(made._replace(review=_joined(made.review, other.id)), made.path)

    def _same(self, transaction: Transaction, made: Fact) -> Fact | None:
        """Return the known fact with the same id, or of a comparable kind that says the same."""
        if made.id in self._known:
            return self._read(transaction, self._known[made.id])
        for fact in self._known.values():
            if _alike(fact.kind, made.kind.value) and says_the_same(fact.description, made.description):
                return self._read(transaction, fact)
            by_agent = is_saved(fact) and fact.origin.get("exchange") == made.origin["exchange"]
            if by_agent and repeated([fact], made.description):
                return self._read(transaction, fact)
        return None

    def _read(self, transaction: Transaction, known: Fact) -> Fact | None:
        """Return a fact with the changes so far, None if its file cannot be used."""
        if known.id not in self._facts:
            try:
                data = transaction.read(known.path)
            except (RefusedError, OSError):
                return None
            fact = parse_changeable(data, known.path)
            if fact is None:
                return None
            self._facts[known.id] = fact
        return self._facts[known.id]

    def _put(self, fact: Fact, path: str) -> None:
        self._facts[fact.id] = self._known[fact.id] = fact
        self._changed[fact.id] = path

    def _add_source(self, fact: Fact, finding: Finding) -> None:
        source = finding.source
        digests = {tail_of(known) for known in fact.sources}
        if not fact.binds or tail_of(source) in digests or len(fact.sources) >= MAX_SOURCES:
            return
        created = min(fact.created, finding.at)
        self._put(fact._replace(sources=(*fact.sources, source), created=created), self._known[fact.id].path)

    def _resolve(self, transaction: Transaction) -> None:
        """Resolve open issues that a later fix of the session mends."""
        is_issue = FactKind.ISSUE.value, FactStatus.OPEN.value
        issues = [fact for fact in self._known.values() if (fact.kind, fact.status) == is_issue]
        fixes = find_fixes(self._lesson.turns) if issues else []
        for known in issues:
            fix = next((fix for fix in fixes if fix.mends(known.description)), None)
            fact = self._read(transaction, known) if fix else None
            if fix is not None and fact is not None and fix.at > fact.created:
                text = f"{fact.text}\n\n**Resolved:** {fix.text}"
                changed = fact._replace(status=FactStatus.RESOLVED, text=text, updated=fix.at)
                self._put(changed, known.path)

    def _note_commits(self, transaction: Transaction) -> None:
        """Record the commit a fact speaks of, once all of its files are committed."""
        for known in [fact for fact in self._known.values() if fact.files and not fact.commit]:
            commit, files = self._code_as_of()
            fact = self._read(transaction, known) if commit and files.issuperset(known.files) else None
            if fact is not None and not fact.commit:
                self._put(fact._replace(commit=commit), known.path)

    def _code_as_of(self) -> tuple[str, frozenset[str]]:
        """Return the project's commit at the end of the session and its files; git is asked once."""
        if self._as_of is None:
            now = self._store.context.clock()
            recorded = now - self._lesson.when > _LIVE
            when = self._lesson.when + timedelta(days=1) if recorded else now
            self._as_of = self._code.as_of(min(when, now)) if self._code else ("", frozenset())
        return self._as_of


def _alike(one: str, other: str) -> bool:
    """Return whether facts of two kinds can say the same: the kinds are equal, or both are `WEIGHED`."""
    kinds = [kind.value for kind in WEIGHED]
    return one == other or (one in kinds and other in kinds)


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


def _joined(names: Sequence[str], more: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, more)))


def _count(number: int) -> str:
    return "1 fact" if number == 1 else f"{number} facts"

"""Choose the facts that a session's start shows: the project's, and the user's own rules."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from gitmem.document.ids import is_id, tail_of
from gitmem.errors import GitmemError
from gitmem.history.authors import AWAITS, Authors
from gitmem.history.changes_by_others import others_changes
from gitmem.history.marks import OthersChange, place_marks
from gitmem.model.fact import BINDING, Fact, FactKind, day_of
from gitmem.model.lines import TWO_VERSIONS, Marks, marks_of, normalized
from gitmem.model.similarity import winner_over
from gitmem.platform.machine import datetime
from gitmem.store.known_facts import Header, Late, choose_headers, fact_headers, fact_of, facts_of, never
from gitmem.store.layers import private_store
from gitmem.store.locate import has_home_stores
from gitmem.store.store import Store, open_user_store
from gitmem.values import Value

MAX_PARSED = 200  # uncached facts that a session's start parses; the drain parses the others
_MAX_RANKED = 150  # facts (by kind, then the newest) that are ranked by the words of memory.md
_MAX_CHOSEN = 45  # facts offered to the budget
# Worth by kind; a solution is shown only if memory.md names its files.
_WORTH = {"rule": 3.0, "preference": 3.0, "decision": 2.5, "core-logic": 2.0, "pattern": 2.0, "solution": 0.0}
_PER_WORD, _MAX_FOR_WORDS = 0.5, 3.0  # for each of a fact's keywords and files in memory.md, and at most
_PLAIN = (FactKind.DECISION, FactKind.CORE_LOGIC)  # kinds that a line does not name
_MOST_TIMES = 4  # repetitions of a fact that count, each like a word
_WITH_REASON = 12  # first facts, shown with their reasons
_LONGEST_REASON = 200  # characters
_FACT_BYTES = 4_096  # read of a fact's file for its reason
_REASON = re.compile(rb"(?m)^\*\*(Why|How):\*\* ([^\r\n]+)")
_PER_CONFIDENCE = 3.0  # so that a user's statements precede an agent's proposals
_MIN_SCORE = 1.0
_WORD = re.compile(r"[^\W_][\w.-]*[^\W_]")
_FOUND = "Found by a model ({}) in the sessions; nobody saved or confirmed it:"


class ChosenFacts(Value):
    """Facts for the start text; `texts` are their descriptions after `normalized`.

    `shown` and `settled` are digests of the entries in `memory.md` for these facts and their sources, and for ended
    facts. `marks` are for other texts about any fact, `current` are all facts in force, `lines` are the lines to show,
    each with the id of its fact.
    """

    texts: frozenset[str]
    shown: frozenset[str]
    settled: frozenset[str]
    marks: Marks
    current: Sequence[Fact] = ()
    lines: Sequence[tuple[str, str]] = ()


def choose_facts(store: Store, recent: str, late: Late = never) -> ChosenFacts:
    """Return the facts in force, the most useful for the `recent` work first, read until it is `late`."""
    candidates = choose_headers(store, _candidates, MAX_PARSED, late)
    changes = others_changes(store, look=False)
    if not candidates and not changes:
        return ChosenFacts(frozenset(), frozenset(), frozenset(), marks_of(()))
    facts = facts_of(store, candidates)
    marks = place_marks(store, facts)
    current = [fact for fact in marks.facts.values() if not marks.has_ended(fact.id)]
    words = {word.casefold() for word in _WORD.findall(recent)}
    own = f"{store.context.machine}/"  # this machine's agent loads its own memory itself
    today = day_of(store.context.clock())
    others = [fact for fact in current if not fact.adopted.startswith(own) and not fact.is_over(today)]
    scored = [(fact, score) for fact in others if (score := _score(fact, words, recent)) >= _MIN_SCORE]
    # Facts that a user or an agent saved or stated precede those that a model found.
    scored.sort(
        key=lambda choice: (choice[0].pinned or "by" not in choice[0].origin, choice[1], choice[0].when, choice[0].id)
    )
    chosen = [fact for fact, _ in scored[: -_MAX_CHOSEN - 1 : -1] if fact.id not in changes]
    groups = [*_changed(changes, facts, marks), *_groups(chosen, others, marks)]
    facts_shown = [fact for group in groups for fact in group]
    authors, lines = Authors(store), list[tuple[str, str]]()
    has_heading = False
    for place, group in enumerate(groups):
        reason = "" if place >= _WITH_REASON or late() else _reason(store, group[0])
        line = _line(group, reason, changes.get(group[0].id), marks, authors)
        heading = "" if has_heading or not group[0].found_by else f"{_FOUND.format(group[0].found_by)}\n"
        has_heading = has_heading or bool(heading)
        lines.append((heading + line, group[0].id))
    settled = _digests(fact for fact in facts if marks.has_ended(fact.id)) - _digests(current)
    texts = frozenset(normalized(fact.description) for fact in facts_shown)
    return ChosenFacts(texts, _digests(facts_shown), settled, marks, current, lines)


def _line(group: Sequence[Fact], reason: str, change: OthersChange | None, marks: Marks, authors: Authors) -> str:
    """Return the line of the newest of contradicting facts, quoting the older ones."""
    fact, *older = group
    about = day_of(fact.when) if fact.kind in _PLAIN else f"{fact.kind.word}, {day_of(fact.when)}"
    if older:
        quoted = " / ".join(_quoted(before, authors.others(before.id), day_of(before.when)) for before in older)
        about = f"{fact.kind.word}, {day_of(fact.when)}; it contradicts: {quoted}; to decide: `gitmem review`"
    about = f"{fact.kind.word}; {change}; to decide: `gitmem review`" if change else about
    author = (authors.other_author if change else authors.others)(fact.id)
    about = f"by {author}, {about}" if author else about
    about += f"; of {', '.join(fact.scope)}" if fact.scope else ""
    about += "; the agent's word" if fact.origin.get("word") == "agent" else ""
    about += f"; {TWO_VERSIONS}" * fact.has_two_versions
    about += f"; {AWAITS}" * authors.awaits(fact)
    status = marks.statuses.get(fact.id)
    about += f"; {status.place}" if status and status.place else ""
    return f"- {fact.description}{f' {reason}' if reason else ''} ({about})"


def _quoted(fact: Fact, author: str, *about: str) -> str:
    """Return a fact's description, with its author unless that is the user ("")."""
    details = ", ".join((f"by {author}", *about) if author else about)
    return f"{fact.description} ({details})" if details else fact.description


def _candidates(headers: Sequence[Header]) -> list[Header]:
    """Return the facts that may be shown, and the newest ended facts, whose entries are left out."""
    binding: dict[tuple[str, float], list[tuple[str, Header]]] = {}  # by whether it is pinned, and its worth
    settled: list[tuple[str, Header]] = []
    for header in headers:
        status, kind, when, pinned = header.key
        if status not in BINDING:
            settled.append((when, header))
        elif kind != FactKind.ISSUE:
            binding.setdefault((pinned, _WORTH.get(kind, 0.0)), []).append((when, header))
    best: list[tuple[str, Header]] = []
    for worth in sorted(binding, reverse=True):
        if len(best) < _MAX_RANKED:  # so that not all of 5,000 facts are sorted
            best += sorted(binding[worth], key=itemgetter(0), reverse=True)
    settled.sort(key=itemgetter(0))
    return [header for _, header in (*best[:_MAX_RANKED], *settled[-_MAX_RANKED:])]


def _score(fact: Fact, words: set[str], recent: str) -> float:
    if fact.pinned:
        return math.inf
    files = sum(file.rpartition("/")[2] in recent for file in fact.files)
    for_words = _PER_WORD * sum(word in words for word in fact.keywords) + 2 * _PER_WORD * files
    worth = _WORTH.get(fact.kind, 0.0)
    if not worth and not files:
        return 0.0
    confidence = fact.confidence if fact.confidence is not None else 0.5
    often = _PER_WORD * min(len(fact.sources) - 1, _MOST_TIMES) if fact.sources else 0.0
    return worth + min(for_words, _MAX_FOR_WORDS) + _PER_CONFIDENCE * confidence + often


def _groups(chosen: Sequence[Fact], current: Sequence[Fact], marks: Marks) -> list[list[Fact]]:
    """Group each chosen fact with the facts in force that contradict it, the newest first."""
    by_id = {fact.id: fact for fact in current}
    groups = []
    done: set[str] = set()
    for fact in chosen:
        if fact.id not in done:
            disputes = marks.statuses[fact.id].disputes  # maybe only one file of a pair names the other
            rivals = [dispute for dispute in disputes if dispute in by_id and dispute not in done]
            group = sorted((fact, *map(by_id.__getitem__, rivals)), key=lambda fact: (fact.when, fact.id), reverse=True)
            done.update(member.id for member in group)
            groups.append(group)
    return groups


def _changed(changes: Mapping[str, OthersChange], facts: Sequence[Fact], marks: Marks) -> list[list[Fact]]:
    """Return the facts that others changed and the user has not answered; an ended one as it was before."""
    by_id = {fact.id: fact for fact in facts}
    groups = []
    for change in changes.values():
        fact = by_id.get(change.id)
        if fact is None or marks.has_ended(change.id):
            kind, when = FactKind(change.path.split("/")[1]), datetime.fromisoformat(change.date)
            fact = Fact(change.id, kind, "", when, description=change.before)
        groups.append([fact])
    return groups


def _reason(store: Store, fact: Fact) -> str:
    """Return the reason of a fact, or the solution of a problem, from its file; "" if missing or too long."""
    match = None
    with contextlib.suppress(GitmemError, OSError):
        match = _REASON.search(store.glance(fact.path, _FACT_BYTES) or b"")
    word, reason = (match[1].decode(), match[2].decode("utf-8", "replace").strip()) if match else ("", "")
    skip = len(reason) > _LONGEST_REASON or normalized(reason) in normalized(fact.description)
    return "" if skip else f"{word}: {reason}"


def _digests(facts: Iterable[Fact]) -> frozenset[str]:
    return frozenset(tail_of(name) for fact in facts for name in (fact.id, *fact.sources) if is_id(name))


TITLE = "Your own rules and preferences, in every project"
SHARE = 10  # percent of the budget
PRIVATE_TITLE = "Private to this project on this machine: do not put it into what others read"
_KINDS = (FactKind.RULE, FactKind.PREFERENCE)
_MOST = 30  # facts
_PATIENCE = 0.2  # seconds to update an index; the start has already waited for the project's


def own_lines(store: Store, project: Sequence[Fact], late: Late = never) -> tuple[tuple[str, str], ...]:
    """Return the lines of a user's own rules and preferences with their ids, the newest rules first.

    Facts repeated in `project` are left out. One that contradicts a fact of the project yields, and its line says so.
    """
    own = None if late() else open_user_store(store)
    if own is None:
        return ()
    marks = marks_of(map(fact_of, fact_headers(own, MAX_PARSED, late)))
    before: dict[str, list[Fact]] = {}  # by fact: the older ones that contradict it, undecided
    for fact in marks.facts.values():
        disputes = map(marks.facts.__getitem__, marks.statuses[fact.id].disputes)
        before[fact.id] = [dispute for dispute in disputes if (dispute.when, dispute.id) < (fact.when, fact.id)]
    older = {fact.id for facts in before.values() for fact in facts}
    chosen = [
        fact
        for fact in marks.facts.values()
        if fact.kind in _KINDS and not marks.has_ended(fact.id) and fact.id not in older
    ]
    chosen.sort(key=lambda fact: (fact.kind == FactKind.RULE, fact.when, fact.id), reverse=True)
    known = {normalized(fact.description) for fact in project}
    new = [fact for fact in chosen[:_MOST] if normalized(fact.description) not in known]
    authors, changes = (Authors(own, _PATIENCE), Authors(store, _PATIENCE)), others_changes(own, look=False)
    return tuple(
        (_own_line(fact, _winner(fact, project), before[fact.id], authors, changes.get(fact.id)), fact.id)
        for fact in new
    )


def private_lines(store: Store, late: Late = never) -> Sequence[tuple[str, str]]:
    """Return the lines of the facts in the private store with their ids, the most useful first."""
    if late() or not has_home_stores(store.context.home):
        return ()

    private = private_store(store)
    return choose_facts(private, "", late).lines if private else ()


def _winner(own: Fact, project: Iterable[Fact]) -> Fact | None:
    """Return the fact of the project that a user's own fact contradicts, or None."""
    words = {*own.keywords}
    near = [fact for fact in project if not words.isdisjoint(fact.keywords)]
    if not near:
        return None

    return winner_over(own, near)


def _own_line(
    own: Fact, winner: Fact | None, before: Sequence[Fact], by: tuple[Authors, Authors], change: OthersChange | None
) -> str:
    """Return the line of a fact in the user store; `by` are the authors of that store and of the project."""
    mine, project = by
    author = (mine.other_author if change else mine.others)(own.id)
    if winner is not None:
        goes_before = f"This project's {winner.kind.word} goes before it: {_quoted(winner, project.others(winner.id))}"
        return f"- Not here: {_quoted(own, author)} {goes_before}"
    older = " / ".join(_quoted(fact, mine.others(fact.id)) for fact in before)
    news = str(change) if change else f"it contradicts: {older}" if older else ""
    more = f"{day_of(own.when)}; {news}; to decide: `gitmem --user review`" if news else day_of(own.when)
    return f"- {_quoted(own, author, own.kind.word, more)}"

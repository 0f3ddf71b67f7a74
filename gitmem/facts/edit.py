"""Confirm, retire, reword and supersede facts as a person says; compare facts that no session here taught (spec V6).

`gitmem.facts.book` compares what it learns in its own commit. All other new facts, of a sync, saved or adopted, are
compared once, in the background, on each machine. A pair of which a person said that both hold is left alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from gitmem.document.entry import clean_text
from gitmem.document.ids import MEMORY, find_named
from gitmem.document.message import Trailer, one_line
from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.facts.book import fact_message
from gitmem.facts.compare import WEIGHED, Rivals, candidates, rivals_of
from gitmem.facts.fact import MAX_DESCRIPTION, Fact, FactKind, parse_fact, render_fact
from gitmem.facts.validity import dispute, ended, in_force, part, revived, reworded, supersede, what_holds
from gitmem.git.log import log
from gitmem.platform.safe_open import read_text
from gitmem.project.code import checked_out, cite
from gitmem.redact.redact import redact
from gitmem.store.known_facts import KNOWN_FOLDER, facts_at, known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import split
from gitmem.values import Value

BOTH_HOLD = "Both hold:"  # the subject of a commit begins with it
_MAX_LISTED = 5
_COMPARED = "noticed"  # in the folder of caches: the facts that were compared
_AT_ONCE = 50  # new facts of one run
_MOST_SEEN = 5_000


class MovedOnError(GitmemError):
    """A fact has changed since the person who edits it saw it."""


def find_fact(store: Store, identifier: str) -> Fact:
    """Return the fact with an id, an unambiguous prefix of one, or a file name.

    Raises:
        NotFoundError: no fact matches, or more than one.

    """
    bare = identifier.strip().removeprefix("^").rpartition("/")[2].removesuffix(".md")
    near = facts_at(store, lambda path: f"/{bare}" in path) if bare else []
    by_name = {fact.path.rpartition("/")[2].removesuffix(".md"): fact for fact in near}
    return by_name[find_named(bare, ((name, name) for name in by_name), "fact", "'gitmem facts list' lists them.")]


def read_fact(store: Store, known: Fact) -> Fact:
    """Return a fact of the work tree with its text.

    Raises:
        NotFoundError: its file is gone, or is not a fact any more.

    """
    data = store.read(known.path)
    fact = parse_fact(data, known.path) if data is not None else None
    if fact is None:
        raise NotFoundError(f"{known.path} cannot be read as a fact.")
    return known._replace(source=fact.source) if known.text else fact  # it has a text where a line was edited by hand


def confirm(store: Store, known: Fact, *more: Fact) -> tuple[str, ...]:
    """Confirm facts as true of the present code; they supersede the facts they contradict. Returns the commits.

    A retired or superseded fact is active again.
    """
    code = store.code()
    now = store.context.clock()
    branch, commit = checked_out(code) if code else ("", "")

    def plan(facts: dict[str, Fact]) -> dict[str, Fact]:
        changed = dict(facts)
        for name in (known.id, *(one.id for one in more)):
            for other in (*facts[name].review, facts[name].superseded_by):
                if other in changed:
                    changed.update(supersede(changed, other, name, now))
            fact = revived(changed[name], now)._replace(review=(), confidence=1.0, updated=now)
            if code and commit:
                fact = cite(code, fact, branch, commit)
            changed[name] = fact
        return changed

    return change_facts(store, known, plan, _subject("Confirm", known, more), *more)


def retire(store: Store, known: Fact, why: str, *more: Fact) -> tuple[str, ...]:
    """Retire facts, or resolve an issue; `why` is added to their texts. Returns the commits.

    A fact that contradicts one of them is no longer in review.
    """
    clean = redact(why, allow=store.config.redaction.allow).text
    now, gone = store.context.clock(), {known.id, *(fact.id for fact in more)}

    def plan(facts: dict[str, Fact]) -> dict[str, Fact]:
        changed = {
            name: fact._replace(review=tuple(other for other in fact.review if other not in gone))
            for name, fact in facts.items()
        }
        return changed | {name: ended(changed[name], now, clean) for name in gone}

    verb = "Resolve" if all(fact.kind == FactKind.ISSUE for fact in (known, *more)) else "Retire"
    return change_facts(store, known, plan, _subject(verb, known, more), *more)


def _subject(verb: str, known: Fact, more: Sequence[Fact]) -> str:
    return f"{verb} {len(more) + 1} facts: {known.description}, …" if more else f"{verb}: {known.description}"


def edit(store: Store, known: Fact, text: str) -> tuple[str, ...]:
    """Replace the text of a fact; its id and file stay. Returns the commits.

    Raises:
        RefusedError: the text has no words.

    """
    clean = clean_text(redact(text, allow=store.config.redaction.allow).text)
    if not split(clean):
        raise RefusedError("The new text is empty.", "To take a fact out, use 'gitmem facts retire'.")
    now = store.context.clock()

    def plan(facts: dict[str, Fact]) -> dict[str, Fact]:
        return {**facts, known.id: reworded(facts[known.id], clean, now)}

    return change_facts(store, known, plan, f"Edit fact: {one_line(clean, MAX_DESCRIPTION)}")


def pin(store: Store, known: Fact, *more: Fact, pinned: bool) -> tuple[str, ...]:
    """Have every session told facts first, or no longer so. Returns the commits."""

    def plan(facts: dict[str, Fact]) -> dict[str, Fact]:
        return facts | {fact.id: facts[fact.id]._replace(pinned=pinned) for fact in (known, *more)}

    return change_facts(store, known, plan, _subject("Pin" if pinned else "Unpin", known, more), *more)


def supersede_fact(store: Store, loser: Fact, winner: Fact) -> tuple[str, ...]:
    """Supersede one fact by another (spec V6); returns the commits."""
    now = store.context.clock()
    return change_facts(
        store,
        winner,
        lambda facts: {**facts, **supersede(facts, loser.id, winner.id, now)},
        f"Supersede: {loser.description}",
        loser,
    )


def act_on(store: Store, act: str, fact: Fact, text: str = "") -> tuple[str, ...]:
    """Do what a person or an agent asks for a fact, by the name of the act; returns the commits.

    `text` is why (`retire`, `resolve`), the new words (`edit`), or the id of what holds instead (`supersede`).
    """
    if act in {"retire", "resolve"}:
        return retire(store, fact, text)
    if act == "edit":
        return edit(store, fact, text)
    if act in {"pin", "unpin"}:
        return pin(store, fact, pinned=act == "pin")
    return supersede_fact(store, fact, find_fact(store, text)) if act == "supersede" else confirm(store, fact)


def change_facts(
    store: Store,
    known: Fact,
    plan: Callable[[dict[str, Fact]], Mapping[str, Fact]],
    subject: str,
    *more: Fact,
) -> tuple[str, ...]:
    """Commit changes to a fact, to `more`, and to the facts linked with them; returns the commits.

    `plan` gets these facts by id and returns them changed. A fact given with its content is changed only while its
    file still has that content.

    Raises:
        MovedOnError: it has another one by now; nothing was changed.

    """

    def commit(transaction: Transaction) -> None:
        transaction.read(MEMORY)  # an edit of a line by hand changes facts
        known_by_id = {fact.id: fact for fact in known_facts(store)}
        facts: dict[str, Fact] = {}
        wanted = [known.id, *(fact.id for fact in more)]
        while wanted:
            name = wanted.pop()
            if name in facts or name not in known_by_id:
                continue
            fact = parse_fact(transaction.read(known_by_id[name].path) or b"", known_by_id[name].path)
            if fact is not None:
                facts[name] = fact
                wanted += [*fact.review, *fact.supersedes, fact.superseded_by]
        if known.id not in facts:
            raise NotFoundError(f"{known.path} cannot be read as a fact.")
        if any(one.source and one.id in facts and one.source != facts[one.id].source for one in (known, *more)):
            raise MovedOnError("The fact has been changed meanwhile.", "Look at it again, then repeat what you did.")
        changed = {name: fact for name, fact in plan(facts).items() if fact != facts[name]}
        changes: dict[str, bytes | None] = {known_by_id[name].path: render_fact(fact) for name, fact in changed.items()}
        if changes:
            transaction.commit(fact_message(subject, changed), changes)

    outcome = transact(store, commit, purpose="fact")
    known_facts(store)
    return outcome.commits


def move(store: Store, known: Fact, target: Store) -> tuple[str, ...]:
    """Move a fact into another store: a commit in each. Returns the commits.

    It is written there first, so that a crash between the two leaves it twice, not nowhere. Links to other facts stay
    behind. What was pushed stays in the history of the remote.
    """
    fact = read_fact(store, known)
    there = fact._replace(source=b"", file="", supersedes=(), superseded_by="", review=())
    data = render_fact(there)

    def put(transaction: Transaction) -> None:
        transaction.commit(fact_message(f"Move here: {fact.description}", [fact.id]), {there.path: data})

    def drop(transaction: Transaction) -> None:
        transaction.read(MEMORY)
        transaction.commit(fact_message(f"Move elsewhere: {fact.description}", [fact.id]), {known.path: None})

    first = transact(target, put, purpose="fact").commits
    commits = (*first, *transact(store, drop, purpose="fact").commits)
    known_facts(store)
    return commits


class Pair(Value):
    """Two facts that contradict each other."""

    newer: Fact
    older: Fact


def waiting_pairs(store: Store) -> list[Pair]:
    """Return the waiting pairs, each once, in the order of their newer facts."""
    facts = {fact.id: fact for fact in known_facts(store)}
    disputed = {one: status.disputes for one, status in what_holds(facts.values()).items() if status.disputes}
    pairs = []
    for one, others in disputed.items():
        for other in others:
            older, newer = sorted((facts[one], facts[other]), key=lambda fact: (fact.when, fact.id))
            if newer.id == one:
                pairs.append(Pair(newer, older))
    return sorted(pairs, key=lambda pair: (pair.newer.when, pair.newer.id, pair.older.when, pair.older.id))


class Holds(StrEnum):
    """Which of two facts holds."""

    NEWER = "newer"
    OLDER = "older"
    BOTH = "both"


def decide(store: Store, pair: Pair, holds: Holds) -> tuple[str, ...]:
    """Supersede one fact of a pair, or keep both; return the commits."""
    if holds is Holds.NEWER:
        return supersede_fact(store, pair.older, pair.newer)
    if holds is Holds.OLDER:
        return supersede_fact(store, pair.newer, pair.older)
    names = pair.older.id, pair.newer.id
    return change_facts(
        store,
        pair.newer,
        lambda facts: {**facts, **part(facts, *names)},
        f"{BOTH_HOLD} {pair.newer.description}",
        pair.older,
    )


def compare_new_facts(store: Store) -> None:
    """Compare new facts in force with all others; mark pairs for review, and carry out statements of change.

    Raises:
        GitmemError: a change could not be committed.

    """
    path = os.path.join(store.private, KNOWN_FOLDER, _COMPARED)
    seen = read_text(path).splitlines()
    known, facts = {*seen}, _weighed(store)
    for new in [fact.id for fact in facts if fact.id not in known][:_AT_ONCE]:
        fact = next((fact for fact in facts if fact.id == new), None)  # an earlier one may have ended it
        rivals = rivals_of(fact, candidates(fact.description, facts)) if fact is not None else Rivals()
        if fact is not None and rivals != Rivals():
            for loser, winner in (*((one, fact) for one in rivals.ended), *((fact, one) for one in rivals.ended_by)):
                supersede_fact(store, loser, winner)
            for other in rivals.disputed:
                _mark_for_review(store, other, fact)
            facts = _weighed(store)
        seen.append(new)
        with contextlib.suppress(OSError):  # else it is compared again
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{name}\n" for name in seen[-_MOST_SEEN:])


def _weighed(store: Store) -> list[Fact]:
    return sorted(
        (fact for fact in in_force(known_facts(store)) if fact.kind in WEIGHED),
        key=lambda fact: (fact.created, fact.id),
    )


def _mark_for_review(store: Store, one: Fact, other: Fact) -> None:
    """Mark two facts for review, unless they are or a person said that both hold."""
    if other.id in one.review or one.id in other.review:
        return
    for commit in log(store.repository.git, "HEAD", trailers={Trailer.FACT.value: one.id}):
        if commit.subject.startswith(BOTH_HOLD) and other.id in commit.values(Trailer.FACT.value):
            return
    newer = max(one, other, key=lambda fact: fact.when)
    change_facts(
        store,
        one,
        lambda facts: {**facts, **dispute(facts, one.id, other.id)},
        f"Contradiction: {newer.description}",
        other,
    )

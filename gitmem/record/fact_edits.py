"""Confirm, retire, reword and supersede facts on a user's request; compare facts not learned in a session here.

`gitmem.record.fact_book` compares the facts of its own commit. All other new facts (synced, saved or adopted) are
compared once, in the background, on each machine, except pairs that a user or a model's judgement settled.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum

from gitmem.document.entry import clean_text
from gitmem.document.ids import MEMORY, find_named
from gitmem.document.message import Trailer, one_line
from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.git.log import Commit, log
from gitmem.history.authors import Authors, look_up_all
from gitmem.model.fact import CONFIRMED, MAX_DESCRIPTION, Fact, FactKind, parse_fact, render_fact
from gitmem.model.forbidden import MAX_LITERAL, MOST_LITERALS, usable
from gitmem.model.similarity import WEIGHED, contradict, has_same_words, may_concern, rivals_of
from gitmem.model.validity import dispute, ended, fact_statuses, in_force, revived, reworded, settle_both, supersede
from gitmem.platform.safe_open import read_text, replace_file
from gitmem.project.citations import checked_out, cite
from gitmem.record.fact_book import LONGEST, FactBook, fact_message
from gitmem.redact.redact import redact
from gitmem.store.fact_lines import last_versions
from gitmem.store.known_facts import compared_file, facts_at, known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import split
from gitmem.values import Value

BOTH_IN_FORCE = "Both hold:"  # prefix of a commit's subject
_MOST_NAMED = 5  # facts in an error
_AT_ONCE = 50  # new facts of one run
_MOST_SEEN = 5_000
_UNREADABLE = "'gitmem doctor' names the line that is wrong."


class FactChangedError(GitmemError):
    """A fact has changed since the user who edits it saw it."""


def find_fact(store: Store, text: str, kind: FactKind | None = None) -> Fact:
    """Return the fact of an id, id prefix or file name, else the only one (of a kind) with a text, or raise."""
    bare = text.strip().removeprefix("^").rpartition("/")[2].removesuffix(".md")
    near = facts_at(store, lambda path: f"/{bare}" in path) if bare else []
    by_name = {fact.path.rpartition("/")[2].removesuffix(".md"): fact for fact in near}
    if not by_name and (" " in text.strip() or not text.isascii()):
        return _saying(store, text, kind)
    return by_name[find_named(bare, ((name, name) for name in by_name), "fact", "'gitmem facts list' lists them.")]


def _saying(store: Store, text: str, kind: FactKind | None) -> Fact:
    """Return the only fact in force with exactly the words of a text, or else containing them."""
    words = " ".join(text.split()).strip(" .").casefold()
    exact = [fact for fact in known_facts(store) if has_same_words(fact.description, text)]
    current = [fact for fact in known_facts(store) if fact.binds]
    saying = [fact for fact in exact if fact.binds]
    saying = saying or [fact for fact in current if words and words in fact.description.casefold()]
    saying = [fact for fact in saying if fact.kind == kind] or saying
    if len(saying) == 1:
        return saying[0]
    if exact and not saying:
        remedy = f"To have it in force again: gitmem facts confirm {exact[-1].id}"
        raise NotFoundError(f"{exact[-1].id} says that, and is {exact[-1].status} already.", remedy)
    near = (saying or [fact for fact in current if may_concern(fact.description, text)])[:_MOST_NAMED]
    whose = Authors(store).others  # an error is not fenced, so it must not quote another author
    listed = "; ".join(f"{fact.id} {f'by {by}' if (by := whose(fact.id)) else fact.description}" for fact in near)
    what = "More than one fact in force says" if saying else "No fact in force says"
    remedy = f"Give the id of one: {listed}" if near else "'gitmem facts list' lists them."
    raise NotFoundError(f"{what} {one_line(text, MAX_DESCRIPTION)!r}.", remedy)


def read_fact(store: Store, known: Fact) -> Fact:
    """Return a fact of the work tree with its text; raises NotFoundError."""
    data = store.read(known.path)
    fact = None if data is None else parse_fact(data, known.path) or next(last_versions(store, known.path), None)
    if fact is None:
        raise NotFoundError(f"{known.path} cannot be read as a fact.", _UNREADABLE)
    return known._replace(source=fact.source) if known.text else fact  # it has a text if its line was edited by hand


def confirm(store: Store, *facts: Fact) -> tuple[str, ...]:
    """Confirm facts for the present code, superseding those that they contradict; return the commits."""
    code, now = store.code(), store.context.clock()
    branch, commit = checked_out(code) if code else ("", "")

    def plan(linked: Mapping[str, Fact]) -> dict[str, Fact]:
        changed = dict(linked)
        for name in (fact.id for fact in facts):
            for neighbour in (*linked[name].review, linked[name].superseded_by):
                if neighbour in changed:
                    changed |= supersede(changed, neighbour, name, now)
            # If nothing else changes, its time stays.
            fact = revived(changed[name], now)._replace(review=(), confidence=CONFIRMED)
            changed[name] = cite(code, fact, branch, commit) if code and commit else fact
        return changed

    return change_facts(store, facts, plan, _subject("Confirm", facts))


def retire(store: Store, fact: Fact, why: str, *more: Fact) -> tuple[str, ...]:
    """Retire facts, or resolve an issue, and their disputes; `why` is added to their texts. Returns the commits."""
    clean, facts = redact(why, allow=store.config.redaction.allow).text, (fact, *more)
    now, gone = store.context.clock(), {fact.id for fact in facts}

    def plan(linked: Mapping[str, Fact]) -> dict[str, Fact]:
        changed = {
            name: fact._replace(review=tuple(key for key in fact.review if key not in gone))
            for name, fact in linked.items()
        }
        return changed | {name: ended(changed[name], now, clean) for name in gone}

    verb = "Resolve" if all(fact.kind == FactKind.ISSUE for fact in facts) else "Retire"
    return change_facts(store, facts, plan, _subject(verb, facts))


def _subject(verb: str, facts: Sequence[Fact]) -> str:
    first = facts[0].description
    return f"{verb} {len(facts)} facts: {first}, …" if len(facts) > 1 else f"{verb}: {first}"


def edit(store: Store, fact: Fact, text: str) -> tuple[str, ...]:
    """Replace the text of a fact; its id and file stay. Returns the commits; raises RefusedError.

    Its pairs are compared again: one caused by the old words only no longer waits for a decision.
    """
    clean = clean_text(redact(text, allow=store.config.redaction.allow).text)
    check_length(clean)
    if not split(clean):
        raise RefusedError("The new text is empty.", "To take a fact out, use 'gitmem facts retire'.")
    now, subject = store.context.clock(), f"Edit fact: {one_line(clean, MAX_DESCRIPTION)}"
    new = reworded(fact, clean, now)
    rivals, settled = _unsettled_rivals(store, new), _no_longer_contradicted(store, new, fact.description)

    def plan(linked: Mapping[str, Fact]) -> dict[str, Fact]:
        changed = {**linked, fact.id: reworded(linked[fact.id], clean, now)}
        changed |= settle_both(changed, fact.id, *(known.id for known in settled))
        for rival in rivals:
            changed |= dispute(changed, fact.id, rival.id)
        return changed

    return change_facts(store, [fact, *(rival._replace(source=b"") for rival in (*rivals, *settled))], plan, subject)


def _no_longer_contradicted(store: Store, fact: Fact, *old_words: str) -> list[Fact]:
    """Return the facts paired with a reworded one by its `old_words` (else its history) but not by its new ones."""
    near = (known for known in known_facts(store) if known.id in fact.review or fact.id in known.review)
    pairs = [known for known in near if not contradict(fact.description, known.description)]
    if pairs and not old_words:
        old_words = tuple(old.description for old in last_versions(store, fact.path))
    return [known for known in pairs if any(contradict(words, known.description) for words in old_words)]


def _unsettled_rivals(store: Store, fact: Fact) -> list[Fact]:
    """Return the facts that may contradict the new words of a fact, except pairs settled as both in force."""
    weighed = _weighed(store)
    is_current = any(known.id == fact.id for known in weighed)
    return [rival for rival in rivals_of(fact, weighed) if not _is_settled(store, fact, rival)] if is_current else []


def check_length(text: str) -> None:
    """Raise RefusedError for a text that is too long for a fact."""
    if len(text) > LONGEST:
        raise RefusedError(
            f"A fact has at most {LONGEST:,} characters, and this text {len(text):,}.",
            "Shorten it, or keep it as it is by 'gitmem save --type note'.",
        )


def pin(store: Store, *facts: Fact, pinned: bool) -> tuple[str, ...]:
    """Pin facts, so that every session is shown them first, or unpin them. Returns the commits."""
    subject = _subject("Pin" if pinned else "Unpin", facts)
    return change_facts(
        store, facts, lambda linked: {fact.id: linked[fact.id]._replace(pinned=pinned) for fact in facts}, subject
    )


def check_literals(literals: Collection[str]) -> None:
    """Raise RefusedError for a text that cannot be looked for in a tool call, or for too many of them."""
    wrong = next((literal for literal in literals if not usable(literal)), None)
    if wrong is not None or len(literals) > MOST_LITERALS:
        what = f"{wrong!r} cannot be looked for in a tool call." if wrong is not None else "These are too many."
        raise RefusedError(what, f"Name words of a command: {MAX_LITERAL} characters, {MOST_LITERALS} times at most.")


def forbid(store: Store, fact: Fact, literals: tuple[str, ...], enforce: str = "") -> tuple[str, ...]:
    """Set a fact's literals (none: forbid nothing) and what an agent does at a match; raises as `check_literals`."""
    check_literals(literals)
    subject = _subject("Warn of commands by" if literals else "Warn of no command by", [fact])
    enforce = enforce if literals else ""
    return change_facts(
        store, [fact], lambda linked: {fact.id: linked[fact.id]._replace(forbids=literals, enforce=enforce)}, subject
    )


def supersede_fact(store: Store, loser: Fact, winner: Fact) -> tuple[str, ...]:
    """Supersede one fact by another; returns the commits. Raises RefusedError if it is the same fact."""
    if loser.id == winner.id:
        raise RefusedError("A fact cannot supersede itself.", "Name the fact that is in force instead of it.")
    now, subject = store.context.clock(), f"Supersede: {loser.description}"
    return change_facts(store, [winner, loser], lambda linked: supersede(linked, loser.id, winner.id, now), subject)


def act_on(store: Store, act: str, fact: Fact, text: str = "") -> tuple[str, ...]:
    """Carry out an act that a user or agent requests on a fact, by the act's name; return the commits.

    `text` is the reason (`retire`, `resolve`), the new text (`edit`), or the successor's id (`supersede`).
    """
    if act in {"retire", "resolve"}:
        return retire(store, fact, text)
    if act == "edit":
        return edit(store, fact, text)
    if act in {"pin", "unpin"}:
        return pin(store, fact, pinned=act == "pin")
    return supersede_fact(store, fact, find_fact(store, text)) if act == "supersede" else confirm(store, fact)


def change_facts(
    store: Store, facts: Sequence[Fact], plan: Callable[[Mapping[str, Fact]], Mapping[str, Fact]], subject: str
) -> tuple[str, ...]:
    """Commit changes to facts, and to those linked with them; returns the commits.

    `plan` gets all of these by id and returns the changed ones. A fact given with its content is changed only while its
    file still has that content. Else raises FactChangedError, and nothing is changed.
    """

    def commit(transaction: Transaction) -> None:
        transaction.read(MEMORY)  # so that edits of lines by hand are applied
        book = FactBook(store, transaction)
        linked: dict[str, Fact] = {}
        wanted = [fact.id for fact in facts]
        while wanted:
            name = wanted.pop()
            if name not in linked and name in book.known() and book.read_into(linked, name):
                fact = linked[name]
                wanted += [*fact.review, *fact.supersedes, fact.superseded_by]
        if any(fact.source and fact.id in linked and fact.source != linked[fact.id].source for fact in facts):
            raise FactChangedError("The fact has been changed meanwhile.", "Look at it, then try again.")
        if missing := [fact.path for fact in facts if fact.id not in linked]:
            raise NotFoundError(f"{missing[0]} cannot be read as a fact.", _UNREADABLE)
        changed = [fact for name, fact in plan(linked).items() if fact != linked[name]]
        if changed:
            transaction.commit(fact_message(subject, [fact.id for fact in changed]), book.changes(changed))

    outcome = transact(store, commit, purpose="fact")
    known_facts(store)
    return outcome.commits


def move(store: Store, known: Fact, target: Store) -> tuple[str, ...]:
    """Move a fact into another store: a commit in each. Returns both, that of the other store first.

    It is written there first, so that a crash in between leaves two copies, not none. Links to other facts are not
    moved. A pushed fact stays in the history of the remote.
    """
    fact = read_fact(store, known)
    moved = fact._replace(source=b"", file="", supersedes=(), superseded_by="", review=())
    data = render_fact(moved)
    verb = "Make private" if target.is_private else "Promote" if store.is_private else "Move elsewhere"

    def put(transaction: Transaction) -> None:
        transaction.commit(fact_message(f"Move here: {fact.description}", [fact.id]), {moved.path: data})

    def drop(transaction: Transaction) -> None:
        transaction.read(MEMORY)
        transaction.commit(fact_message(f"{verb}: {fact.description}", [fact.id]), {known.path: None})

    added = transact(target, put, purpose="fact").commits[-1:]
    here = transact(store, drop, purpose="fact").commits[-1:]
    known_facts(store)
    return (*added, *here)


class Pair(Value):
    """Two facts that contradict each other."""

    newer: Fact
    older: Fact


def waiting_pairs(store: Store) -> list[Pair]:
    """Return the waiting pairs, each once, in the order of their newer facts."""
    facts = {fact.id: fact for fact in known_facts(store)}
    disputed = {key: status.disputes for key, status in fact_statuses(facts.values()).items() if status.disputes}
    pairs = []
    for first, others in disputed.items():
        for second in others:
            older, newer = sorted((facts[first], facts[second]), key=lambda fact: (fact.when, fact.id))
            if newer.id == first:
                pairs.append(Pair(newer, older))
    return sorted(pairs, key=lambda pair: (pair.newer.when, pair.newer.id, pair.older.when, pair.older.id))


class PairChoice(StrEnum):
    """Which of two contradicting facts stays in force."""

    NEWER = "newer"
    OLDER = "older"
    BOTH = "both"


def decide(store: Store, pair: Pair, choice: PairChoice) -> tuple[str, ...]:
    """Supersede one fact of a pair, or keep both; return the commits."""
    if choice is PairChoice.NEWER:
        return supersede_fact(store, pair.older, pair.newer)
    if choice is PairChoice.OLDER:
        return supersede_fact(store, pair.newer, pair.older)
    names, subject = (pair.older.id, pair.newer.id), f"{BOTH_IN_FORCE} {pair.newer.description}"
    return change_facts(store, [pair.newer, pair.older], lambda linked: settle_both(linked, *names), subject)


def compare_new_facts(store: Store) -> None:
    """Compare new facts in force with all others: mark pairs for review, settle those that an edit by hand ended."""
    path, now = compared_file(store), time.time_ns()
    seen = read_text(path).splitlines()
    known, facts = {*seen}, _weighed(store)
    # Older lines have the id alone, without a digest.
    for new in [words for fact in facts if not {words := _words_of(fact), fact.id} & known][:_AT_ONCE]:
        fact = next(fact for fact in facts if _words_of(fact) == new)
        _settle_reworded(store, fact)
        rivals = rivals_of(fact, facts)
        for rival in rivals:
            _mark_for_review(store, rival, fact)
        facts = _weighed(store) if rivals else facts
        seen.append(new)
        with contextlib.suppress(OSError):  # if this fails, it is compared again
            replace_file(path, "".join(f"{name}\n" for name in seen[-_MOST_SEEN:]).encode())
    with contextlib.suppress(OSError):
        os.utime(path, ns=(now, now))


def _words_of(fact: Fact) -> str:
    """Return the key of a fact with its words, so that a reworded one is compared like a new one."""
    return f"{fact.id} {zlib.crc32(fact.description.encode('utf-8', 'replace')):08x}"


def compare_arrivals(store: Store) -> bool:
    """Compare all facts from a sync, a clone, a backup or an import, and look up their authors.

    Call it before anything shows them. Return whether it changed the memory. After a failure, the next session's
    upkeep tries again.
    """
    if not store.may_write():
        return False
    before, path = store.tip, compared_file(store)
    with contextlib.suppress(GitmemError):
        for _ in range(_MOST_SEEN // _AT_ONCE):
            seen = read_text(path)
            compare_new_facts(store)
            if read_text(path) == seen:
                break
        look_up_all(store)
    return store.tip != before


def _weighed(store: Store) -> list[Fact]:
    facts = (fact for fact in in_force(known_facts(store)) if fact.kind in WEIGHED)
    return sorted(facts, key=lambda fact: (fact.created, fact.id))


def _is_settled(store: Store, *facts: Fact) -> bool:
    """Return whether a user settled facts as all in force, or a model's judgement compared them in these words.

    The commit of a judgement compared its facts with all facts in its tree, on any machine.
    """

    def is_in(commit: Commit, fact: Fact) -> bool:
        stood = parse_fact(store.repository.read(commit.oid, fact.path) or b"", fact.path)
        return bool(stood and stood.description == fact.description)

    names = {fact.id for fact in facts}
    commits = (commit for name in names for commit in log(store.repository.git, "HEAD", trailers={Trailer.FACT: name}))
    return any(
        all(is_in(commit, fact) for fact in facts)
        if commit.value(Trailer.MODEL)
        else commit.subject.startswith(BOTH_IN_FORCE) and names <= {*commit.values(Trailer.FACT)}
        for commit in commits
    )


def _settle_reworded(store: Store, fact: Fact) -> None:
    if settled := _no_longer_contradicted(store, fact):
        names, subject = [known.id for known in settled], f"No longer contrary, as edited: {fact.description}"
        change_facts(store, [fact, *settled], lambda linked: settle_both(linked, fact.id, *names), subject)


def _mark_for_review(store: Store, first: Fact, second: Fact) -> None:
    """Mark two facts for review, unless they already are or were settled by a user or a model."""
    if second.id in first.review or first.id in second.review or _is_settled(store, first, second):
        return
    subject = f"Contradiction: {max(first, second, key=lambda fact: fact.when).description}"
    change_facts(store, [first, second], lambda linked: dispute(linked, first.id, second.id), subject)

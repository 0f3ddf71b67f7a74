"""Edit, end and settle facts.

Pairs of similar facts, by the vectors that `gitmem search` keeps of them (spec V4).

Nothing is embedded here: a fact is compared once it has a vector. Similarity is a hint and no verdict: with the local
model two wordings of one fact have cosines of 0.88 to 0.98, "use tabs" and "use spaces" 0.95, a rule and its contrary
0.92 to 0.998. No threshold separates them, so `gitmem.facts.edit` asks a model.

Tested through `tests/facts/test_edit.py`.

Have the larger model of the settings judge facts that may contradict each other, in the background (spec V6, V9).

It is asked about pairs in review, and about new facts that share a keyword or have similar vectors with one in force.
Each pair is asked about once, and stays as it is if the model cannot decide or gives an unusable reply. Each verdict is
a commit that `gitmem undo` takes back.

Settle a contradiction between two facts as a person says: the newer holds, the older, or both (spec V6).

Tested through `tests/facts/test_contradictions.py`.

Notice contradictions of facts that no session here taught: by a sync, saved or adopted (spec V6).

`gitmem.facts.book` compares what it learns in its own commit. All other new facts are compared once, in the
background, on each machine. A pair of which a person said that both hold is left alone, whichever machine it was on.

Tested through `tests/facts/test_contradictions.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from dataclasses import dataclass
from enum import StrEnum
from heapq import nlargest
from typing import TYPE_CHECKING

from gitmem.document.entry import clean_text
from gitmem.document.ids import MEMORY
from gitmem.document.message import Trailer, one_line
from gitmem.errors import GitmemError, NotFoundError, RefusedError
from gitmem.facts.book import fact_message
from gitmem.facts.compare import Rivals, candidates, is_weighed, may_concern, overlap, rivals_of, stems_of
from gitmem.facts.fact import MAX_DESCRIPTION, Fact, FactKind, FactStatus
from gitmem.facts.file import parse_fact, render_fact
from gitmem.facts.validity import dispute, ended, in_force, part, reworded, supersede
from gitmem.git.log import log
from gitmem.judgement.ask import Settled, ask, instructions_for, is_worth_asking
from gitmem.llm.protocol import Question, ReplyError, Size
from gitmem.platform.safe_open import read_text
from gitmem.project.files import project_code
from gitmem.redact.redact import redact
from gitmem.store.headers import KNOWN_FOLDER, known_facts
from gitmem.store.transact import transact
from gitmem.text.sentences import split
from gitmem.vectors.near import compare_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from gitmem.llm.http import Patience
    from gitmem.store.review import Pair
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction


_MAX_LISTED = 5


class MovedOnError(GitmemError):
    """A fact has changed since the person who edits it saw it."""


def find_fact(store: Store, identifier: str) -> Fact:
    """Return the fact with an id, an unambiguous prefix of one, or a file name.

    Raises:
        NotFoundError: no fact matches, or more than one.

    """
    bare = identifier.strip().removeprefix("^").rpartition("/")[2].removesuffix(".md")
    facts = known_facts(store)
    matches = [fact for fact in facts if fact.id == bare]
    matches = matches or [fact for fact in facts if bare and (fact.id.startswith(bare) or _name(fact) == bare)]
    if not matches:
        raise NotFoundError(f"There is no fact {identifier[:80]!r}.", "'gitmem facts list' lists them.")
    if len(matches) > 1:
        names = ", ".join(fact.id for fact in matches[:_MAX_LISTED])
        raise NotFoundError(f"More than one fact begins with {identifier[:80]!r}: {names}.", "Give more of its id.")
    return matches[0]


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


def confirm(store: Store, known: Fact, project: str) -> tuple[str, ...]:
    """Confirm a fact as true of the present code; it supersedes the facts it contradicts. Returns the commits.

    A retired or superseded fact is active again.
    """
    code = project_code(project, store.context.environ)
    now = store.context.clock()
    commit, files = code.as_of(now) if code and known.files else ("", frozenset())

    def plan(facts: dict[str, Fact]) -> dict[str, Fact]:
        fact = facts[known.id]
        changed = dict(facts)
        for other in (*fact.review, fact.superseded_by):
            if other in changed:
                changed.update(supersede(changed, other, known.id, now))
        status = FactStatus.OPEN if fact.kind is FactKind.ISSUE else FactStatus.ACTIVE
        fact = changed[known.id]._replace(status=status, superseded_by="", review=(), confidence=1.0, updated=now)
        changed[known.id] = fact._replace(commit=commit) if commit and files.issuperset(fact.files) else fact
        return changed

    return change_facts(store, known, plan, f"Confirm: {known.description}")


def retire(store: Store, known: Fact, why: str) -> tuple[str, ...]:
    """Retire a fact, or resolve an issue; `why` is added to its text. Returns the commits.

    A fact that contradicts it is no longer in review.
    """
    clean = redact(why, allow=store.config.redaction.allow).text
    now = store.context.clock()

    def plan(facts: dict[str, Fact]) -> dict[str, Fact]:
        changed = {name: fact._replace(review=_without(fact.review, known.id)) for name, fact in facts.items()}
        changed[known.id] = ended(changed[known.id], now, clean)
        return changed

    verb = "Resolve" if known.kind == FactKind.ISSUE else "Retire"
    return change_facts(store, known, plan, f"{verb}: {known.description}")


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


def change_facts(
    store: Store,
    known: Fact,
    plan: Callable[[dict[str, Fact]], Mapping[str, Fact]],
    subject: str,
    *more: Fact,
    model: str = "",
) -> tuple[str, ...]:
    """Commit changes to a fact, to `more`, and to the facts linked with them; returns the commits.

    `plan` gets these facts by id and returns them changed. A fact given with its content is changed only while its
    file still has that content. `model` is the model that decided, "" for a person.

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
            transaction.commit(fact_message(subject, changed).by(model), changes)

    outcome = transact(store, commit, purpose="fact")
    known_facts(store)
    return outcome.commits


def _without(names: tuple[str, ...], removed: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != removed)


def _name(fact: Fact) -> str:
    return fact.path.rpartition("/")[2].removesuffix(".md")


_NEAR = 0.65  # between the cosines of unrelated and of related texts: 0.90 for E5
_RELATED = 0.92  # between the median cosine and 1, for a model without calibration
_MAX_NEAR = 3  # of a fact
_MAX_NEW = 50  # facts that one run compares
_FILE = "near"  # in the folder of caches: the facts that were compared, each with those near it


def near_pairs(store: Store, facts: Sequence[Fact]) -> list[tuple[Fact, Fact]]:
    """Return the pairs of these facts that are near each other; none if they have no vectors."""
    path = os.path.join(store.private, KNOWN_FOLDER, _FILE)
    by_id = {fact.id: fact for fact in facts}
    near = {one: names for one, names in _read(path).items() if one in by_id}
    new = [fact.id for fact in facts if fact.id not in near][-_MAX_NEW:]
    if new and (compared := _compare(store, facts, new)):
        near |= compared
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(near, file)
    return [(by_id[one], by_id[other]) for one, names in near.items() for other in names if other in by_id]


def _read(path: str) -> dict[str, list[str]]:
    try:
        value = json.loads(read_text(path) or "{}")
        return {str(one): [str(other) for other in names] for one, names in value.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _compare(store: Store, facts: Sequence[Fact], new: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the facts near each new fact; new facts without a vector are left out."""
    paths = {fact.path: fact.id for fact in facts}
    ids = set(new)
    likeness = compare_documents(store, list(paths), [path for path, one in paths.items() if one in ids])
    if likeness is None:
        return {}
    return {
        paths[path]: _nearest({paths[other]: cosine for other, cosine in cosines.items()}, likeness.calibration)
        for path, cosines in likeness.cosines.items()
    }


def _nearest(cosines: Mapping[str, float], calibration: tuple[float, float] | None) -> list[str]:
    """Return the nearest facts above the threshold, the nearest first."""
    if not cosines:
        return []
    middle = statistics.median(cosines.values())
    low, high = calibration or (middle, middle + (1 - middle) * _RELATED)
    near = [one for one, cosine in cosines.items() if cosine >= low + (high - low) * _NEAR]
    return nlargest(_MAX_NEAR, near, key=lambda one: (cosines[one], one))


KEEP_NEW, KEEP_OLD, MERGE, BOTH = "keep_new", "keep_old", "merge", "both"
SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": [KEEP_NEW, KEEP_OLD, MERGE, BOTH]},
        "text": {"type": "string"},
        "reason": {"type": "string"},
    },
    "required": ["verdict", "text", "reason"],
    "additionalProperties": False,
}
AT_ONCE = 10  # pairs of one run
_NEWEST = 50  # facts that are compared with all older ones
_JUDGE_FILE = "judged"  # in the folder of caches: the pairs that were asked about, a line each
_MAX_TEXT = 500  # characters of a merged fact


@dataclass(frozen=True, slots=True)
class Verdict:
    """A model's verdict on two facts; `text` is that of the merged fact."""

    verdict: str
    text: str
    reason: str


def judge(store: Store, late: Callable[[], bool], tries: Patience | None = None) -> None:
    """Have pairs judged until it is `late`.

    Raises:
        GitmemError: a verdict could not be committed.

    """
    settled = Settled(store, _JUDGE_FILE)
    for old, new in list(pairs(store, settled))[:AT_ONCE]:
        subject = f"{old.id} {new.id}"
        if late() or not is_worth_asking(store, subject):
            break
        text = "\n\n".join(_description(word, fact) for word, fact in (("Older", old), ("Newer", new)))
        instructions = instructions_for(store, "contradiction")
        question = Question("contradiction", instructions, text, SCHEMA, Size.LARGE, most_tokens=600)
        asked = ask(store, question, subject, _judge_read, tries)
        if asked.value is not None:
            apply(store, old, new, asked.value, asked.model)
            settled.add(subject)


def pairs(store: Store, settled: Container[str]) -> Iterator[tuple[Fact, Fact]]:
    """Yield the pairs to judge, the older fact first: in review, with common words, similar."""
    facts = sorted(filter(is_weighed, in_force(known_facts(store))), key=lambda fact: fact.created)
    in_review = [(one, other) for one in facts for other in facts if other.id in one.review]
    alike = [
        (one, other)
        for index, other in enumerate(facts)
        if index >= len(facts) - _NEWEST
        for one in facts[:index]
        if may_concern(one.description, other.description)
    ]
    alike.sort(key=lambda pair: overlap(*(stems_of(fact.description) for fact in pair)), reverse=True)
    given: set[frozenset[str]] = set()
    for one, other in (*in_review, *alike, *near_pairs(store, facts)):
        old, new = sorted((one, other), key=lambda fact: (fact.created, fact.id))
        if f"{old.id} {new.id}" not in settled and frozenset((old.id, new.id)) not in given:
            given.add(frozenset((old.id, new.id)))
            yield old, new


def leave_to_people(store: Store, *pair: Fact) -> None:
    """Have no model asked about a pair that a person decided."""
    old, new = sorted(pair, key=lambda fact: (fact.created, fact.id))
    Settled(store, _JUDGE_FILE).add(f"{old.id} {new.id}")


def apply(store: Store, old: Fact, new: Fact, verdict: Verdict, model: str = "") -> tuple[str, ...]:
    """Carry out the verdict of a model; returns the commits."""
    now = store.context.clock()

    def plan(facts: dict[str, Fact]) -> dict[str, Fact]:
        if verdict.verdict == KEEP_OLD:
            return {**facts, **supersede(facts, new.id, old.id, now)}
        if verdict.verdict == BOTH:
            return {**facts, **part(facts, old.id, new.id)}
        changed = {**facts, **supersede(facts, old.id, new.id, now)}
        if verdict.verdict == MERGE:
            description = one_line(verdict.text, MAX_DESCRIPTION)
            changed[new.id] = changed[new.id]._replace(text=verdict.text, description=description, updated=now)
        return changed

    words = {KEEP_NEW: "Supersede", KEEP_OLD: "Supersede", MERGE: "Merge facts", BOTH: "Both hold"}[verdict.verdict]
    return change_facts(store, new, plan, f"{words}: {verdict.reason or new.description}", old, model=model)


def _judge_read(given: Mapping[str, object]) -> Verdict:
    text = one_line(str(given["text"]), _MAX_TEXT)
    if given["verdict"] == MERGE and not text:
        raise ReplyError("merges two facts into nothing")
    return Verdict(str(given["verdict"]), text, one_line(str(given["reason"]), MAX_DESCRIPTION))


def _description(word: str, fact: Fact) -> str:
    return f"{word}: {fact.kind}, {fact.created:%Y-%m-%d}\n{fact.description}"


BOTH_HOLD = "Both hold:"  # the subject of a commit begins with it


class Holds(StrEnum):
    """Which of two facts holds."""

    NEWER = "newer"
    OLDER = "older"
    BOTH = "both"


def settle(store: Store, pair: Pair, holds: Holds) -> tuple[str, ...]:
    """Supersede one fact of a pair, or keep both; return the commits.

    No model is asked about the pair again.
    """
    leave_to_people(store, pair.older, pair.newer)
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


_NOTICE_FILE = "noticed"  # in the folder of caches: the facts that were compared
_AT_ONCE = 50  # new facts of one run


def notice(store: Store) -> None:
    """Compare new facts in force with all others; mark pairs for review, and carry out statements of change.

    Raises:
        GitmemError: a change could not be committed.

    """
    seen = Settled(store, _NOTICE_FILE)
    facts = _weighed(store)
    for new in [fact.id for fact in facts if fact.id not in seen][:_AT_ONCE]:
        fact = next((fact for fact in facts if fact.id == new), None)  # an earlier one may have ended it
        if fact is not None and _notice_compare(store, fact, facts):
            facts = _weighed(store)
        seen.add(new)


def _weighed(store: Store) -> list[Fact]:
    return sorted(filter(is_weighed, in_force(known_facts(store))), key=lambda fact: (fact.created, fact.id))


def _notice_compare(store: Store, new: Fact, facts: Sequence[Fact]) -> bool:
    """Compare a fact with all others; return whether it has rivals."""
    rivals = rivals_of(new, candidates(new.description, facts))
    for loser, winner in (*((one, new) for one in rivals.ended), *((new, one) for one in rivals.ended_by)):
        supersede_fact(store, loser, winner)
    for other in rivals.disputed:
        _mark(store, other, new)
    return rivals != Rivals()


def _mark(store: Store, one: Fact, other: Fact) -> None:
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

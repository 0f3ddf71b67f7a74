"""Have the larger model of the settings judge facts that may contradict each other, in the background (spec V6, V9).

It is asked about pairs in review, and about new facts that share a keyword or have similar vectors with one in force.
Each pair is asked about once, and stays as it is if the model cannot decide or gives an unusable reply. Each verdict is
a commit that `gitmem undo` takes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.llm.protocol import Question, Size
from gitmem.llm.replies import ReplyError
from gitmem.memory.ask.ask import Settled, ask, instructions_for, is_worth_asking
from gitmem.memory.facts.edit import change_facts
from gitmem.memory.facts.near import near_pairs
from gitmem.model.fact.chain import part, supersede
from gitmem.model.fact.compare import may_concern, overlap, stems_of
from gitmem.model.fact.fact import MAX_DESCRIPTION, Fact
from gitmem.model.fact.holds import in_force
from gitmem.model.fact.rivals import is_weighed
from gitmem.model.message import one_line
from gitmem.store.headers.facts import known_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from gitmem.llm.http import Patience
    from gitmem.model.fact.fact import Fact
    from gitmem.store.store import Store

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
_FILE = "judged"  # in the folder of caches: the pairs that were asked about, a line each
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
    settled = Settled(store, _FILE)
    for old, new in list(pairs(store, settled))[:AT_ONCE]:
        subject = f"{old.id} {new.id}"
        if late() or not is_worth_asking(store, subject):
            break
        text = "\n\n".join(_description(word, fact) for word, fact in (("Older", old), ("Newer", new)))
        instructions = instructions_for(store, "contradiction")
        question = Question("contradiction", instructions, text, SCHEMA, Size.LARGE, most_tokens=600)
        asked = ask(store, question, subject, _read, tries)
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
    Settled(store, _FILE).add(f"{old.id} {new.id}")


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


def _read(given: Mapping[str, object]) -> Verdict:
    text = one_line(str(given["text"]), _MAX_TEXT)
    if given["verdict"] == MERGE and not text:
        raise ReplyError("merges two facts into nothing")
    return Verdict(str(given["verdict"]), text, one_line(str(given["reason"]), MAX_DESCRIPTION))


def _description(word: str, fact: Fact) -> str:
    return f"{word}: {fact.kind}, {fact.created:%Y-%m-%d}\n{fact.description}"

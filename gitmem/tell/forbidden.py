"""Answer a tool call that a rule forbids, by showing the rule or having the agent ask or refuse.

A rule of the user acts at once; a rule of another author acts, with its literals of that time, once the user confirmed
it. Each firing is recorded, and whether the call was made nevertheless.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice

from gitmem.document.ids import digest, do_meet
from gitmem.document.message import one_line
from gitmem.history.authors import Authors, note_confirmed
from gitmem.history.marks import place_marks
from gitmem.model.events import call_fields
from gitmem.model.fact import Fact, day_of, parse_fact
from gitmem.model.forbidden import ToolCall, meets, usable_ones
from gitmem.model.similarity import WEIGHED, denies
from gitmem.model.words import RULE_MET
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import read_text
from gitmem.store.forbids import write_forbids
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.text.terminal import plain
from gitmem.values import Value

_FILE = "firings.jsonl"
_LARGEST = 1 << 20  # bytes of the record, above which its older half is dropped
OFTEN_IGNORED = 3  # times ignored, and more than obeyed, for a rule to be offered for review


def how_to_forbid(fact: Fact) -> str:
    """Return the command that makes a prohibiting fact act on tool calls, "" if it needs none.

    The words of a command that the fact forbids are never guessed.
    """
    is_mute = fact.kind in WEIGHED and not fact.forbids and denies(fact.description)
    return f"gitmem facts forbid {fact.id} 'WORDS OF A COMMAND'" if is_mute else ""


class Firing(Value):
    """A rule that fired at a call: the time, session, rule's id and the call's key."""

    at: datetime
    session: str
    rule: str
    call: str
    made: bool = False


class RuleCounts(Value):
    """How often a rule fired, and how often the call was made nevertheless."""

    fired: int = 0
    ignored: int = 0

    @property
    def obeyed(self) -> int:
        """How often the call was not made."""
        return self.fired - self.ignored

    @property
    def is_ignored(self) -> bool:
        """Whether the rule is ignored so often that the user should look at it."""
        return self.ignored >= OFTEN_IGNORED and self.ignored > self.obeyed


def firings(private: str, *, every: bool = False) -> list[Firing]:
    """Return the firings since the user last kept each rule, or `every` one, the oldest first."""
    fired: list[Firing] = []
    made: set[tuple[str, str]] = set()
    for line in read_text(os.path.join(private, _FILE)).splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            row = json.loads(line)
            if row.get("kept"):  # the user has answered the firings before
                fired = [firing for firing in fired if every or firing.rule != row["kept"]]
            elif row.get("made"):
                made.add((row["session"], row["call"]))
            else:
                fired.append(Firing(datetime.fromisoformat(row["at"]), row["session"], row["rule"], row["call"]))
    return [firing._replace(made=(firing.session, firing.call) in made) for firing in fired]


def note_firing(private: str, firing: Firing) -> None:
    """Record that a rule fired."""
    row = {"at": firing.at.isoformat(), "session": firing.session, "rule": firing.rule, "call": firing.call}
    _append(private, [json.dumps(row)])


def record_made(private: str, calls: Iterable[tuple[str, str]]) -> None:
    """Record which of these calls, given by session and key, were made although a rule fired."""
    path = os.path.join(private, _FILE)
    if os.path.exists(path):
        open_calls = {(firing.session, firing.call) for firing in firings(private) if not firing.made}
        rows = dict.fromkeys(call for call in calls if call in open_calls)
        _append(private, [json.dumps({"made": True, "session": session, "call": call}) for session, call in rows])


def firings_by_rule(private: str) -> dict[str, RuleCounts]:
    """Return how often each rule fired and was ignored, by its id."""
    found = firings(private)
    fired, ignored = Counter(firing.rule for firing in found), Counter(firing.rule for firing in found if firing.made)
    return {rule: RuleCounts(number, ignored[rule]) for rule, number in fired.items()}


def _append(private: str, lines: list[str]) -> None:
    path = os.path.join(private, _FILE)
    with contextlib.suppress(OSError):
        if os.path.exists(path) and os.path.getsize(path) > _LARGEST:
            recent = read_text(path).splitlines()
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in recent[len(recent) // 2 :]))
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))


_MOST_SHOWN = 5  # rules of one answer


class Decision(StrEnum):
    """What an agent is to do with a call; `ask` and `deny` only if the user chose them for the rule."""

    TELL = "tell"
    ASK = "ask"
    DENY = "deny"


class Answer(Value):
    """The answer to a tool call: the text for the agent, "" for none, and what is to be done."""

    text: str = ""
    decision: Decision = Decision.TELL


def answer_call(store: Store, payload: Mapping[str, object], *, hears: bool = True, made: bool = False) -> Answer:
    """Return the answer to a tool call, an empty one if no rule in force forbids it.

    The call is about to be made, or was already `made`. An agent that `hears` nothing before a call can only be made to
    ask or refuse then; it is shown the rule with the result, and the call does not count as ignoring the rule.
    """
    session, call = str(payload.get("session_id", "")), call_of(store, payload)
    met = [
        (rule, next((literal for literal in usable_ones(rule.forbids) if meets(literal, call, rule.text)), ""))
        for rule in forbidding(store)
    ]
    met = [(rule, literal) for rule, literal in met if literal]
    if not met:
        return Answer()
    people = Authors(store)
    met = [(rule, literal) for rule, literal in met if not people.awaits(rule)]
    decisions = (Decision.TELL if newer_rivals(store, rule) else decision_of(rule) for rule, _ in met)
    decision = max(decisions, key=[*Decision].index, default=Decision.TELL)
    if (decision is Decision.TELL) != made and not hears:
        return Answer()
    shown = {(firing.session, firing.rule) for firing in firings(store.private)}
    new = [row for row in met if (session, row[0].id) not in shown or decision is not Decision.TELL]
    for rule, _ in new:
        note_firing(store.private, Firing(store.context.clock(), session, rule.id, "" if made else call_key(payload)))
    return Answer(_text(store, new, decision), decision if new else Decision.TELL)


def call_of(store: Store, payload: Mapping[str, object]) -> ToolCall:
    """Return the tool call in a hook's payload, with paths relative to the project."""
    fields = call_fields(str(payload.get("tool_name", "")), payload.get("tool_input"))
    top = os.path.dirname(store.root).replace("\\", "/").rstrip("/") + "/"
    paths = tuple(path.replace("\\", "/").removeprefix(top) for path in fields["files"])
    text = "\n".join(text for _, text in fields["added"]) if paths else ""  # what a command writes is read with it
    return ToolCall(fields["command"], paths, text)


def call_key(payload: Mapping[str, object]) -> str:
    """Return the key of a call, the same before and after it is made, as `key_of` does."""
    named = payload.get("tool_use_id")
    fields = call_fields(str(payload.get("tool_name", "")), payload.get("tool_input"))
    return key_of(named if isinstance(named, str) else "", fields["tool"], fields["command"], fields["target"])


def key_of(named: str, tool: str, command: str, target: str) -> str:
    """Return the agent's id of a call, else a digest of its content."""
    return named[:200] or digest(tool, command, target)[:8].hex()


def decision_of(rule: Fact) -> Decision:
    """Return the user's choice for a rule."""
    return next((decision for decision in Decision if decision.value == rule.enforce), Decision.TELL)


def forbidding(store: Store, facts: Sequence[Fact] | None = None) -> list[Fact]:
    """Return the facts in force here that forbid something in this part of the project; `facts` are all, if read."""
    facts = known_facts(store) if facts is None else facts
    statuses = place_marks(store, facts).statuses if any(fact.forbids for fact in facts) else {}
    in_force = (fact for fact in facts if fact.forbids and statuses[fact.id].is_in_force)
    return [fact for fact in in_force if not fact.scope or do_meet(fact.scope, (store.here,))]


def newer_rivals(store: Store, rule: Fact) -> list[Fact]:
    """Return newer facts that contradict a rule and wait in review; until decided, the rule is only shown."""
    marks = place_marks(store, known_facts(store))
    rivals = (marks.facts[dispute] for dispute in marks.statuses[rule.id].disputes if dispute in marks.facts)
    return [rival for rival in rivals if (rival.when, rival.id) > (rule.when, rule.id)]


def rules_to_review(store: Store, facts: Sequence[Fact] | None = None) -> list[tuple[Fact, RuleCounts | None]]:
    """Return the rules that wait for a user: others' to confirm, with None, and ignored ones, with their counts."""
    rules = forbidding(store, facts)
    if not rules:
        return []
    people, fired = Authors(store), firings_by_rule(store.private)
    numbers = [(rule, None if people.awaits(rule) else fired.get(rule.id, RuleCounts())) for rule in rules]
    return [(rule, number) for rule, number in numbers if number is None or number.is_ignored]


def confirm_rule(store: Store, rule: Fact) -> None:
    """Let a rule act on this machine with its present literals, as the user confirmed it."""
    _append(store.private, [json.dumps({"kept": rule.id})])
    note_confirmed(store.private, rule)
    renew_forbids(store)


# What a user may decide of another author's rule, and of one that is often ignored.
OTHERS_RULE: tuple[str, ...] = ("theirs", "ours")
IGNORED_RULE: tuple[str, ...] = ("keep", Decision.ASK.value, Decision.DENY.value, "drop")


def decide_rule(store: Store, rule: Fact, take: str) -> Sequence[str]:
    """Have a rule warn, ask or refuse on this machine, or forbid nothing; return the commits."""
    from gitmem.record.fact_edits import find_fact, forbid  # late: a hook decides nothing

    if take in {"ours", "drop"}:
        return forbid(store, rule, ())
    commits = () if take in {"theirs", "keep"} else forbid(store, rule, rule.forbids, take)
    confirm_rule(store, find_fact(store, rule.id))
    return commits


def renew_forbids(store: Store) -> None:
    """Write the literals that hooks look for: those forbidden by the facts in force here."""
    write_forbids(store.private, store.context.home, forbidding(store))


def _text(store: Store, fired: Iterable[tuple[Fact, str]], decision: Decision) -> str:
    once = "; shown once a session" * (decision is Decision.TELL)
    lines = (line for rule, literal in islice(fired, _MOST_SHOWN) for line in _lines(store, rule, literal, once))
    return "\n".join(lines)


def _lines(store: Store, known: Fact, literal: str, once: str) -> Iterator[str]:
    rule = parse_fact(store.read(known.path) or b"", known.path) or known
    yield plain(f"{RULE_MET} {day_of(rule.created)} forbids (`{one_line(literal, 200)}`{once}):")
    yield plain(f"- {one_line(rule.description or rule.text, 300)} ^{rule.id}")
    if "**Why:**" in rule.text:
        reason = rule.text.partition("**Why:**")[2].strip().partition("\n\n")[0]
        yield plain(f"  Why: {one_line(reason, 300)}")
    for rival in newer_rivals(store, known):
        yield plain(
            f"  A newer fact contradicts it, which the user has not settled: {one_line(rival.description, 200)}"
        )

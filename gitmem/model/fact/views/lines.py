"""The lines of facts in `memory.md`: views that follow their facts, and a person's edits of them.

A line is an entry with the id of its fact. Struck out, ticked off or deleted, it ends the fact; reworded, it rewords it
(docs/format.md, "Facts").
"""

from __future__ import annotations

import re

from gitmem.model.entry.entry import CONTINUED, Entry, find_entries, render_entry
from gitmem.model.entry.kinds import CORE_DECISIONS, KNOWN_ISSUES, RECENT_CONTEXT, STATE
from gitmem.model.entry.log import replace_entry, restore_entries
from gitmem.model.fact import acts
from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.views.marks import STATE_MARK, marks_of
from gitmem.model.ids import is_fact_id
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from gitmem.model.entry.entry import FoundEntry
    from gitmem.model.fact.fact import Fact
    from gitmem.model.fact.views.marks import Marks

TOLD = (FactKind.DECISION, FactKind.PREFERENCE, FactKind.RULE, FactKind.ISSUE)  # kinds that have a line once learned
SECTIONS = {  # of `memory.md`, by kind; a pattern has a line where somebody saved it, other kinds have none
    FactKind.DECISION: CORE_DECISIONS,
    FactKind.PREFERENCE: CORE_DECISIONS,
    FactKind.RULE: CORE_DECISIONS,
    FactKind.ISSUE: KNOWN_ISSUES,
    FactKind.PATTERN: RECENT_CONTEXT,
}
_STRUCK = re.compile(r"~~(?=\S)[^~\n]*~~")
_TICKED = re.compile(r"^(?:[-*+] +)?(?:\[[0-9: -]+\] +)?(?:\*\*[^*\n]*\*\*[^:\n]{0,200}: *)?\[[xX]\]")
# What a line has beside its statement: bullet, box, time, label, tags, id.
_FRAME = re.compile(
    r"^[ \t]*(?:[-*+] +)?(?:\[[ xX]?\] +)?(?:\[[0-9: -]+\] *)?(?:\*\*[^*\n]{1,60}\*\*(?: #[\w/-]{1,50}){0,50}: ?)?"
)
_MORE = re.compile(rf"(?:{CONTINUED})*")


class LineEdits(Value):
    """What a person's edit of `memory.md` did to facts, by id, and its body with damaged lines made whole."""

    ended: tuple[str, ...]
    reworded: dict[str, str]
    revived: tuple[str, ...]
    body: str


def line_of(fact: Fact, time: str, tags: tuple[str, ...] = ()) -> Entry:
    """Return the entry of a fact at a local time."""
    return Entry(fact.id, time, fact.kind.value.replace("-", " ").title(), fact.text, tags)


def fact_entries(body: str) -> dict[str, Entry]:
    """Return the entries of facts by id."""
    return {found.entry.id: found.entry for found in find_entries(body) if is_fact_id(found.entry.id)}


def follow(
    body: str,
    facts: Mapping[str, Fact],
    newline: str = "\n",
    *,
    new: Mapping[str, str] | None = None,
    gone: Collection[str] = (),
) -> str:
    """Return the body of `memory.md` with its lines as these facts are.

    `facts` holds every fact to look at, and the successors of each. Lines of facts that do not hold, and of those that
    are `gone`, are left out; the State of a turn that told them says so. `new` are the ids of facts that are to have a
    line, each with its local time.
    """
    marks = marks_of(facts.values())
    entries = find_entries(body)
    for found in reversed(entries):
        identifier = found.entry.id
        fact = facts.get(identifier)
        if found.entry.label == STATE:
            state = state_as_of_now(found.entry, marks, _turn_of(found.entry, entries))
            body = body if state == found.entry else replace_entry(body, found, state, newline)
        elif identifier in gone or marks.has_ended(identifier):
            body = body[: found.start] + body[found.end :]
        elif fact is not None and found.entry.text != fact.text:
            body = replace_entry(body, found, found.entry._replace(text=fact.text), newline)
    told = ((facts[one], time) for one, time in (new or {}).items() if not marks.has_ended(one))
    lines = [(SECTIONS[fact.kind], line_of(fact, time)) for fact, time in told if fact.kind in SECTIONS]
    return restore_entries(body, lines, newline)


def state_as_of_now(state: Entry, marks: Marks, turn: str = "") -> Entry:
    """Return the entry of Current State with a mark for each ended fact of its turn.

    `turn` is the id of the exchange of the same turn, where it is known.
    """
    text = re.sub(STATE_MARK, lambda mark: "" if mark["id"] in marks.facts else mark[0], state.text)
    ended = (one for one in marks.said_in(turn, text) if marks.has_ended(one))
    return state._replace(text=text + "".join(f" [{marks.statuses[one].standing}: {one}]" for one in ended))


def _turn_of(state: Entry, entries: Sequence[FoundEntry]) -> str:
    """Return the id of the exchange of a state's turn, which ended in the same second of the same session."""
    of_turn = (one.entry for one in entries if one.entry.time == state.time and one.entry.tags == state.tags)
    return next((one.id for one in of_turn if one.label != STATE and not is_fact_id(one.id)), "")


def line_edits(old: Mapping[str, Entry], after: str) -> LineEdits:
    """Return the changes of facts that follow from a person's edit of their lines in `memory.md`; `old` are the lines.

    A body without any text says nothing: somebody emptied the file.
    """
    new = fact_entries(after)
    if not after.strip():
        return LineEdits((), {}, (), after)
    ended: list[str] = []
    reworded: dict[str, str] = {}
    for identifier, entry in old.items():
        changed = new.get(identifier)
        if changed is None:
            start, end = _damaged(after, entry)
            line = after[start:end].split("\n", maxsplit=1)[0]
            if start == end or is_ended(line):
                ended.append(identifier)
                after = after[:start] + after[end:]
                continue
            text = _FRAME.sub("", line.rstrip("\r")).replace(f"^{identifier}", "").strip()
            more = entry.text.split("\n")[1:]
            changed = entry._replace(text="\n".join([text, *more]) if text else entry.text)
            after = after[:start] + render_entry(changed) + after[end:]
        if is_ended(changed.text.split("\n")[0]):
            ended.append(identifier)
        elif changed.text != entry.text:
            reworded[identifier] = changed.text
    return LineEdits(tuple(ended), reworded, tuple(new.keys() - old.keys()), after)


def facts_as_edited(edits: LineEdits, get: Callable[[str], Fact | None], now: datetime) -> dict[str, Fact]:
    """Return the facts that edits of their lines change, by id; `get` finds them."""
    changed = {}
    for one in (*edits.ended, *edits.reworded, *edits.revived):
        fact = new = get(one)
        if fact is None or new is None:
            continue
        if one in edits.reworded:
            new = acts.reworded(fact, edits.reworded[one], now) if edits.reworded[one] != fact.text else fact
        elif one in edits.revived:
            new = acts.revived(fact, now)
        elif fact.binds:
            new = acts.ended(fact, now)
        if new != fact:
            changed[one] = new
    return changed


def is_ended(line: str) -> bool:
    """Return whether a line is struck out as a whole, or ticked off."""
    if _TICKED.match(line):
        return True
    rest = _STRUCK.sub("", line)
    return rest != line and not re.search(r"\w", re.sub(r"\^\w+", "", _FRAME.sub("", rest)))


def _damaged(body: str, entry: Entry) -> tuple[int, int]:
    """Return the range of a line that is no entry any more, by its id or else its words; empty if it is gone."""
    first = entry.text.split("\n")[0]
    found = re.search(rf"(?m)^[^\n]*\^{entry.id}\b[^\n]*(?:\n|\Z)", body)
    if found is None and first:
        found = re.search(rf"(?m)^(?:[^\n]*[ ~])?{re.escape(first)}(?:~~)?[ \t]*\r?(?:\n|\Z)", body)
    if found is None:
        return 0, 0
    more = _MORE.match(body, found.end())
    return found.start(), more.end() if more else found.end()

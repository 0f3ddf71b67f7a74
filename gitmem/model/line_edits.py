"""Write and update the lines of facts in `memory.md`, and read back a user's edits of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from gitmem.document.entry import (
    CONTINUED,
    CORE_DECISIONS,
    KNOWN_ISSUES,
    RECENT_CONTEXT,
    Entry,
    find_entries,
    render_entry,
    replace_entry,
    restore_entries,
)
from gitmem.document.ids import is_fact_id
from gitmem.model import validity
from gitmem.model.fact import Fact, FactKind
from gitmem.model.lines import marks_of
from gitmem.platform.machine import datetime
from gitmem.values import Value

LISTED = (FactKind.DECISION, FactKind.PREFERENCE, FactKind.RULE, FactKind.ISSUE)  # kinds with a line in memory.md
SECTIONS = {  # of `memory.md`, by kind; a pattern has a line only if somebody saved it
    FactKind.DECISION: CORE_DECISIONS,
    FactKind.PREFERENCE: CORE_DECISIONS,
    FactKind.RULE: CORE_DECISIONS,
    FactKind.ISSUE: KNOWN_ISSUES,
    FactKind.PATTERN: RECENT_CONTEXT,
}
# As strings: hooks load this module, and only an edit of `memory.md` needs these.
_STRUCK = r"~~(?=\S)[^~\n]*~~"
_TICKED = r"^(?:[-*+] +)?(?:\[[0-9: -]+\] +)?(?:\*\*[^*\n]*\*\*[^:\n]{0,200}: *)?\[[xX]\]"
# The parts of a line before its statement: bullet, box, time, label, tags.
_FRAME = r"^[ \t]*(?:[-*+] +)?(?:\[[ xX]?\] +)?(?:\[[0-9: -]+\] *)?(?:\*\*[^*\n]{1,60}\*\*(?: #[\w/-]{1,50}){0,50}: ?)?"
_MORE = rf"(?:{CONTINUED})*"


class LineEdits(Value):
    """A user's changes of facts in `memory.md`, by id, and its body with damaged lines repaired."""

    ended: tuple[str, ...]
    reworded: dict[str, str]
    revived: tuple[str, ...]
    body: str


def line_of(fact: Fact, time: str) -> Entry:
    """Return the entry of a fact at a local time."""
    return Entry(fact.id, time, fact.kind.value.replace("-", " ").title(), fact.text)


def fact_entries(body: str) -> dict[str, Entry]:
    """Return the entries of facts by id."""
    return {entry.entry.id: entry.entry for entry in find_entries(body) if is_fact_id(entry.entry.id)}


def updated_body(
    body: str,
    facts: Mapping[str, Fact],
    newline: str = "\n",
    *,
    new: Mapping[str, str] | None = None,
    removed: Collection[str] = (),
) -> str:
    """Return the body of `memory.md` with its lines updated from these facts.

    `facts` are all facts with a line, and their successors. Lines of facts not in force, and of those in `removed`, are
    removed. `new` are the ids of facts that get a line, each with its local time.
    """
    marks = marks_of(facts.values())
    entries = find_entries(body)
    for entry in reversed(entries):
        identifier = entry.entry.id
        fact = facts.get(identifier)
        if identifier in removed or marks.has_ended(identifier):
            body = body[: entry.start] + body[entry.end :]
        elif fact is not None and entry.entry.text != fact.text:
            body = replace_entry(body, entry, entry.entry._replace(text=fact.text), newline)
    added = ((facts[fact_id], time) for fact_id, time in (new or {}).items() if not marks.has_ended(fact_id))
    lines = [(SECTIONS[fact.kind], line_of(fact, time)) for fact, time in added if fact.kind in SECTIONS]
    return restore_entries(body, lines, newline)


def line_edits(old: Mapping[str, Entry], after: str) -> LineEdits:
    """Return a user's changes of facts by editing their lines in `memory.md`; `old` are the lines before.

    An empty body changes nothing: somebody emptied the file.
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
            text = re.sub(_FRAME, "", line.rstrip("\r")).replace(f"^{identifier}", "").strip()
            more = entry.text.split("\n")[1:]
            changed = entry._replace(text="\n".join([text, *more]) if text else entry.text)
            after = after[:start] + render_entry(changed) + after[end:]
        if is_ended(changed.text.split("\n")[0]):
            ended.append(identifier)
        elif changed.text != entry.text:
            reworded[identifier] = changed.text
    return LineEdits(tuple(ended), reworded, tuple(new.keys() - old.keys()), after)


def facts_as_edited(edits: LineEdits, get: Callable[[str], Fact | None], now: datetime) -> dict[str, Fact]:
    """Return the facts changed by edits of their lines, by id; `get` finds a fact by its id."""
    changed = {}
    for fact_id in (*edits.ended, *edits.reworded, *edits.revived):
        fact = new = get(fact_id)
        if fact is None or new is None:
            continue
        if fact_id in edits.reworded:
            text = edits.reworded[fact_id]
            new = validity.reworded(fact, text, now) if text != fact.text else fact
        elif fact_id in edits.revived:
            new = validity.revived(fact, now)
        elif fact.binds:
            new = validity.ended(fact, now)
        if new != fact:
            changed[fact_id] = new
    return changed


def is_ended(line: str) -> bool:
    """Return whether a whole line is struck out or ticked off."""
    if re.match(_TICKED, line):
        return True
    rest = re.sub(_STRUCK, "", line)
    return rest != line and not re.search(r"\w", re.sub(r"\^\w+", "", re.sub(_FRAME, "", rest)))


def _damaged(body: str, entry: Entry) -> tuple[int, int]:
    """Return the range of a line that no longer parses, found by its id or words; empty if it is gone."""
    first = entry.text.split("\n")[0]
    match = re.search(rf"(?m)^[^\n]*\^{entry.id}\b[^\n]*(?:\n|\Z)", body)
    if match is None and first:
        match = re.search(rf"(?m)^(?:[^\n]*[ ~])?{re.escape(first)}(?:~~)?[ \t]*\r?(?:\n|\Z)", body)
    if match is None:
        return 0, 0
    more = re.compile(_MORE).match(body, match.end())
    return match.start(), more.end() if more else match.end()

"""Mark lines of facts that no longer hold, wherever documents are printed (docs/format.md, "Facts").

A line is found by the id of its fact, or by its type and words in archives and weeks older than these ids.
"""

from __future__ import annotations

from gitmem.model.entry.entry import find_entries
from gitmem.model.fact.fact import FactKind, fact_id
from gitmem.model.fact.holds import what_holds
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitmem.model.entry.entry import Entry
    from gitmem.model.fact.fact import Fact
    from gitmem.model.fact.holds import Status

_KINDS = {kind.value.replace("-", " ").title(): kind for kind in FactKind}  # by the label of a line


class Marks(Value):
    """The facts of a store and their statuses, by id."""

    facts: Mapping[str, Fact]
    statuses: Mapping[str, Status]

    def id_of(self, entry: Entry) -> str:
        """Return the id of the fact whose line an entry is, "" if it is none."""
        if entry.id in self.statuses:
            return entry.id
        kind = _KINDS.get(entry.label)
        identifier = fact_id(kind, entry.text) if kind else ""
        return identifier if identifier in self.statuses else ""

    def has_ended(self, identifier: str) -> bool:
        """Return whether this is a fact that no longer holds."""
        return identifier in self.statuses and not self.statuses[identifier].holds

    def mark(self, identifier: str) -> str:
        """Return the status of a fact in words, "" if it is in force and nothing contradicts it."""
        status = self.statuses.get(identifier)
        if status is None or (status.holds and not status.disputes):
            return ""
        others = status.disputes or ((status.successor,) if status.successor else ())
        named = ", ".join(f"{self.facts[one].description} ({one})" for one in others if one in self.facts)
        since = f" since {status.since:%Y-%m-%d}" if status.since else ""
        by = " with: " if status.holds else " by: "
        return f"{'in dispute' if status.holds else status.standing}{since}{by + named if named else ''}"


def marks_of(facts: Iterable[Fact]) -> Marks:
    """Return the marks of these facts."""
    known = {fact.id: fact for fact in facts}
    return Marks(known, what_holds(known.values()))


def may_have_marks(text: str) -> bool:
    """Say whether a text may hold lines of facts, at little cost."""
    return any(f"**{label}**" in text for label in _KINDS)


def with_marks(text: str, marks: Marks) -> str:
    """Return a text whose lines of facts that do not hold, or are in dispute, say so before their id."""
    for found in reversed(find_entries(text)):
        if mark := marks.mark(marks.id_of(found.entry)):
            line = text[found.start : found.end].split("\n", maxsplit=1)[0]
            at = found.start + line.rindex(f" ^{found.entry.id}")
            text = f"{text[:at]} [{mark}]{text[at:]}"
    return text


def without_ended(text: str, marks: Marks) -> str:
    """Return a text without the lines of facts that do not hold."""
    for found in reversed(find_entries(text)):
        if marks.has_ended(marks.id_of(found.entry)):
            text = text[: found.start] + text[found.end :]
    return text

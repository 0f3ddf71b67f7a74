"""Mark text about facts that no longer hold, wherever documents are printed (docs/format.md, "Facts").

A line is found by the id of its fact, or by its type and words in archives and weeks older than these ids. Other
memories tell a fact if it was learned from them, or if they contain its words.
"""

from __future__ import annotations

import re

from gitmem.model.entry.entry import find_entries
from gitmem.model.fact.fact import FactKind, fact_id
from gitmem.model.fact.holds import what_holds
from gitmem.model.ids import tail_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitmem.model.entry.entry import Entry
    from gitmem.model.fact.fact import Fact
    from gitmem.model.fact.holds import Status

SHORTEST = 12  # characters of a statement that is known by its words alone
_QUOTED = 60  # characters of a statement that a mark names
_KINDS = {kind.value.replace("-", " ").title(): kind for kind in FactKind}  # by the label of a line


class Marks(Value):
    """The facts of a store and their statuses, by id.

    `sources` are, by the digest of a memory, the facts that were learned from it. `words` are the words of facts that
    do not hold, `in_force` those of the others; `wordings` match what reworded facts said first, by their names.
    """

    facts: Mapping[str, Fact]
    statuses: Mapping[str, Status]
    sources: Mapping[str, tuple[str, ...]] = {}  # never changed
    words: Mapping[str, str] = {}  # never changed
    in_force: frozenset[str] = frozenset()
    wordings: Mapping[str, str] = {}  # never changed

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

    def said_in(self, memory: str, text: str) -> tuple[str, ...]:
        """Return the facts that a memory tells otherwise than they stand now, by its id ("" for none) and its text."""
        words = normalized(text)
        learned = (one for one in self.sources.get(tail_of(memory), ()) if self._is_other(one, text))
        stated = [one for one, statement in self.words.items() if statement in words]
        stated += [one for one, form in self.wordings.items() if re.search(form, words, re.IGNORECASE)]
        return tuple(one for one in dict.fromkeys((*learned, *stated)) if one not in text)

    def mark(self, identifier: str) -> str:
        """Return the status of a fact in words, "" if it is in force and nothing contradicts it."""
        status = self.statuses.get(identifier)
        if status is None or (status.holds and not status.disputes):
            return ""
        others = status.disputes or ((status.successor,) if status.successor else ())
        named = ", ".join(self._named(one) for one in others if one in self.facts)
        since = f" since {status.since:%Y-%m-%d}" if status.since else ""
        by = " with: " if status.holds else " by: "
        return f"{'in dispute' if status.holds else status.standing}{since}{by + named if named else ''}"

    def _named(self, identifier: str) -> str:
        """Return the name of a fact in a mark, with its status if it has ended as well."""
        ended = f", {self.statuses[identifier].standing}" if self.has_ended(identifier) else ""
        return f"{self.facts[identifier].description} ({identifier}{ended})"

    def mark_of(self, entry: Entry) -> str:
        """Return the mark of an entry: the status of its own fact, or of facts that it states in an old form."""
        identifier = self.id_of(entry)
        if not identifier:
            return self.told_by(entry.id, entry.text)
        return self.mark(identifier) or (self.now(identifier) if self.is_old_wording(identifier, entry.text) else "")

    def is_old_wording(self, identifier: str, text: str) -> bool:
        """Return whether a text is a former wording of a fact in force."""
        fact = self.facts[identifier]
        return fact.is_reworded and normalized(fact.description) not in normalized(text)

    def told_by(self, memory: str, text: str) -> str:
        """Return the statuses of facts that a memory states in an old form, "" for none; see `said_in`."""
        return "; ".join(self._told_of(one, text) for one in self.said_in(memory, text))

    def _is_other(self, identifier: str, text: str) -> bool:
        """Return whether a fact that was learned from a text has ended, or was reworded since."""
        if self.has_ended(identifier):
            return normalized(self.facts[identifier].description) not in self.in_force
        return self.is_old_wording(identifier, text)

    def _told_of(self, identifier: str, text: str) -> str:
        if not self.has_ended(identifier):
            return self.now(identifier)
        words = self.facts[identifier].description
        if normalized(text.split("\n", maxsplit=1)[0]) == normalized(words):
            return self.mark(identifier)
        quoted = words if len(words) <= _QUOTED else f"{words[:_QUOTED].rstrip()}…"
        return f'"{quoted}" is {self.mark(identifier)}'

    def now(self, identifier: str) -> str:
        """Return what a reworded fact says now, in words."""
        return f"now: {self.facts[identifier].description} ({identifier})"


def marks_of(facts: Iterable[Fact]) -> Marks:
    """Return the marks of these facts."""
    known = {fact.id: fact for fact in facts}
    statuses = what_holds(known.values())
    holding = [fact for fact in known.values() if statuses[fact.id].holds]
    # They are only compared with those of facts that have ended.
    in_force = frozenset(normalized(fact.description) for fact in holding if len(holding) < len(known))
    sources: dict[str, list[str]] = {}
    words, wordings = {}, {}
    for fact in known.values():
        for source in fact.sources:
            sources.setdefault(tail_of(source), []).append(fact.id)
        if statuses[fact.id].holds:
            if fact.is_reworded and len(fact.name) >= SHORTEST:
                form = r"[^\w/-]+".join(map(re.escape, fact.name.split("-")))
                if not re.search(form, normalized(fact.description)):
                    wordings[fact.id] = form
        else:
            statement = normalized(fact.description)
            if len(statement) >= SHORTEST and statement not in in_force:
                words[fact.id] = statement
    return Marks(known, statuses, {digest: tuple(ids) for digest, ids in sources.items()}, words, in_force, wordings)


def normalized(text: str) -> str:
    """Return a statement in lower case, with single spaces and without an end mark, for comparison."""
    return " ".join(text.split()).rstrip(".!?…。").rstrip().casefold()


def with_marks(text: str, marks: Marks) -> str:
    """Return a text with a mark before the id of each memory that states ended or disputed facts.

    Elsewhere the mark stands behind the words of the fact.
    """
    position = len(text)
    pieces: list[str] = []
    for found in reversed(find_entries(text)):
        pieces.append(with_marked_words(text[found.end : position], marks))
        entry = text[found.start : found.end]
        if mark := marks.mark_of(found.entry):
            at = entry.split("\n", maxsplit=1)[0].rindex(f" ^{found.entry.id}")
            entry = f"{entry[:at]} [{mark}]{entry[at:]}"
        pieces.append(entry)
        position = found.start
    pieces.append(with_marked_words(text[:position], marks))
    return "".join(reversed(pieces))


def with_marked_words(text: str, marks: Marks) -> str:
    """Return a text with the status of each ended fact behind its words."""
    words = normalized(text) if marks.words else ""
    for identifier, said in marks.words.items():
        if said in words:
            pattern = r"\s+".join(map(re.escape, said.split())) + "[.!?…。]?"
            mark = f" [{marks.mark(identifier)}]".replace("\\", r"\\")
            text = re.sub(pattern, rf"\g<0>{mark}", text, flags=re.IGNORECASE)
    for identifier, form in marks.wordings.items():
        mark = f" [{marks.now(identifier)}]".replace("\\", r"\\")
        text = re.sub(rf"{form}[^.!?\n]{{0,200}}[.!?…。]?", rf"\g<0>{mark}", text, flags=re.IGNORECASE)
    return text


def without_ended(text: str, marks: Marks) -> str:
    """Return a text without the lines of facts that do not hold."""
    for found in reversed(find_entries(text)):
        if marks.has_ended(marks.id_of(found.entry)):
            text = text[: found.start] + text[found.end :]
    return text

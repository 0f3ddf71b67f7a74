"""The lines of facts in `memory.md`, and marks on text about facts that are no longer in force (docs/memory.md).

A line is an entry with the id of its fact. Striking it out, ticking it off or deleting it ends the fact; rewording it
rewords the fact. In other texts a fact is found by its id, by its words, by the memory it was learned from, or, in
archives and weeks older than these ids, by type and words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from gitmem.document.entry import Entry, find_entries
from gitmem.document.ids import ID_FORM, tail_of
from gitmem.model.fact import Fact, FactKind, fact_id
from gitmem.model.validity import FactPlace, Standing, Status, fact_statuses
from gitmem.text.sentences import split
from gitmem.values import Value

DELETED = "deleted here"  # maybe the fact is in another store now
TWO_VERSIONS = "one of two versions, see `gitmem review`"
_WORD = r"[^\W\d_]{4,}|[\u1100-\u9fff\uac00-\ud7a3]{2,}"  # compiling it takes 2 ms
_LABEL = re.compile(r"^\w{1,20}: +")  # at the beginning of an exchange's line
SHORTEST = 12  # characters of a statement that can be found by its words alone
_FEW = 3  # words of a statement that cannot be looked up by its inner pair of words
_QUOTED = 60  # characters of a statement quoted in a mark
_KINDS = {kind.value.replace("-", " ").title(): kind for kind in FactKind}  # by the label of a line
STATE_MARK = rf" \[(?:superseded|retired|resolved): (?P<id>{ID_FORM})\]"  # on a State in memory.md
_LINK = re.compile(r"(?m)^- [0-9-]{10} \[(?P<said>.*)(?P<end>\]\([^()\n]*\) (?P<id>[0-9a-z]{11}))$")  # to an exchange
# The end of a statement: a Korean particle and a sentence's end mark, but not within a word or name.
_END = r"[가-힣]*(?!\w|[./-]+\w)(?:[.!?…。]+(?![\w.]))?"
# The rest of a sentence, in which a dot may be part of a name.
_REST = r"(?:[^.!?…。\n]|[.!?…](?=\w)){0,200}(?!\w)(?:[.!?…。]+(?![\w.]))?"
_OPEN = r"['\"]?[ \t]*\n[ \t]+status: (?P<open>open)\b"  # after an issue in a summary's header


class ShownMemory(Value):
    """A memory in a shown text: its id, text, fact's id or "", range, and the place for a mark."""

    id: str
    text: str
    fact: str
    start: int
    end: int
    at: int


class Marks(Value):
    """The facts of a store and their statuses, by id.

    `sources` are the facts learned from a memory, by its digest. `words` are the statements of facts that are not in
    force here or need a mark, `in_force` those of the others; `wordings` match the original words of reworded facts, by
    their names.
    `changes` tell who changed a fact of the user's, until the user answers. `authors` are the authors, other than the
    user, of facts that marks name. `deleted` are the ids of facts without a file.
    """

    facts: Mapping[str, Fact]
    statuses: Mapping[str, Status]
    sources: Mapping[str, tuple[str, ...]] = {}  # never changed
    words: Mapping[str, str] = {}  # never changed
    in_force: frozenset[str] = frozenset()
    wordings: Mapping[str, str] = {}  # never changed
    changes: Mapping[str, str] = {}  # never changed
    authors: Mapping[str, str] = {}  # never changed
    deleted: frozenset[str] = frozenset()

    def id_of(self, entry: Entry) -> str:
        """Return the id of the fact whose line an entry is, or ""."""
        if entry.id in self.statuses:
            return entry.id
        kind = _KINDS.get(entry.label)
        identifier = fact_id(kind, entry.text) if kind else ""
        return identifier if identifier in self.statuses else ""

    def has_ended(self, identifier: str) -> bool:
        """Return whether a fact is no longer in force; False if another author ended it and the user must answer."""
        status = self.statuses.get(identifier)
        return status is not None and not status.is_in_force and identifier not in self.changes

    def said_in(self, memory: str, text: str) -> tuple[str, ...]:
        """Return the facts that a memory, by its id (or "") and text, states differently from now."""
        outdated = (*self.learned(memory, text), *(fact_id for *_, fact_id in self.stated(text)))
        return tuple(fact_id for fact_id in dict.fromkeys(outdated) if fact_id not in text)

    def learned(self, memory: str, text: str) -> list[str]:
        """Return the facts learned from a memory that its text states differently from now."""
        facts = self.sources.get(tail_of(memory), ()) if memory else ()
        return [fact_id for fact_id in facts if self._is_other(fact_id, text)]

    def stated(self, text: str) -> list[tuple[int, int, str]]:
        """Return where a text has outdated statements of facts, as (begin, end, fact); of overlapping ones the longest.

        Words within a longer statement in force are not outdated: "use npm" in "do not use npm".
        """
        found: list[tuple[int, int, str]] = []
        low = normalized(text) if self.words or self.wordings else ""
        pairs = set(pairwise(low.split()))  # so that a large text is not searched for each of many facts
        for identifier, statement in self.words.items():
            parts = statement.split(" ", _FEW)
            if (len(parts) <= _FEW or (parts[1], parts[2]) in pairs) and statement in low:
                found += _places(statement, identifier, text)
                longer = [words for words in self.in_force if statement in words and words in low]
                found += (place for words in longer for place in _places(words, "", text))
        for identifier, form in self.wordings.items():
            if self.facts[identifier].name.partition("-")[0] in low:
                reworded = list(re.finditer(rf"(?<!\w){form}{_REST}", text, re.IGNORECASE))
                longer = [words for words in self.in_force if reworded and words in low and re.search(form, words)]
                others = [(begin, -end) for words in longer for end, begin, _ in _places(words, "", text)]
                found += (
                    (-match.end(), match.start(), identifier)
                    for match in reworded  # to the end of its sentence, maybe after the longer statement's end
                    if not any(begin <= match.start() < end for begin, end in others)
                )
        found = sorted((start, end, fact_id) for end, start, fact_id in found)
        ends = [0, *accumulate((-end for _, end, _ in found), max)]
        longest = zip(ends, found, strict=False)
        return [(start, -end, fact_id) for before, (start, end, fact_id) in longest if -end > before and fact_id]

    def mark(self, identifier: str) -> str:
        """Return the status of a fact in words, with its successor's statement; "" if it is simply in force.

        Of facts that contradict each other the newest counts, until a user decides.
        """
        status = self.statuses.get(identifier)
        if identifier in self.changes:
            return self.changes[identifier]
        if status is None:
            return ""
        words = [str(status.place)] if status.place else []
        words += [TWO_VERSIONS] * (status.is_in_force and self.facts[identifier].has_two_versions)
        rivals = [self.facts[dispute] for dispute in status.disputes if dispute in self.facts]
        own = self.facts[identifier]
        newer = [rival for rival in rivals if (rival.when, rival.id) > (own.when, own.id)]
        if newer or (status.disputes and not rivals):  # until a user decides, the newest counts
            others = ": " + " / ".join(self._named(rival) for rival in newer) if newer else ""
            words.append(f"in dispute{' with' * bool(others)}{others}")
        if words or status.is_in_force:
            return "; ".join(words)
        since = f" since {status.since:%Y-%m-%d}" if status.since else ""
        if status.successor not in self.facts:
            return f"{status.standing}{since}"
        after = "then" if self.has_ended(status.successor) else "now"
        return f"{status.standing}{since}, {after}: {self._named(self.facts[status.successor])}"

    def _named(self, fact: Fact) -> str:
        """Return a fact's description, with its author if not the user."""
        by = self.authors.get(fact.id)
        return f"{fact.description} (by {by})" if by else fact.description

    def is_old_wording(self, identifier: str, text: str) -> bool:
        """Return whether a text has a former wording of a fact in force."""
        fact = self.facts[identifier]
        return fact.is_reworded and normalized(fact.description) not in normalized(text)

    def _is_other(self, identifier: str, text: str) -> bool:
        """Return whether a fact that was learned from a text has ended, or was reworded since."""
        if self.has_ended(identifier):
            if self.statuses[identifier].standing is Standing.PURGED:  # no words of it are left to compare
                return False
            return normalized(self.facts[identifier].description) not in self.in_force
        return self.is_old_wording(identifier, text)

    def of_memory(self, memory: ShownMemory, stated: Collection[str]) -> str:
        """Return the mark of a whole memory: the status of its own fact, else of facts learned from it.

        Facts `stated` in its text are marked there instead.
        """
        own = memory.fact
        if own:
            return self.mark(own) or (self.now(own) if self.is_old_wording(own, memory.text) else "")
        outdated = [fact_id for fact_id in self.learned(memory.id, memory.text) if fact_id not in stated]
        return "; ".join(self.quoted(fact_id) if self.has_ended(fact_id) else self.now(fact_id) for fact_id in outdated)

    def now(self, identifier: str) -> str:
        """Return the status of a fact, or the present words of a reworded one."""
        if self.has_ended(identifier) or identifier in self.changes or self.statuses[identifier].place:
            return self.mark(identifier)
        return f"now: {self.facts[identifier].description}"

    def quoted(self, identifier: str) -> str:
        """Return a fact's own words and its status, for a text that states it in other words."""
        words = self.facts[identifier].description
        quotation = f'"{words}"' if len(words) <= _QUOTED else f'"{words[:_QUOTED].rstrip()}…"'
        return f"{quotation} is {self.now(identifier)}"


def _places(statement: str, name: str, text: str) -> list[tuple[int, int, str]]:
    """Return where a text contains a statement, as (negative end, begin, name)."""
    form = r"\s+".join(map(re.escape, statement.split()))
    same = re.finditer(rf"(?<!\w){form}{_END}", text, re.IGNORECASE)
    return [(-match.end(), match.start(), name) for match in same]


def marks_of(facts: Iterable[Fact], places: Mapping[str, FactPlace] = {}) -> Marks:
    """Return the marks of these facts; `places` as in `fact_statuses`."""
    known = {fact.id: fact for fact in facts}
    statuses = fact_statuses(known.values(), places)
    sources: dict[str, list[str]] = {}
    words, wordings = {}, {}
    for fact in known.values():
        for source in fact.sources:
            sources.setdefault(tail_of(source), []).append(fact.id)
        if fact.is_reworded and statuses[fact.id].is_in_force and len(fact.name) >= SHORTEST:
            form = r"[^\w/-]+".join(map(re.escape, fact.name.split("-")))
            if not re.search(form, normalized(fact.description)):
                wordings[fact.id] = form
    other = {fact_id for fact_id, status in statuses.items() if fact_id in places or not status.is_in_force}
    # Needed only for comparison with ended and reworded facts.
    is_any_old = other or wordings
    in_force = frozenset(normalized(fact.description) for fact in known.values() if is_any_old and fact.id not in other)
    for identifier in filter(other.__contains__, statuses):
        statement = normalized(known[identifier].description)
        if len(statement) >= SHORTEST and statement not in in_force:
            words[identifier] = statement
    return Marks(known, statuses, {digest: tuple(ids) for digest, ids in sources.items()}, words, in_force, wordings)


def normalized(text: str) -> str:
    """Return a statement in lower case, with single spaces and without an end mark, for comparison."""
    return " ".join(text.split()).rstrip(".!?…。").rstrip().casefold()


_ID_BEHIND = re.compile(rf" \^{ID_FORM}$")


def with_marks(text: str, marks: Marks, memory: str = "", sources: Iterable[Entry] = ()) -> str:
    """Return a text with a mark after each statement that is ended, reworded or disputed.

    Every door calls this with the text it is about to show: a document or lines of one, perhaps those of the memory
    with the id `memory`. The mark of a whole memory is put at the end of its first line. `sources` are the entries from
    which a summary without ids was made.
    """
    return "".join(marked_parts(text, marks, memory, sources))


def marked_parts(text: str, marks: Marks, memory: str = "", sources: Iterable[Entry] = ()) -> list[str]:
    """Return the parts that `with_marks` joins: pieces of the text and the marks between them."""
    stated = marks.stated(text)
    echoes = _echoes(text, marks, memory, sources, stated)
    entries = _memories(text, marks)
    memories = entries or ([_whole(text, memory, marks)] if memory else [])
    edits = [(entry.at, entry.at, f" [{DELETED}]") for entry in entries if entry.id in marks.deleted]
    own: set[tuple[int, str]] = set()  # places where a fact's own line states it
    for shown in memories:
        inside = [(begin, name) for begin, _, name in [*stated, *echoes] if shown.start <= begin < shown.end]
        own.update((begin, name) for begin, name in inside if name == shown.fact)
        if mark := marks.of_memory(shown, {name for _, name in inside}):
            edits.append((shown.at, shown.at, f" [{mark}]"))
    edits += [(end, end, f" [{marks.quoted(name)}]") for _, end, name in echoes]
    for begin, end, name in stated:
        if (begin, name) not in own:
            at = end if (of := _ID_BEHIND.search(text, begin, end)) is None else of.start()  # before the entry's id
            edits.append((at, at, f" [{marks.now(name)}]"))
        if (is_open := re.compile(_OPEN).match(text, end)) and marks.has_ended(name) and not marks.statuses[name].place:
            edits.append((*is_open.span("open"), Standing.RESOLVED))
    stated_facts = {name for *_, name in stated}
    for state in re.finditer(STATE_MARK, text):
        if state["id"] in marks.facts:
            mark = "" if state["id"] in stated_facts else marks.mark(state["id"])
            edits.append((*state.span(), f" [{mark}]" if mark else ""))
    parts, done = [], 0
    for begin, end, words in sorted(edits):
        parts += [text[done:begin], words]
        done = max(done, end)
    return [*parts, text[done:]]


def _echoes(
    text: str, marks: Marks, memory: str, sources: Iterable[Entry], stated: Sequence[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Return where a text states an ended fact in other words ("Noted: tabs it is"), outside of `stated`.

    Only memories from which the fact was learned are searched, so that common words do not match by chance.
    """
    if not marks.sources:
        return []
    entries = [*sources, *(place.entry for place in find_entries(text))]
    entries += [Entry(link["id"], "", "", link["said"]) for link in _LINK.finditer(text)]
    if memory and not entries:
        entries = [Entry(memory, "", "", text)]
    echoes = {
        sentence: fact
        for entry in entries
        for fact in marks.learned(entry.id, "")
        if marks.has_ended(fact)
        for sentence in _sentences(entry.text, marks.facts[fact].description)
    }
    places = []
    for sentence, fact in echoes.items():
        form = r"\s+".join(map(re.escape, sentence.rstrip(".").split()))
        for match in re.finditer(rf"(?<!\w){form}(?!\w)[.!?…。]*", text, re.IGNORECASE):
            begin, end = match.span()
            if not any(start < end and begin < stop for start, stop, _ in stated):
                places.append((begin, end, fact))
    return places


def _sentences(text: str, statement: str) -> Iterator[str]:
    """Yield the sentences that share a word with a statement but do not contain it."""
    words, own_wording = set(re.findall(_WORD, statement.casefold())), normalized(statement)
    for line in text.split("\n"):
        for sentence in split(_LABEL.sub("", line.strip())):
            if own_wording not in normalized(sentence) and words.intersection(re.findall(_WORD, sentence.casefold())):
                yield sentence


def _whole(text: str, memory: str, marks: Marks) -> ShownMemory:
    header = re.match(r"---\n(?:[^\n]*\n)*?---\s*", text)
    at = text.find("\n", header.end() if header else 0)
    own = memory if memory in marks.statuses else ""
    return ShownMemory(memory, text, own, 0, len(text), at if at >= 0 else len(text))


def _memories(text: str, marks: Marks) -> list[ShownMemory]:
    """Return the entries and the links to exchanges in a text, as memories."""
    memories = []
    for start, end, entry in ((place.start, place.end, place.entry) for place in find_entries(text)):
        first = text.find("\n", start, end)
        at = text.rindex(f" ^{entry.id}", start, first if first >= 0 else end)
        memories.append(ShownMemory(entry.id, entry.text, marks.id_of(entry), start, end, at))
    links = (ShownMemory(link["id"], link[0], "", *link.span(), link.start("end")) for link in _LINK.finditer(text))
    return [*memories, *links]


def without_ended(text: str, marks: Marks) -> str:
    """Return a text without the lines of facts that are not in force."""
    for entry in reversed(find_entries(text)):
        if marks.has_ended(marks.id_of(entry.entry)):
            text = text[: entry.start] + text[entry.end :]
    return text

"""A hit: a unit with its date, session, entry id, label, tags, snippet and passage."""

from __future__ import annotations

import re
from functools import cache

from gitmem.document.entry import Entry, find_entries, without_ids
from gitmem.document.ids import is_fact_id, scopes_in, session_tag, short_session
from gitmem.history.authors import AWAITS, Authors
from gitmem.history.marks import marked
from gitmem.model.exchange import EXCHANGE, Fields, refutation_in, split_fields
from gitmem.model.fact import Fact
from gitmem.model.lines import Marks, marked_parts, with_marks
from gitmem.model.validity import Standing
from gitmem.search.cut import ENTRY
from gitmem.search.rank import Coverage, Ranked
from gitmem.search.snippet import ELLIPSIS, LENGTH, next_request, of_exchange, snippet, without_targets
from gitmem.search.units import Unit, Units, first_line
from gitmem.store.store import Store
from gitmem.text.words import estimate_tokens
from gitmem.values import Value

_HEAD = r"(?m)^- \[[^]\n]{1,40}\] \*\*(?P<label>[^*\n]{1,60})\*\*(?: #[\w/-]+)*: ?"
_SILENT = frozenset({"Exchange", "Note"})
_IDLE = (
    r"(?m)^(?:Keywords|키워드): .*\n?|^(?:Outcome|결과): (?:success|unknown|성공|확인 안 됨)$\n?"
    r"|^\*\*(?:Answer):\*\* ?\n?"
)
_INDENT = r"(?m)^  "
_LINK = r"(?m)^(- [0-9-]{10} )\[(.*)\]\([^()\n]*\) ([0-9a-z]{11})$"  # of a concept or an episode to an exchange
_GAPS = r"\n{3,}"


def bare_text(text: str) -> str:
    """Return a text without the frames and ids of entries and without repetitions."""

    def label(match: re.Match[str]) -> str:
        return "" if match["label"] in _SILENT else f"{match['label']}: "

    bare = re.sub(_INDENT, "", re.sub(_HEAD, label, without_ids(text)))
    bare = re.sub(_LINK, r"\1\2 ^\3", bare)
    return re.sub(_GAPS, "\n\n", re.sub(_IDLE, "", bare)).strip()


def fields_in(text: str) -> Fields:
    """Return the fields of an exchange in the text of its entry."""
    return split_fields(re.sub(_INDENT, "", re.sub(_HEAD, "", without_ids(text))))


def named(store: Store, text: str, path: str = "", commit: str | None = None) -> str:
    """Return a document of the store, or lines of one, with marks and names.

    Other authors are named: the author of the document at `path` at the end of its first line, those of entries before
    their ids. Text of a `commit` has no marks (`gitmem.history.marks.marked`).
    """
    text = text if commit else marked(store, text, path)
    authors = Authors(store)
    if authors.all_mine:
        return text
    whole = authors.others("", path) if path else ""
    header = re.match(r"---\n(?:[^\n]*\n)*?---\s*", text)
    first = _end_of_line(text, header.end() if header else 0)
    entries = find_entries(text)
    if entries and entries[0].start <= first:
        whole = ""  # the text begins with an entry: a name after its id would end the entry
    names = {first: whole} if whole else {}
    for entry in entries:
        name = authors.others(entry.entry.id)
        if name and name != whole:
            names[text.rindex(f" ^{entry.entry.id}", entry.start, _end_of_line(text, entry.start))] = name
    for at in sorted(names, reverse=True):
        text = f"{text[:at]} [by {names[at].translate(_BRACKETS)}]{text[at:]}"
    return text


_BRACKETS = str.maketrans("[]^", "()'")


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return end - text.startswith("\r", max(end - 1, start))


BEFORE = "before"  # the status of a memory older than another on its subject
_SESSION_TAG = r"[0-9a-f]{8}"
_DAY = r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])"
_STAMP = r"(?<![0-9])([0-9]{4})([0-9]{2})([0-9]{2})_([0-9]{2})([0-9]{2})([0-9]{2})(?![0-9])"
_SESSION_NAME = r"^sessions/.*[0-9]{8}_[0-9]{6}-([^/]+?)(?:\.l1\.jsonl|\.md)"
# The parts of an exchange.
_WITHIN = r"\n  \*\*([A-Za-z ]{1,60}):?\*\*"
_HEADER = 4096  # characters in which the date of a document is looked for
_SCOPE = r"(?m)^scope: \[([^\]\n]+)\]$"
_CREATED = r"(?m)^(?:date|created):[ \t]*['\"]?([0-9]{4}-[0-9]{2}-[0-9]{2}[0-9T: ]*)"


class Hit(Value):
    """A unit that matches a query.

    `start` and `end` are lines, counted from 1. `date` is local: `YYYY-MM-DD`, with the time if known, or "".
    `session`, `entry` (an id), `label` and `field` (of a summary's header) may be "". `commit` contains the text
    if no file does any more. `passage` is the text, or the request and best part of a long one. A `weak` hit shares
    little with the query; `coverage` is how much (`gitmem.search.rank`). `status` tells that a fact, or one that the
    text states, is not simply in force, that a newer memory exists, or how an exchange was refuted; `others` are the
    ids of successors, contradicting facts or newer memories. `sources` are the entries that a summary was made of.
    `own`: it is from the user store. `author` is another user who contributed it, or ""; `awaits`: this rule of theirs
    waits for a yes. `views` are the places (PATH:LINE) of other matching views of the same memory. `reply` is the next
    request if it may refute an exchange. Texts are as the files have them; `shown` adds what `marks` know.
    """

    path: str
    start: int
    end: int
    heading: str
    layer: str
    date: str
    session: str
    score: float
    snippet: str
    tokens: int
    text: str
    entry: str = ""
    label: str = ""
    tags: tuple[str, ...] = ()
    field: str = ""
    commit: str = ""
    passage: str = ""
    weak: bool = False
    status: str = ""
    others: tuple[str, ...] = ()
    own: bool = False
    coverage: Coverage = Coverage()
    author: str = ""
    awaits: bool = False
    views: tuple[str, ...] = ()
    marks: Marks | None = None
    reply: str = ""
    sources: tuple[Entry, ...] = ()

    @property
    def place(self) -> str:
        """The path and the lines."""
        return f"{self.path}:{self.start}" + (f"-{self.end}" if self.end > self.start else "")

    @property
    def fact(self) -> bool:
        """Whether it is a view of a fact."""
        return is_fact_id(self.entry)

    @property
    def standing(self) -> str:
        """The note on a hit that is the user's own, not in force, disputed or outdated; else ""."""
        links = " and ".join(f"^{name}" for name in self.others)
        if self.is_beside:
            return self.part
        if self.own:
            if self.author:
                return "in your own store"
            return f"your own; in this project {links} goes before it" if links else "your own, in every project"
        standing = f"older: {links} is newer" if links and self.status == BEFORE else self.status or self.reply
        return ", ".join(filter(None, (standing, AWAITS * self.awaits)))

    @property
    def part(self) -> str:
        """The parts of the project it belongs to, in words; "" for all of it."""
        scopes = self._fact.scope if self._fact else scopes_in(self.tags)
        return f"of {' and '.join(scopes)}" if scopes else ""

    def about(self, when: str, *more: str) -> str:
        """Return a time, and in words the kind or heading, session, author, `more`, part of the project, standing."""
        by, kind = f"by {self.author}" * bool(self.author), self.label or self.field or self.heading
        words = (when, kind, short_session(self.session), by, self.found, *more)
        place = dict.fromkeys((self.part, self.standing))  # of a part beside this one, both are the same
        return ", ".join(filter(None, (*words, *place, "weak" * self.weak)))

    @property
    def found(self) -> str:
        """The model that found a fact which nobody saved or confirmed; "" for any other memory."""
        model = self._fact.found_by if self._fact else ""
        return f"found by a model ({model})" if model else ""

    @property
    def _fact(self) -> Fact | None:
        return self.marks.facts.get(self.entry) if self.marks else None

    @property
    def is_beside(self) -> bool:
        """Whether it belongs to another part of the project than the one that the command works in."""
        return self.status == Standing.BESIDE

    def is_of(self, session: str) -> bool:
        """Return whether it comes from a session: it is in its file, or has its tag."""
        same = short_session(self.session) == short_session(session)
        return bool(session) and (same or not {*self.tags}.isdisjoint(session_tag(session)))

    def shown(self, text: str) -> str:
        """Return a part of the hit's text as shown, with marks on statements that are not in force."""
        return with_marks(text, self.marks, self.entry, self.sources) if self.marks else text

    @property
    def shown_snippet(self) -> str:
        """The snippet as shown: marks stay, and the text is cut for them."""
        if self.marks is None:
            return self.snippet
        return _fitted(marked_parts(self.snippet, self.marks, self.entry, self.sources))


_LEAST = LENGTH // 3  # characters of a text that are left before its mark


def _fitted(parts: list[str]) -> str:
    """Join a text and its marks, in turn, to `LENGTH` characters at most.

    Cut first the text after the last mark, then later marks with their texts (so that no text loses its mark), then the
    middle of the text before the first mark, and last the end of a long mark.
    """
    before, *marks, behind = parts if len(parts) > 1 else (*parts, "")
    over = len("".join(parts)) - LENGTH
    if over > 0 and behind:
        behind = behind[: max(len(behind) - over - len(ELLIPSIS), 0)].rstrip() + ELLIPSIS
        over = len("".join((before, *marks, behind))) - LENGTH
    if over > 0 and len(marks) > 1:
        return _fitted([before, *marks[:-2], ELLIPSIS])
    if over > 0 and (room := max(len(before) - over - len(ELLIPSIS), _LEAST)) < len(before):
        head, tail = before[: room - _LEAST].rstrip(f" {ELLIPSIS}"), before[-_LEAST:]
        before = head + ELLIPSIS + ("".join(tail.partition(" ")[1:]) or tail)
    text = "".join((before, *marks, behind))
    return text if len(text) <= LENGTH else text[: LENGTH - len(ELLIPSIS)].rstrip() + ELLIPSIS


class Facts(Value):
    """Date, session, entry id, label and tags of a unit; see `Hit`. `also` are the labels of entries within it."""

    date: str
    session: str
    entry: str
    label: str
    tags: tuple[str, ...]
    also: tuple[str, ...] = ()


def facts_of(units: Units, unit: Unit) -> Facts:
    """Return the facts in a unit's first line, the path and the header of its file."""
    label, entry, time = "", "", ""
    tags: tuple[str, ...] = ()
    if unit.kind == ENTRY and (line := first_line().match(units.text, unit.start, unit.end)):
        label, entry, time = line["label"], line["id"], line["time"]
        tags = tuple(line["tags"].replace("#", "").split())
    named = re.search(_SESSION_NAME, units.path) if units.path.startswith("sessions/") else None
    day = day_of(units.path.rpartition("/")[2])
    if not day and units.text.startswith("---"):
        created = re.search(_CREATED, units.text[:_HEADER])
        day = created[1].replace("T", " ").strip() if created else ""
    date = time or day_of(unit.heading) or day
    if time and " " not in time:
        date = f"{day[:10]} {time}".strip()
    session = named[1] if named else next((tag for tag in tags if re.fullmatch(_SESSION_TAG, tag)), "")
    header = units.text.find("\n---", 3) + 1 if units.text.startswith("---") else 0
    if not label and header and (scope := re.search(_SCOPE, units.text[:header])):
        tags = tuple(f"in/{name}" for name in re.findall(r'[^\s",]+', scope[1]))
    within = units.text[unit.start : unit.end] if label else ""
    also = tuple(re.findall(_WITHIN, within)) if "\n  **" in within else ()
    return Facts(date, session, entry, label, tags, also)


@cache
def day_of(text: str) -> str:
    """Return the date in a name or heading, with the time if there is one, or ""."""
    if day := re.search(_DAY, text):
        return day[0]
    if stamp := re.search(_STAMP, text):
        return "{}-{}-{} {}:{}:{}".format(*stamp.groups())
    return ""


def make_hit(item: Ranked, *, hurried: bool = False) -> Hit:
    """Return a ranked unit as a hit; a `hurried` one has no snippet, as prompts do not need it."""
    units = item.units
    unit = units.unit(item.index)
    text = units.text_of(unit)
    start, end = units.lines(unit)
    facts = facts_of(units, unit)
    shown = unit.start
    if facts.entry and (line := first_line().match(units.text, unit.start, unit.end)):
        shown = line.start("text") if line["text"] else line.end()
    parts = units.parts(item.index)
    first, last = item.part if len(parts.spans) > 1 else (shown, unit.end)
    places = [(at - first, item.weights[term]) for at, term in item.found.places if first <= at < last]
    body = units.text[first:last]
    if facts.entry:
        body = body.replace(f" ^{facts.entry}", "", 1)
    if units.is_links:
        body, places = without_targets(body, places)
    brief = of_exchange(body, places) if facts.label == EXCHANGE and not hurried else ""
    brief = brief or ("" if hurried else snippet(body.strip(), places))
    lead = units.text[unit.start : parts.lead].strip() if first > parts.lead else ""
    others = [(also, also.unit(index)) for also, index in item.also]
    sessions = (facts_of(also, unit).session for also, unit in others)
    return Hit(
        path=units.path,
        start=start,
        end=end,
        heading=unit.heading,
        layer=units.layer,
        date=facts.date,
        session=facts.session or next(filter(None, sessions), ""),
        score=round(item.score, 4),
        snippet=brief,
        tokens=estimate_tokens(text),
        text=text,
        entry=facts.entry or units.named,
        label=facts.label,
        tags=facts.tags,
        field=unit.name,
        commit=units.commit,
        status=BEFORE if item.before else refutation_in(text) if facts.label == EXCHANGE else "",
        others=(item.before,) if item.before else (),
        reply=next_request(units, item.index) if facts.label == EXCHANGE else "",
        views=tuple(dict.fromkeys(f"{one.path}:{one.lines(other)[0]}" for one, other in others if not one.commit)),
        passage=f"{lead}\n…\n{body.strip()}" if lead else units.text[unit.start : last].strip("\r\n").rstrip(),
    )

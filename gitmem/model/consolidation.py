"""Consolidation planned as a value: days become weeks and weeks months, by age. Pure.

A day goes into its ISO week when it is more than `weekly_days` old, a week into the month of its Thursday (which is
what gives a week its year, too) when its last day is more than `monthly_days` old. A step makes or extends one document
and takes its sources out of the tree; history keeps them.

A weekly or monthly document has a section for each day or week, with a few sentences made by `Digest`. Some entries
stay as they are, with their ids: decisions, preferences and open issues; in weeks also lessons and fixes; a line for
each decision made in a prompt; and every line that a user wrote by hand. So no decision is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gitmem.document.document import Document, as_texts
from gitmem.document.entry import (
    TIMELINE,
    Entry,
    MemoryType,
    Section,
    entry_ids,
    fences,
    find_entries,
    find_section,
    remove_entries,
    render_entry,
    restore_entries,
    sections,
)
from gitmem.document.ids import daily_path, monthly_path, scopes_in, tail_of, weekly_path
from gitmem.model.exchange import split_fields
from gitmem.model.rotation import holders_of, last_day, month_of, week_of
from gitmem.platform.machine import date
from gitmem.values import Value

DAILY, WEEKLY, MONTHLY = "daily", "weekly", "monthly"
BY_HAND = "Written by hand"
_OVER = 2  # days of age from which a day is over in every time zone
OFFLINE = "offline"

# Summarizes a section's text, given its title, in sentences of a line each; "" if it has nothing to say.
Digest = Callable[[str, str], str]

_PERIOD = re.compile(r"[0-9]{4}-(?:[0-9]{2}-[0-9]{2}|W[0-9]{2})")
_ALWAYS = tuple(kind.label for kind in MemoryType if kind.lasts)
_IN_WEEKS = (*_ALWAYS, MemoryType.LEARNING.label, MemoryType.ERROR_FIX.label)
_EXCHANGE = "Exchange"
# A line with a decision that the user made in a prompt and its day, in weeks and months alike.
_DECIDED = re.compile(r"^- [0-9]{4}-[0-9]{2}-[0-9]{2}: \*\*(?:Decision|Preference|Rule)\*\*: [^\n]*\n?", re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6})(?=[ \t])", re.MULTILINE)
_OWN_TITLE = re.compile(r"(?:[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?|[0-9]{4}-W[0-9]{2})?")
_OWN_SECTIONS = ("", TIMELINE.casefold(), *(kind.label.casefold() for kind in MemoryType))


class ConsolidationStep(Value):
    """One consolidation: the document `target` named `period` takes in `sources`, oldest first."""

    target: str
    period: str
    sources: tuple[str, ...]

    @property
    def tier(self) -> str:
        """Return `weekly` or `monthly`."""
        return self.target.partition("/")[0]


def plan_consolidation(
    paths: Iterable[str], today: date, *, weekly_days: int = 7, monthly_days: int = 30
) -> tuple[ConsolidationStep, ...]:
    """Return the steps due for these paths, days before weeks, the oldest first.

    A week made from old days in this run joins its month in the next run; 0 days switch a tier off.
    """
    steps: dict[str, tuple[str, list[str]]] = {}
    for path in sorted(paths):
        if (day := _day_of(path)) and weekly_days and (today - day).days > weekly_days:
            week = week_of(day)
            steps.setdefault(weekly_path(week), (week, []))[1].append(path)
    for path in sorted(paths):
        if (last := _last_day(path)) and monthly_days and (today - last).days > monthly_days:
            month = month_of(last)
            steps.setdefault(monthly_path(month), (month, []))[1].append(path)
    return tuple(ConsolidationStep(target, period, tuple(sources)) for target, (period, sources) in steps.items())


def consolidate(
    step: ConsolidationStep,
    documents: Mapping[str, bytes],
    before: bytes | None,
    digest: Digest,
    decisions: Mapping[str, str] = {},
) -> bytes:
    """Return the target's document with its sources added to the content `before`.

    `decisions` are lines with decisions made in prompts, by the tail of the exchange's id. Idempotent: a section is
    replaced, an entry added once.
    """
    document = Document.parse(before if before is not None else period_document(step.period))
    body, scope = document.body, {*as_texts(document.get("scope"))}
    keeps = _IN_WEEKS if step.tier == WEEKLY else _ALWAYS
    for path in step.sources:
        part = Document.parse(documents[path])
        source, to_digest = part.body, _to_digest(part.body)
        tags = (tag for entry in find_entries(to_digest) for tag in entry.entry.tags)
        scope |= {*as_texts(part.get("scope")), *scopes_in(tags)}
        period = path.rpartition("/")[2].removesuffix(".md")
        place = find_section(body, period)
        known = body[place.body : place.end] if place else ""  # the day has been consolidated before: keep both texts
        decided = _decided(f"{known}{to_digest}", source, period, decisions)
        sentences = "\n".join(filter(None, (*decided, digest(_DECIDED.sub("", f"{known}{to_digest}"), period))))
        if sentences:
            body = _put_section(body, period, sentences, document.newline)
        body = restore_entries(body, _kept(source, period, keeps), document.newline)
        for title, text in _by_hand(source, period):
            place = find_section(body, title)
            known = body[place.body : place.end].strip("\r\n") if place else ""
            if text not in known:
                body = _put_section(body, title, text if known in text else f"{known}\n\n{text}", document.newline)
    if scope and document.problem is None:
        document = document.set("scope", sorted(scope))
    return document.with_body(body).render()


def _decided(section_text: str, source: str, period: str, decisions: Mapping[str, str]) -> list[str]:
    """Return the lines of decisions for a section: its present ones, and those learned from its day's exchanges."""
    lines = [match[0].rstrip("\n") for match in _DECIDED.finditer(section_text)]
    made = (decisions.get(tail_of(entry.entry.id), "") for entry in find_entries(source))
    return [*dict.fromkeys((*lines, *(f"- {period}: {line}" for line in made if line)))]


def period_document(period: str, text: str = "", method: str = OFFLINE) -> bytes:
    """Return the empty document of a week or month; every machine makes the same bytes."""
    weekly = "-W" in period
    first = date.fromisocalendar(int(period[:4]), int(period[6:]), 1) if weekly else date.fromisoformat(f"{period}-01")
    kind, name = (WEEKLY, "week") if weekly else (MONTHLY, "month")
    head = f"---\nid: {name}-{period}\nkind: {kind}\ncreated: {first}T00:00:00Z\nmethod: {method}\n---\n"
    body = "\n{}\n".format(text.strip("\n")) if text.strip() else ""
    return f"{head}# {period}\n{body}".encode("utf-8", "surrogateescape")


def replaced_lines(path: str, data: bytes, holders: Mapping[str, bytes], today: date) -> str:
    """Return the lines of a daily log or weekly document that sentences in one of `holders` replace.

    These are the entries that a consolidation does not keep, and a week's sentences on its days. A period that is not
    over has none.
    """
    last = _day_of(path) or _last_day(path)
    if last is None or (today - last).days < _OVER:
        return ""
    body, period = Document.parse(data).body, path.rpartition("/")[2].removesuffix(".md")
    for target, section, keeps in _tellers(path, period):
        holder = Document.parse(holders.get(target, b"")).body
        place = find_section(holder, section)
        if place is not None and holder[place.body : place.end].strip():
            entry_ids = {entry.id for _, entry in _kept(body, period, keeps)}
            entries = [body[entry.start : entry.end] for entry in find_entries(body) if entry.entry.id not in entry_ids]
            return "\n".join([*entries, *_sentences(body)])
    return ""


def _tellers(path: str, period: str) -> list[tuple[str, str, Sequence[str]]]:
    """Return the documents that may summarize a day or week: path, section title, labels of kept entries."""
    if day := _day_of(path):
        week, month = holders_of(day)
        return [(week, period, _IN_WEEKS), (month, week_of(day), _ALWAYS)]
    last = _last_day(path)
    return [(monthly_path(month_of(last)), period, _ALWAYS)] if last else []


def _sentences(body: str) -> list[str]:
    """Return the sections of a weekly or monthly document with sentences on its days or weeks."""
    return [body[part.start : part.end] for part in sections(body) if part.level > 1 and _PERIOD.fullmatch(part.title)]


def retold_lines(data: bytes, there: Collection[str]) -> str:
    """Return the sentences of a weekly or monthly document on periods whose own files, in `there`, exist again."""
    remaining = []
    for text in _sentences(Document.parse(data).body):
        period = text.partition("\n")[0].lstrip("#").strip()
        path = weekly_path(period) if "W" in period else daily_path(period)
        remaining += [text] if path in there else []
    return "\n".join(remaining)


def _day_of(path: str) -> date | None:
    return last_day(path) if path.startswith(f"{DAILY}/") else None


def _last_day(path: str) -> date | None:
    """Return the Sunday of a weekly document, None for other files and second versions."""
    return last_day(path) if path.startswith(f"{WEEKLY}/") and "_" not in path else None


def _kept(body: str, period: str, keeps: Sequence[str]) -> list[tuple[str, Entry]]:
    """Return the entries that stay, each with its section and date."""
    kept = (entry.entry for entry in find_entries(body) if entry.entry.label in keeps)
    return [(item.label, item if " " in item.time else item._replace(time=f"{period} {item.time}")) for item in kept]


def _to_digest(body: str) -> str:
    """Return the text of a log to summarize: results and findings, or requests if there are none."""
    entries = [entry.entry for entry in find_entries(body) if entry.entry.label not in _ALWAYS]
    results = [result for result in map(_result, entries) if result is not None]
    periods = (part for part in sections(body) if part.level > 1 and _PERIOD.fullmatch(part.title))
    return "".join([*map(render_entry, results or entries), *(body[part.body : part.end] for part in periods)])


def _result(entry: Entry) -> Entry | None:
    """Return an entry, None for an exchange without a result."""
    if entry.label != _EXCHANGE:
        return entry
    fields = split_fields(entry.text)
    return entry if fields.answer or fields.said else None


def _by_hand(body: str, period: str) -> list[tuple[str, str]]:
    """Return the texts that users wrote into a log, each with a title, without gitmem's entries and headings."""
    pieces: list[str] = []
    carried: list[tuple[str, str]] = []
    parts = sections(body)
    for part in (Section(0, "", 0, 0, parts[0].start if parts else len(body)), *parts):
        if part.level > 1 and _PERIOD.fullmatch(part.title):
            continue
        ours = _OWN_TITLE.fullmatch(part.title) if part.level == 1 else part.title.casefold() in _OWN_SECTIONS
        whole = body[part.start : part.end]
        text = remove_entries(body[part.body : part.end], entry_ids(whole))
        if not text.strip():
            continue
        if part.title.startswith(BY_HAND):
            carried.append((part.title, text.strip("\r\n")))
        else:
            pieces.append((text if ours else body[part.start : part.body] + text).strip("\r\n"))
    return [*carried, *([(f"{BY_HAND} on {period}", _lowered("\n\n".join(pieces)))] if pieces else [])]


def _lowered(text: str) -> str:
    """Return a text with headings of level 1 and 2 lowered by two, except in fences."""
    pieces, position = [], 0
    for start, end in (*fences(text), (len(text), len(text))):
        pieces += [_HEADING.sub(lambda match: ("##" + match[1])[:6], text[position:start]), text[start:end]]
        position = end
    return "".join(pieces)


def _put_section(body: str, title: str, text: str, newline: str) -> str:
    """Return a document with a section added in order of titles, or replaced."""
    lines = newline.join(["", *text.split("\n"), ""])
    block = f"## {title}{newline}{lines}"
    place = find_section(body, title)
    if place is not None:
        return body[: place.start] + block + (newline if body[place.end :].strip() else "") + body[place.end :]
    later = next((part for part in sections(body) if part.level > 1 and _rank(part.title) > _rank(title)), None)
    if later is None:
        above = body.rstrip("\r\n")
        return (f"{above}{newline}{newline}" if above else "") + block.rstrip("\r\n") + newline
    return body[: later.start] + block + newline + body[later.start :]


def _rank(title: str) -> tuple[int, str]:
    """Return the sort key of a section: periods first, then users' text, then kept entries."""
    if _PERIOD.fullmatch(title):
        return 0, title
    return (1, title) if title.startswith(BY_HAND) else (2, "")

"""Summarize an archive from its entries, without a model or a network. Pure.

Each session gives a line of its requests and results; decisions and issues are entries of these types and facts of the
archive's days; themes are concepts. Sentences keep their order. An archive of another tool, without entries, gives a
line for each section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gitmem.archive.summary import (
    MAX_ITEMS,
    MOST_SENTENCES,
    OFFLINE,
    OPEN,
    RESOLVED,
    Issue,
    KeyDecision,
    Summary,
    Theme,
    archive_day,
    cleaned,
)
from gitmem.document.document import Document
from gitmem.document.entry import CORE_DECISIONS, KNOWN_ISSUES, Entry, MemoryType, find_entries, sections
from gitmem.model.exchange import EXCHANGE, parse, split_fields
from gitmem.model.fact import WHY, Fact, FactKind, FactStatus
from gitmem.model.rotation import KEPT_SECTIONS, without_count
from gitmem.model.similarity import WEIGHED
from gitmem.text.sentences import Kind, blocks, shorten
from gitmem.values import Value

MOST_CHARACTERS = 1_000_000  # read of an archive, half from each end; a usual one has 100,000
_DAY = re.compile(r"(?<![0-9])([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))(?![0-9])")
_LONGEST_ITEM = 300  # characters of a decision, an issue, a reason
_LONGEST_LINE, _LONGEST_PART = 300, 120  # characters of a session's line, and of an exchange in it
_DATED = 30  # characters at the start of a line that may date it: "[2026-01-10] ..."
_DECIDED = (MemoryType.DECISION.label, MemoryType.PREFERENCE.label, MemoryType.RULE.label)


class EntryLine(Value):
    """An entry or a line of an archive, with its day, and whether a rotation keeps its section."""

    label: str
    text: str
    day: str
    session: str
    kept: bool
    id: str = ""


def summarise(archive: str, text: str, facts: Iterable[Fact] = (), themes: Sequence[Theme] = ()) -> Summary:
    """Return the summary of the archive at path `archive` with this whole text; never raises.

    `facts` are all of the store; those of the archive's days count. `themes` are the concepts of its exchanges.
    """
    body = without_count(Document.parse(text.encode("utf-8", "replace")).body)
    left_out = max(len(body) - MOST_CHARACTERS, 0)
    if left_out:
        half = MOST_CHARACTERS // 2
        body = f"{body[:half]}\n\n{body[-half:]}"
    entries, parts = [*_entry_lines(body)], sections(body)
    # Entries carried over by a rotation count only if there are no others.
    dated = [memory for memory in entries if memory.day]
    days = [memory.day for memory in dated if not memory.kept] or [memory.day for memory in dated]
    days += [day for part in parts if part.title.casefold() not in KEPT_SECTIONS and (day := day_of(part.title))]
    first, last = min(days, default=archive_day(archive)), max(days, default=archive_day(archive))
    of_days = [fact for fact in facts if first <= f"{fact.created:%Y-%m-%d}" <= last]
    overall = session_lines(entries, MOST_SENTENCES) or entry_lines(entries, MOST_SENTENCES)
    overall = overall or [*_section_lines(body)][:MOST_SENTENCES]
    if left_out:
        overall.append(f"The {left_out:,} characters in the middle of the archive were not read.")
    return cleaned(
        Summary(
            archive=archive,
            date_range=(first, last),
            section_count=sum(part.level > 1 for part in parts) or len(parts),
            themes=tuple(themes[:MAX_ITEMS]),
            key_decisions=tuple(_decisions(entries, of_days)[-MAX_ITEMS:]),
            issues=tuple(_issues(entries, of_days)[-MAX_ITEMS:]),
            overall_summary="\n".join(overall),
            method=OFFLINE,
        )
    )


def digest(text: str, most: int) -> list[str]:
    """Return the last lines, at most `most`, of a part of memory: the subject of each session; never raises."""
    entries = [*_entry_lines(text)]
    lines = [block.text for block in blocks(text) if block.kind is not Kind.HEADING]
    return session_lines(entries, most) or entry_lines(entries, most) or [*map(_ended, lines)][-most:]


def session_lines(entries: Iterable[EntryLine], most: int) -> list[str]:
    """Return a line for each of the last sessions: its requests and results in order, as far as they fit."""
    sessions: dict[tuple[str, str], list[str]] = {}
    for memory in entries:
        if memory.label == EXCHANGE and memory.text:
            sessions.setdefault((memory.day, memory.session), []).append(_cut(memory.text, _LONGEST_PART))
    lines = []
    for (day, _), parts in [*sessions.items()][-most:]:
        line = _cut("; ".join(part.rstrip(" .") for part in dict.fromkeys(parts)), _LONGEST_LINE)
        lines.append(_ended(f"{day}: {line}" if day else line))
    return lines


def entry_lines(entries: Iterable[EntryLine], most: int) -> list[str]:
    """Return a line for each of the last entries."""
    lines = (shorten(memory.text, _LONGEST_LINE) for memory in entries if memory.id)
    return [*dict.fromkeys(_ended(line) for line in lines if line)][-most:]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0]} …"


def _ended(line: str) -> str:
    return line if line.endswith((".", "!", "?", "…", "。")) else f"{line}."


def day_of(text: str) -> str:
    """Return the first day (`YYYY-MM-DD`) in a text, "" if none."""
    match = _DAY.search(text)
    return match[1] if match else ""


def _entry_lines(body: str) -> Iterator[EntryLine]:
    """Yield the entries of a text in order, and a user's lines in sections that a rotation keeps."""
    parts = sections(body)
    titled = [("", body[: parts[0].start if parts else len(body)])]
    titled += [(part.title, body[part.body : part.end]) for part in parts]
    for title, text in titled:
        is_kept, position = title.casefold() in KEPT_SECTIONS, 0
        for entry in find_entries(text):
            yield from _lines(text[position : entry.start], title, kept=is_kept)
            yield _of_entry(entry.entry, title, kept=is_kept)
            position = entry.end
        yield from _lines(text[position:], title, kept=is_kept)


def _lines(text: str, title: str, *, kept: bool) -> Iterator[EntryLine]:
    labels = {CORE_DECISIONS.casefold(): MemoryType.DECISION.label, KNOWN_ISSUES.casefold(): MemoryType.ISSUE.label}
    label = labels.get(title.casefold(), "")
    lines = (block.text for block in blocks(text)) if text.strip() else ()
    yield from (EntryLine(label, line, day_of(line[:_DATED]) or day_of(title), "", kept) for line in lines)


def _of_entry(entry: Entry, title: str, *, kept: bool) -> EntryLine:
    """Return an entry; an exchange as its summary, else as its request and the beginning of its answer."""
    text, day = entry.text, day_of(entry.time) or day_of(title)
    if entry.label == EXCHANGE:
        exchange, fields = parse(entry), split_fields(entry.text)
        is_logged = bool(fields.answer or fields.said or fields.errors or fields.files)  # in the form of a daily log
        asked, done = fields.request, " ".join((fields.answer, *fields.said[-1:])).strip()
        if exchange and not is_logged:
            asked, done = exchange.summary, exchange.details
        short = shorten(done, _LONGEST_PART) if done and "→" not in asked else ""
        text = " → ".join(filter(None, (shorten(asked, _LONGEST_PART * 2).rstrip(" .:"), short)))
    return EntryLine(entry.label, text, day, entry.tags[0] if entry.tags else day, kept, entry.id)


def _section_lines(body: str) -> Iterator[str]:
    """Yield a line for each section of a text without entries: its title and first words."""
    for part in sections(body):
        begins = shorten(body[part.body : part.end], _LONGEST_PART)
        yield _ended(f"{part.title}: {begins}" if begins else part.title)
    if not sections(body) and body.strip():
        yield _ended(shorten(body, _LONGEST_LINE))


def _decisions(entries: Iterable[EntryLine], facts: Iterable[Fact]) -> list[KeyDecision]:
    """Return the decisions, rules and preferences: entries, then facts of these days without an entry."""
    decisions: dict[str, KeyDecision] = {}
    recorded = [(memory.text, memory.day) for memory in entries if memory.label in _DECIDED]
    recorded += [(fact.description, f"{fact.created:%Y-%m-%d}") for fact in facts if fact.kind in WEIGHED]
    for text, day in recorded:
        statement, _, reason = text.partition(WHY)
        decided = " ".join(statement.split())
        why = shorten(" ".join(reason.split()), _LONGEST_ITEM) if reason else ""
        decisions.setdefault(decided.casefold(), KeyDecision(_cut(decided, _LONGEST_ITEM), why, day))
    return [*decisions.values()]


def _issues(entries: Iterable[EntryLine], facts: Iterable[Fact]) -> list[Issue]:
    """Return the issues: entries, then facts of these days without an entry; a fact's status of an issue counts."""
    by_text = {fact.description.casefold(): fact for fact in facts if fact.kind is FactKind.ISSUE}
    issue = MemoryType.ISSUE.label
    recorded = [(" ".join(memory.text.split()), memory.day) for memory in entries if memory.label == issue]
    recorded += [(fact.description, f"{fact.created:%Y-%m-%d}") for fact in by_text.values()]
    issues: dict[str, Issue] = {}
    for text, day in recorded:
        fact = by_text.get(text.casefold())
        status = RESOLVED if fact and fact.status is not FactStatus.OPEN else OPEN
        issues.setdefault(text.casefold(), Issue(_cut(text, _LONGEST_ITEM), status, day))
    return [*issues.values()]

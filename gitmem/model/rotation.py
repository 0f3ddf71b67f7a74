"""Plan the rotation of `memory.md`: the archive's name, and the text that stays. Pure.

The archive is the whole file, byte for byte. In their order, these parts stay:

- the header, and the text before the first section unless it alone exceeds the carryover limit;
- Core Decisions, Known Issues and Current State; of a section over its share of the threshold, the newest and most
  used entries, with a line that counts the other facts;
- the tail of all the rest, up to the carryover limit, and the required headings in any case. Of Recent Context each
  of the last three sessions has a share.

A tail has whole lines, entries and code fences. A file without any required heading is all rest. The text that stays
is always under the threshold, so that one rotation does not cause the next.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.config.values import RotationConfig
from gitmem.document.entry import (
    CORE_DECISIONS,
    CURRENT_STATE,
    KNOWN_ISSUES,
    RECENT_CONTEXT,
    Section,
    fences,
    find_entries,
    sections,
)
from gitmem.document.ids import archive_path, is_fact_id, monthly_path, weekly_path
from gitmem.platform.machine import date, datetime, timedelta
from gitmem.text.words import BYTES_PER_TOKEN, estimate_tokens, tokens_of_size, utf8_size
from gitmem.values import Value


def needs_rotation(size: int, limits: RotationConfig) -> bool:
    """Return whether a `memory.md` of `size` bytes rotates; an empty file never does."""
    return size > 0 and tokens_of_size(size) >= limits.threshold


def week_of(day: date) -> str:
    """Return the ISO week of a day, `YYYY-Www`."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def month_of(last: date) -> str:
    """Return the month of the week that ends on a Sunday: its Thursday's, `YYYY-MM`."""
    return (last - timedelta(days=3)).strftime("%Y-%m")


def holders_of(day: date) -> tuple[str, str]:
    """Return the documents that may contain a consolidated day: its week's and its month's."""
    last = day + timedelta(days=7 - day.isoweekday())
    return weekly_path(week_of(day)), monthly_path(month_of(last))


_DATED = (  # strings, compiled at use: every save loads this module
    r"daily/[0-9]{4}/[0-9]{2}/(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})\.md"
    r"|weekly/[0-9]{4}/(?P<week>[0-9]{4}-W[0-9]{2})(?:_[0-9]+)?\.md"
    r"|monthly/[0-9]{4}/(?P<month>[0-9]{4}-[0-9]{2})(?:_[0-9]+)?\.md"
    r"|(?:archive/memory_|sessions/[0-9]{4}/[0-9]{2}/)(?P<stamp>[0-9]{8})_[^/]*\.md"
)


def last_day(path: str) -> date | None:
    """Return the last day of a log, an archive or a session file; None for other files."""
    match = re.fullmatch(_DATED, path)
    try:
        if match is None:
            return None
        if week := match["week"]:
            return date.fromisoformat(f"{week}-7")
        if month := match["month"]:
            next_month = date.fromisoformat(f"{month}-28") + timedelta(days=4)
            return next_month - timedelta(days=next_month.day)
        return date.fromisoformat(match["day"] or match["stamp"])
    except ValueError:
        return None


SESSIONS = 3  # the last ones, whose exchanges stay
MORE_TOKENS = 30  # at most, in the line of `with_more`
_MORE = re.compile(r"(?m)^- (?P<count>[0-9]+) more (?:is a fact|are facts): `gitmem facts list`\.(?:\r?\n)?")


def most_useful(pieces: Sequence[str], tokens: int, uses: Mapping[str, int]) -> str:
    """Return the pieces that fit, the newest and most used first, in their order.

    A fact stated three times ranks like one three times as new. `uses` has the numbers of statements, by id.
    """
    ids = [next(iter(facts_in(piece)), "") for piece in pieces]
    if not any(ids):
        return _last_that_fit(pieces, tokens)
    ages = [(len(pieces) - place) / max(uses.get(ids[place], 1), 1) for place in range(len(pieces))]
    return _that_fit(pieces, sorted(range(len(pieces)), key=lambda place: (ages[place], -place)), tokens)


def newest_sessions(pieces: Sequence[str], tokens: int) -> str:
    """Return the newest pieces that fit, in their order; each of the last sessions has an equal share."""
    sessions: dict[str, list[int]] = {}
    for place in range(len(pieces) - 1, -1, -1):
        if session := _session(pieces[place]):
            sessions.setdefault(session, []).append(place)
    ahead: list[int] = []
    for places in list(sessions.values())[:SESSIONS]:
        left = tokens // SESSIONS * BYTES_PER_TOKEN
        for place in places:
            left -= utf8_size(pieces[place])
            if left < 0:
                break
            ahead.append(place)
    rest = [place for place in range(len(pieces) - 1, -1, -1) if place not in ahead]
    return _that_fit(pieces, ahead, tokens, rest)


def with_more(text: str, known: Collection[str], before: str, newline: str) -> str:
    """Return the rest of a section, with a line below its heading that counts the facts without a line.

    `known` are the ids of the section's facts, as far as they were read; `before` is the section as it was. If none
    were read, the count comes from the ids and the number in `before`.
    """
    shown = facts_in(text)
    more = len({*known, *facts_in(before)} - shown)
    known_line = _MORE.search(before)
    if known_line and not known:
        more += int(known_line["count"])
    text = _MORE.sub("", text)
    if not more:
        return text
    head, _, rest = text.partition("\n")
    words = f"- {more} more {'is a fact' if more == 1 else 'are facts'}: `gitmem facts list`."
    return f"{head}\n{newline}{words}{newline}" + (rest.lstrip("\r\n") or newline)


def without_count(text: str) -> str:
    """Return a text without the lines that count facts."""
    return _MORE.sub("", text) if ": `gitmem facts list`." in text else text


def counted_down(body: str, start: int, end: int, ended: int) -> str:
    """Lower the count of facts without a line by `ended`, in the section from `start` to `end`."""
    counting = _MORE.search(body, start, end)
    if counting is None:
        return body
    more = max(int(counting["count"]) - ended, 0)
    line = counting[0].replace(counting["count"], str(more), 1) if more else ""
    return body[: counting.start()] + line + body[counting.end() :]


def facts_in(text: str) -> set[str]:
    """Return the ids of the facts that have a line in a text."""
    return {entry.entry.id for entry in find_entries(text) if is_fact_id(entry.entry.id)}


def _that_fit(pieces: Sequence[str], ahead: Sequence[int], tokens: int, rest: Iterable[int] = ()) -> str:
    """Return the pieces that fit: all of `ahead` that do, then those of `rest` before the first that does not."""
    left, chosen = tokens * BYTES_PER_TOKEN, set()
    for place in ahead:
        if utf8_size(pieces[place]) <= left:
            chosen.add(place)
            left -= utf8_size(pieces[place])
    for place in rest:
        left -= utf8_size(pieces[place])
        if left < 0:
            break
        chosen.add(place)
    return "".join(pieces[place] for place in sorted(chosen))


def _session(piece: str) -> str:
    """Return the tag of the session of an exchange, "" for another piece."""
    entries = [place.entry for place in find_entries(piece)[:1]]
    return next((entry.tags[0] for entry in entries if entry.label == "Exchange" and entry.tags), "")


# Sections that stay, and the divisor of the threshold that limits each, as whole ones might leave no room.
KEPT_SECTIONS = {CORE_DECISIONS.casefold(): 2, KNOWN_ISSUES.casefold(): 4, CURRENT_STATE.casefold(): 8}
OPEN_SECTIONS = (RECENT_CONTEXT.casefold(),)

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_STAMP = re.compile(r"[0-9]{8}_[0-9]{6}")


class Rotation(Value):
    """A planned rotation: the archive's path, the tokens of the old text, and the text that stays."""

    archive: str
    tokens: int
    remaining: str


def tail_of_lines(text: str, tokens: int) -> str:
    """Return the whole lines at the end of `text` that fit into `tokens`."""
    return _last_that_fit(_LINES.findall(text), tokens)


def plan_rotation(
    body: str,
    *,
    header: str,
    stamp: str,
    taken: Collection[str],
    limits: RotationConfig,
    uses: Mapping[str, Mapping[str, int]] | None = None,
) -> Rotation | None:
    """Return the rotation of a document at local time `stamp` (`YYYYMMDD_HHMMSS`), None if it need not rotate.

    `header` comes before the body, and stays: if it alone exceeds the threshold, nothing rotates, as otherwise every
    save would. `taken` are the paths of existing archives: a second rotation in one second gets a suffix that sorts
    after the first. `uses` has, by section title, the ids of all its facts and how often each was stated.
    """
    size = utf8_size(header + body)
    room = limits.threshold - 1 - estimate_tokens(header)
    if not needs_rotation(size, limits) or room < 0:
        return None
    path = archive_path(stamp)
    number = 2
    while path in taken:
        path = archive_path(f"{stamp}_{number:02d}")
        number += 1
    return Rotation(path, tokens_of_size(size), header + _carry_over(body, limits, room, uses or {}))


def _carry_over(body: str, limits: RotationConfig, room: int, uses: Mapping[str, Mapping[str, int]]) -> str:
    parts = _parts(body)
    named = {part.title.casefold(): part for part in reversed(parts)}  # the first of each title
    always = {named[title]: _lead(body, named[title]) for title in (*KEPT_SECTIONS, *OPEN_SECTIONS) if title in named}
    left = room - sum(map(estimate_tokens, always.values()))
    if not always or left < 0:
        return _without_blank_start(_last_that_fit(_pieces(body), min(limits.carryover, room)))
    opening = body[: parts[0].end]
    if estimate_tokens(opening) <= min(limits.carryover, left):
        always[parts[0]] = opening
        left -= estimate_tokens(opening)
    stays: dict[Section, str] = {}
    facts = {title.casefold(): of_title for title, of_title in uses.items()}
    for title, share in KEPT_SECTIONS.items():
        named_so = [part for part in parts if part.title.casefold() == title]
        tail = _tail_of_parts(body, named_so, min(limits.threshold // share, left), facts.get(title, {}))
        left -= sum(map(estimate_tokens, tail.values()))
        stays |= tail
    stays |= _tail_of_parts(body, [part for part in parts if part not in stays], min(limits.carryover, left))
    return "".join(stays[part] or always.get(part, "") for part in parts)


def _parts(body: str) -> list[Section]:
    """Return the sections; text before the first belongs to the first."""
    places = sections(body)
    while places and places[0].level == 1 and places[0].title.casefold() not in (*KEPT_SECTIONS, *OPEN_SECTIONS):
        del places[0]
    return [Section(0, "", 0, 0, places[0].start if places else len(body)), *places]


def _tail_of_parts(
    body: str, parts: Sequence[Section], tokens: int, uses: Mapping[str, int] | None = None
) -> dict[Section, str]:
    """Return the part of each section that stays: the last ones whole, one truncated, "" for those before."""
    stays = {}
    for part in reversed(parts):
        stays[part] = text = _shortened(body, part, tokens, uses or {})
        tokens = tokens - estimate_tokens(text) if len(text) == part.end - part.start else 0
    return stays


def _shortened(body: str, part: Section, tokens: int, uses: Mapping[str, int]) -> str:
    """Return a section shortened to its heading and its end; "" if only the heading would fit."""
    text = body[part.start : part.end]
    facts = {*uses} - facts_in(body[: part.start] + body[part.end :]) if uses else set()
    newline = "\r\n" if "\r\n" in body[part.start : part.body] else "\n"
    whole = with_more(text, facts, text, newline)
    if estimate_tokens(whole) <= tokens:
        return whole
    lead = _lead(body, part)
    room = tokens - estimate_tokens(lead)
    rest = text[len(lead) :]
    if part.title.casefold() in KEPT_SECTIONS:
        useful = _without_blank_start(most_useful(_pieces(rest), room - MORE_TOKENS, uses))
        short = with_more(lead + useful, facts, text, newline)
        return short if short.strip() != lead.strip() else ""
    choose = newest_sessions if part.title.casefold() in OPEN_SECTIONS else _last_that_fit
    tail = _without_blank_start(choose(_pieces(rest), room))
    return lead + tail if tail else ""


def _lead(body: str, part: Section) -> str:
    """Return a section's heading and the blank line after it."""
    line = body[part.body : body.find("\n", part.body, part.end) + 1]
    return body[part.start : part.body] + ("" if line.strip() else line)


def _without_blank_start(tail: str) -> str:
    first = next((line for line in _LINES.finditer(tail) if line[0].strip()), None)
    return tail[first.start() :] if first else ""


def _pieces(text: str) -> list[str]:
    """Split a text into entries, code fences, and the lines between them."""
    pieces: list[str] = []
    position = 0
    for start, end in sorted([*((entry.start, entry.end) for entry in find_entries(text)), *fences(text)]):
        if start >= position:  # skips entries within a fence, which are quotations
            pieces += _LINES.findall(text, position, start)
            pieces.append(text[start:end])
            position = end
    return pieces + _LINES.findall(text, position)


def _last_that_fit(pieces: Sequence[str], tokens: int) -> str:
    return _that_fit(pieces, [], tokens, range(len(pieces) - 1, -1, -1))


def outdated_archives(names: Iterable[str], limits: RotationConfig, now: datetime) -> list[str]:
    """Return the archives beyond the largest number and those beyond the age that the settings keep."""
    archives = sorted(name for name in names if name.startswith("memory_") and name.endswith(".md"))
    over, days = archives[: -limits.max_archives] if limits.max_archives else [], limits.archive_retention_days
    # Archive names are in local time.
    stamp = f"{now.replace(tzinfo=None) - timedelta(days=days):%Y%m%d_%H%M%S}" if days else ""
    return over + [name for name in archives if name not in over and _STAMP.match(name[7:]) and name[7:22] < stamp]

"""What a search answers with, and what narrows it."""

from __future__ import annotations

import re
from functools import cache

from gitmem.search.units.cut import ENTRY
from gitmem.search.units.snippet import snippet
from gitmem.search.units.units import first_line
from gitmem.text.tokens import estimate_tokens
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.search.rank import Found
    from gitmem.search.units.units import Unit, Units

_SESSION_TAG = r"[0-9a-f]{8}"
_DAY = r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])"
_STAMP = r"(?<![0-9])([0-9]{4})([0-9]{2})([0-9]{2})_([0-9]{2})([0-9]{2})([0-9]{2})(?![0-9])"
_SESSION_NAME = r"sessions/.*[0-9]{8}_[0-9]{6}-([^/]+?)(?:\.l1\.jsonl|\.md)"
_HEADER = 4096  # characters in which a document says when it was made
_CREATED = r"(?m)^(?:date|created):[ \t]*['\"]?([0-9]{4}-[0-9]{2}-[0-9]{2}[0-9T: ]*)"


class Hit(Value):
    """One place where memory answers a query.

    `start` and `end` are lines, counted from 1. `date` is local, `YYYY-MM-DD` with the time where it is known, "" where
    it is not; `session`, `entry` (an id), `label` and `field` (of a summary's header) are "" where there is none.
    `commit` is one that has the text, where no file has it any more.
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


class Facts(Value):
    """What the first line of an entry, the path and the header say of a unit; see `Hit`."""

    date: str
    session: str
    entry: str
    label: str
    tags: tuple[str, ...]


def facts_of(units: Units, unit: Unit) -> Facts:
    """Return what is known of a unit, without git."""
    label, entry, time = "", "", ""
    tags: tuple[str, ...] = ()
    if unit.kind == ENTRY and (line := first_line().match(units.text, unit.start, unit.end)):
        label, entry, time = line["label"], line["id"], line["time"]
        tags = tuple(line["tags"].replace("#", "").split())
    day, session = file_facts(units)
    if " " in time:
        date = time
    elif time:
        date = f"{day[:10]} {time}".strip()
    else:
        date = day_of(unit.heading) or day
    session = session or next((tag for tag in tags if re.fullmatch(_SESSION_TAG, tag)), "")
    return Facts(date, session, entry, label, tags)


def file_facts(units: Units) -> tuple[str, str]:
    """Return the date and the session a whole file is of, "" where it is of none."""
    named = re.search(_SESSION_NAME, units.path) if units.path.startswith("sessions/") else None
    session = named[1] if named else ""
    day = day_of(units.path.rpartition("/")[2])
    if not day and units.text.startswith("---"):
        created = re.search(_CREATED, units.text[:_HEADER])
        day = created[1].replace("T", " ").strip() if created else ""
    return day, session


@cache
def day_of(text: str) -> str:
    """Return the date, perhaps with the time, that a name or a heading holds, "" where it holds none."""
    if day := re.search(_DAY, text):
        return day[0]
    if stamp := re.search(_STAMP, text):
        return "{}-{}-{} {}:{}:{}".format(*stamp.groups())
    return ""


def make_hit(units: Units, index: int, found: Found | None, says: list[float], score: float) -> Hit:
    """Return a unit as a hit."""
    unit = units.unit(index)
    text = units.text_of(unit)
    start, end = units.lines(unit)
    facts = facts_of(units, unit)
    shown = unit.start
    if facts.entry and (line := first_line().match(units.text, unit.start, unit.end)):
        shown = line.start("text") if line["text"] else line.end()
    places = [(max(0, position - shown), says[term]) for position, term in found.places] if found else []
    told = (
        units.text[shown : unit.end].replace(f" ^{facts.entry}", "", 1) if facts.entry else units.text[shown : unit.end]
    )
    return Hit(
        path=units.path,
        start=start,
        end=end,
        heading=unit.heading,
        layer=units.layer,
        date=facts.date,
        session=facts.session,
        score=round(score, 4),
        snippet=snippet(told.strip(), places),
        tokens=estimate_tokens(text),
        text=text,
        entry=facts.entry,
        label=facts.label,
        tags=facts.tags,
        field=unit.name,
        commit=units.commit,
    )

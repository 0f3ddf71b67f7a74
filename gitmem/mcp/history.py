"""`memory_history`: who learned a line, when, in which session, and what it was before (spec G3)."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gitmem.mcp.words import clean
from gitmem.search.units.passage import read_passage
from gitmem.store.history.lines import versions
from gitmem.store.history.origin import blame

if TYPE_CHECKING:
    from gitmem.store.history.origin import Line
    from gitmem.store.history.records import Record
    from gitmem.store.store import Store

LIMIT = 5
MAX_LINES = 60  # that are told about at once
_MAX_BEFORE = 20  # lines of one earlier version
_SHORT = 10  # characters of an object id
_SHOWN = 300  # characters of a line


def trace(store: Store, path: str, start_line: int, end_line: int = 0, limit: int = LIMIT) -> str:
    """Return who learned these lines, or what the line `start_line` stands in, and the versions before.

    Raises:
        GitmemError: there is no such document or line.

    """
    found = read_passage(store, path, start_line, end_line or None)
    last = min(found.end, found.start + MAX_LINES - 1)
    lines = blame(store, found.path, (found.start, last))
    told = [f"[{found.path}:{found.start}" + (f"-{last}]" if last > found.start else "]")]
    for origin, group in groupby(lines, key=lambda line: line.origin):
        told += _learned(origin, list(group))
    before = versions(store, found.path, (found.start, last), limit + 1)
    changed = [version for version in before if version.before]
    for version in changed[:limit]:
        told += ["", f"Changed {_who(version.origin)}. Before that:"]
        told += [f"- {line[:_SHOWN]}" for line in version.before[:_MAX_BEFORE]]
        if len(version.before) > _MAX_BEFORE:
            more = len(version.before) - _MAX_BEFORE
            told.append(f"- … {more} more lines: memory_get(..., at='{version.origin.commit[:_SHORT]}^')")
    if not changed:
        told += ["", "They were never otherwise."]
    elif len(before) > limit:
        told += ["", "There are older versions: a higher limit."]
    if last < found.end:
        told += ["", f"Next: memory_history({found.path!r}, {last + 1}, {found.end})"]
    return clean("\n".join(told))


def _learned(origin: Record | None, lines: list[Line]) -> list[str]:
    who = f"Learned {_who(origin)}:" if origin else "Edited by hand just now, not committed yet:"
    return [who, *(f"{line.number}  {line.text[:_SHOWN]}" for line in lines)]


def _who(origin: Record) -> str:
    """Return when, through what, in which session and commit."""
    through = origin.host or origin.author
    session = f", session {origin.session}" if origin.session else ""
    return f"{origin.date:%Y-%m-%d %H:%M} by {through}{session}, commit {origin.commit[:_SHORT]} ({origin.subject})"

"""`memory_history`: who wrote a line, when, in which session, and its earlier versions (docs/spec.md G3)."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gitmem.mcp.calls import client_text
from gitmem.search.units.passage import read_passage
from gitmem.store.history.lines import versions
from gitmem.store.history.origin import blame

if TYPE_CHECKING:
    from gitmem.store.history.origin import Line
    from gitmem.store.history.records import CommitRecord
    from gitmem.store.store import Store

LIMIT = 5
MAX_LINES = 60  # of one answer
_MAX_BEFORE = 20  # lines of one earlier version
_SHORT = 10  # characters of an object id
_SHOWN = 300  # characters of a line


def trace(store: Store, path: str, start_line: int, end_line: int = 0, limit: int = LIMIT) -> str:
    """Return the author of these lines, and their earlier versions; without `end_line` the entry or section of a line.

    Raises:
        GitmemError: there is no such document or line.

    """
    passage = read_passage(store, path, start_line, end_line or None)
    last = min(passage.end, passage.start + MAX_LINES - 1)
    lines = blame(store, passage.path, (passage.start, last))
    answer = [f"[{passage.path}:{passage.start}" + (f"-{last}]" if last > passage.start else "]")]
    for origin, group in groupby(lines, key=lambda line: line.origin):
        answer += _learned(origin, list(group))
    before = versions(store, passage.path, (passage.start, last), limit + 1)
    changed = [version for version in before if version.before]
    for version in changed[:limit]:
        answer += ["", f"Changed {_who(version.origin)}. Before that:"]
        answer += [f"- {line[:_SHOWN]}" for line in version.before[:_MAX_BEFORE]]
        if len(version.before) > _MAX_BEFORE:
            more = len(version.before) - _MAX_BEFORE
            answer.append(f"- … {more} more lines: memory_get(..., at='{version.origin.commit[:_SHORT]}^')")
    if not changed:
        answer += ["", "There are no earlier versions."]
    elif len(before) > limit:
        answer += ["", "There are older versions; a higher limit shows them."]
    if last < passage.end:
        answer += ["", f"Next: memory_history({passage.path!r}, {last + 1}, {passage.end})"]
    return client_text("\n".join(answer), f"memory_history {passage.path}")


def _learned(origin: CommitRecord | None, lines: list[Line]) -> list[str]:
    who = f"Learned {_who(origin)}:" if origin else "Edited by hand just now, not committed yet:"
    return [who, *(f"{line.number}  {line.text[:_SHOWN]}" for line in lines)]


def _who(origin: CommitRecord) -> str:
    """Return date, host or author, session and commit."""
    through = origin.host or origin.author
    session = f", session {origin.session}" if origin.session else ""
    return f"{origin.date:%Y-%m-%d %H:%M} by {through}{session}, commit {origin.commit[:_SHORT]} ({origin.subject})"

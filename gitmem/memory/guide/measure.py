"""Figures of a store: its size, its growth a week, and how often agents were told memories and used them (spec M7).

They are counted from files, from history, and from the private record of given texts.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.memory.guide.given import all_given
from gitmem.memory.learned.known import known_patterns
from gitmem.model.entry.entry import find_entries
from gitmem.model.message import Op
from gitmem.search.files import list_paths
from gitmem.store.history.records import records

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.guide.given import Given
    from gitmem.store.history.records import CommitRecord
    from gitmem.store.store import Store

WEEKS = 8
_GROUPS = (
    "daily",
    "weekly",
    "monthly",
    "sessions",
    "facts",
    "concepts",
    "patterns",
    "episodes",
    "archive",
    "summaries",
)
_LEARNED = {"exchanges": Op.TURN, "facts": Op.FACT, "patterns": Op.PATTERN, "saves": Op.SAVE}
_HOWS = ("prompt", "error", "guide")

Figures = dict[str, dict[str, int]]


def measure(store: Store) -> dict[str, object]:
    """Return the figures, by group; `weeks` are the last ones, named by their Mondays, the oldest first."""
    found, given = records(store), list(all_given(store.private))
    now = store.context.clock()
    weeks = [_week(now - timedelta(weeks=back)) for back in reversed(range(WEEKS))]
    return {
        "storage": _storage(store),
        "usage": {
            "commits": len(found),
            "sessions": len({one.session for one in found if one.session}),
            "exchanges": sum(one.op == Op.TURN for one in found),
        },
        "learning": _learning(found, weeks),
        "told": {how: sum(one.how == how for one in given) for how in _HOWS},
        "effectiveness": _used(store, given),
        "tokens": {
            "told": sum(one.tokens for one in given),
            "sessions": len({one.session for one in given}),
            **{week: sum(one.tokens for one in given if _week(one.at) == week) for week in weeks},
        },
    }


def _storage(store: Store) -> Figures:
    """Return files and bytes of each folder, of all else, and of history."""
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path in list_paths(store.root):
        first = path.partition("/")[0]
        name = first if first in _GROUPS else "other"
        files[name] += 1
        sizes[name] += _size(os.path.join(store.root, path))
    history = sum(
        _size(os.path.join(folder, name))
        for folder, _, names in os.walk(os.path.dirname(store.private))
        for name in names
    )
    named = [name for name in (*_GROUPS, "other") if files[name]]
    found = {name: {"files": files[name], "bytes": sizes[name]} for name in named}
    return found | ({"history": {"files": 0, "bytes": history}} if store.own_repository else {})


def _learning(found: list[CommitRecord], weeks: list[str]) -> Figures:
    """Return how many commits of each kind there were in each week."""
    counts = Counter((one.op, _week(one.committed)) for one in found)
    return {name: {week: counts[op.value, week] for week in weeks} for name, op in _LEARNED.items()}


def _used(store: Store, given: list[Given]) -> dict[str, int]:
    """Return how many mends agents were told, and how many of them the same session then reports."""
    best = ((pattern.id, pattern.best(pattern.error)) for pattern in known_patterns(store))
    mends = {id_: solution.text.strip("`") for id_, solution in best if solution}
    told = [(one, mend) for one in given if one.how == "error" for id_ in one.ids if (mend := mends.get(id_))]
    return {"mends_told": len(told), "mends_used": sum(_did(store, one, mend) for one, mend in told)}


def _did(store: Store, given: Given, mend: str) -> bool:
    tag = given.session[:8]
    for day in (given.at, given.at + timedelta(days=1)):
        path = os.path.join(store.root, f"daily/{day:%Y/%m/%Y-%m-%d}.md")
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                entries = [found.entry for found in find_entries(file.read())]
            if any(tag in entry.tags and mend in entry.text for entry in entries):
                return True
    return False


def _week(at: datetime) -> str:
    return (at.date() - timedelta(days=at.weekday())).isoformat()


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0

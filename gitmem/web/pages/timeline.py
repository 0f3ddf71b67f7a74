"""Commits by day, with filters and a strip of activity."""

from __future__ import annotations

import contextlib
from collections import Counter
from datetime import date, datetime, time, timedelta
from typing import Any

from gitmem.errors import NotFoundError
from gitmem.history.records import difference, read_records, records, resolve
from gitmem.text.terminal import fields
from gitmem.web.pages.sessions import known_sessions
from gitmem.web.pages.view import LENGTH, View, bars, commit_value

DAYS = 91  # of the strip
WIDTH, HEIGHT = 910, 48
_MOST_NAMES = 30
_MAX_DIFF = 24_000  # characters


def show_timeline(view: View) -> dict[str, Any]:
    """Return a page of the commits, the newest first, starting behind the commit `after`."""
    given = {name: view.word(name) for name in ("session", "type", "host", "machine", "op", "day")}
    filters: dict[str, Any] = {name: given[name] or None for name in ("session", "host", "machine", "op")}
    start, now = None, view.store.context.clock()
    with contextlib.suppress(ValueError):
        start = date.fromisoformat(given["day"]) if given["day"] else None
    if start:
        filters["since"] = datetime.combine(start, time.min, view.at_home(now).tzinfo)
        filters["until"] = datetime.combine(start, time.max, view.at_home(now).tzinfo)
    after = view.word("after")
    try:
        after = resolve(view.store, after) if after else ""
        found = records(view.store, kind=given["type"] or None, limit=LENGTH + 1, after=after or None, **filters)
    except NotFoundError:
        found = []
    found = [record for record in found if record.parents]  # the first commit of every store is dated 1970
    days: dict[str, list[dict[str, Any]]] = {}
    for record in found[:LENGTH]:
        days.setdefault(view.at_home(record.date).date().isoformat(), []).append(commit_value(view.store, record))
    return {
        "filters": given,
        "days": [{"day": day, "commits": commits} for day, commits in days.items()],
        "next": found[LENGTH - 1].commit if len(found) > LENGTH else None,
        "strip": activity(view, view.at_home(now)),
        "known": view.kept.get_or_make("names", view.store.tip, lambda: _names(view)),
        "sessions": [fields(one, "id about") for one in known_sessions(view)[:_MOST_NAMES]],
        "width": WIDTH,
        "height": HEIGHT,
    }


def show_commit(view: View, revision: str) -> dict[str, Any]:
    """Return one commit with its difference."""
    oid = resolve(view.store, revision)
    record = commit_value(view.store, read_records(view.store, [oid])[oid])
    text = difference(view.store, None, oid).text.decode("utf-8", "replace")
    return {**record, "diff": text[:_MAX_DIFF], "cut": len(text) > _MAX_DIFF}


def activity(view: View, now: datetime) -> list[dict[str, Any]]:
    """Return the number of commits of each of the last days, with its bar."""
    made = view.days()
    days = [now.date() - timedelta(days=back) for back in reversed(range(DAYS))]
    counts = [made[day] for day in days]
    return [
        {"day": day.isoformat(), "commits": number, **bar}
        for day, number, bar in zip(days, counts, bars(counts, WIDTH, HEIGHT), strict=True)
    ]


def _names(view: View) -> dict[str, list[str]]:
    """Return the hosts, machines and types of all commits, the most frequent first."""
    every, names = view.records(), ("host", "machine", "type")
    found = {name: Counter(getattr(record, name) for record in every) for name in names}
    return {name: [one for one, _ in counts.most_common(_MOST_NAMES) if one] for name, counts in found.items()}

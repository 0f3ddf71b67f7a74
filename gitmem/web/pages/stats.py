"""Sync with other machines, and figures: growth, tokens, models."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from gitmem.memory.ask.ask import spending
from gitmem.store.sync.all import states
from gitmem.store.upkeep.failures import FailureLog
from gitmem.text.tokens import estimate_tokens
from gitmem.web.chart import bars
from gitmem.web.pages.home import told
from gitmem.web.pages.view import View, moment

_WEEKS = 26
WIDTH, HEIGHT = 780, 120
_FAILURES = 30


def show_sync(view: View) -> dict[str, Any]:
    """Return the remotes, the machines with their last commits, and failures."""
    store = view.store
    log = FailureLog(store.private).failures()[-_FAILURES:][::-1]
    return {
        "machine": store.context.machine,
        "remotes": [state.as_value() for state in states(store)] if store.tip else [],
        "machines": _machines(view),
        "failures": [{"at": moment(one.at), "command": one.command, "message": one.message} for one in log],
        "waiting": len(store.spool.names()),
        "aside": len(store.spool.aside()),
    }


def show_stats(view: View) -> dict[str, Any]:
    """Return growth by week, the tokens of a session's start, and today's cost of models."""
    store = view.store
    statuses = view.statuses
    days = view.days()
    today = store.context.clock().date()
    monday = today - timedelta(days=today.weekday())
    weeks = [monday - timedelta(weeks=back) for back in reversed(range(_WEEKS))]
    commits = [sum(days[week + timedelta(days=day)] for day in range(7)) for week in weeks]
    learned = Counter(fact.created.astimezone().date() for fact in view.facts)
    facts = [sum(learned[week + timedelta(days=day)] for day in range(7)) for week in weeks]
    standings = Counter(status.standing.value for status in statuses.values())
    text = told(view)
    return {
        "commits": days.total(),
        "facts": dict(standings),
        "charts": [_chart("Commits a week", weeks, commits), _chart("Facts learned a week", weeks, facts)],
        "start": {
            "tokens": estimate_tokens(text),
            "budget": store.config.session.budget_tokens,
        },
        "models": spending(store)._asdict(),
    }


def _chart(title: str, weeks: list[Any], values: list[int]) -> dict[str, Any]:
    drawn = bars(values, WIDTH, HEIGHT)
    return {
        "title": title,
        "width": WIDTH,
        "height": HEIGHT,
        "bars": [
            {"week": week.isoformat(), "value": value, **bar}
            for week, value, bar in zip(weeks, values, drawn, strict=True)
        ],
    }


def _machines(view: View) -> list[dict[str, Any]]:
    """Return the machines that committed here, each with the time of its last commit."""
    store = view.store
    if not store.tip:
        return []

    def make() -> list[dict[str, Any]]:
        last: dict[str, dict[str, Any]] = {}
        for record in view.records():
            name = record.machine or record.author
            one = last.setdefault(name, {"name": name, "last": moment(record.committed), "commits": 0})
            one["commits"] += 1
        return list(last.values())

    found: list[dict[str, Any]] = view.kept.get_or_make("machines", store.tip, make)
    return found

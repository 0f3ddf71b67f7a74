"""Sync with other machines, and figures: growth, tokens, models."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from gitmem.judgement.ask import spending
from gitmem.lessons.outcome_counts import measure
from gitmem.llm.protocol import HOST, OFFLINE, TURN_ON
from gitmem.store.findings import FailureLog
from gitmem.sync.sync import states
from gitmem.text.terminal import fields
from gitmem.web.pages.view import View, columns, moment, over_time

_WEEKS = 26
_TOKENS = ("start", "injected", "recalled", "models")
_FAILURES = 30


def show_sync(view: View) -> dict[str, Any]:
    """Return the remotes, the machines with their last commits, and failures."""
    store = view.store
    log = FailureLog(store.private).failures()[-_FAILURES:][::-1]
    return {
        "machine": store.context.machine,
        "remotes": [state.as_value() for state in states(store, behind=True)] if store.tip else [],
        "machines": _machines(view),
        "failures": [fields(one, "at command message") for one in log],
        "waiting": len(store.spool.names()),
        "aside": len(store.spool.aside()),
    }


def show_stats(view: View) -> dict[str, Any]:
    """Return the figures of `gitmem stats` with charts of growth, tokens and answers."""
    store = view.store
    figures = measure(store, view.records(), view.facts)
    today = store.context.clock().date()
    first = today - timedelta(weeks=_WEEKS - 1)
    learned = Counter(fact.created.astimezone().date() for fact in view.facts)
    asked = {how: one for how, one in figures["retrieval"].items() if one["asked"]}
    answers = {
        "answered": [one["found"] for one in asked.values()],
        "nothing known": [one["asked"] - one["found"] for one in asked.values()],
    }
    tokens = {name: list(figures["tokens"][name].values()) for name in _TOKENS}
    return {
        **figures,
        "facts": dict(Counter(status.standing.value for status in view.statuses.values())),
        "models": spending(store)._asdict(),
        "turn_on": TURN_ON if store.config.summary.provider in {OFFLINE, HOST} else "",
        "growth": [
            over_time("Commits a week", "commits", view.days(), first, today),
            over_time("Facts learned a week", "facts", learned, first, today),
        ],
        "spent": columns("Tokens a week", list(figures["tokens"]["sessions"]), tokens, "week"),
        "answers": columns("Questions, and how many had an answer", list(asked), answers, "way") if asked else None,
    }


def _machines(view: View) -> list[dict[str, Any]]:
    """Return the machines that committed here, each with the time of its last commit."""
    store = view.store
    if not store.tip:
        return []

    def make() -> list[dict[str, Any]]:
        last: dict[str, dict[str, Any]] = {}
        for record in view.records():
            if not record.machine and not record.parents:  # the first commit of every store
                continue
            name = record.machine or record.author
            machine = last.setdefault(name, {"name": name, "last": moment(record.committed), "commits": 0})
            machine["commits"] += 1
        return list(last.values())

    return view.kept.get_or_make("machines", store.tip, make)

"""Figures of a store: its size, its growth a week, and how often agents were told memories and used them (spec M7).

All of it is counted from files, from history, and from the private record (docs/format.md, "Given texts"). No model is
asked, and nothing leaves the machine. The record is this machine's, of 90 days; the cost of models is of 60.

`measure` returns these values. A WEEKS is a number for each of the last eight weeks, by the date of their Mondays, the
oldest first; HOW is one of `given.HOWS`.

    storage        {NAME: {files, bytes}}: folders of the store, `other` files, `history` (a store's own repository),
                   `private` (notes, caches and the spool)
    usage          {commits, saves, exchanges, sessions, agents: {NAME: sessions}}
    learning       {exchanges, saves, facts, patterns, episodes, contradictions: WEEKS}: new ones in the week;
                   contradictions are those found, or decided at once by a statement of change
    tasks          {number, seconds, tokens, mended_in, told, alone}: the episodes of these weeks, the medians of what
                   they took (null if unknown), and {number, succeeded} of those in sessions that were told a memory
                   at a prompt, at an error or when they asked, and of the others
    retrieval      {HOW: {asked, found, rate, ms, slowest}}: how often memory was asked and had an answer, the median
                   and the longest time in milliseconds, without the start of a process; rate is null if none asked
    told           {HOW: number}: given texts
    effectiveness  {named, used, rate, by: {HOW: {named, used}}, errors}: texts with names of files or commands that
                   finished sessions were given, and those with a name that occurs in the session only afterwards;
                   `errors` is {mended, again, faster, slower, first, later}: mended errors, those mended before as
                   well, how many of these took fewer or more commands than the first time, and the average number of
                   commands, then and now (null without any)
    tokens         {start, injected, recalled, models: WEEKS, sessions: WEEKS, total: {start, injected, recalled,
                   models, sessions}, session: {start, injected, recalled, models}}: tokens of texts at the start, at
                   prompts and errors, and in answers to questions, and tokens of models; `sessions` counts the
                   sessions that were given any, `session` is the average of one
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from datetime import date, datetime, timedelta
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from gitmem.memory.ask.ledger import Ledger
from gitmem.memory.facts.settle import BOTH_HOLD
from gitmem.memory.guide.given import ASKED, ERROR, GET, GUIDE, HOWS, PROMPT, RECALL, SEARCH, START, read_notes
from gitmem.memory.guide.given import TOLD as HELPS
from gitmem.memory.learned.cleanup import episode_paths
from gitmem.memory.learned.known import pattern_headers
from gitmem.model.message import Op
from gitmem.model.session.outcome import Outcome
from gitmem.search.files import list_paths
from gitmem.store.headers.facts import known_facts
from gitmem.store.history.records import records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitmem.memory.guide.given import Given, Mended, Notes
    from gitmem.model.fact.fact import Fact
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
_TOKENS = {"start": (START,), "injected": (PROMPT, ERROR), "recalled": (GUIDE, SEARCH, RECALL, GET)}
_HEADER_BYTES = 8_192  # of an episode
_FIELDS = re.compile(rb"(?m)^(created|session|outcome|seconds|tokens|mended_in): (\S+)")
_TOOK = ("seconds", "tokens", "mended_in")

Weeks = dict[str, int]


def measure(
    store: Store, history: Sequence[CommitRecord] | None = None, known: Sequence[Fact] | None = None
) -> dict[str, Any]:
    """Return the figures, by group, as this module's docstring names them.

    `history` are all commits and `known` all facts, if they have been read.
    """
    found = records(store) if history is None else history
    notes, facts = read_notes(store.private), known_facts(store) if known is None else known
    now = store.context.clock()
    weeks = [week_of(now - timedelta(weeks=back)) for back in reversed(range(WEEKS))]
    episodes = list(_episodes(store, weeks[0]))
    return {
        "storage": _storage(store),
        "usage": _usage(found),
        "learning": _learning(store, found, facts, episodes, weeks),
        "tasks": _tasks([one for one in episodes if one["created"] >= weeks[0]], notes.given),
        "retrieval": {how: _retrieval([one for one in notes.given if one.how == how]) for how in ASKED},
        "told": {how: sum(one.how == how and one.tokens > 0 for one in notes.given) for how in HOWS},
        "effectiveness": _effectiveness(notes),
        "tokens": _tokens(store, notes.given, weeks),
    }


def week_of(at: datetime) -> str:
    """Return the Monday of a moment's week."""
    return (at.date() - timedelta(days=at.weekday())).isoformat()


def _storage(store: Store) -> dict[str, dict[str, int]]:
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path in list_paths(store.root):
        first = path.partition("/")[0]
        name = first if first in _GROUPS else "other"
        files[name] += 1
        sizes[name] += _size(os.path.join(store.root, path))
    for name, folder in (("history", os.path.dirname(store.private)), ("private", store.private)):
        found = list(_sizes(folder, store.private if name == "history" else ""))
        files[name], sizes[name] = len(found), sum(found)
    if not store.own_repository:
        del files["history"]  # it is the project's
    return {
        name: {"files": files[name], "bytes": sizes[name]}
        for name in (*_GROUPS, "other", "history", "private")
        if files[name]
    }


def _sizes(folder: str, without: str) -> Iterator[int]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(parent, name) != without]
        yield from (_size(os.path.join(parent, name)) for name in names)


def _usage(found: Sequence[CommitRecord]) -> dict[str, Any]:
    hosts = {(one.session, one.host) for one in found if one.session}
    ops = Counter(one.op for one in found)
    return {
        "commits": len(found),
        "saves": ops[Op.SAVE.value],
        "exchanges": ops[Op.TURN.value],
        "sessions": len({session for session, _ in hosts}),
        "agents": dict(Counter(host for _, host in hosts if host).most_common()),
    }


def _learning(
    store: Store,
    found: Sequence[CommitRecord],
    facts: Sequence[Fact],
    episodes: Sequence[Mapping[str, str]],
    weeks: list[str],
) -> dict[str, Weeks]:
    ops = {"exchanges": Op.TURN.value, "saves": Op.SAVE.value}
    times: dict[str, Iterable[datetime]] = {
        **{name: [one.date for one in found if one.op == op] for name, op in ops.items()},
        "facts": [fact.created for fact in facts],
        "patterns": [datetime.fromisoformat(header.key[1]) for header in pattern_headers(store)],
        "episodes": [datetime.fromisoformat(one["created"]) for one in episodes],
        "contradictions": _contradictions(found, facts),
    }
    return {name: _by_week(((at, 1) for at in moments), weeks) for name, moments in times.items()}


def _episodes(store: Store, since: str) -> Iterator[dict[str, str]]:
    """Yield what the headers of the episodes say that were made in the months since a day; older ones are not read."""
    for path in episode_paths(store):
        if path.split("/")[1:3] >= since.split("-")[:2]:
            header = (store.glance(path, _HEADER_BYTES) or b"").partition(b"\n---")[0]
            fields = {name.decode(): value.decode("utf-8", "replace") for name, value in _FIELDS.findall(header)}
            with contextlib.suppress(ValueError):
                datetime.fromisoformat(fields.get("created", ""))
                yield fields


def _tasks(episodes: Sequence[Mapping[str, str]], given: Sequence[Given]) -> dict[str, Any]:
    helped = {one.session for one in given if one.how in HELPS and one.ids and one.session}
    took = {name: [int(one[name]) for one in episodes if one.get(name, "").isdecimal()] for name in _TOOK}
    told = [one.get("outcome") for one in episodes if one.get("session") in helped]
    alone = [one.get("outcome") for one in episodes if one.get("session") not in helped]
    return {
        "number": len(episodes),
        **{name: round(median(values)) if values else None for name, values in took.items()},
        "told": {"number": len(told), "succeeded": told.count(Outcome.SUCCESS)},
        "alone": {"number": len(alone), "succeeded": alone.count(Outcome.SUCCESS)},
    }


def _contradictions(found: Iterable[CommitRecord], facts: Sequence[Fact]) -> Iterator[datetime]:
    """Yield when each pair of contradicting facts came together: waiting, decided, or settled as both holding."""
    known = {fact.id: fact for fact in facts}
    for fact in facts:
        if fact.superseded_by:
            yield fact.when
        for other in fact.review:
            if other in known and fact.id < other:  # each names the other
                yield max(fact.created, known[other].created)
    yield from (one.date for one in found if one.subject.startswith(BOTH_HOLD))


def _retrieval(asked: Sequence[Given]) -> dict[str, Any]:
    answered = sum(bool(one.ids) for one in asked)
    times = [one.ms for one in asked]
    return {
        "asked": len(asked),
        "found": answered,
        "rate": round(answered / len(asked), 2) if asked else None,
        "ms": round(median(times)) if times else None,
        "slowest": max(times, default=None),
    }


def _effectiveness(notes: Notes) -> dict[str, Any]:
    named: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for one in notes.came:
        named.update(one.named)
        used.update(one.used)
    return {
        "named": named.total(),
        "used": used.total(),
        "rate": round(used.total() / named.total(), 2) if named else None,
        "by": {how: {"named": named[how], "used": used[how]} for how in HOWS if named[how]},
        "errors": _mended(notes.mended),
    }


def _mended(mended: Sequence[Mended]) -> dict[str, Any]:
    first: dict[str, int] = {}
    again: list[tuple[int, int]] = []
    for one in mended:
        if one.pattern in first:
            again.append((first[one.pattern], one.commands))
        first.setdefault(one.pattern, one.commands)
    return {
        "mended": len(mended),
        "again": len(again),
        "faster": sum(now < then for then, now in again),
        "slower": sum(now > then for then, now in again),
        "first": round(mean(then for then, _ in again), 1) if again else None,
        "later": round(mean(now for _, now in again), 1) if again else None,
    }


def _tokens(store: Store, given: Sequence[Given], weeks: list[str]) -> dict[str, Any]:
    spent: dict[str, list[tuple[datetime, int]]] = {
        name: [(one.at, one.tokens) for one in given if one.how in hows] for name, hows in _TOKENS.items()
    }
    spent["models"] = [(one.at, one.spent.tokens) for one in Ledger(store.private, store.context.clock).every()]
    first: dict[str, datetime] = {}
    for one in given:
        if one.session and one.tokens:
            first.setdefault(one.session, one.at)
    sessions = [(at, 1) for at in first.values()]
    total = {name: sum(number for _, number in found) for name, found in {**spent, "sessions": sessions}.items()}
    return {
        **{name: _by_week(found, weeks) for name, found in {**spent, "sessions": sessions}.items()},
        "total": total,
        "session": {name: round(total[name] / len(first)) if first else 0 for name in spent},
    }


def _by_week(found: Iterable[tuple[datetime, int]], weeks: list[str]) -> Weeks:
    sums: Counter[str] = Counter()
    first = date.fromisoformat(weeks[0])
    for at, number in found:
        if at.date() >= first:
            sums[week_of(at)] += number
    return {week: sums[week] for week in weeks}


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0

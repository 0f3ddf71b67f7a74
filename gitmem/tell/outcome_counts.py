"""Count the memories that sessions were shown and whether they helped, and compute the figures of a store.

The sources are files, history and the private record (docs/memory.md, "What was given"); no model is asked. Only the
counts are committed to the store. The record covers 90 days of this machine; the cost of models covers 60.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from statistics import mean, median
from typing import Any

from gitmem.document.ids import digest, id_in, short_session, slug
from gitmem.document.message import Message, Op, Trailer
from gitmem.history.origin import undone_commits
from gitmem.history.records import CommitRecord, records
from gitmem.history.sessions import sessions as listed_sessions
from gitmem.llm.ledger import Ledger
from gitmem.model.error_occurrence import find_occurrences, with_errors
from gitmem.model.fact import Fact
from gitmem.model.outcome import Outcome, verdict_of
from gitmem.model.pattern import LETTER
from gitmem.model.turns import Turn
from gitmem.record.fact_edits import BOTH_IN_FORCE
from gitmem.record.read import redacted
from gitmem.search.files import list_paths
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import episode_paths, pattern_headers, read_episode, read_pattern
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.tell.known_errors import count_files, match_error
from gitmem.tell.usage_log import (
    ASKED,
    BY_USER,
    ERROR,
    GET,
    GUIDE,
    OCCASIONS,
    PROMPT,
    RECALL,
    SEARCH,
    START,
    ShownFixes,
    ShownText,
    count_of,
    join,
    parse_counts,
    read_usage,
    record_fixes,
    with_shown,
)
from gitmem.tell.usage_log import COUNTS as FOLDER
from gitmem.tell.usage_log import SHOWN_ONCE as HELPS

_COUNTED = frozenset({PROMPT, ERROR, GUIDE, RECALL, GET})  # a search only shows lines of a memory
_VERDICTS = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILED: 0.0}


def count_shown(store: Store, session: str, turns: Sequence[Turn]) -> str | None:
    """Add the memories that a session was shown to this machine's counts, in one commit; a second call adds nothing."""
    rows: dict[str, dict[str, float | None]] = {}
    for text in read_usage(store.private).given:
        if text.session == session and text.occasion in _COUNTED:
            verdict = _verdict(turns, text.at)
            for identifier in text.ids:
                rows.setdefault(identifier, {})[text.at.isoformat()] = verdict
    return add_shown(store, rows, f"Count what session {short_session(session)} was told") if rows else None


def note_fixes(store: Store, session: str, turns: Sequence[Turn]) -> None:
    """Record how many errors with a shown fix a finished session fixed; a second call adds nothing."""
    notes = read_usage(store.private)
    texts = [text for text in notes.given if text.session == session and text.occasion == ERROR]
    shown = {key for text in texts for key in text.ids if key.startswith(LETTER)}
    if not (shown and turns):
        return
    failed = [redacted(turn, store) for turn in with_errors(turns)]
    fixed = {
        match.pattern.id
        for occurrence in find_occurrences(failed)
        if occurrence.last.worked
        for match in match_error(store, occurrence.error, pattern_headers(store))
    }
    numbers = (len(shown), len(shown & fixed))
    if (session, *numbers) not in [(fix.session, fix.shown, fix.fixed) for fix in notes.fixes]:
        record_fixes(store.private, ShownFixes(store.context.clock(), session, *numbers))


def _verdict(turns: Sequence[Turn], at: datetime) -> float | None:
    """Return 1 or 0 for whether the last tests of the turn running at this time passed; None without tests."""
    begun = sum(turn.started <= at for turn in turns)
    if not begun:
        return None
    turn, verdict = turns[begun - 1], verdict_of(turns[begun - 1].runs)
    return _VERDICTS[verdict] if verdict and not turn.interrupted else None


def judge(store: Store, identifier: str, *, helped: bool) -> str | None:
    """Commit a user's verdict on a memory; return the commit."""
    at = store.context.clock().isoformat(timespec="microseconds")
    verdict = "helped" if helped else "did not help"
    return add_shown(store, {identifier: {f"{at}{BY_USER}": float(helped)}}, f"Note that {identifier} {verdict}")


def add_shown(store: Store, rows: Rows, subject: str) -> str | None:
    """Add shown memories to this machine's file; return the commit, None if the file has all of them already."""

    def plan(transaction: Transaction) -> bool:
        path = machine_path(store)
        before = transaction.read(path) or b""
        after = with_shown(before, rows)
        message = Message(subject, ((Trailer.OP.value, Op.COUNT.value),))
        return before != after and transaction.commit(message, {path: after})

    return transact(store, plan, purpose="count").commit


def machine_path(store: Store) -> str:
    """Return the file in which this machine counts for this store."""
    name = slug(store.context.machine) or "machine"
    return f"{FOLDER}/{name}-{digest(store.context.machine, store.root)[:4].hex()}.json"


WEEKS = 8
MOST = 5  # memories listed as shown most often
_GROUPS = "daily weekly monthly sessions facts concepts patterns episodes archive summaries"  # folders
_TOKENS = {"start": (START,), "injected": (PROMPT, ERROR), "recalled": (GUIDE, SEARCH, RECALL, GET)}
_HEADER_BYTES = 8_192  # of an episode
_FIELDS = re.compile(rb"(?m)^(created|session|type|outcome|seconds|tokens|mended_in): (\S+)")
_TOOK = ("seconds", "tokens", "mended_in")
_LESSONS = (Op.PATTERN.value, Op.CLEAR.value)
_GOOD = 0.5  # verdict from which a memory helped
# Subjects of the commits of `learn_bugs`, `mark_stale` and `clean_up`.
_LEARNED = re.compile(r"Learn ([0-9,]+) errors?(?:, ([0-9,]+) new)?: ")
_RETIRED = re.compile(r"Mark ([0-9,]+) bug patterns? as stale|Clean up .{1,200}? and ([0-9,]+) patterns? ")

Weeks = dict[str, int]
Rows = dict[str, dict[str, float | None]]  # of the counts of all machines, by id and time


def measure(
    store: Store, history: Sequence[CommitRecord] | None = None, known: Sequence[Fact] | None = None
) -> dict[str, Any]:
    """Return the figures of `gitmem stats`, by group; `history` and `known` are commits and facts, if read."""
    commits = records(store) if history is None else history
    notes, facts = read_usage(store.private), known_facts(store) if known is None else known
    now = store.context.clock()
    weeks = [week_of(now - timedelta(weeks=back)) for back in reversed(range(WEEKS))]
    episodes, rows = list(_episodes(store, weeks[0])), join(map(parse_counts, count_files(store)))
    hosts = {(record.session, record.host) for record in commits if record.session}
    ops = Counter(record.op for record in commits)
    may_undo = not ops.keys().isdisjoint({Op.UNDO.value, None})  # None: made by plain git
    undone = undone_commits(store.repository.git, store.repository.memory) if may_undo else {}
    lasting = [record for record in commits if record.commit not in undone]
    shown, fixed = (sum(getattr(fix, name) for fix in notes.fixes) for name in ("shown", "fixed"))
    return {
        "storage": _storage(store),
        "usage": {
            "commits": len(commits),
            "saves": ops[Op.SAVE.value],
            "exchanges": len(_turns(commits)),
            "sessions": len(listed_sessions(store, commits)),
            "agents": dict(Counter(host for _, host in hosts if host).most_common()),
        },
        "learning": _learning(store, lasting, facts, episodes, weeks),
        "tasks": _tasks([episode for episode in episodes if episode["created"] >= weeks[0]], notes.given),
        "retrieval": {how: _retrieval([text for text in notes.given if text.occasion == how]) for how in ASKED},
        "answers": _retrieval([text for text in notes.given if text.occasion in ASKED]),
        "told": {how: sum(text.occasion == how and text.tokens > 0 for text in notes.given) for how in OCCASIONS},
        "most": _most(store, rows),
        "effectiveness": {
            "fixes": {"shown": shown, "worked": fixed, "rate": round(fixed / shown, 2) if shown else None},
            "helped": _helped(notes.given, rows),
        },
        "tokens": _tokens(store, notes.given, weeks),
    }


def week_of(at: datetime) -> str:
    """Return the Monday of a moment's week."""
    return (at.date() - timedelta(days=at.weekday())).isoformat()


def _storage(store: Store) -> dict[str, dict[str, int]]:
    sizes: dict[str, list[int]] = {name: [] for name in (*_GROUPS.split(), "other", "history", "private")}
    for path in list_paths(store.documents):
        first = path.partition("/")[0]
        sizes[first if first in _GROUPS.split() else "other"].append(_size(os.path.join(store.documents, path)))
    sizes["private"] = list(_sizes(store.private))
    if store.has_separate_repository:  # else it is the project's
        sizes["history"] = list(_sizes(os.path.dirname(store.private), store.private))
    return {name: {"files": len(lengths), "bytes": sum(lengths)} for name, lengths in sizes.items() if lengths}


def _sizes(folder: str, without: str = "") -> Iterator[int]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(parent, name) != without]
        yield from (_size(os.path.join(parent, name)) for name in names)


def _learning(
    store: Store,
    commits: Sequence[CommitRecord],
    facts: Sequence[Fact],
    episodes: Sequence[Mapping[str, str]],
    weeks: list[str],
) -> dict[str, Weeks]:
    numbers: dict[str, Iterable[tuple[datetime, int]]] = {
        "exchanges": ((record.date, 1) for record in _turns(commits)),
        "saves": ((record.date, 1) for record in commits if record.op == Op.SAVE.value),
        "facts": ((fact.created, 1) for fact in facts),
        "patterns": ((datetime.fromisoformat(header.key[1]), 1) for header in pattern_headers(store)),
        "reinforced": _numbered(commits, _LEARNED, -1),
        "deprecated": _numbered(commits, _RETIRED, 1),
        "episodes": ((datetime.fromisoformat(episode["created"]), 1) for episode in episodes),
        "contradictions": ((at, 1) for at in _contradictions(commits, facts)),
    }
    return {name: _by_week(pairs, weeks) for name, pairs in numbers.items()}


def _turns(commits: Iterable[CommitRecord]) -> Collection[CommitRecord]:
    """Return one commit for each turn; a continued turn is committed again with the same first entry."""
    return {record.entries[0]: record for record in commits if record.op == Op.TURN.value and record.entries}.values()


def _numbered(commits: Iterable[CommitRecord], form: re.Pattern[str], sign: int) -> Iterator[tuple[datetime, int]]:
    """Yield the time of commits with a subject of this form, and its first number plus `sign` times the second."""
    for record in commits:
        subject = form.match(record.subject) if record.op in _LESSONS else None
        if subject:
            first, second = (int((number or "0").replace(",", "")) for number in subject.groups())
            yield record.date, first + sign * second


def _episodes(store: Store, since: str) -> Iterator[dict[str, str]]:
    """Yield the headers of episodes made in the months since a day; older files are not read."""
    for path in episode_paths(store):
        if path.split("/")[1:3] >= since.split("-")[:2]:
            header = (store.glance(path, _HEADER_BYTES) or b"").partition(b"\n---")[0]
            fields = {name.decode(): value.decode("utf-8", "replace") for name, value in _FIELDS.findall(header)}
            with contextlib.suppress(ValueError):
                datetime.fromisoformat(fields.get("created", ""))
                yield fields


def _tasks(episodes: Sequence[Mapping[str, str]], texts: Sequence[ShownText]) -> dict[str, Any]:
    helped = {text.session for text in texts if text.occasion in HELPS and text.ids and text.session}
    took = {name: [int(episode[name]) for episode in episodes if episode.get(name, "").isdecimal()] for name in _TOOK}
    ended = [episode for episode in episodes if episode.get("outcome") not in {None, "", Outcome.INTERRUPTED}]
    outcomes = [episode.get("outcome") for episode in ended if episode.get("session") in helped]
    alone = [episode.get("outcome") for episode in ended if episode.get("session") not in helped]
    return {
        "number": len(episodes),
        "types": dict(Counter(episode["type"] for episode in episodes if "type" in episode).most_common()),
        **{name: round(median(values)) if values else None for name, values in took.items()},
        "told": {"number": len(outcomes), "succeeded": outcomes.count(Outcome.SUCCESS)},
        "alone": {"number": len(alone), "succeeded": alone.count(Outcome.SUCCESS)},
    }


def _contradictions(commits: Iterable[CommitRecord], facts: Sequence[Fact]) -> Iterator[datetime]:
    """Yield the time at which each pair of contradicting facts arose, whether waiting, decided or settled."""
    known = {fact.id: fact for fact in facts}
    for fact in facts:
        if fact.superseded_by:
            yield fact.when
        for rival in fact.review:
            if rival in known and fact.id < rival:  # each of them names the other
                yield max(fact.created, known[rival].created)
    yield from (record.date for record in commits if record.subject.startswith(BOTH_IN_FORCE))


def _retrieval(asked: Sequence[ShownText]) -> dict[str, Any]:
    answered = sum(bool(text.ids) for text in asked)
    times = [text.ms for text in asked]
    return {
        "asked": len(asked),
        "found": answered,
        "rate": round(answered / len(asked), 2) if asked else None,
        "ms": round(median(times)) if times else None,
        "mean": round(mean(times)) if times else None,
        "slowest": max(times, default=None),
    }


def _helped(texts: Iterable[ShownText], rows: Rows) -> dict[str, Any]:
    judged: dict[str, list[float]] = {how: [] for how in OCCASIONS}
    for text in texts:
        at = text.at.isoformat()
        verdicts = (rows.get(identifier, {}).get(at) for identifier in text.ids)
        judged[text.occasion] += islice((verdict for verdict in verdicts if verdict is not None), 1)
    users_verdicts = [verdict for row in rows.values() for at, verdict in row.items() if at.endswith(BY_USER)]
    good = sum(verdict is not None and verdict >= _GOOD for verdict in users_verdicts)
    by = {
        how: {"judged": len(verdicts), "mean": round(mean(verdicts), 2)} for how, verdicts in judged.items() if verdicts
    }
    every = [verdict for verdicts in judged.values() for verdict in verdicts]
    average = round(mean(every), 2) if every else None
    return {"judged": len(every), "mean": average, "by": by, "good": good, "bad": len(users_verdicts) - good}


def _most(store: Store, rows: Rows) -> dict[str, list[dict[str, Any]]]:
    """Return the patterns and episodes that were shown most often and still exist."""
    counts = {identifier: count_of(row) for identifier, row in rows.items()}
    often = sorted(
        (count for count in counts if counts[count].retrieved), key=lambda key: (-counts[key].retrieved, key)
    )
    episodes = {id_in(path): path for path in episode_paths(store)}
    patterns = {id_in(header.path): header.path for header in pattern_headers(store)}
    bugs = filter(None, (read_pattern(store, patterns[key]) for key in often if key in patterns))
    done = filter(None, (read_episode(store, episodes[key]) for key in often if key in episodes))

    def row(identifier: str, title: str) -> dict[str, Any]:
        return {"id": identifier, "title": title, "told": counts[identifier].retrieved}

    return {
        "patterns": [{**row(pattern.id, pattern.title), "seen": len(pattern.seen)} for pattern in islice(bugs, MOST)],
        "episodes": [
            {**row(episode.id, episode.task), "usefulness": round(counts[episode.id].usefulness, 2)}
            for episode in islice(done, MOST)
        ],
    }


def _tokens(store: Store, texts: Sequence[ShownText], weeks: list[str]) -> dict[str, Any]:
    spent: dict[str, list[tuple[datetime, int]]] = {
        name: [(text.at, text.tokens) for text in texts if text.occasion in some] for name, some in _TOKENS.items()
    }
    spent["models"] = [
        (question.at, question.spent.tokens) for question in Ledger(store.private, store.context.clock).every()
    ]
    first = {text.session: text.at for text in reversed(texts) if text.session and text.tokens}
    counted = {**spent, "sessions": [(at, 1) for at in first.values()]}
    total = {name: sum(number for _, number in pairs) for name, pairs in counted.items()}
    return {
        **{name: _by_week(pairs, weeks) for name, pairs in counted.items()},
        "total": total,
        "session": {name: round(total[name] / len(first)) if first else 0 for name in spent},
    }


def _by_week(pairs: Iterable[tuple[datetime, int]], weeks: list[str]) -> Weeks:
    sums: Counter[str] = Counter()
    first = date.fromisoformat(weeks[0])
    for at, number in pairs:
        if at.date() >= first:
            sums[week_of(at)] += number
    return {week: sums[week] for week in weeks}


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0

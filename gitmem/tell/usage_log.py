"""Record what agents were given, a file per day in the private folder (docs/memory.md, "What was given").

The record prevents that a session is shown a memory twice, and lets gitmem judge later whether it helped. A line is one
write, so that hooks of several sessions need no lock. How often a memory was shown and whether that helped is counted
in the store (docs/format.md, "Counts"). Each machine writes its own file, with a time for each row, so that merging the
files of all machines gives the same counts in any order and however often.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping

from gitmem.platform.machine import datetime, timedelta
from gitmem.search.hits import Hit
from gitmem.store.day_log import DayLog
from gitmem.store.store import Store
from gitmem.text.words import estimate_tokens
from gitmem.values import Value

Verdicts = Mapping[str, Mapping[str, float | None]]  # by id and time: whether it helped, 0 to 1; None if unknown
FOLDER = "given"
START, PROMPT, ERROR, GUIDE = "start", "prompt", "error", "guide"
SEARCH, RECALL, GET = "search", "recall", "get"
OCCASIONS = (START, PROMPT, ERROR, GUIDE, SEARCH, RECALL, GET)
ASKED = (PROMPT, ERROR, GUIDE, SEARCH, RECALL)  # occasions that may have no answer
_CAME = "came"
SHOWN_ONCE = frozenset({PROMPT, ERROR, GUIDE, RECALL})  # occasions after which a session is not shown a memory again
_KEPT_DAYS = 90
_MAX_BYTES = 1_000_000  # of a day's file; a line has 200
_MAX_IDS, _MAX_AT_START = 12, 60


class ShownText(Value):
    """A text given to a session on an `occasion` of `OCCASIONS`, in `ms`; 0 tokens: a question without an answer."""

    at: datetime
    session: str
    occasion: str
    ids: tuple[str, ...]
    tokens: int = 0
    ms: int = 0


class ShownFixes(Value):
    """The number of errors whose fix a finished session was shown, and how many of these it fixed."""

    at: datetime
    session: str
    shown: int
    fixed: int


class UsageRecord(Value):
    """The whole record, each kind the oldest first, with the last `ShownFixes` of each session."""

    given: tuple[ShownText, ...]
    fixes: tuple[ShownFixes, ...]


def _log(private: str) -> DayLog:
    return DayLog(os.path.join(private, FOLDER), _KEPT_DAYS, _MAX_BYTES)


def record(private: str, text: ShownText) -> None:
    """Record a text given to a session; if the file cannot be written, the session may get it again."""
    most = _MAX_AT_START if text.occasion == START else _MAX_IDS
    line = {"session": text.session, "how": text.occasion, "ids": list(text.ids[:most]), "tokens": text.tokens}
    with contextlib.suppress(OSError):
        at = {"at": text.at.isoformat(timespec="seconds")}
        _log(private).add(text.at, at | line | ({"ms": text.ms} if text.ms else {}))


def record_fixes(private: str, fixes: ShownFixes) -> None:
    """Record how many errors with a shown fix a session fixed."""
    line = {"session": fixes.session, "how": _CAME, "mends": fixes.shown, "mended": fixes.fixed}
    with contextlib.suppress(OSError):
        _log(private).add(fixes.at, {"at": fixes.at.isoformat(timespec="seconds"), **line})


def shown_to(private: str, session: str, now: datetime, occasions: frozenset[str] = SHOWN_ONCE) -> set[str]:
    """Return the ids of the memories that a session was shown on these occasions, today or the day before."""
    log = _log(private)
    days = (now - timedelta(days=1), now)
    lines = log.read(map(log.name_of, days), session.encode("utf-8", "replace"))
    lines = (line for line in lines if line.get("session") == session and line.get("how") in occasions)
    return {identifier for line in lines for identifier in _ids(line)}


def read_usage(private: str, since: datetime | None = None) -> UsageRecord:
    """Return the whole record, or with `since` that of its day and later ones."""
    texts: list[ShownText] = []
    fixes: dict[str, ShownFixes] = {}
    log = _log(private)
    first = log.name_of(since) if since else ""
    for line in log.read(name for name in log.names() if name >= first):
        how, session = str(line.get("how")), str(line.get("session"))
        with contextlib.suppress(ValueError, TypeError):
            at = datetime.fromisoformat(str(line.get("at")))
            numbers = {name: value for name, value in line.items() if isinstance(value, int) and value > 0}
            if how in OCCASIONS:
                texts.append(ShownText(at, session, how, _ids(line), numbers.get("tokens", 0), numbers.get("ms", 0)))
            elif how == _CAME:
                fixes[session] = ShownFixes(at, session, numbers.get("mends", 0), numbers.get("mended", 0))
    return UsageRecord(tuple(texts), tuple(fixes.values()))


def _ids(line: Mapping[str, object]) -> tuple[str, ...]:
    ids = line.get("ids")
    return tuple(map(str, ids)) if isinstance(ids, list) else ()


def record_shown(store: Store, asked: ShownText, text: str) -> None:
    """Record a question and the text given for it, unless the user did not accept the store."""
    if not store.may_write():
        return
    took = (store.context.clock() - asked.at).total_seconds()
    record(store.private, asked._replace(tokens=estimate_tokens(text), ms=round(took * 1000)))


def handles(hits: Iterable[Hit]) -> tuple[str, ...]:
    """Return the ids of hits; the path and line of a hit without one."""
    return tuple(hit.entry or f"{hit.path}:{hit.start}" for hit in hits)


COUNTS = "counts"  # the folder
ALPHA = 0.3  # weight of a new verdict in the moving average
BEGINS = 0.5  # usefulness before any verdict
BY_USER = "!"  # suffix of the time of a user's own verdict, which does not count as shown
USELESS = 0.3  # usefulness below which a memory is not shown unasked, and an old episode is removed


class Count(Value):
    """How often a memory was shown, and how useful that was, from 0 to 1."""

    retrieved: int = 0
    usefulness: float = BEGINS


def usefulness_of(counts: Mapping[str, Count], ids: Iterable[str]) -> float:
    """Return the mean usefulness of a memory and of those it was learned from, as far as they were shown."""
    known = [counts[identifier].usefulness for identifier in ids if identifier in counts]
    return sum(known) / len(known) if known else BEGINS


def total(files: Iterable[bytes]) -> dict[str, Count]:
    """Return the counts of all machines, by id."""
    return {identifier: count_of(row) for identifier, row in join(map(parse_counts, files)).items()}


def join(machines: Iterable[Verdicts]) -> dict[str, dict[str, float | None]]:
    """Return the rows of all machines, by id and time."""
    joined: dict[str, dict[str, float | None]] = {}
    for machine in machines:
        for identifier, row in machine.items():
            own = joined.setdefault(identifier, {})
            for at, verdict in row.items():
                own[at] = max((value for value in (own.get(at), verdict) if value is not None), default=None)
    return joined


def with_shown(data: bytes, more: Verdicts) -> bytes:
    """Return a machine's file with more shown memories; existing rows are not added again."""
    known = join((parse_counts(data), more))
    lines = [f"{json.dumps(key)}: {json.dumps(known[key], sort_keys=True)}" for key in sorted(known)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def parse_counts(data: bytes) -> dict[str, dict[str, float | None]]:
    """Return the rows of a machine's file; {} if it cannot be parsed."""
    try:
        read = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        return {}
    counts: dict[str, dict[str, float | None]] = {}
    for identifier, row in read.items() if isinstance(read, dict) else ():
        if isinstance(row, dict):
            counts[identifier] = {}
            for at, value in row.items():
                number = isinstance(value, int | float) and not isinstance(value, bool)
                counts[identifier][at] = min(max(float(value), 0.0), 1.0) if number else None
    return counts


def count_of(row: Mapping[str, float | None]) -> Count:
    """Return the count of a memory from its rows: its usefulness is the moving average of the verdicts."""
    usefulness = BEGINS
    for _, verdict in sorted(row.items()):
        if verdict is not None:
            usefulness = ALPHA * verdict + (1 - ALPHA) * usefulness
    return Count(sum(not at.endswith(BY_USER) for at in row), usefulness)

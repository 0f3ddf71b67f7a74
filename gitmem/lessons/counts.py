"""How often a memory was told and whether that helped (docs/format.md, "Counts"). Pure.

Each machine writes a file of its own, with a time for each row, so that joining the files of all machines gives the
same counts in any order and however often.
"""

from __future__ import annotations

import json

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Told = Mapping[str, Mapping[str, float | None]]  # by id: time and whether it helped, 0 to 1; None if nobody knows


FOLDER = "counts"
ALPHA = 0.3  # weight of a new verdict in the moving average
BEGINS = 0.5  # usefulness before any verdict
BY_PERSON = "!"  # ends the time of a person's own verdict, which is no telling
USELESS = 0.3  # usefulness below which a memory is not told unasked, and an old episode goes


class Count(Value):
    """How often a memory was told, and how useful that was, from 0 to 1."""

    retrieved: int = 0
    usefulness: float = BEGINS


def moving_average(verdicts: Iterable[float]) -> float:
    """Return the usefulness after these verdicts, the oldest first."""
    usefulness = BEGINS
    for verdict in verdicts:
        usefulness = ALPHA * verdict + (1 - ALPHA) * usefulness
    return usefulness


def usefulness_of(told: Mapping[str, Count], ids: Iterable[str]) -> float:
    """Return the mean usefulness of a memory and of those it was learned from, as far as they were told."""
    known = [told[one].usefulness for one in ids if one in told]
    return sum(known) / len(known) if known else BEGINS


def total(files: Iterable[bytes]) -> dict[str, Count]:
    """Return the counts of all machines, by id."""
    return {identifier: count_of(told) for identifier, told in join(files).items()}


def join(files: Iterable[bytes]) -> dict[str, dict[str, float | None]]:
    """Return the rows of all machines, by id and time."""
    joined: dict[str, dict[str, float | None]] = {}
    for data in files:
        _join(joined, parse_counts(data))
    return joined


def _join(known: dict[str, dict[str, float | None]], more: Told) -> None:
    for identifier, told in more.items():
        own = known.setdefault(identifier, {})
        own |= {at: _greater(own.get(at), verdict) for at, verdict in told.items()}


def _greater(one: float | None, other: float | None) -> float | None:
    return max((value for value in (one, other) if value is not None), default=None)


def with_told(data: bytes, more: Told) -> bytes:
    """Return a machine's file with more told memories; rows it has already are not added again."""
    known = parse_counts(data)
    _join(known, more)
    lines = [f"{json.dumps(one)}: {json.dumps(known[one], sort_keys=True)}" for one in sorted(known)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def parse_counts(data: bytes) -> dict[str, dict[str, float | None]]:
    """Return the rows of a machine's file; {} if it cannot be parsed."""
    try:
        given = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        return {}
    found: dict[str, dict[str, float | None]] = {}
    for identifier, told in given.items() if isinstance(given, dict) else ():
        if isinstance(told, dict):
            found[str(identifier)] = {str(at): _verdict(value) for at, value in told.items()}
    return found


def count_of(told: Mapping[str, float | None]) -> Count:
    """Return the count of a memory from its rows."""
    judged = [verdict for _, verdict in sorted(told.items()) if verdict is not None]
    return Count(sum(not at.endswith(BY_PERSON) for at in told), moving_average(judged))


def _verdict(value: object) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return min(max(float(value), 0.0), 1.0) if number else None  # type: ignore[arg-type]

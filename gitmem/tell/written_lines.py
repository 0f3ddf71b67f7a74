"""Read a store's record of code lines (docs/format.md, "Lines of code")."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice

from gitmem.document.code_lines import FOLDER, Written, day_of_lines, parse_written
from gitmem.platform.machine import UTC
from gitmem.store.store import Store
from gitmem.values import Value

_FIRST = 500  # rows of the first days, in which the first exchange is looked for
_SKEW = timedelta(seconds=2)  # git's times are whole seconds


class WrittenRow(Value):
    """A row of the record with its moment."""

    at: datetime
    exchange: str
    path: str
    digests: tuple[str, ...]


class WrittenLines:
    """A store's record of code lines, read once; only rows with a requested line are parsed."""

    def __init__(self, store: Store) -> None:
        self._files = [(day_of_lines(path), store.read(path) or b"") for path in sorted(_record_paths(store))]
        self._holding = dict[frozenset[str], list[WrittenRow]]()

    @cached_property
    def began(self) -> datetime | None:
        """When the first exchange that wrote code began, None without one."""
        rows = (_row(day, row) for day, data in self._files for row in parse_written(data))
        return min((row.at for row in islice(rows, _FIRST)), default=None)

    def rows(self, digests: frozenset[str], until: datetime | None) -> list[WrittenRow]:
        """Return the rows with one of these lines, of exchanges that began by a moment, the oldest first."""
        return [row for row in self.holding(digests) if until is None or row.at <= until + _SKEW]

    def holding(self, digests: frozenset[str]) -> list[WrittenRow]:
        """Return all rows with one of these lines, the oldest first; the result is cached."""
        if digests not in self._holding:
            rows = [row for row in self._with(digests) if not digests.isdisjoint(row.digests)]
            self._holding[digests] = sorted(rows, key=lambda row: (row.at, row.exchange, row.path))
        return self._holding[digests]

    def of(self, exchanges: Collection[str]) -> list[WrittenRow]:
        """Return the rows of some exchanges."""
        return [row for row in self._with(exchanges) if row.exchange in exchanges]

    def into(self, paths: Collection[str]) -> list[WrittenRow]:
        """Return the rows of some files of the project."""
        return [row for row in self._with(paths) if row.path in paths]

    def names(self, exchange: str, path: str) -> bool:
        """Return whether lines of a file are recorded for an exchange."""
        return any(row.path == path for row in self.of([exchange]))

    def _with(self, words: Collection[str]) -> Iterator[WrittenRow]:
        """Yield the rows of lines that contain one of these words."""
        wanted = [word.encode("utf-8", "replace") for word in words]
        for day, data in self._files:
            if any(word in data for word in wanted):
                lines = (line for line in data.split(b"\n") if any(word in line for word in wanted))
                yield from (_row(day, row) for row in parse_written(b"\n".join(lines)))


def _row(day: str, row: Written) -> WrittenRow:
    try:
        at = datetime.fromisoformat(f"{day}T{row.at}").replace(tzinfo=UTC)
    except ValueError:  # an invalid day or hour
        at = datetime.fromtimestamp(0, UTC)
    return WrittenRow(at, row.exchange, row.path, row.digests)


def _record_paths(store: Store) -> Iterator[str]:
    for year in store.names(FOLDER):
        for month in store.names(f"{FOLDER}/{year}"):
            names = store.names(f"{FOLDER}/{year}/{month}")
            yield from (path for name in names if day_of_lines(path := f"{FOLDER}/{year}/{month}/{name}"))

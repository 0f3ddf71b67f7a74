"""Finding purged texts by their records (docs/format.md, "Purging").

Tested through `tests/model/purge/test_purge.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from gitmem.model.purge.purge import Print, PurgeRecord, digest_of
from gitmem.model.purge.sums import Windows, sums_of
from gitmem.text.difference import changed_range

_CHUNK = 1 << 20  # bytes searched at a time
_SUMS = 1 << 16  # different sums: one window in so many matches by chance
# Digests that a record, and all records, may cost beyond three times as many as chance explains. One takes some 40 ms.
_SPARE, _SPARE_IN_ALL = 4, 20
_TIMES = 3


class _Wanted(NamedTuple):
    key: str
    salt: bytes
    print: Print


class Seeker:
    """Looks for the texts of records; `found` holds them by the key of their record.

    The work for records with a key in `limited` is bounded; one that exceeds it is dropped and listed in `tired`.
    """

    def __init__(
        self, records: Sequence[PurgeRecord], known: Iterable[bytes] = (), *, limited: Collection[str] = ()
    ) -> None:
        keyed = {record.key: record for record in records}
        self.found: dict[str, set[bytes]] = {key: set() for key in keyed}
        self.tired: set[str] = set()
        self._limited = {*limited}
        self._texts = {key: len(record.prints) for key, record in keyed.items()}
        self._wanted: dict[int, dict[tuple[int, int], list[_Wanted]]] = {}
        self._digests: dict[tuple[bytes, bytes], bytes] = {}
        self._spent: Counter[str] = Counter()
        self._looked = 0
        for key, record in keyed.items():
            for one in record.prints:
                alike = self._wanted.setdefault(one.length, {}).setdefault(one.sums, [])
                alike.append(_Wanted(key, record.salt, one))
        self._given = {*known}
        for text in self._given:
            self._try(text, sums_of(text), free=True)

    @property
    def known(self) -> set[bytes]:
        """Return all texts found or given."""
        return self._given.union(*self.found.values())

    @property
    def done(self) -> bool:
        """Return whether all texts are found."""
        return not self._wanted

    def seek(self, data: bytes, before: bytes = b"") -> None:
        """Search a content; parts that are also in `before` were searched already."""
        if self.done:
            return
        longest = max(self._wanted)
        start, end = changed_range(before, data)
        start, end = max(start - longest + 1, 0), min(end + longest - 1, len(data))
        for at in range(start, end, _CHUNK):
            self._look(data[at : min(at + _CHUNK + longest - 1, end)])

    def _look(self, data: bytes) -> None:
        self._looked += len(data)
        windows = Windows(data)
        for length in sorted(length for length in self._wanted if length <= len(data)):
            for at, sums in windows.places(length, tuple(self._wanted[length])):
                self._try(data[at : at + length], sums)

    def _try(self, text: bytes, sums: tuple[int, int], *, free: bool = False) -> None:
        for wanted in tuple(self._wanted.get(len(text), {}).get(sums, ())):
            if (text, wanted.salt) not in self._digests and not free and self._is_too_much(wanted.key):
                self.tired.add(wanted.key)
                self._drop(wanted.key)
            elif wanted.key not in self.tired and self._digest(text, wanted) == wanted.print.digest:
                self.found[wanted.key].add(text)
                self._spent[wanted.key] -= not free
                self._drop(wanted.key, wanted.print)

    def _drop(self, key: str, found: Print | None = None) -> None:
        """Stop the search for a text of a record; without one, for all of them."""
        for length, alike in tuple(self._wanted.items()):
            for sums, those in tuple(alike.items()):
                those[:] = [one for one in those if one.key != key or found not in {None, one.print}]
                if not those:
                    del alike[sums]
            if not alike:
                del self._wanted[length]

    def _digest(self, text: bytes, wanted: _Wanted) -> bytes:
        if (text, wanted.salt) not in self._digests:
            self._spent[wanted.key] += 1
            self._digests[text, wanted.salt] = digest_of(text, wanted.salt)
        return self._digests[text, wanted.salt]

    def _is_too_much(self, key: str) -> bool:
        if key not in self._limited:
            return False
        chance = _TIMES * self._looked / _SUMS
        spent = sum(self._spent[one] for one in self._limited)
        in_all = _SPARE_IN_ALL + chance * sum(self._texts[one] for one in self._limited & self._texts.keys())
        return self._spent[key] >= _SPARE + chance * self._texts[key] or spent >= in_all

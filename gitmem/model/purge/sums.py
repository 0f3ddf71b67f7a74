"""Rolling hashes that find every place of a content that may hold a purged text (docs/format.md, "Purging").

The sum of a window is the exclusive or of a table's values for its bytes, each rotated left by its position. A running
sum of the whole content is computed once; the windows of one length then cost one shift and one exclusive or of it,
however long they are.

Tested through `tests/model/purge/test_purge.py`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BITS = 8
_BYTE = 0xFF


def sums_of(text: bytes) -> tuple[int, int]:
    """Return the two sums of a text."""
    first, second = (summed.to_bytes(len(text) + 1, "little")[-1] for summed in _running(text))
    return first, second


class Windows:
    """The sums of all windows of a content."""

    def __init__(self, data: bytes) -> None:
        self._size = len(data)
        self._running = _running(data)

    def places(self, length: int, sums: Collection[tuple[int, int]]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the start of each window of this length with one of these sums, and the sums."""
        wanted: dict[int, set[int]] = {}
        for first, second in sums:
            wanted.setdefault(first, set()).add(second)
        planes = [(one ^ one >> _BITS * length).to_bytes(self._size + 1, "little") for one in self._running]
        end = self._size - length + 1
        for turn in range(min(_BITS, end)):  # the sum of the window at i is rotated by i
            one, other = (plane[turn:end:_BITS] for plane in planes)
            for first, seconds in wanted.items():
                mark, at = bytes([_turned(first, turn)]), -1
                turned = {_turned(second, turn): second for second in seconds}
                while (at := one.find(mark, at + 1)) >= 0:
                    if other[at] in turned:
                        yield at * _BITS + turn, (first, turned[other[at]])


def _turned(byte: int, by: int) -> int:
    """Return a byte rotated left."""
    return (byte << by | byte >> _BITS - by) & _BYTE


def _table(number: int) -> bytes:
    """Return a permutation of all bytes, the same on all machines."""
    ranks = sorted(range(256), key=lambda byte: hashlib.sha256(b"gitmem purge %d %d" % (number, byte)).digest())
    return bytes(ranks)


# For each table and each position modulo eight, the table with its bytes rotated.
_TABLES = tuple(
    tuple(bytes(_turned(byte, by) for byte in table) for by in range(_BITS)) for table in (_table(0), _table(1))
)


def _running(data: bytes) -> list[int]:
    """Return for each table the running exclusive or as a number, byte i covering the bytes before i."""
    found = []
    for turned in _TABLES:
        plane = bytearray(len(data))
        for by in range(_BITS):
            plane[by::_BITS] = data[by::_BITS].translate(turned[by])
        number, step, mask = int.from_bytes(plane, "little"), _BITS, (1 << _BITS * len(data)) - 1
        while step < _BITS * len(data):
            number = (number ^ number << step) & mask
            step *= 2
        found.append(number << _BITS)
    return found

"""A file of vectors, mapped into memory: a header, the mean of the vectors, and records of one size.

    key 16 | scale, a float | components, a signed byte each | signs, a bit each | sum of all words before it

A record whose sum is wrong was torn, and counts as none. `signs` says which components are above the mean: how many of
these bits differ finds the nearest of many vectors fast enough without numpy, which is used only where a provider has
brought it.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import sys
from array import array
from heapq import nlargest, nsmallest
from operator import gt, mul

from gitmem.search.vectors.chunks import KEY_BYTES, VERSION
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_MAGIC = b"gitmem-v"
_HEAD = struct.Struct("<8sIIII8s")  # magic, version, dimensions, how many vectors the mean is of, unused, number
_SALT = 0x9E3779B9  # so that a record of zeros has a wrong sum
_WORD = 0xFFFFFFFF
_MOST_DIMENSIONS = 1 << 16
_EXACT = 2_000  # vectors that are compared one by one without numpy
_LOOSELY, _SHARE = 1_000, 0.04  # and of more, those whose signs are most alike: the greater of number and share
_BLOCK = 4_096  # vectors that numpy takes at a time


class Layout(Value):
    """The sizes of a file's parts, in bytes."""

    dimensions: int

    @property
    def head(self) -> int:
        """The header, with the mean behind it."""
        return _HEAD.size + 4 * self.dimensions

    @property
    def components(self) -> int:
        """The components, filled up to whole words."""
        return -(-self.dimensions // 4) * 4

    @property
    def signs(self) -> int:
        """The signs, filled up to whole words."""
        return -(-self.dimensions // 32) * 4

    @property
    def record(self) -> int:
        """A record."""
        return KEY_BYTES + 4 + self.components + self.signs + 4


class Vectors:
    """The vectors of a file, as they were when it was opened; `number` tells one version of it from another."""

    def __init__(self, path: str) -> None:
        """Open a file of vectors.

        Raises:
            OSError: it cannot be read.
            ValueError: it is no such file, or of another version.

        """
        with open(path, "rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                raise ValueError(path)
            magic, version, dimensions, self.counted, _, self.number = _HEAD.unpack(head)
            self.layout = Layout(dimensions)
            size = os.fstat(file.fileno()).st_size
            if (
                magic != _MAGIC
                or version != VERSION
                or not 0 < dimensions < _MOST_DIMENSIONS
                or size < self.layout.head
            ):
                raise ValueError(path)
            self.mean = array("f", file.read(4 * dimensions))
            self.data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        self.count = (size - self.layout.head) // self.layout.record

    def rows(self) -> dict[bytes, int]:
        """Return the row of each key whose record is whole."""
        return {self.record(row)[:KEY_BYTES]: row for row in range(self.count) if is_whole(self.record(row))}

    def vector(self, row: int) -> array[float]:
        """Return a vector, as exactly as it was kept."""
        record = self.record(row)
        (scale,) = struct.unpack_from("<f", record, KEY_BYTES)
        components = memoryview(record)[KEY_BYTES + 4 :][: self.layout.dimensions].cast("b")
        return array("f", [scale * component for component in components])

    def close(self) -> None:
        """Let go of the file: where it is looked into, Windows replaces none."""
        self.data.close()

    def record(self, row: int) -> bytes:
        """Return the record in a row."""
        start = self.layout.head + row * self.layout.record
        return self.data[start : start + self.layout.record]


class Comparison:
    """The cosines of a vector of length 1, the query, with the vectors of a file; -1 for what is no vector."""

    def __init__(self, vectors: Vectors, query: Sequence[float]) -> None:
        self._vectors = vectors
        self._query = query
        self._known: dict[int, float] = {}
        self._numpy = sys.modules.get("numpy")
        self._all: Any = None if self._numpy is None else _all_cosines(self._numpy, vectors, query)

    def cosines(self, rows: Sequence[int]) -> list[float]:
        """Return the cosines with the vectors in some rows."""
        if self._numpy is None:
            return [self._cosine(row) for row in rows]
        return [float(self._all[row]) for row in rows]

    def nearest(self, count: int) -> list[int]:
        """Return the rows of the vectors nearest to the query, the nearest first."""
        there = self._vectors.count
        if self._numpy is not None:
            rows = self._numpy.argpartition(-self._all, count)[:count] if count < there else range(there)
            return sorted(map(int, rows), key=lambda row: -float(self._all[row]))
        candidates = range(there) if there <= _EXACT else self._alike(max(_LOOSELY, int(there * _SHARE)))
        return nlargest(count, candidates, key=self._cosine)

    def _cosine(self, row: int) -> float:
        cosine = self._known.get(row)
        if cosine is None:
            cosine = self._known[row] = self._compare(row)
        return cosine

    def _compare(self, row: int) -> float:
        record = self._vectors.record(row)
        if not is_whole(record):
            return -1.0
        scale: float = struct.unpack_from("<f", record, KEY_BYTES)[0]
        components = memoryview(record)[KEY_BYTES + 4 :][: self._vectors.layout.dimensions].cast("b")
        return float(scale * sum(map(mul, components, self._query)))

    def _alike(self, count: int) -> list[int]:
        """Return the rows whose signs differ least from those of the query."""
        vectors = self._vectors
        size, step, read = vectors.layout.signs, vectors.layout.record, int.from_bytes
        first = vectors.layout.head + step - 4 - size
        wanted, data = read(_signs(self._query, vectors.mean, size), "little"), vectors.data
        differences = [
            (read(data[at : at + size], "little") ^ wanted).bit_count()
            for at in range(first, first + vectors.count * step, step)
        ]
        return nsmallest(count, range(vectors.count), key=differences.__getitem__)


def _all_cosines(numpy: Any, vectors: Vectors, query: Sequence[float]) -> Any:
    """Return the cosines with all vectors, as an array."""
    layout, count = vectors.layout, vectors.count
    raw = numpy.frombuffer(vectors.data, dtype=numpy.uint8, count=count * layout.record, offset=layout.head)
    raw = raw.reshape(count, layout.record)
    words = raw.view("<u4")
    scales = raw[:, KEY_BYTES : KEY_BYTES + 4].copy().view("<f4")[:, 0]
    components = raw[:, KEY_BYTES + 4 :][:, : layout.dimensions].view(numpy.int8)
    wanted = numpy.array(query, dtype=numpy.float32)
    found = numpy.empty(count, dtype=numpy.float32)
    for start in range(0, count, _BLOCK):
        span = slice(start, start + _BLOCK)
        found[span] = components[span].astype(numpy.float32) @ wanted * scales[span]
        sums = words[span, :-1].sum(axis=1, dtype=numpy.uint32) + numpy.uint32(_SALT)
        found[span][sums != words[span, -1]] = -1.0
    return found


def head_bytes(mean: Sequence[float], counted: int) -> bytes:
    """Return the beginning of a new file, with a number of its own."""
    head = _HEAD.pack(_MAGIC, VERSION, len(mean), counted, 0, os.urandom(8))
    return head + array("f", mean).tobytes()


def record_bytes(key: bytes, vector: Sequence[float], mean: Sequence[float]) -> bytes:
    """Return the record of a vector of length 1."""
    layout = Layout(len(vector))
    scale = max(map(abs, vector)) / 127 or 1.0
    components = array("b", [round(number / scale) for number in vector]).tobytes()
    body = key + struct.pack("<f", scale) + components.ljust(layout.components, b"\0")
    body += _signs(vector, mean, layout.signs)
    return body + struct.pack("<I", _sum(body))


def is_whole(record: bytes) -> bool:
    """Say whether a record is as it was written."""
    return len(record) > 4 and _sum(record[:-4]) == int.from_bytes(record[-4:], "little")  # noqa: PLR2004  # a word


def mean_of(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of vectors."""
    return [math.fsum(numbers) / len(vectors) for numbers in zip(*vectors, strict=True)]


def _sum(body: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f"<{len(body) // 4}I", body)
    return (sum(words) + _SALT) & _WORD


def _signs(vector: Sequence[float], mean: Sequence[float], size: int) -> bytes:
    bits = 0
    for place, above in enumerate(map(gt, vector, mean)):
        bits |= above << place
    return bits.to_bytes(size, "little")

"""A file of vectors, mapped into memory: a header, then records of one size.

    key 16 | scale, a float | components, a signed byte each, padded to words | sum of all words before it

A record with a wrong sum was torn and counts as no vector. Vectors are compared one by one: with numpy where it is
installed, else in a loop, which takes 0.25 s for 10,000 vectors of 384 dimensions.
"""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from operator import mul

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

KEY_BYTES = 16
_FORMAT = 2  # 1 had the mean of the vectors in the header, and their signs in the records
_MAGIC = b"gitmem-v"
_HEAD = struct.Struct("<8sII8s")  # magic, format, dimensions, number
_SALT = 0x9E3779B9  # so that a record of zeros has a wrong sum
_WORD = 0xFFFFFFFF
_MOST_DIMENSIONS = 1 << 16
_MOST_LOOPED = 10_000_000  # components that are compared without numpy, in 0.6 s
_BLOCK = 4_096  # vectors that numpy compares at a time


class Layout(Value):
    """The sizes of a file's parts, in bytes."""

    dimensions: int

    @property
    def head(self) -> int:
        """The header."""
        return _HEAD.size

    @property
    def components(self) -> int:
        """The components, padded to whole words."""
        return -(-self.dimensions // 4) * 4

    @property
    def record(self) -> int:
        """A record."""
        return KEY_BYTES + 4 + self.components + 4


class Vectors:
    """The vectors of a file, as they were when it was opened; `number` tells one version of it from another."""

    def __init__(self, path: str) -> None:
        """Open a file of vectors.

        Raises:
            OSError: it cannot be read.
            ValueError: it is not a file of vectors, or has another format.

        """
        with open(path, "rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                raise ValueError(path)
            magic, version, dimensions, self.number = _HEAD.unpack(head)
            if magic != _MAGIC or version != _FORMAT or not 0 < dimensions < _MOST_DIMENSIONS:
                raise ValueError(path)
            self.layout = Layout(dimensions)
            size = os.fstat(file.fileno()).st_size
            self.data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        self.count = (size - self.layout.head) // self.layout.record

    def rows(self) -> dict[bytes, int]:
        """Return the row of each key whose record is whole."""
        return {self.record(row)[:KEY_BYTES]: row for row in range(self.count) if is_whole(self.record(row))}

    def vector(self, row: int) -> array[float]:
        """Return a vector, as exactly as it was kept."""
        scale, components = _scaled(self.record(row), self.layout.dimensions)
        return array("f", [scale * component for component in components])

    def close(self) -> None:
        """Unmap the file: Windows replaces no file that is mapped."""
        self.data.close()

    def record(self, row: int) -> bytes:
        """Return the record in a row."""
        start = self.layout.head + row * self.layout.record
        return self.data[start : start + self.layout.record]


def is_comparable(vectors: Vectors) -> bool:
    """Return whether a search may wait for the comparison with all of these vectors."""
    return vectors.count * vectors.layout.dimensions <= _MOST_LOOPED or _numpy() is not None


def cosines(vectors: Vectors, query: Sequence[float], rows: Sequence[int]) -> list[float]:
    """Return the cosines of a vector of length 1 with those in some rows; -1 for a torn record."""
    numpy = _numpy()
    if numpy is None:
        return [_cosine(vectors.record(row), query) for row in rows]
    found: list[float] = []
    for start in range(0, len(rows), _BLOCK):
        found += _block_cosines(numpy, vectors, query, rows[start : start + _BLOCK])
    return found


def _numpy() -> Any:
    """Return numpy, or None: the extra `local` brings it, the other providers do without."""
    try:
        import numpy as np
    except ImportError:
        return None
    return np


def _cosine(record: bytes, query: Sequence[float]) -> float:
    if not is_whole(record):
        return -1.0
    scale, components = _scaled(record, len(query))
    return float(scale * sum(map(mul, components, query)))


def _scaled(record: bytes, dimensions: int) -> tuple[float, memoryview[int]]:
    """Return a record's scale and its components."""
    scale: float = struct.unpack_from("<f", record, KEY_BYTES)[0]
    return scale, memoryview(record)[KEY_BYTES + 4 :][:dimensions].cast("b")


def _block_cosines(numpy: Any, vectors: Vectors, query: Sequence[float], rows: Sequence[int]) -> list[float]:
    layout = vectors.layout
    data = numpy.frombuffer(vectors.data, numpy.uint8, vectors.count * layout.record, layout.head)
    records = data.reshape(vectors.count, layout.record)[numpy.asarray(rows, dtype=numpy.intp)]
    words = records.view("<u4")
    scales = words[:, KEY_BYTES // 4].view("<f4")
    components = records[:, KEY_BYTES + 4 :][:, : layout.dimensions].view(numpy.int8)
    found = components.astype(numpy.float32) @ numpy.asarray(query, dtype=numpy.float32) * scales
    sums = words[:, :-1].sum(axis=1, dtype=numpy.uint32) + numpy.uint32(_SALT)
    found[sums != words[:, -1]] = -1.0
    cosines: list[float] = found.tolist()
    return cosines


def head_bytes(dimensions: int) -> bytes:
    """Return the header of a new file, with a random number."""
    return _HEAD.pack(_MAGIC, _FORMAT, dimensions, os.urandom(8))


def record_bytes(key: bytes, vector: Sequence[float]) -> bytes:
    """Return the record of a vector of length 1."""
    layout = Layout(len(vector))
    scale = max(map(abs, vector)) / 127 or 1.0
    components = array("b", [round(number / scale) for number in vector]).tobytes()
    body = key + struct.pack("<f", scale) + components.ljust(layout.components, b"\0")
    return body + struct.pack("<I", _sum(body))


def is_whole(record: bytes) -> bool:
    """Return whether a record is as it was written."""
    return len(record) > 4 and _sum(record[:-4]) == int.from_bytes(record[-4:], "little")  # noqa: PLR2004  # a word


def _sum(body: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f"<{len(body) // 4}I", body)
    return (sum(words) + _SALT) & _WORD

"""The cache of vectors, in the folder `vectors` of the private folder: bounded, never committed (docs/spec.md J13).

Each model has two files. NAME.vec has the vectors by the hash of the embedded text, appended in batches. NAME.map has,
for a version of each file, the vectors of its chunks; it is replaced as a whole, and holds the number of its NAME.vec.
A file of vectors is mapped into memory: a header, then records of one size.

    key 16 | scale, a float | components, a signed byte each, padded to words | sum of all words before it

A record with a wrong sum was torn and counts as no vector. A chunk is a unit, or a part of at most about 400 tokens of
a long one; a heading without text goes into the next chunk. Writers hold a lock; readers need none. The folder can be
deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import re
import struct
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import mul
from typing import Any

from gitmem.search.files import FileVersion
from gitmem.search.units import ENTRY, FIELD, HEADING, Unit, Units, first_line
from gitmem.values import Value

KEY_BYTES = 16
_FORMAT = 2  # 1 had the mean of the vectors in the header, and their signs in the records
_MAGIC = b"gitmem-v"
_HEAD = struct.Struct("<8sII8s")  # magic, format, dimensions, number
_SALT = 0x9E3779B9  # so that a record of zeros has a wrong sum
_FILE_WORD = 0xFFFFFFFF
_MOST_DIMENSIONS = 1 << 16
_MOST_LOOPED = 10_000_000  # components that are compared without numpy, in 0.6 s
_BLOCK = 4_096  # vectors that numpy compares at a time


def record_size(dimensions: int) -> int:
    """Return the bytes of a record, whose components are padded to whole words."""
    return KEY_BYTES + 4 + -(-dimensions // 4) * 4 + 4


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
            self.dimensions, self.record_size = dimensions, record_size(dimensions)
            size = os.fstat(file.fileno()).st_size
            self.data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        self.count = (size - _HEAD.size) // self.record_size

    def rows(self) -> dict[bytes, int]:
        """Return the row of each key whose record is whole."""
        return {self.record(row)[:KEY_BYTES]: row for row in range(self.count) if is_whole(self.record(row))}

    def vector(self, row: int) -> array[float]:
        """Return a vector, as exactly as it was kept."""
        scale, components = _scaled(self.record(row), self.dimensions)
        return array("f", [scale * component for component in components])

    def close(self) -> None:
        """Unmap the file: Windows replaces no file that is mapped."""
        self.data.close()

    def record(self, row: int) -> bytes:
        """Return the record in a row."""
        start = _HEAD.size + row * self.record_size
        return self.data[start : start + self.record_size]


def is_comparable(vectors: Vectors) -> bool:
    """Return whether a search may wait for the comparison with all of these vectors."""
    return vectors.count * vectors.dimensions <= _MOST_LOOPED or _numpy() is not None


def cosines(vectors: Vectors, query: Sequence[float], rows: Sequence[int]) -> list[float]:
    """Return the cosines of a vector of length 1 with those in some rows; -1 for a torn record."""
    numpy = _numpy()
    if numpy is None:
        dots = []
        for record in map(vectors.record, rows):
            scale, components = _scaled(record, len(query))
            dots.append(float(scale * sum(map(mul, components, query))) if is_whole(record) else -1.0)
        return dots
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


def _scaled(record: bytes, dimensions: int) -> tuple[float, memoryview[int]]:
    """Return a record's scale and its components."""
    scale: float = struct.unpack_from("<f", record, KEY_BYTES)[0]
    return scale, memoryview(record)[KEY_BYTES + 4 :][:dimensions].cast("b")


def _block_cosines(numpy: Any, vectors: Vectors, query: Sequence[float], rows: Sequence[int]) -> list[float]:
    data = numpy.frombuffer(vectors.data, numpy.uint8, vectors.count * vectors.record_size, _HEAD.size)
    records = data.reshape(vectors.count, vectors.record_size)[numpy.asarray(rows, dtype=numpy.intp)]
    words = records.view("<u4")
    scales = words[:, KEY_BYTES // 4].view("<f4")
    components = records[:, KEY_BYTES + 4 :][:, : vectors.dimensions].view(numpy.int8)
    found = components.astype(numpy.float32) @ numpy.asarray(query, dtype=numpy.float32) * scales
    sums = words[:, :-1].sum(axis=1, dtype=numpy.uint32) + numpy.uint32(_SALT)
    found[sums != words[:, -1]] = -1.0
    cosines: list[float] = found.tolist()
    return cosines


def record_bytes(key: bytes, vector: Sequence[float]) -> bytes:
    """Return the record of a vector of length 1."""
    scale = max(map(abs, vector)) / 127 or 1.0
    components = array("b", [round(number / scale) for number in vector]).tobytes()
    body = (key + struct.pack("<f", scale) + components).ljust(record_size(len(vector)) - 4, b"\0")
    return body + struct.pack("<I", _sum(body))


def is_whole(record: bytes) -> bool:
    """Return whether a record is as it was written."""
    return len(record) > 4 and _sum(record[:-4]) == int.from_bytes(record[-4:], "little")  # noqa: PLR2004  # a word


def _sum(body: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f"<{len(body) // 4}I", body)
    return (sum(words) + _SALT) & _FILE_WORD


VERSION = 2  # of the cutting: maps of another version are ignored
BYTES = 1_600  # 400 tokens (gitmem.text.stems), which is less than the 512 most models read
_LEAST = 0.5  # of a full chunk, before the first cut
_WORD = r"\w"


class Chunk(Value):
    """A part of a file: the index of its unit, its first and last line (from 1), and the text to embed."""

    index: int
    start: int
    end: int
    text: str

    def key(self) -> bytes:
        """Return the hash of the text, of 16 bytes (docs/spec.md J13)."""
        return hashlib.blake2b(self.text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()


def chunks(units: Units) -> list[Chunk]:
    """Return the chunks of a file in order."""
    found: list[Chunk] = []
    line, counted = 1, 0
    pending = -1  # the start of a heading that goes into the next chunk
    for index in range(len(units)):
        unit = units.unit(index)
        if unit.kind == HEADING and index + 1 < len(units):
            pending = unit.start if pending < 0 else pending
            continue
        start = unit.start if pending < 0 else pending
        pending = -1
        for begin, end, text in _parts(units, unit, start):
            line += units.text.count("\n", counted, begin)
            counted = begin
            if re.search(_WORD, text):
                last = line + units.text[begin:end].rstrip().count("\n")
                found.append(Chunk(index, line, last, text))
    return found


def _parts(units: Units, unit: Unit, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of each part of a unit."""
    text, end = units.text, unit.end
    if unit.kind == ENTRY and (line := first_line().match(text, unit.start, end)):
        body = line.start("text") if line["text"] else line.end()
        for number, (first, last) in enumerate(_split(text, body, end)):
            yield (first if number else start), last, text[first:last].replace(f" ^{line['id']}", "", 1).strip()
        return
    title = unit.heading if unit.kind != FIELD else ""
    for first, last in _split(text, start, end):
        part = text[first:last].strip()
        yield first, last, f"{title}\n{part}" if title and not part.startswith("#") else part


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text, each of at most about a full chunk, cut at lines or words."""
    size = len(text[start:end].encode("utf-8", "replace"))
    most = max(BYTES * (end - start) // size, 1) if size else 1
    while end - start > most:
        least, cut = start + int(most * _LEAST), start + most
        # The best place: after a blank line, a line, a sentence or a word.
        ends = (
            text.rfind(mark, least, cut) + len(mark) for mark in ("\n\n", "\n", ". ", " ") if mark in text[least:cut]
        )
        cut = next(ends, cut)
        yield start, cut
        start = cut
    yield start, end


FOLDER = "vectors"
MOST_BYTES = 256_000_000  # of the vectors of a model: 550,000 of 384 dimensions, 145,000 of 1,536
MOST_MODELS = 2  # the models used last keep their vectors
NO_ROW = 0xFFFFFFFF  # of a chunk that has no vector yet
_QUIET_SECONDS = 3600.0


class Mapped(Value):
    """The chunks of one version of a file: for each the index of its unit, and the row of its vector or NO_ROW."""

    file: FileVersion
    units: Sequence[int]
    rows: Sequence[int]


class Cache:
    """The vectors of one model in one store."""

    def __init__(self, private: str, provider: str, model: str) -> None:
        self.folder = os.path.join(private, FOLDER)
        plain = re.sub(r"[^a-z0-9._-]", "-", model.lower())[:60]
        if plain != model:  # a hash keeps changed names apart
            plain += f"-{hashlib.blake2b(model.encode(), digest_size=4).hexdigest()}"
        self.stem = f"{provider}-{plain}"
        self._vectors = os.path.join(self.folder, f"{self.stem}.vec")
        self._map = os.path.join(self.folder, f"{self.stem}.map")

    def open(self) -> Vectors | None:
        """Return the vectors, or None without a valid file."""
        try:
            return Vectors(self._vectors)
        except (OSError, ValueError):
            return None

    def read_map(self, number: bytes) -> dict[str, Mapped]:
        """Return the mapped files by path; none if the map is damaged or belongs to other vectors."""
        try:
            with open(self._map, "rb") as file:
                head, _, data = file.read().partition(b"\n")
            value, values = json.loads(head), array("I", data)
            if (value["number"], value["version"]) != (number.hex(), VERSION):
                return {}
            half, start = len(values) // 2, 0
            found = {}
            for path, size, modified, changed, count in value["files"]:
                units, rows = values[start : start + count], values[half + start : half + start + count]
                found[path] = Mapped(FileVersion(path, size, modified, changed), units, rows)
                start += count
        except (OSError, ValueError, TypeError, KeyError):
            return {}
        return found if start == half and len(values) == 2 * half else {}

    def write_map(self, number: bytes, files: Iterable[Mapped]) -> None:
        """Replace the map."""
        units, rows = array("I"), array("I")
        entries = []
        for mapped in files:
            units.extend(mapped.units)
            rows.extend(mapped.rows)
            file = mapped.file
            entries.append([file.path, file.size, file.modified, file.changed, len(mapped.units)])
        head = json.dumps({"version": VERSION, "number": number.hex(), "files": entries}, separators=(",", ":"))
        _replace(self._map, (head.encode(), b"\n", units.tobytes(), rows.tobytes()))

    def add(self, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        """Append vectors by their keys; start a new file if there is none, or one of another dimension.

        Raises:
            OSError: the write failed.

        """
        stored = self.open()
        if stored is None or stored.dimensions != len(vectors[0][1]):
            if stored is not None:
                stored.close()
            self._write(vectors)
            return
        data = b"".join(record_bytes(key, vector) for key, vector in vectors)
        descriptor = os.open(self._vectors, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            # Truncate a partial record of a killed process, which would misalign later records.
            end = _HEAD.size + stored.count * stored.record_size
            if os.fstat(descriptor).st_size > end:
                os.ftruncate(descriptor, end)
            if os.write(descriptor, data) < len(data):
                raise OSError(28, "No room for all vectors", self._vectors)
        finally:
            os.close(descriptor)

    def tidy(self, wanted: Callable[[bytes], bool]) -> bool:
        """Write the file anew if half of it is unwanted, torn or a copy; True if so: the map is then out of date."""
        stored = self.open()
        if stored is None:
            return False
        rows = {key: row for key, row in stored.rows().items() if wanted(key)}
        if len(rows) * 2 >= stored.count:
            return False
        vectors = [(key, stored.vector(row)) for key, row in rows.items()]
        stored.close()
        try:
            self._write(vectors) if vectors else self.remove()
        except PermissionError:  # on Windows, while another process has it open; the next run tries again
            return False
        return True

    def remove(self) -> None:
        """Delete the vectors of this model."""
        for path in (self._map, self._vectors):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def remove_others(self) -> None:
        """Delete the vectors of all other models but the one used last."""
        with contextlib.suppress(OSError):
            used = {}
            for name in os.listdir(self.folder):
                if name.endswith(".vec") and name != f"{self.stem}.vec":
                    used[name] = os.stat(os.path.join(self.folder, name)).st_mtime_ns
            for name in sorted(used, key=lambda name: -used[name])[MOST_MODELS - 1 :]:
                for suffix in (".vec", ".map"):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(self.folder, name[:-4] + suffix))

    def _write(self, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        records = (record_bytes(key, vector) for key, vector in vectors)
        _replace(self._vectors, chain([_HEAD.pack(_MAGIC, _FORMAT, len(vectors[0][1]), os.urandom(8))], records))


def is_news(private: str, place: str, problem: str) -> bool:
    """Return whether a problem was not reported in this place within the last hour; record it, or its end by ""."""
    path = os.path.join(private, FOLDER, f"{place}.trouble")
    try:
        with open(path, encoding="utf-8") as file:
            last = file.read()
        age = time.time() - os.stat(path).st_mtime
    except (OSError, UnicodeDecodeError):
        last, age = "", 0.0
    if problem == last and age < _QUIET_SECONDS:
        return False
    with contextlib.suppress(OSError):
        if problem:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(problem)
        else:
            os.unlink(path)
    return bool(problem)


def _replace(path: str, parts: Iterable[bytes]) -> None:
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(temporary, "wb") as file:
            file.writelines(parts)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise

"""The cache of vectors, in the folder `vectors` of the private folder: bounded, never committed (docs/spec.md J13).

Each model has two files. NAME.vec has the vectors by the hash of the embedded text (`gitmem.search.vectors.file`);
batches are appended in one write. NAME.map has, for a version of each file, the vectors of its chunks; it is replaced
as a whole, and holds the number of its NAME.vec. Writers hold a lock; readers need none. The folder can be deleted at
any time.

Tested through `tests/search/vectors/test_file.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from array import array
from itertools import chain

from gitmem.search.files import File
from gitmem.search.vectors.chunks import VERSION
from gitmem.search.vectors.file import Vectors, head_bytes, record_bytes
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

FOLDER = "vectors"
MOST_BYTES = 256_000_000  # of the vectors of a model: 550,000 of 384 dimensions, 145,000 of 1,536
MOST_MODELS = 2  # the models used last keep their vectors
NO_ROW = 0xFFFFFFFF  # of a chunk that has no vector yet
_QUIET_SECONDS = 3600.0


class Mapped(Value):
    """The chunks of one version of a file: for each the index of its unit, and the row of its vector or NO_ROW."""

    file: File
    units: Sequence[int]
    rows: Sequence[int]


class Cache:
    """The vectors of one model in one store."""

    def __init__(self, private: str, provider: str, model: str) -> None:
        self.folder = os.path.join(private, FOLDER)
        self.stem = f"{provider}-{_plain(model)}"
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
                found[path] = Mapped(File(path, size, modified, changed), units, rows)
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
        if stored is None or stored.layout.dimensions != len(vectors[0][1]):
            if stored is not None:
                stored.close()
            self._write(vectors)
            return
        data = b"".join(record_bytes(key, vector) for key, vector in vectors)
        descriptor = os.open(self._vectors, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            # Truncate a partial record of a killed process, which would misalign later records.
            end = stored.layout.head + stored.count * stored.layout.record
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
        try:
            self._keep(stored, rows)
        except PermissionError:  # on Windows, while another process has it open; the next run tries again
            return False
        return True

    def _keep(self, stored: Vectors, rows: Mapping[bytes, int]) -> None:
        if rows:
            vectors = [(key, stored.vector(row)) for key, row in rows.items()]
            stored.close()
            self._write(vectors)
        else:
            stored.close()
            self.remove()

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
        _replace(self._vectors, chain([head_bytes(len(vectors[0][1]))], records))


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


def _plain(model: str) -> str:
    """Return the name of a model as part of a file name; a hash keeps changed names apart."""
    import hashlib

    plain = re.sub(r"[^a-z0-9._-]", "-", model.lower())[:60]
    return plain if plain == model else f"{plain}-{hashlib.blake2b(model.encode(), digest_size=4).hexdigest()}"


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

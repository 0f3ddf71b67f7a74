"""What is about the same as a query, by vectors: a bonus to what its words find, never something to wait for.

The query is embedded in a thread of its own while the files are searched, and given up on after a second. Vectors of
the files come from the cache, as far as it is filled.
"""

from __future__ import annotations

import os
import time
from heapq import nlargest

from gitmem.errors import GitmemError
from gitmem.llm.embedders import make_embedder
from gitmem.search.files import list_files
from gitmem.search.vectors.cache import Cache
from gitmem.search.vectors.file import cosines, is_comparable
from gitmem.store.upkeep.background import start

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.llm.protocol import Embedder, Vector
    from gitmem.search.files import File
    from gitmem.search.vectors.cache import Mapped
    from gitmem.search.vectors.file import Vectors
    from gitmem.store.store import Store

SECONDS = 1.0  # that the provider may take of a search
MISSING = "The vectors are being made in the background; 'gitmem reindex' shows how far it is."
_LONGEST = 2_000  # characters of a query that are embedded
_TELLING = 200  # vectors whose cosines with a query tell what an unrelated text has
_SAMPLE = 400  # of them that are looked at
_REACH = 0.8  # of the way from an unrelated text to the same one: where two are about the same
_LEAST_SPAN = 0.05


class Similar:
    """How near the chunks of a store's files are to a query, as numbers from 0 to 1."""

    def __init__(
        self, vectors: Vectors, mapped: Mapping[str, Mapped], query: Vector, calibration: tuple[float, float] | None
    ) -> None:
        self._count = vectors.count
        self._mapped = mapped
        self._cosines = cosines(vectors, query, range(self._count))
        self._rows: dict[str, dict[int, list[int]]] = {}
        self._low, self._high = self._range(calibration)

    def of(self, path: str, index: int) -> float | None:
        """Return how near a unit of a file is, as its nearest chunk; None where that is not known."""
        if path not in self._rows:
            rows = self._rows[path] = {}
            if mapped := self._mapped.get(path):
                for unit, row in zip(mapped.units, mapped.rows, strict=True):
                    if row < self._count:
                        rows.setdefault(unit, []).append(row)
        there = self._rows[path].get(index)
        return max(self._calibrated(self._cosines[row]) for row in there) if there else None

    def nearest(self, count: int) -> list[tuple[File, int]]:
        """Return the units in which the nearest chunks stand, each as its file and its index, the nearest first."""
        rows = nlargest(count, range(self._count), key=self._cosines.__getitem__)
        places = {row: place for place, row in enumerate(rows)}
        best: dict[tuple[File, int], int] = {}
        for mapped in self._mapped.values():
            for unit, row in zip(mapped.units, mapped.rows, strict=True):
                if row in places:
                    key = mapped.file, unit
                    best[key] = min(places[row], best.get(key, count))
        return sorted(best, key=best.__getitem__)

    def _calibrated(self, cosine: float) -> float:
        return min(max((cosine - self._low) / (self._high - self._low), 0.0), 1.0)

    def _range(self, calibration: tuple[float, float] | None) -> tuple[float, float]:
        """Return between which cosines texts go from having nothing to do with the query to being about the same.

        Most of what is in a store has nothing to do with a query, so their median says where that begins. A small
        store may be about one thing: what is known of the model counts there, if anything is.
        """
        if calibration and self._count < _TELLING:
            return calibration
        cosines = sorted(self._cosines[:: max(self._count // _SAMPLE, 1)])
        low = cosines[len(cosines) // 2] if cosines else 0.0
        return low, low + max(1 - low, _LEAST_SPAN) * _REACH


class Asked:
    """A query that is being embedded; `problem` says why it will not be, "" as long as it may."""

    def __init__(self, store: Store, text: str) -> None:
        from threading import Thread

        self.problem = ""
        self._store = store
        self._deadline = time.monotonic() + SECONDS
        self._vector: Vector | None = None
        self._near: Similar | None = None
        try:
            embedder = make_embedder(store.config.embedding, store.context.environ)
        except GitmemError as error:
            self.problem = f"{error.message} {error.remedy}".strip()
            return
        assert embedder is not None
        self._embedder = embedder
        self._thread = Thread(target=self._ask, args=(safe_text(text[:_LONGEST], embedder, store),), daemon=True)
        self._thread.start()

    def wait(self) -> Similar | None:
        """Return what is near the query, None where that is not known; waits until the provider's second is over."""
        if self._near is None and not self.problem:
            self._thread.join(max(self._deadline - time.monotonic(), 0.0))
            if self._vector is not None:
                self._near = self._compare(self._vector)
            elif not self.problem:
                self.problem = f"{self._embedder.name} did not answer within a second."
        return self._near

    def _ask(self, text: str) -> None:
        try:
            self._vector = self._embedder.embed_query(text, self._deadline)
        except GitmemError as error:
            self.problem = error.message
        except Exception as error:  # noqa: BLE001  # whatever it is, a search does without
            self.problem = f"{type(error).__name__}: {error}"

    def _compare(self, vector: Vector) -> Similar | None:
        cache = Cache(self._store.private, self._embedder.name, self._embedder.model)
        vectors = cache.open()
        if vectors is None:
            self.problem = MISSING
            if not os.path.isdir(cache.folder):  # never begun; from now on each commit begins it
                start(self._store, "reindex", "--background")
            return None
        if vectors.layout.dimensions != len(vector):
            self.problem = f"{self._embedder.name} gives other vectors than it did: 'gitmem reindex --afresh'."
            return None
        if not is_comparable(vectors):
            self.problem = f"{vectors.count:,} vectors take too long to compare without numpy: 'pip install numpy'."
            return None
        now = {file.path: file for file in list_files(self._store.root)}
        mapped = {path: one for path, one in cache.read_map(vectors.number).items() if now.get(path) == one.file}
        return Similar(vectors, mapped, vector, self._embedder.calibration)


def safe_text(text: str, embedder: Embedder, store: Store) -> str:
    """Return what may be embedded: what leaves the machine is without secrets, also what was not committed yet."""
    text = text.encode("utf-8", "replace").decode()
    if not embedder.remote:
        return text
    from gitmem.redact.redact import redact

    return redact(text, allow=store.config.redaction.allow).text or "-"

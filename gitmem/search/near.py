"""Compute how near the chunks of a store are to a query, by vectors, and fuse this with the ranking by words.

The query is embedded in a thread while the files are scanned; after a second the search goes on without vectors.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from heapq import nlargest
from threading import Thread

from gitmem.errors import GitmemError
from gitmem.llm.protocol import Vector
from gitmem.llm.providers import make_embedder
from gitmem.platform.machine import install_command
from gitmem.search import sources
from gitmem.search.cut import ENTRY, HEADING
from gitmem.search.files import TRANSCRIPTS, FileVersion, list_files
from gitmem.search.filters import Filters, excluded
from gitmem.search.query import Query
from gitmem.search.rank import FAR, NOTHING, UNKNOWN, WINDOW, Ranked, neighbour_weight
from gitmem.search.troubles import is_unreported
from gitmem.search.units import Units
from gitmem.search.vectors import Cache, ChunkedFile, is_comparable, safe_text
from gitmem.store.store import Store

# Least nearness of a unit without a matching word that is not the nearest of all: above that of hits for questions
# about other stores (docs/search.md, "Weak hits").
LEAST_NEAR = 0.45
CONSIDERED = 300  # best units by words whose nearness counts
CANDIDATES = 100  # nearest chunks


def fuse(store: Store, ranked: Sequence[Ranked], near: Nearness, query: Query, filters: Filters) -> list[Ranked]:
    """Return the units that words or vectors match, with scores from 0 to about 1.

        score = (1 - part) * score by words  +  part * nearness

    A unit without a vector gets the mean nearness of the other units with matching words.
    """
    part = store.config.search.vector_percent / 100
    nearest = near.nearest(CANDIDATES)
    among = {(file.path, index) for file, index in nearest}
    ranked = sorted(ranked, key=lambda item: -item.score)
    values: list[float | None] = []
    for place, item in enumerate(ranked):
        counts = place < CONSIDERED or (item.units.path, item.index) in among
        counts = counts and item.units.layer != TRANSCRIPTS and not item.units.commit
        values.append(_nearness(near, item.units, item.index) if counts else None)
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    fused = []
    for item, value in zip(ranked, values, strict=True):
        score = (1 - part) * item.score + part * (mean if value is None else value)
        # UNKNOWN if there is no vector, or no calibration to distinguish near from far.
        nearness = UNKNOWN if value is None or (value < FAR and not near.calibrated) else value
        fused.append(item._replace(score=score, near=nearness))
    seen = {(item.units.path, item.index) for item in ranked}
    dropped: dict[str, set[int]] = {}
    for place, (file, index) in enumerate(nearest):
        if (file.path, index) in seen or not filters.allow_path(file.path):
            continue
        units = sources.load(store.documents, file)
        if file.path not in dropped:
            dropped[file.path] = excluded(query, units)
        value = _nearness(near, units, index)
        says_nothing = units.kind(index) == HEADING or index in dropped[file.path]
        if value and (value >= LEAST_NEAR or not place) and not says_nothing:
            fused.append(Ranked(part * value, units, index, NOTHING, (), near=value))
    return fused


def _nearness(near: Nearness, units: Units, index: int) -> float | None:
    """Return how near a unit is, or None if unknown.

    Neighbours count for entries, as in the ranking; for sections they worsened the results.
    """
    own = near.of(units.path, index) if index < len(units) else None
    if own is None or units.kind(index) != ENTRY:
        return own
    share = neighbour_weight(units.length(index)) / units.outline(index)[1]
    for distance, weight in enumerate(WINDOW, 1):
        for beside in (index - distance, index + distance):
            own += share * weight * (near.of(units.path, beside) or 0.0)
    return own


SECONDS = 1.0  # that the provider has to embed a query
MISSING = "The vectors are being made in the background; 'gitmem reindex' shows how far it is."
_LONGEST = 2_000  # characters of a query that are embedded
_ENOUGH = 200  # vectors for the median cosine to be that of unrelated texts
_SAMPLE = 400  # cosines for the median
_REACH = 0.8  # of the way from the cosine of unrelated texts to 1, the cosine of texts about the same subject
_LEAST_SPAN = 0.05


class Nearness:
    """How near the chunks of a store's files are to a query, from 0 to 1, by the cosines of their vectors.

    `calibrated` is false in a small store of a model whose usual cosines are unknown: 0 is then no sign of another
    subject.
    """

    def __init__(
        self, cosines: Mapping[bytes, float], files: Mapping[str, ChunkedFile], calibration: tuple[float, float] | None
    ) -> None:
        self._cosines = cosines
        self._files = files
        self._best: dict[str, dict[int, float]] = {}
        self.calibrated = calibration is not None or len(cosines) >= _ENOUGH
        # The cosines of unrelated texts and of texts on one subject. Most texts of a store are unrelated to a
        # query, so the first is the median. A small store may have one subject: there the calibration counts.
        if calibration and len(cosines) < _ENOUGH:
            self._low, self._high = calibration
        else:
            sample = sorted([*cosines.values()][:: max(len(cosines) // _SAMPLE, 1)])
            self._low = sample[len(sample) // 2] if sample else 0.0
            self._high = self._low + max(1 - self._low, _LEAST_SPAN) * _REACH

    def of(self, path: str, index: int) -> float | None:
        """Return how near the nearest chunk of a unit is, or None if unknown."""
        if path not in self._best:
            best = self._best[path] = {}
            if of_file := self._files.get(path):
                for unit, key in zip(of_file.units, of_file.keys, strict=True):
                    if key in self._cosines:
                        best[unit] = max(self._cosines[key], best.get(unit, -1.0))
        nearest = self._best[path].get(index)
        return None if nearest is None else min(max((nearest - self._low) / (self._high - self._low), 0.0), 1.0)

    def nearest(self, count: int) -> list[tuple[FileVersion, int]]:
        """Return file and index of the units with the nearest chunks, the nearest first."""
        places = {key: place for place, key in enumerate(nlargest(count, self._cosines, key=self._cosines.__getitem__))}
        best: dict[tuple[FileVersion, int], int] = {}
        for of_file in self._files.values():
            for unit, key in zip(of_file.units, of_file.keys, strict=True):
                if key in places:
                    best[of_file.file, unit] = min(places[key], best.get((of_file.file, unit), count))
        return sorted(best, key=best.__getitem__)


class Embedding:
    """A query that is being embedded in a thread; `problem` says why it failed, or is ""."""

    def __init__(self, store: Store, text: str) -> None:
        self.problem = ""
        self._store = store
        self._deadline = time.monotonic() + SECONDS
        self._vector: Vector | None = None
        self._near: Nearness | None = None
        try:
            embedder = make_embedder(store.config.embedding, store.context.environ)
        except GitmemError as error:
            self.problem = error.sentences
            return
        assert embedder is not None
        self._embedder = embedder
        safe = safe_text(text[:_LONGEST], embedder, store)
        self._thread = Thread(target=self._embed, args=(safe,), daemon=True)
        self._thread.start()

    def wait(self) -> Nearness | None:
        """Wait for the query's vector until the provider's second is over; None without it."""
        if self._near is None and not self.problem:
            self._thread.join(max(self._deadline - time.monotonic(), 0.0))
            if self._vector is not None:
                self._near = self._compare(self._vector)
            elif not self.problem:
                self.problem = f"{self._embedder.name} did not answer within a second."
        return self._near

    def _embed(self, text: str) -> None:
        try:
            self._vector = self._embedder.embed_query(text, self._deadline)
        except GitmemError as error:
            self.problem = error.message
        except Exception as error:  # noqa: BLE001  # the search goes on without vectors
            self.problem = f"{type(error).__name__}: {error}"

    def _compare(self, vector: Vector) -> Nearness | None:
        cache = Cache(self._store.private, self._embedder.name, self._embedder.model)
        number, dimensions = cache.size()
        if not number:
            self.problem = MISSING
            # The first search with a model starts to fill its cache; later each commit does.
            if is_unreported(self._store.private, "start", cache.stem):
                self._store.start("reindex", "--background")
            return None
        if dimensions != len(vector):
            self.problem = f"{self._embedder.name} gives vectors of another dimension now: 'gitmem reindex --afresh'."
            return None
        if not is_comparable(number, dimensions):
            much = f"{number:,} vectors take too long to compare without numpy"
            self.problem = f"{much}, which the extra 'local' brings: {install_command('local')}"
            return None
        now = {file.path: file for file in list_files(self._store.documents)}
        files = {path: of_file for path, of_file in cache.files().items() if now.get(path) == of_file.file}
        return Nearness(cache.cosines(vector), files, self._embedder.calibration)

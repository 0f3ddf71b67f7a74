"""Fill the cache of vectors: embed new chunks, those of the newest files first (docs/spec.md J10, J13)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.errors import BusyError, GitmemError
from gitmem.llm.choose import choose, make_embedder
from gitmem.llm.protocol import ProviderError
from gitmem.search.files import FileVersion, list_files, read_file
from gitmem.search.units import Units
from gitmem.store.store import Store
from gitmem.values import Value
from gitmem.vectors.cache import MOST_BYTES, NO_ROW, Cache, Mapped, chunks, record_size
from gitmem.vectors.near import safe_text

if TYPE_CHECKING:
    from gitmem.llm.protocol import Embedder

_REQUEST_SECONDS = 45.0  # for one batch with all tries: less than the time after which a lock is stale
_MAP_SECONDS = 20.0  # between two maps, by which searches find the new vectors


class Filled(Value):
    """The result of filling: chunks in the store, those embedded now, those without a vector, tokens and US dollars.

    `cost` is None if the price is unknown; `problem` says why filling ended early, or is "".
    """

    chunks: int
    embedded: int
    left: int
    tokens: int
    cost: float | None
    problem: str


class Overview(Value):
    """The state of vectors: provider, model and the reason for them, the number of vectors, and any problem."""

    provider: str
    model: str
    reason: str
    vectors: int
    trouble: str


def overview(store: Store) -> Overview:
    """Return the state of a store's vectors, without a request and without loading a model."""
    chosen = choose(store.config.embedding, store.context.environ)
    try:
        embedder = make_embedder(store.config.embedding, store.context.environ)
    except ProviderError as error:
        return Overview(chosen.provider, "", chosen.reason, 0, error.sentences)
    if embedder is None:
        return Overview(chosen.provider, "", chosen.reason, 0, "")
    vectors = Cache(store.private, embedder.name, embedder.model).open()
    return Overview(chosen.provider, embedder.model, chosen.reason, vectors.count if vectors else 0, "")


class ChunkedFile(Value):
    """The chunks of a version of a file: the indexes of their units, and their keys."""

    file: FileVersion
    units: Sequence[int]
    keys: Sequence[bytes]


def fill(
    store: Store,
    embedder: Embedder,
    *,
    seconds: float,
    afresh: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Filled:
    """Embed chunks without a vector, for about so many seconds; with `afresh` delete all vectors of the model first.

    `progress` gets the numbers of embedded and of all missing chunks. Embedded chunks stay, also after an error.

    Raises:
        BusyError: another process fills the cache.
        GitmemError: the cache cannot be written.
        NotAcceptedError: the store is opened: its texts are sent nowhere.

    """
    store.acceptance.check()
    try:
        return _fill(store, embedder, seconds, progress, afresh=afresh)
    except OSError as error:
        reason = f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
        raise GitmemError(
            f"The vectors could not be written: {reason}.", "Free disk space, or allow access."
        ) from error


def _fill(
    store: Store, embedder: Embedder, seconds: float, progress: Callable[[int, int], None], *, afresh: bool
) -> Filled:
    cache = Cache(store.private, embedder.name, embedder.model)
    os.makedirs(cache.folder, mode=0o700, exist_ok=True)
    lock = store.folder_lock(cache.folder, "reindex")
    try:
        lock.acquire(0)
    except BusyError as error:
        raise BusyError(f"The vectors are being made. {error.message}", error.remedy) from None
    with lock:
        if afresh:
            cache.remove()
        return _Filling(store, embedder, cache, lock.heartbeat, progress).run(time.monotonic() + seconds)


class _Filling:
    """One run of `fill`, under the lock."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        cache: Cache,
        beat: Callable[[], None],
        progress: Callable[[int, int], None],
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._cache = cache
        self._beat = beat
        self._progress = progress
        self._rows: dict[bytes, int] = {}
        self._embedded = 0

    def run(self, end: float) -> Filled:
        files = self._look()
        keys = {key for known in files for key in known.keys}
        if self._cache.tidy(keys.__contains__):
            self._load()
        problem = ""
        missing = len(keys - self._rows.keys())
        try:
            mapped = 0.0
            for batch in self._batches(files):
                if time.monotonic() >= end:
                    problem = "The time given is over."
                    break
                if not self._embed(batch, min(end, time.monotonic() + _REQUEST_SECONDS)):
                    missing = len(keys)
                self._progress(self._embedded, missing)
                if time.monotonic() - mapped > _MAP_SECONDS:
                    self._write_map(files)
                    mapped = time.monotonic()
        except ProviderError as error:
            problem = error.sentences
        self._write_map(files)
        self._cache.remove_others()
        price = self._embedder.price
        left = len(keys - self._rows.keys())
        return Filled(
            chunks=len(keys),
            embedded=self._embedded,
            left=left,
            tokens=self._embedder.tokens,
            cost=None if price is None else price * self._embedder.tokens / 1_000_000,
            problem=problem or ("Files changed meanwhile; the next run embeds the rest." if left else ""),
        )

    def _load(self) -> None:
        vectors = self._cache.open()
        self._rows = vectors.rows() if vectors else {}

    def _look(self) -> list[ChunkedFile]:
        """Return the chunks of all files, the newest file first; read changed files only."""
        self._load()
        vectors = self._cache.open()
        before = self._cache.read_map(vectors.number) if vectors else {}
        keys = {row: key for key, row in self._rows.items()}
        found = []
        for file in sorted(list_files(self._store.root), key=lambda file: -file.modified):
            old = before.get(file.path)
            if old and old.file == file and all(row in keys for row in old.rows):
                found.append(ChunkedFile(file, old.units, [keys[row] for row in old.rows]))
            else:
                cut = chunks(Units(file.path, read_file(self._store.root, file.path)))
                found.append(ChunkedFile(file, [chunk.index for chunk in cut], [chunk.key() for chunk in cut]))
        return found

    def _batches(self, files: Sequence[ChunkedFile]) -> Iterator[list[tuple[bytes, str]]]:
        """Yield batches of keys and texts to embed, as large as the provider takes."""
        batch: dict[bytes, str] = {}
        size = 0
        for known in files:
            if all(key in self._rows or key in batch for key in known.keys):
                continue
            for chunk in chunks(Units(known.file.path, read_file(self._store.root, known.file.path))):
                key = chunk.key()
                if key in self._rows or key in batch:
                    continue
                if batch and (
                    len(batch) >= self._embedder.batch or size + len(chunk.text) > self._embedder.batch_bytes
                ):
                    yield list(batch.items())
                    batch, size = {}, 0
                batch[key] = chunk.text
                size += len(chunk.text.encode("utf-8", "replace"))
        if batch:
            yield list(batch.items())

    def _embed(self, batch: Sequence[tuple[bytes, str]], deadline: float) -> bool:
        """Embed a batch and add it; return False if the dimension changed, so that the file starts again."""
        self._beat()
        vectors = self._embedder.embed_documents(
            [safe_text(text, self._embedder, self._store) for _, text in batch], deadline
        )
        there = self._cache.open()
        same = there is None or there.dimensions == len(vectors[0])
        first = there.count if there is not None and same else 0
        if there is not None:
            there.close()
        if not same:
            self._rows.clear()
        if (first + len(batch)) * record_size(len(vectors[0])) > MOST_BYTES:
            raise ProviderError("The cache is full; the oldest files have no vectors.")
        self._cache.add([(key, vector) for (key, _), vector in zip(batch, vectors, strict=True)])
        self._rows.update({key: first + number for number, (key, _) in enumerate(batch)})
        self._embedded += len(batch)
        return same

    def _write_map(self, files: Sequence[ChunkedFile]) -> None:
        vectors = self._cache.open()
        if vectors is None:
            return
        rows = self._rows
        self._cache.write_map(
            vectors.number,
            [Mapped(known.file, known.units, [rows.get(key, NO_ROW) for key in known.keys]) for known in files],
        )

"""The cache of vectors, in the folder `vectors` of the private folder: bounded, never committed.

Each model has one SQLite file: vectors by the hash of the embedded text, and the chunks of a version of each file. A
chunk is a unit, or a part of at most about 400 tokens of a long one; a heading without text goes into the next chunk.
One process at a time fills the cache. A damaged file counts as missing. The folder can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import mul
from typing import Any
from zlib import crc32

from gitmem import __version__
from gitmem.errors import BusyError, GitmemError
from gitmem.llm.protocol import Embedder, ProviderError
from gitmem.llm.providers import choose, make_embedder
from gitmem.redact.redact import redact
from gitmem.search.files import FileVersion, list_files, read_file
from gitmem.search.troubles import FOLDER
from gitmem.search.units import Units, chunks
from gitmem.store.store import Store
from gitmem.values import Value

KEY_BYTES = 16
MOST_BYTES = 256_000_000  # of the vectors of a model: 550,000 of 384 dimensions, 145,000 of 1,536
MOST_MODELS = 2  # the models used last keep their vectors
_SUFFIX = ".sqlite"
_TABLES = """
    CREATE TABLE IF NOT EXISTS blocks (dimensions INTEGER, keys BLOB, scales BLOB, components BLOB);
    CREATE TABLE IF NOT EXISTS files (release, path BLOB, size, modified, changed, units BLOB, keys BLOB);
"""
_VERSION = crc32(_TABLES.encode()) >> 1  # a file with other tables is ignored
_INSERT = "INSERT INTO blocks VALUES (?, ?, ?, ?)"
_BLOCK = 4_096  # vectors per row; reading one per row takes ten times as long as comparing them
_MOST_ROWS = 100  # more than necessary, from which they are joined
_MOST_LOOPED = 10_000_000  # components that are compared without numpy, in 0.6 s


class ChunkedFile(Value):
    """The chunks of a version of a file: the indexes of their units, and their keys."""

    file: FileVersion
    units: Sequence[int]
    keys: Sequence[bytes]


class Cache:
    """The vectors of one model in one store, each as signed bytes with a scale."""

    def __init__(self, private: str, provider: str, model: str) -> None:
        self.folder = os.path.join(private, FOLDER)
        plain = re.sub(r"[^a-z0-9._-]", "-", model.lower())[:60]
        if plain != model:  # a hash distinguishes models whose plain names are equal
            plain += f"-{hashlib.blake2b(model.encode(), digest_size=4).hexdigest()}"
        self.stem = f"{provider}-{plain}"
        self.path = os.path.join(self.folder, f"{self.stem}{_SUFFIX}")

    def size(self) -> tuple[int, int]:
        """Return the number of vectors and their dimensions; zeros if there are none."""
        size, dimensions = next(self._rows("SELECT sum(length(keys)), max(dimensions) FROM blocks"), (0, 0))
        return (size or 0) // KEY_BYTES, dimensions or 0

    def keys(self) -> set[bytes]:
        """Return the keys that have a vector."""
        return {key for (keys,) in self._rows("SELECT keys FROM blocks") for key in _split_keys(keys)}

    def cosines(self, query: Sequence[float]) -> dict[bytes, float]:
        """Return the cosine of a vector of length 1 with each vector, by its key."""
        numpy = _numpy()
        by_key: dict[bytes, float] = {}
        for dimensions, keys, scales, components in self._rows("SELECT * FROM blocks"):
            if numpy is None:
                view = memoryview(components).cast("b")
                starts = range(0, len(components), dimensions)
                dots = [sum(map(mul, view[start : start + dimensions], query)) for start in starts]
                values = [scale * dot for scale, dot in zip(array("f", scales), dots, strict=True)]
            else:
                matrix = numpy.frombuffer(components, numpy.int8).reshape(-1, dimensions).astype(numpy.float32)
                dots = matrix @ numpy.asarray(query, dtype=numpy.float32)
                values = (dots * numpy.frombuffer(scales, numpy.float32)).tolist()
            by_key.update(zip(_split_keys(keys), values, strict=True))
        return by_key

    def files(self) -> dict[str, ChunkedFile]:
        """Return the chunks of files by path, ignoring those of another release, which may cut files differently."""
        by_path = {}
        for release, name, size, modified, changed, units, keys in self._rows("SELECT * FROM files"):
            if release != __version__:
                continue
            file = FileVersion(os.fsdecode(name), size, modified, changed)
            by_path[file.path] = ChunkedFile(file, array("I", units), _split_keys(keys))
        return by_path

    def put_files(self, files: Iterable[ChunkedFile]) -> None:
        """Replace the chunks of all files. Raises OSError and sqlite3.Error, like all methods that write."""
        with self._writing() as database:
            database.execute("DELETE FROM files")
            database.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", map(_file_row, files))

    def add(self, vectors: Sequence[tuple[bytes, Sequence[float]]]) -> None:
        """Add vectors of length 1 by their keys; those of a new dimension replace all others."""
        dimensions, scales, components = len(vectors[0][1]), array("f"), array("b")
        for _, vector in vectors:
            scales.append(max(map(abs, vector)) / 127 or 1.0)
            components.extend(round(number / scales[-1]) for number in vector)
        keys = b"".join(key for key, _ in vectors)
        with self._writing() as database:
            database.execute("DELETE FROM blocks WHERE dimensions != ?", (dimensions,))
            database.execute(_INSERT, (dimensions, keys, scales.tobytes(), components.tobytes()))

    def tidy(self, wanted: Collection[bytes]) -> None:
        """Delete unwanted vectors if they are at least half of all, and join rows if there are many."""
        with self._writing() as database:
            rows = [row for (row,) in database.execute("SELECT rowid FROM blocks")]
            known = self.keys()
            if 2 * len(known.intersection(wanted)) >= len(known) and len(rows) <= len(known) // _BLOCK + _MOST_ROWS:
                return
            block = [b"", b"", b""]
            for row in rows:
                dimensions, *parts = database.execute("SELECT * FROM blocks WHERE rowid = ?", (row,)).fetchone()
                database.execute("DELETE FROM blocks WHERE rowid = ?", (row,))
                places = [place for place, key in enumerate(_split_keys(parts[0])) if key in wanted]
                for number, size in enumerate((KEY_BYTES, 4, dimensions)):
                    pieces = (parts[number][place * size : (place + 1) * size] for place in places)
                    block[number] = b"".join([block[number], *pieces])
                if block[0] and (row == rows[-1] or len(block[0]) >= _BLOCK * KEY_BYTES):
                    database.execute(_INSERT, (dimensions, *block))
                    block = [b"", b"", b""]

    def is_damaged(self) -> bool:
        """Return whether the file is no database, or has another version."""
        return os.path.lexists(self.path) and [*self._rows("PRAGMA quick_check")] != [("ok",)]

    def remove(self) -> None:
        """Delete the vectors of this model."""
        for path in (self.path, f"{self.path}-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def remove_others(self) -> None:
        """Delete the vectors of all other models except the one used last."""
        with contextlib.suppress(OSError):
            paths = [entry.path for entry in os.scandir(self.folder) if entry.name.endswith(_SUFFIX)]
            used = sorted(paths, key=lambda path: (path == self.path, os.stat(path).st_mtime_ns))
            for path in used[:-MOST_MODELS]:
                os.unlink(path)

    def _rows(self, query: str) -> Iterator[Any]:
        """Yield the rows of a query, none from a file that is missing, damaged or of another version."""
        if os.path.isfile(self.path):
            with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(self.path)) as database:
                if database.execute("PRAGMA user_version").fetchone() == (_VERSION,):
                    yield from database.execute(query)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open the database for writing; commit unless an error occurs."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with contextlib.closing(sqlite3.connect(self.path)) as database, database:
            database.executescript(f"{_TABLES} PRAGMA user_version = {_VERSION}")
            yield database


def key_of(text: str) -> bytes:
    """Return the hash of a chunk's text, 16 bytes."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()


def _file_row(of_file: ChunkedFile) -> tuple[object, ...]:
    file = of_file.file
    version = __version__, os.fsencode(file.path), file.size, file.modified, file.changed
    return *version, array("I", of_file.units).tobytes(), b"".join(of_file.keys)


def _split_keys(keys: bytes) -> list[bytes]:
    return [keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES)]


def is_comparable(number: int, dimensions: int) -> bool:
    """Return whether a search may wait for the comparison with so many vectors."""
    return number * dimensions <= _MOST_LOOPED or _numpy() is not None


def _numpy() -> Any:
    """Return numpy or None: the extra `local` installs it, other providers work without it."""
    try:
        import numpy as np
    except ImportError:
        return None
    return np


_REQUEST_SECONDS = 45.0  # for one batch with all tries: less than the time after which a lock is stale


class Filled(Value):
    """The result of filling: chunks in the store, embedded now, and without a vector; tokens and US dollars.

    `cost` is None if the price is unknown; `problem` is why filling ended early, or "".
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
    number, _ = Cache(store.private, embedder.name, embedder.model).size()
    return Overview(chosen.provider, embedder.model, chosen.reason, number, "")


def fill(
    store: Store,
    embedder: Embedder,
    *,
    seconds: float,
    afresh: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Filled:
    """Embed chunks without a vector for about `seconds`; with `afresh`, delete the model's vectors first.

    `progress` gets the numbers of embedded and of all missing chunks. Embedded chunks stay, also after an error.

    Raises:
        BusyError: another process fills the cache.
        GitmemError: the cache cannot be written.
        NotAcceptedError: the user only opened the store, so its texts are not sent.
    """
    store.acceptance.check()
    cache = Cache(store.private, embedder.name, embedder.model)
    try:
        os.makedirs(cache.folder, mode=0o700, exist_ok=True)
        lock = store.folder_lock(cache.folder, "reindex")
        try:
            lock.acquire(0)
        except BusyError as error:
            raise BusyError(f"The vectors are being made. {error.message}", error.remedy) from None
        with lock:
            if afresh or cache.is_damaged():
                cache.remove()
            return _fill(store, embedder, cache, beat=lock.heartbeat, progress=progress, end=time.monotonic() + seconds)
    except (OSError, sqlite3.Error) as error:
        raise GitmemError(
            f"The vectors could not be written: {error} ({cache.path}).", "Free disk space, or allow access."
        ) from error


def _fill(
    store: Store,
    embedder: Embedder,
    cache: Cache,
    *,
    beat: Callable[[], None],
    progress: Callable[[int, int], None],
    end: float,
) -> Filled:
    files = _chunked(store, cache)
    cache.put_files(files)
    wanted = {key for of_file in files for key in of_file.keys}
    cache.tidy(wanted)
    known = cache.keys()
    (_, dimensions), missing = cache.size(), len(wanted - known)
    embedded, problem = 0, ""
    try:
        for batch in _batches(store, embedder, files, known):
            if time.monotonic() >= end:
                problem = "The time given is over."
                break
            beat()
            texts = [safe_text(text, embedder, store) for text in batch.values()]
            vectors = embedder.embed_documents(texts, min(end, time.monotonic() + _REQUEST_SECONDS))
            if len(vectors[0]) != dimensions:
                dimensions, missing = len(vectors[0]), len(wanted)
                known.clear()
            if (len(known) + len(batch)) * (KEY_BYTES + dimensions) > MOST_BYTES:
                problem = "The cache is full; the oldest files have no vectors."
                break
            cache.add([*zip(batch, vectors, strict=True)])
            known.update(batch)
            embedded += len(batch)
            progress(embedded, missing)
    except ProviderError as error:
        problem = error.sentences
    cache.remove_others()
    left = len(wanted - known)
    return Filled(
        chunks=len(wanted),
        embedded=embedded,
        left=left,
        tokens=embedder.tokens,
        cost=None if embedder.price is None else embedder.price * embedder.tokens / 1_000_000,
        problem=problem or ("Files changed meanwhile; the next run embeds the rest." if left else ""),
    )


def _chunked(store: Store, cache: Cache) -> list[ChunkedFile]:
    """Return the chunks of all files, the newest file first; read changed files only."""
    before, files = cache.files(), []
    for file in sorted(list_files(store.documents), key=lambda file: -file.modified):
        old = before.get(file.path)
        if old is None or old.file != file:
            cut = [*chunks(Units(file.path, read_file(store.documents, file.path)))]
            old = ChunkedFile(file, [index for index, _ in cut], [key_of(text) for _, text in cut])
        files.append(old)
    return files


def _batches(
    store: Store, embedder: Embedder, files: Iterable[ChunkedFile], known: Collection[bytes]
) -> Iterator[dict[bytes, str]]:
    """Yield batches of texts to embed, by key, as large as the provider accepts."""
    batch: dict[bytes, str] = {}
    size = 0
    for file in (file.file for file in files if not all(key in known for key in file.keys)):
        for _, text in chunks(Units(file.path, read_file(store.documents, file.path))):
            key = key_of(text)
            if key in known or key in batch:
                continue
            if batch and (len(batch) >= embedder.batch or size + len(text) > embedder.batch_bytes):
                yield batch
                batch, size = {}, 0
            batch[key] = text
            size += len(text.encode("utf-8", "replace"))
    if batch:
        yield batch


def safe_text(text: str, embedder: Embedder, store: Store) -> str:
    """Return a text to embed, redacted if it leaves the machine, as it may be uncommitted."""
    text = text.encode("utf-8", "replace").decode()
    if not embedder.remote:
        return text
    return redact(text, allow=store.config.redaction.allow).text or "-"

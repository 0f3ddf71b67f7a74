"""How alike documents are, by the vectors that a search has of them."""

from __future__ import annotations

from gitmem.errors import GitmemError
from gitmem.llm.embedders import make_embedder
from gitmem.search.units.cut import FIELD
from gitmem.search.units.units import Units
from gitmem.search.vectors.cache import Cache
from gitmem.search.vectors.chunks import chunks
from gitmem.search.vectors.file import cosines
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.store.store import Store


class Likeness(Value):
    """The cosines of documents with others, both by path; `calibration` as in `gitmem.llm.protocol.Embedder`."""

    cosines: Mapping[str, Mapping[str, float]]
    calibration: tuple[float, float] | None


def compare_documents(store: Store, paths: Sequence[str], new: Sequence[str]) -> Likeness | None:
    """Compare each document of `new` with all of `paths`, by the first chunk of their bodies; None without vectors.

    Nothing is embedded, so nothing leaves the machine: a document that has no vector yet is left out.
    """
    try:
        embedder = make_embedder(store.config.embedding, store.context.environ)
    except GitmemError:  # a search reports it
        return None
    vectors = Cache(store.private, embedder.name, embedder.model).open() if embedder else None
    if embedder is None or vectors is None:
        return None
    try:
        known = vectors.rows()
        rows = {path: known[key] for path in paths if (key := _key(store, path)) in known}
        found = {}
        for path in (path for path in new if path in rows):
            others = [other for other in rows if other != path]
            values = cosines(vectors, vectors.vector(rows[path]), [rows[other] for other in others])
            found[path] = dict(zip(others, values, strict=True))
    finally:
        vectors.close()
    return Likeness(found, embedder.calibration)


def _key(store: Store, path: str) -> bytes:
    """Return the key of the first chunk of a document's body, or b""."""
    try:
        units = Units(path, store.read(path) or b"")
    except (GitmemError, OSError):
        return b""
    return next((chunk.key() for chunk in chunks(units) if units.unit(chunk.index).kind != FIELD), b"")

"""The concepts of a store's work tree: read from a cache (`gitmem.store.headers.cache`), without YAML.

Tested through `tests/memory/concepts/test_group.py`.
"""

from __future__ import annotations

from gitmem.model.concept import FOLDER, Concept, parse_concept
from gitmem.store.headers.cache import Header, read_headers

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.store.headers.cache import Bounds
    from gitmem.store.store import Store


def known_concepts(store: Store) -> list[Concept]:
    """Return the concepts of the work tree, sorted by path."""
    return [concept_of(header) for header in concept_headers(store)]


def concept_headers(store: Store, bounds: Bounds | None = None, *, trusting: bool = False) -> list[Header]:
    """Return the headers of the work tree's concepts; the key is the id of the last exchange.

    See `gitmem.store.headers.cache.read_headers`.
    """
    return read_headers(store, FOLDER, _header, bounds, trusting=trusting)


def concept_of(header: Header) -> Concept:
    """Return the concept of a header."""
    return Concept(*header.load())


def _header(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    concept = parse_concept(data, path)
    return None if concept is None else (((concept.exchanges or ("",))[-1],), [*concept._asdict().values()])

"""The concepts of a store as its start text needs them: read from a cache (`gitmem.memory.headers`), without YAML."""

from __future__ import annotations

from gitmem.memory.headers import Header, read_headers
from gitmem.model.concept import FOLDER, Concept, parse_concept

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.memory.headers import Haste
    from gitmem.store.store import Store


def known_concepts(store: Store) -> list[Concept]:
    """Return the concepts of the work tree by path."""
    return [whole(header) for header in concept_headers(store)]


def concept_headers(store: Store, haste: Haste | None = None, *, trusting: bool = False) -> list[Header]:
    """Return the concepts of the work tree, each with the id of its last exchange for its key.

    See `gitmem.memory.headers.read_headers`.
    """
    return read_headers(store, FOLDER, _said, haste, trusting=trusting)


def whole(header: Header) -> Concept:
    """Return all that is known of a concept."""
    return Concept(*header.load())


def _said(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    concept = parse_concept(data, path)
    return None if concept is None else (((concept.exchanges or ("",))[-1],), [*concept._asdict().values()])

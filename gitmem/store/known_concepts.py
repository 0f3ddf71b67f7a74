"""The concepts of a store, read from the cache of headers without YAML."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.model.concept import FOLDER, Concept, parse_concept
from gitmem.store.known_facts import read_headers
from gitmem.store.store import Store


def known_concepts(store: Store) -> list[Concept]:
    """Return the concepts of the work tree, sorted by path."""

    def read(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
        concept = parse_concept(data, path)
        return None if concept is None else (((concept.exchanges or ("",))[-1],), [*concept._asdict().values()])

    return [Concept(*header.load()) for header in read_headers(store, FOLDER, Concept._fields, read)]

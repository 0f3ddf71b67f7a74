"""The concepts of a store as its start text needs them: read from a cache (`gitmem.memory.headers`), without YAML."""

from __future__ import annotations

from gitmem.memory.headers import read_headers
from gitmem.model.concept import FOLDER, KnownConcept, parse_concept

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitmem.store.store import Store

_LISTS = ("keywords", "files", "exchanges", "merged")


def known_concepts(store: Store, most: int = 0) -> list[KnownConcept]:
    """Return the concepts of the work tree; `most` is as in `gitmem.memory.headers.read_headers`."""
    said, _ = read_headers(store, FOLDER, _said, most)
    found = []
    for path, given in said.items():
        values = {**given, "path": path, **{name: tuple(given[name]) for name in _LISTS}}
        found.append(KnownConcept(**values))
    return found


def _said(data: bytes, path: str) -> Mapping[str, Any] | None:
    concept = parse_concept(data, path)
    return None if concept is None else concept._asdict()

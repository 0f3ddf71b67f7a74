"""What words found and what vectors found, as one ranking."""

from __future__ import annotations

from gitmem.search import sources
from gitmem.search.cutting import ENTRY, HEADING
from gitmem.search.files import TRANSCRIPTS
from gitmem.search.filters import unwanted
from gitmem.search.rank import K1, NOTHING, WINDOW, Ranked, leaning

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.search.filters import Filters
    from gitmem.search.query import Query
    from gitmem.search.similar import Similar
    from gitmem.search.units import Units
    from gitmem.store.store import Store

LEAST_NEAR = 0.35  # of what no word led to; below that, anything is near


def fuse(store: Store, ranked: Sequence[Ranked], near: Similar, query: Query, filters: Filters) -> list[Ranked]:
    """Return what words found and what vectors alone found, each with a score from 0 to about 1.

        score = (1 - part) * BM25 / the most BM25 could be  +  part * nearness

    What has no vector, or none yet, is taken to be as near as the others that words found.
    """
    part = store.config.search.vector_percent / 100
    known: dict[str, dict[int, float]] = {}
    values: list[float | None] = []
    for item in ranked:
        path = item.units.path
        if path not in known:
            known[path] = near.units_of(path)
        of_work_tree = item.units.layer != TRANSCRIPTS and not item.units.commit
        values.append(_with_neighbours(item.units, item.index, known[path]) if of_work_tree else None)
    there = [value for value in values if value is not None]
    usual = sum(there) / len(there) if there else 0.0
    found = []
    for item, value in zip(ranked, values, strict=True):
        words = item.score / ((K1 + 1) * sum(item.says) or 1.0)
        found.append(item._replace(score=(1 - part) * words + part * (usual if value is None else value)))
    seen = {(item.units.path, item.index) for item in ranked}
    for file in near.files():
        if filters.allow_path(file.path):
            units = sources.load(store.root, file)
            without = unwanted(query, units)
            nearness = known.get(file.path) or near.units_of(file.path)
            for index, own in nearness.items():
                if own < LEAST_NEAR or index in without or (file.path, index) in seen:
                    continue
                value = _with_neighbours(units, index, nearness)
                if value is not None and units.kind(index) != HEADING:
                    found.append(Ranked(part * value, units, index, NOTHING, ()))
    return found


def _with_neighbours(units: Units, index: int, nearness: Mapping[int, float]) -> float | None:
    """Return how near a unit is, None where that is unknown.

    Entries lean on what stands beside them, as in the ranking. Sections do not: measured, it costs more than it gives.
    """
    own = nearness.get(index) if index < len(units) else None
    if own is None or units.kind(index) != ENTRY:
        return own
    share = leaning(units.length(index)) / units.outline(index)[1]
    for distance, weight in enumerate(WINDOW, 1):
        own += share * weight * (nearness.get(index - distance, 0.0) + nearness.get(index + distance, 0.0))
    return own

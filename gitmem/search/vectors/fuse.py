"""What words found and what vectors found, as one ranking."""

from __future__ import annotations

from gitmem.search import sources
from gitmem.search.files import TRANSCRIPTS
from gitmem.search.filters import unwanted
from gitmem.search.rank import K1, NOTHING, WINDOW, Ranked, leaning
from gitmem.search.units.cut import ENTRY, HEADING

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.search.filters import Filters
    from gitmem.search.query.query import Query
    from gitmem.search.units.units import Units
    from gitmem.search.vectors.near import Similar
    from gitmem.store.store import Store

LEAST_NEAR = 0.35  # of what no word led to; below that, anything is near
CONSIDERED = 300  # of what words found: how near the best are is asked
CANDIDATES = 100  # chunks that count as found by vectors alone


def fuse(store: Store, ranked: Sequence[Ranked], near: Similar, query: Query, filters: Filters) -> list[Ranked]:
    """Return what words found and what vectors alone found, each with a score from 0 to about 1.

        score = (1 - part) * BM25 / the most BM25 could be  +  part * nearness

    What has no vector, or none yet, is taken to be as near as the others that words found.
    """
    part = store.config.search.vector_percent / 100
    nearest = near.nearest(CANDIDATES)
    among = {(file.path, index) for file, index in nearest}
    ranked = sorted(ranked, key=lambda item: -item.score)
    values: list[float | None] = []
    for place, item in enumerate(ranked):
        asked = place < CONSIDERED or (item.units.path, item.index) in among
        values.append(_nearness(near, item.units, item.index) if asked and _is_of_work_tree(item) else None)
    there = [value for value in values if value is not None]
    usual = sum(there) / len(there) if there else 0.0
    found = []
    for item, value in zip(ranked, values, strict=True):
        words = item.score / ((K1 + 1) * sum(item.says) or 1.0)
        found.append(item._replace(score=(1 - part) * words + part * (usual if value is None else value)))
    seen = {(item.units.path, item.index) for item in ranked}
    without: dict[str, set[int]] = {}
    for file, index in nearest:
        if (file.path, index) in seen or not filters.allow_path(file.path):
            continue
        units = sources.load(store.root, file)
        if file.path not in without:
            without[file.path] = unwanted(query, units)
        value = _nearness(near, units, index)
        if value and value >= LEAST_NEAR and units.kind(index) != HEADING and index not in without[file.path]:
            found.append(Ranked(part * value, units, index, NOTHING, ()))
    return found


def _is_of_work_tree(item: Ranked) -> bool:
    return item.units.layer != TRANSCRIPTS and not item.units.commit


def _nearness(near: Similar, units: Units, index: int) -> float | None:
    """Return how near a unit is, None where that is unknown.

    Entries lean on what stands beside them, as in the ranking. Sections do not: measured, it costs more than it gives.
    """
    own = near.of(units.path, index) if index < len(units) else None
    if own is None or units.kind(index) != ENTRY:
        return own
    share = leaning(units.length(index)) / units.outline(index)[1]
    for distance, weight in enumerate(WINDOW, 1):
        for beside in (index - distance, index + distance):
            own += share * weight * (near.of(units.path, beside) or 0.0)
    return own

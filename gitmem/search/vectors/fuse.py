"""Fuse the ranking by words with the ranking by vectors.

Tested through `tests/search/vectors/test_near.py`.
"""

from __future__ import annotations

from gitmem.search import sources
from gitmem.search.files import TRANSCRIPTS
from gitmem.search.filters import excluded
from gitmem.search.order.rank import NOTHING, UNKNOWN, WINDOW, Ranked, leaning
from gitmem.search.order.worth import FAR
from gitmem.search.units.cut import ENTRY, HEADING

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.search.filters import Filters
    from gitmem.search.query.query import Query
    from gitmem.search.units.units import Units
    from gitmem.search.vectors.near import Nearness
    from gitmem.store.store import Store

# Of a unit that no word matches: above the nearest hits of questions about other stores (docs/search.md, "Weak hits").
LEAST_NEAR = 0.45
CONSIDERED = 300  # best units by words whose nearness counts
CANDIDATES = 100  # nearest chunks


def fuse(store: Store, ranked: Sequence[Ranked], near: Nearness, query: Query, filters: Filters) -> list[Ranked]:
    """Return the units that words or vectors match, with scores from 0 to about 1.

        score = (1 - part) * score by words  +  part * nearness

    A unit without a vector gets the mean nearness of the others that words match.
    """
    part = store.config.search.vector_percent / 100
    nearest = near.nearest(CANDIDATES)
    among = {(file.path, index) for file, index in nearest}
    ranked = sorted(ranked, key=lambda item: -item.score)
    values: list[float | None] = []
    for place, item in enumerate(ranked):
        counts = place < CONSIDERED or (item.units.path, item.index) in among
        values.append(_nearness(near, item.units, item.index) if counts and _is_of_work_tree(item) else None)
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    fused = []
    for item, value in zip(ranked, values, strict=True):
        score = (1 - part) * item.score + part * (mean if value is None else value)
        fused.append(item._replace(score=score, near=_told(near, value)))
    seen = {(item.units.path, item.index) for item in ranked}
    dropped: dict[str, set[int]] = {}
    for file, index in nearest:
        if (file.path, index) in seen or not filters.allow_path(file.path):
            continue
        units = sources.load(store.root, file)
        if file.path not in dropped:
            dropped[file.path] = excluded(query, units)
        value = _nearness(near, units, index)
        if value and value >= LEAST_NEAR and units.kind(index) != HEADING and index not in dropped[file.path]:
            fused.append(Ranked(part * value, units, index, NOTHING, (), near=value))
    return fused


def _told(near: Nearness, value: float | None) -> float:
    """Return a nearness as hits are judged by it: UNKNOWN where no vector, or no calibration, tells near from far."""
    return UNKNOWN if value is None or (value < FAR and not near.calibrated) else value


def _is_of_work_tree(item: Ranked) -> bool:
    return item.units.layer != TRANSCRIPTS and not item.units.commit


def _nearness(near: Nearness, units: Units, index: int) -> float | None:
    """Return how near a unit is, or None if unknown.

    Neighbours count for entries, as in the ranking; for sections they made the measured results worse.
    """
    own = near.of(units.path, index) if index < len(units) else None
    if own is None or units.kind(index) != ENTRY:
        return own
    share = leaning(units.length(index)) / units.outline(index)[1]
    for distance, weight in enumerate(WINDOW, 1):
        for beside in (index - distance, index + distance):
            own += share * weight * (near.of(units.path, beside) or 0.0)
    return own

"""Pairs of similar facts, by the vectors that `gitmem search` keeps of them (spec V4).

Nothing is embedded here: a fact is compared once it has a vector. Similarity is a hint and no verdict: with the local
model two wordings of one fact have cosines of 0.88 to 0.98, "use tabs" and "use spaces" 0.95, a rule and its contrary
0.92 to 0.998. No threshold separates them, so `gitmem.memory.facts.judge` asks a model.

Tested through `tests/memory/facts/test_judge.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from heapq import nlargest
from typing import TYPE_CHECKING

from gitmem.machine.beneath import read_text
from gitmem.search.vectors.likeness import compare_documents
from gitmem.store.headers.cache import FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.model.fact.fact import Fact
    from gitmem.store.store import Store

_NEAR = 0.65  # between the cosines of unrelated and of related texts: 0.90 for E5
_RELATED = 0.92  # between the median cosine and 1, for a model without calibration
_MAX_NEAR = 3  # of a fact
_MAX_NEW = 50  # facts that one run compares
_FILE = "near"  # in the folder of caches: the facts that were compared, each with those near it


def near_pairs(store: Store, facts: Sequence[Fact]) -> list[tuple[Fact, Fact]]:
    """Return the pairs of these facts that are near each other; none if they have no vectors."""
    path = os.path.join(store.private, FOLDER, _FILE)
    by_id = {fact.id: fact for fact in facts}
    near = {one: names for one, names in _read(path).items() if one in by_id}
    new = [fact.id for fact in facts if fact.id not in near][-_MAX_NEW:]
    if new and (compared := _compare(store, facts, new)):
        near |= compared
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(near, file)
    return [(by_id[one], by_id[other]) for one, names in near.items() for other in names if other in by_id]


def _read(path: str) -> dict[str, list[str]]:
    try:
        value = json.loads(read_text(path) or "{}")
        return {str(one): [str(other) for other in names] for one, names in value.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _compare(store: Store, facts: Sequence[Fact], new: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the facts near each new fact; new facts without a vector are left out."""
    paths = {fact.path: fact.id for fact in facts}
    ids = set(new)
    likeness = compare_documents(store, list(paths), [path for path, one in paths.items() if one in ids])
    if likeness is None:
        return {}
    return {
        paths[path]: _nearest({paths[other]: cosine for other, cosine in cosines.items()}, likeness.calibration)
        for path, cosines in likeness.cosines.items()
    }


def _nearest(cosines: Mapping[str, float], calibration: tuple[float, float] | None) -> list[str]:
    """Return the nearest facts above the threshold, the nearest first."""
    if not cosines:
        return []
    middle = statistics.median(cosines.values())
    low, high = calibration or (middle, middle + (1 - middle) * _RELATED)
    near = [one for one, cosine in cosines.items() if cosine >= low + (high - low) * _NEAR]
    return nlargest(_MAX_NEAR, near, key=lambda one: (cosines[one], one))
